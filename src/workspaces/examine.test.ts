import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import type { WorkspaceContext } from './context.ts'
import { readEvents } from './events.ts'
import { examineWorkspaces, repair, repositoryHistory } from './examine.ts'
import { findWorkspace } from './find.ts'
import { collectWorkspaces } from './gc.ts'
import { repositoryFiles } from './layout.ts'
import { usedBytes } from './limits.ts'
import { listWorkspaces } from './list.ts'
import { openWorkspace } from './open.ts'
import { reservePorts } from './ports.ts'
import { readRecord, removeRecord, writeRecord } from './records.ts'

const always = ['git', 'copy-on-write', 'reflink', 'workspaces']

/** What is told besides what is always told. */
async function problems(context: WorkspaceContext) {
  const found = await examineWorkspaces(context)
  return found.filter(({ name }) => !always.includes(name))
}

function madeHoursAgo(path: string, hours: number): void {
  const at = Date.now() / 1000 - hours * 3600
  utimesSync(path, at, at)
}

it('where all is well, that is said, with the version of git and what the machine can do', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  makeWorkspace(world, context, repository, 'a')
  const visible = () => readdirSync(context.root).filter((name) => !name.startsWith('.'))
  const before = visible()
  const found = await examineWorkspaces(context)
  expect(found.map(({ name, status, fix }) => ({ name, status, fix }))).toEqual(always.map((name) => ({ name, status: 'ok', fix: null })))
  expect(found[0]?.detail).toMatch(/^git version \d/)
  expect(found[3]?.detail).toBe(`1 workspace and 2 trees of ${repository}`)
  expect(visible()).toEqual(before)
  expect(readdirSync(context.root).filter((name) => name.startsWith('.probe'))).toEqual([])
  expect((await examineWorkspaces(world.context())).map(({ name }) => name)).toEqual(['git', 'copy-on-write', 'reflink', 'repository'])
})

it('what was opened is well, is listed as it is, and is taken back with its ports when it was idle', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { f: '1\n' })
  const remote = world.remote(repository)
  const context = world.context({ base: repository })
  const branch = await openWorkspace(context, { branch: 'feat/a', base: 'main', ports: 2 })
  const sandbox = await openWorkspace(context, { operator: 'ada', base: 'main' })
  expect(branch.base.source).toBe('remote')
  expect(await problems(context)).toEqual([])
  world.commit(branch.path, { f: '2\n' })
  expect(await listWorkspaces(context, { status: true })).toMatchObject([
    { id: branch.id, branch: 'feat/a', ahead: 1, behind: 0, state: 'ready', locked: null, headBranch: null, ports: branch.ports, warnings: [] },
    { id: sandbox.id, operator: 'ada', branch: null, ahead: 0, behind: 0, state: 'ready', locked: null, headBranch: null, warnings: [] },
  ])
  const files = (): string[] => readdirSync(join(context.root, '.ports')).filter((name) => /^\d+$/.test(name))
  expect(files()).toEqual(branch.ports.map(String).sort())
  const later = { ...context, now: () => new Date(Date.now() + 30 * 86_400_000) }
  const { released, kept } = await collectWorkspaces(later, {})
  expect([released.map(({ id }) => id).sort(), kept]).toEqual([[branch.id, sandbox.id].sort(), []])
  expect([files(), existsSync(branch.path), await problems(context)]).toEqual([[], false, []])
  expect(existsSync(remote)).toBe(true)
})

it('where the root is reached by a link, all is as well as where it is not', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { f: '1\n' })
  mkdirSync(world.path('real'))
  symlinkSync(world.path('real'), world.path('workspaces'))
  const context = world.context({ base: repository })
  const opened = await openWorkspace(context, { branch: 'a', base: 'main', remotePolicy: 'local' })
  expect(opened.path.startsWith(world.path('real'))).toBe(true)
  expect(await problems(context)).toEqual([])
  const elsewhere = world.context()
  expect((await findWorkspace(elsewhere, join(opened.path.replace(world.path('real'), world.path('workspaces'))))).record.id).toBe(opened.id)
  expect((await listWorkspaces(elsewhere, { all: true })).map(({ id }) => id)).toEqual([opened.id])
  expect(await usedBytes(context)).toBeGreaterThan(0)
})

it('a lock file of a dead git is told with its age and removed when that is asked for; one that is held never is', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path, commonDir, key } = makeWorkspace(world, context, repository, 'a')
  const stale = join(world.sh(path, 'rev-parse', '--absolute-git-dir'), 'index.lock')
  const held = join(commonDir, 'index.lock')
  writeFileSync(stale, '')
  const live = spawn('bash', ['-c', 'exec 9>"$0"; echo ready; read -r', held], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(live.stdout, 'data')
    for (const lock of [stale, held]) madeHoursAgo(lock, 2)
    const found = await problems(context)
    expect(found).toMatchObject([
      { name: 'index-lock:main', status: 'warning', detail: expect.stringContaining(`held by process ${live.pid}`), fix: null },
      {
        name: expect.stringMatching(/^index-lock:a-/),
        status: 'warning',
        detail: expect.stringMatching(/72\d\d s old and held by nobody/),
        fix: 'remove the lock file',
      },
    ])
    await expect(repair(context, { item: 'index-lock:main' })).rejects.toMatchObject({ code: 'invalid_argument' })
    expect(await repair(context, { item: found[1]!.name })).toContain(`${stale} was removed`)
    expect([existsSync(stale), existsSync(held)]).toEqual([false, true])
    expect(readEvents(commonDir, key)).toMatchObject([{ name: 'repaired', facts: { item: found[1]!.name, done: expect.stringContaining('was removed') } }])
  } finally {
    live.stdin.end()
    await once(live, 'close')
  }
})

it('a lock file that is new is left: whoever made it may be anywhere', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  writeFileSync(join(repository, '.git/index.lock'), '')
  expect(await problems(context)).toMatchObject([{ name: 'index-lock:main', fix: null }])
})

it('worktrees of others that are gone, locked or moved are told with what can be done, and none of them is touched', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  for (const name of ['locked-missing', 'missing', 'locked-present', 'moved'])
    world.sh(repository, 'worktree', 'add', '--quiet', '-b', `b/${name}`, world.path(name))
  world.sh(repository, 'worktree', 'lock', '--reason', 'agent 4711 running', world.path('locked-missing'))
  world.sh(repository, 'worktree', 'lock', '--reason', 'on a portable device', world.path('locked-present'))
  for (const name of ['locked-missing', 'missing']) rmSync(world.path(name), { recursive: true })
  renameSync(world.path('moved'), world.path('moved-away'))
  const before = world.sh(repository, 'worktree', 'list', '--porcelain')
  const found = Object.fromEntries((await problems(context)).map((finding) => [finding.name, finding]))
  expect(found['worktree:locked-missing']).toMatchObject({
    status: 'warning',
    detail: expect.stringMatching(/is gone, and locked: agent 4711 running/),
    fix: null,
  })
  expect(found['worktree:missing']).toMatchObject({ status: 'warning', detail: expect.stringContaining('git worktree repair'), fix: null })
  expect(found['worktree:locked-present']).toMatchObject({ status: 'ok', detail: expect.stringContaining('on a portable device') })
  expect(found['worktree:moved']).toMatchObject({ status: 'warning', detail: expect.stringContaining('git worktree repair') })
  expect(Object.keys(found)).toHaveLength(4)
  expect(world.sh(repository, 'worktree', 'list', '--porcelain')).toBe(before)
})

it('a workspace whose tree is gone is opened again, and one whose release was cut short is released', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { f: '1\n' })
  const context = world.context({ base: repository })
  const gone = makeWorkspace(world, context, repository, 'gone')
  const cut = makeWorkspace(world, context, repository, 'cut')
  rmSync(gone.path, { recursive: true })
  writeRecord(cut.commonDir, cut.key, { ...cut.record, state: 'releasing', holder: { pid: 2 ** 22 + 1, startTime: '1' } })
  const found = await problems(context)
  expect(found.map(({ name, fix }) => [name, fix])).toEqual(
    expect.arrayContaining([
      [`workspace:${gone.record.id}`, 'open it again'],
      [`workspace:${cut.record.id}`, 'release it, after saving what is nowhere else'],
    ]),
  )
  await repair(context, { item: `workspace:${gone.record.id}` })
  expect(existsSync(join(gone.path, 'f'))).toBe(true)
  await repair(context, { item: `workspace:${cut.record.id}` })
  expect(existsSync(cut.path)).toBe(false)
  expect(readRecord(cut.commonDir, cut.key)).toBeUndefined()
  expect(await problems(context)).toEqual([])
  expect(readEvents(gone.commonDir, gone.key).at(-1)).toMatchObject({ name: 'repaired', workspace: gone.record.id })
})

it('settings that break the repository for all trees are told, and only those are taken back that can be nothing else', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path } = makeWorkspace(world, context, repository, 'a')
  world.sh(path, 'config', 'core.bare', 'true')
  world.sh(path, 'config', 'core.hooksPath', join(path, 'hooks'))
  const found = Object.fromEntries((await problems(context)).map((finding) => [finding.name, finding]))
  expect(found['config:core.bare']).toMatchObject({ status: 'failed', fix: 'set core.bare to false' })
  expect(found['config:core.hooksPath']).toMatchObject({ status: 'warning', fix: 'unset core.hooksPath' })
  await repair(context, { item: 'config:core.bare' })
  await repair(context, { item: 'config:core.hooksPath' })
  expect(world.sh(repository, 'status', '--porcelain')).toBe('')
  expect(await problems(context)).toEqual([])
  expect(readEvents(join(repository, '.git'), repositoryHistory).map(({ facts }) => facts.item)).toEqual(['config:core.bare', 'config:core.hooksPath'])
  world.sh(repository, 'config', 'core.hooksPath', '.husky')
  expect(await problems(context)).toEqual([])
  world.sh(repository, 'config', 'core.worktree', path)
  expect(await problems(context)).toMatchObject([{ name: 'config:core.worktree', status: 'failed', fix: 'unset core.worktree' }])
  await repair(context, { item: 'config:core.worktree' })
  world.sh(repository, 'config', 'extensions.fromTheFuture', 'true')
  expect((await problems(context)).find(({ name }) => name === 'config:extensions.fromthefuture')).toMatchObject({ status: 'failed', fix: null })
})

it('a record that cannot be understood is told', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { commonDir, key } = makeWorkspace(world, context, repository, 'a')
  writeFileSync(repositoryFiles(commonDir).record(key), '{"version":1')
  expect((await problems(context)).find(({ name }) => name === `record:${key}.json`)).toMatchObject({ status: 'failed', fix: null })
})

it('a branch in two trees, a damaged index and a lock of somebody else on a workspace are told', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path, record } = makeWorkspace(world, context, repository, 'a')
  world.sh(repository, 'worktree', 'add', '--quiet', '--force', world.path('twin'), 'a')
  world.sh(repository, 'worktree', 'unlock', path)
  world.sh(repository, 'worktree', 'lock', '--reason', 'mine', path)
  writeFileSync(join(repository, '.git/worktrees/twin/index'), 'damaged')
  expect(await problems(context)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'duplicate:a', status: 'failed', detail: expect.stringContaining(world.path('twin')) }),
      expect.objectContaining({ name: 'index:twin', status: 'failed', fix: null }),
      expect.objectContaining({ name: `lock:${record.id}`, detail: expect.stringContaining('mine') }),
    ]),
  )
})

it('what is left over below the root and among our refs is told; only what is empty or surely ours is taken away', async () => {
  await using world = openGitWorld()
  const [repository, other] = [world.repository('r'), world.repository('other')]
  const context = world.context({ base: repository })
  const unknown = makeWorkspace(world, context, repository, 'unknown')
  const lost = makeWorkspace(world, context, other, 'lost')
  removeRecord(unknown.commonDir, unknown.key)
  rmSync(other, { recursive: true })
  const [empty, full] = [join(context.root, 'x', 'empty'), join(context.root, 'x', 'full')]
  for (const folder of [empty, full]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(full, 'file'), '')
  world.sh(repository, 'update-ref', 'refs/holdfast/odd/one', 'HEAD')
  world.sh(repository, 'update-ref', 'refs/holdfast/fetch/1700000000000-1-0123456789abcdef', 'HEAD')
  const past = { ...context, machine: { ...context.machine, self: { pid: 2 ** 22 + 1, startTime: '1' } } }
  const [port] = await reservePorts(past, { id: 'gone456789', count: 1 })
  const found = Object.fromEntries((await problems(context)).map((finding) => [finding.name, finding]))
  expect(Object.fromEntries(Object.entries(found).map(([name, { fix }]) => [name, fix]))).toEqual({
    [`folder:${unknown.path}`]: null,
    [`folder:${lost.path}`]: null,
    [`folder:${empty}`]: 'remove the empty folder',
    [`folder:${full}`]: null,
    'ref:refs/holdfast/odd/one': null,
    'fetch-refs': 'delete them',
    ports: 'free the ports',
  })
  expect(found[`folder:${lost.path}`]?.detail).toContain(other)
  expect(found.ports?.detail).toContain(String(port))
  for (const item of [`folder:${empty}`, 'fetch-refs', 'ports']) await repair(context, { item })
  expect([existsSync(empty), existsSync(join(full, 'file')), existsSync(lost.path)]).toEqual([false, true, true])
  expect(world.sh(repository, 'for-each-ref', '--format=%(refname)', 'refs/holdfast')).toBe('refs/holdfast/odd/one')
  expect((await problems(context)).filter(({ fix }) => fix !== null)).toEqual([])
  await expect(repair(context, { item: `folder:${full}` })).rejects.toMatchObject({ code: 'invalid_argument' })
})
