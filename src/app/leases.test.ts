import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import { emptyTotals, type RunRecord } from '../core/run.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { keyOf, repositoryFiles } from '../workspaces/layout.ts'
import { removeRecord, writeRecord as writeWorkspace } from '../workspaces/records.ts'
import { dropLease, type Lease, runningIn, takeLease } from './leases.ts'
import { makeRunFolder, runFolder, writeRecord } from './run-folder.ts'

const key = keyOf({ branch: 'work' })
const run = 'aaaaaaaaaaaa'
const dead = { pid: 999_999_999, startTime: '1' }

function workspaceIn(world: World, part: Partial<WorkspaceRecord> = {}): WorkspaceRecord {
  const record: WorkspaceRecord = {
    version: 1,
    id: '0123456789',
    kind: 'branch',
    branch: 'work',
    operator: null,
    state: 'ready',
    path: world.path('tree'),
    commonDir: world.path('common'),
    nonce: 'n1',
    baseName: 'main',
    base: { source: 'local', ref: 'refs/heads/main', sha: '0'.repeat(40), behind: 0, remoteError: null },
    options: { copyOnWrite: false, setup: null, lfs: 'auto', submodules: 'none', sparse: 'inherit', carry: [], ports: 0, passEnv: [] },
    createdAt: '2026-01-01T00:00:00.000Z',
    usedAt: '2026-01-01T00:00:00.000Z',
    setup: null,
    ports: [],
    overlay: null,
    holder: null,
    ...part,
  }
  writeWorkspace(record.commonDir, key, record)
  return record
}

const leaseOf = (world: World, part: Partial<Lease> = {}): Lease => ({ run, home: world.path('hold'), command: 'npm test', holder: identifySelf(), ...part })

function writeRun(world: World, part: Partial<RunRecord>): void {
  const folder = runFolder(world.path('hold', 'runs'), run)
  mkdirSync(world.path('hold', 'runs'), { recursive: true })
  if (!existsSync(folder.path)) makeRunFolder(folder)
  writeRecord(folder, {
    id: run,
    state: 'running',
    command: 'npm test',
    runtime: null,
    purpose: null,
    cwd: '/',
    branch: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: null,
    durationMs: null,
    outcome: null,
    error: null,
    stdout: emptyTotals,
    stderr: emptyTotals,
    leftovers: [],
    warnings: [],
    holder: identifySelf(),
    process: null,
    pinned: false,
    workspace: '0123456789',
    ...part,
  })
}

function open(world: World, part: Partial<WorkspaceRecord> = {}) {
  const record = workspaceIn(world, part)
  const at = { commonDir: record.commonDir, key, record }
  const alive: string[] = []
  const machine = { isAlive, findTree: async (mark: string) => (alive.includes(mark) ? [{ pid: 1, name: 'left' }] : []) }
  const running = () => runningIn(record, machine, ({ home, run: id }) => runFolder(`${home}/runs`, id))
  return { record, at, alive, running, files: () => readdirSync(repositoryFiles(record.commonDir).leases(key)) }
}

describe('a lease', () => {
  it('is seen from before its run has a record until the run is over, and is removed then', async () => {
    await using world = openWorld()
    const { at, running, files } = open(world)
    expect(takeLease(at, leaseOf(world))).toEqual([])
    expect(await running()).toMatchObject([{ lease: { run, command: 'npm test' }, record: undefined }])
    writeRun(world, {})
    expect(await running()).toMatchObject([{ record: { state: 'running' } }])
    writeRun(world, { state: 'ended' })
    expect(await running()).toEqual([])
    expect(files()).toEqual([])
  })

  it('counts as none where whoever asked for the run died before it began', async () => {
    await using world = openWorld()
    const { at, running, files } = open(world)
    takeLease(at, leaseOf(world, { holder: dead }))
    expect(await running()).toEqual([])
    expect(files()).toEqual([])
  })

  it('stays while what a run left behind lives, and while the command of a dead holder does', async () => {
    await using world = openWorld()
    const { at, alive, running } = open(world)
    takeLease(at, leaseOf(world))
    alive.push(run)
    writeRun(world, { state: 'ended', leftovers: [{ pid: 1, name: 'left' }] })
    expect(await running()).toHaveLength(1)
    writeRun(world, { state: 'running', holder: dead })
    expect(await running()).toHaveLength(1)
    alive.pop()
    expect(await running()).toEqual([])
  })

  it('is refused in a workspace that is being released, is gone, or was made anew, and none is left', async () => {
    await using world = openWorld()
    const { at, record, files } = open(world)
    writeWorkspace(record.commonDir, key, { ...record, state: 'releasing' })
    expect(() => takeLease(at, leaseOf(world))).toThrow('it is being released')
    writeWorkspace(record.commonDir, key, { ...record, nonce: 'n2' })
    expect(() => takeLease(at, leaseOf(world))).toThrow('it was released')
    removeRecord(record.commonDir, key)
    expect(() => takeLease(at, leaseOf(world))).toThrow('it was released')
    expect(files()).toEqual([])
  })

  it('of a run that is none of the workspace, or of a home that is no path, counts as none: it would be waited for, and ended with it', async () => {
    await using world = openWorld()
    const { at, running } = open(world)
    takeLease(at, leaseOf(world))
    for (const workspace of ['9876543210', undefined]) {
      writeRun(world, { workspace })
      expect(await running()).toEqual([])
    }
    writeRun(world, {})
    expect(await running()).toHaveLength(1)
    takeLease(at, leaseOf(world, { home: 'relative' }))
    expect(await running()).toEqual([])
  })

  it('that cannot be written is a warning, and what is no lease is passed over', async () => {
    await using world = openWorld()
    const { at, record, running } = open(world)
    const folder = repositoryFiles(record.commonDir).leases(key)
    mkdirSync(folder, { recursive: true })
    writeFileSync(`${folder}/bbbbbbbbbbbb`, '{"run":"cccccccccccc"}')
    writeFileSync(`${folder}/cccccccccccc`, 'no JSON')
    writeFileSync(`${folder}/note`, '')
    expect(await running()).toEqual([])
    const other = { ...at, commonDir: `${folder}/note` }
    expect(takeLease(other, leaseOf(world))).toEqual([expect.stringContaining('could not be told of this run')])
    dropLease(other, run)
  })
})
