import { describe, expect, it } from 'vitest'
import type { WorkspaceBase } from '../../core/workspace.ts'
import type { OpenedWorkspace, ReleasedWorkspace, WorkspaceSummary } from '../../core/workspace-provider.ts'
import { presentRescues } from './present-rescues.ts'
import { presentCollected, presentOpened, presentReleased, presentSummary, presentWorkspaces } from './present-workspaces.ts'

const at = { columns: 80, isTerminal: true, nowMs: Date.parse('2026-01-02T00:00:00.000Z') }
const base: WorkspaceBase = { source: 'remote', ref: 'refs/heads/main', sha: 'a'.repeat(40), behind: 0, remoteError: null }

const summary = (part: Partial<WorkspaceSummary> = {}): WorkspaceSummary => ({
  id: '0123456789',
  kind: 'branch',
  path: '/trees/shop-1a2b3c/work-0123456789',
  repository: '/shop/.git',
  branch: 'work',
  operator: null,
  state: 'ready',
  base,
  head: 'a'.repeat(40),
  headBranch: null,
  ahead: null,
  behind: null,
  dirty: null,
  operation: null,
  locked: null,
  setup: null,
  running: [],
  bytes: null,
  ports: [],
  overlay: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  usedAt: '2026-01-01T22:00:00.000Z',
  warnings: [],
  ...part,
})

const looked = {
  ahead: 12,
  behind: 3,
  dirty: { staged: 1, changed: 20, untracked: 300, conflicted: 2 },
  bytes: 12_345_678_901,
  running: [{ run: 'aaaaaaaaaaaa', command: 'npm test' }],
}

const longName = 'feature/a-name-that-is-quite-a-bit-longer-than-anybody-would-want-to-type-it-by-hand'

const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length))

describe('the list of workspaces', () => {
  it('says that there are none', () => {
    expect(presentWorkspaces([], at)).toBe('No workspaces.')
  })

  it('is a table with what is most worth knowing of each', () => {
    const rows = [
      summary(),
      summary({ branch: 'two', operation: 'rebase' }),
      summary({ branch: null, operator: 'reviewer', kind: 'sandbox', state: 'missing', warnings: ['its folder is gone'] }),
    ]
    expect(presentWorkspaces(rows, at)).toBe(
      [
        'WORKSPACE   STATE    USED     BRANCH',
        '0123456789  ready    2 h ago  work',
        '0123456789  rebase   2 h ago  two',
        '0123456789  missing  2 h ago  (sandbox of reviewer)',
        '0123456789: its folder is gone',
      ].join('\n'),
    )
  })

  it('fits into 80 columns, whatever is asked for and however long the names are', () => {
    const rows = [summary({ ...looked, branch: longName, setup: { command: 'x', state: 'failed', attempt: 1, run: null, ended: 'exit 1', holder: null } })]
    for (const part of [
      {},
      { bytes: null },
      { dirty: null, ahead: null, behind: null },
      { bytes: null, dirty: null, ahead: null, behind: null, running: [] },
    ]) {
      const text = presentWorkspaces(
        rows.map((row) => ({ ...row, ...part })),
        at,
      )
      expect(widest(text)).toBeLessThanOrEqual(80)
      expect(text).toContain('setup failed')
    }
  })
})

describe('one workspace', () => {
  it('is told in lines that fit, without what is not there', () => {
    const text = presentSummary(summary({ ...looked, ports: [20_001, 20_002] }), at)
    expect(text).toContain('changed       1 staged, 20 changed, 300 new, 2 in conflict\nahead/behind  12/3 against refs/heads/main\n')
    expect(text).toContain('bytes         11 GiB')
    expect(text).toContain('running  aaaaaaaaaaaa  npm test')
    expect(text).not.toMatch(/operator|setup|copy on write|locked/)
    expect(widest(text)).toBeLessThanOrEqual(80)
  })

  it('that was opened says where it is, where it began, what was done and how to go on', () => {
    const opened: OpenedWorkspace = {
      id: '0123456789',
      kind: 'branch',
      path: '/trees/work',
      branch: "it's",
      operator: null,
      created: true,
      base: { ...base, source: 'local', remoteError: 'fatal: no\nway there' },
      setup: null,
      ports: [],
      isolation: 'worktree',
      copyOnWrite: false,
      actions: [{ name: 'lfs', status: 'skipped', detail: 'git-lfs is not installed' }],
      warnings: [],
    }
    expect(presentOpened(opened, at)).toBe(
      [
        "Workspace 0123456789 (branch it's) is ready.",
        'path         /trees/work',
        'base         refs/heads/main at aaaaaaaaaaaa, as it is here',
        'not fetched  fatal: no way there',
        '  lfs (skipped): git-lfs is not installed',
        "Run in it: holdfast exec --workspace 'it'\\''s' -- COMMAND",
      ].join('\n'),
    )
    const sandbox = presentOpened({ ...opened, branch: null, operator: 'a b', kind: 'sandbox', isolation: 'env-only', created: false }, at)
    expect(sandbox).toContain('Workspace 0123456789 (sandbox of a b) was there, and is ready.')
    expect(sandbox).toContain("--workspace 'operator:a b'")
    expect(sandbox).toMatch(/isolation {4}the environment alone/)
  })

  it('that was released says what was saved and how it comes back', () => {
    const released: ReleasedWorkspace = {
      id: '0123456789',
      released: true,
      rescue: 'refs/holdfast/rescue/0123456789/20260101T000000Z-abcdefghjkmn',
      branch: 'work',
      stopped: ['aaaaaaaaaaaa'],
      actions: [],
      warnings: [],
    }
    expect(presentReleased(released, at)).toBe(
      [
        'Released workspace 0123456789; the branch work stays.',
        'Stopped 1 run: aaaaaaaaaaaa.',
        'Saved what was nowhere else; it comes back with:',
        '  holdfast workspace restore 0123456789-20260101T000000Z-abcdefghjkmn',
      ].join('\n'),
    )
    expect(presentReleased({ ...released, released: false, rescue: null }, at)).toBe('There was nothing to release of workspace 0123456789.')
  })

  it('that stays names what was taken away from it, in lines that fit', () => {
    const kept = [{ id: 'aaaaaaaaaa', why: 'its setup runs' }]
    const folders = Array.from({ length: 9 }, (_, n) => `packages/number-${n}/node_modules`)
    const collected = { dryRun: false, released: [], kept, cleared: [{ id: '0123456789', folders }], tidied: [] }
    const shown = presentCollected(collected, at)
    expect(widest(shown)).toBeLessThanOrEqual(80)
    expect(shown).toMatch(/^0123456789 {2}packages\/number-0\/node_modules, /)
    expect(shown.split('\n').at(-1)).toBe('Taken away from 1 workspace; nothing from 1.')
    expect(presentCollected({ ...collected, dryRun: true, cleared: [] }, at)).toBe('Would be taken away from 0 workspaces; nothing from 1.')
  })

  it('of which work was saved has a line for what that holds', () => {
    const rescue = {
      ref: 'r',
      id: 'id-1',
      sha: 's',
      workspace: '0123456789',
      branch: null,
      savedAt: '2026-01-01T23:59:00.000Z',
      holds: ['1 file', '2 commits'],
    }
    expect(presentRescues([rescue], at)).toBe('RESCUE  SAVED      BRANCH\nid-1    1 min ago  -\n  1 file, 2 commits')
  })
})
