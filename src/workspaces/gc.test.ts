import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import type { WorkspaceContext } from './context.ts'
import { readEvents } from './events.ts'
import { collectWorkspaces } from './gc.ts'
import { reservePorts } from './ports.ts'
import { readRecord, writeRecord } from './records.ts'

const dayMs = 86_400_000

/** So many days later. Files keep the times that they have. */
const later = (context: WorkspaceContext, days: number): WorkspaceContext => ({ ...context, now: () => new Date(Date.now() + days * dayMs) })

/** Names, kinds, modes, times and content of all that is below the folders. */
function fingerprint(...folders: string[]): string {
  const hash = createHash('sha256')
  const add = (path: string): void => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    hash.update(`${path}\0${found?.mode}\0${found?.mtimeMs}\0`)
    if (found?.isSymbolicLink()) hash.update(readlinkSync(path))
    else if (found?.isFile()) hash.update(readFileSync(path))
    else if (found?.isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name))
  }
  for (const folder of folders) add(folder)
  return hash.digest('hex')
}

function someWorkspaces(world: GitWorld) {
  const repository = world.repository('r', { f: '1\n' })
  const commands = {
    ...world.context().commands,
    running: async ({ branch }: { branch: string | null }) => (branch === 'running' ? [{ run: 'r1', command: 'npm test' }] : []),
  }
  const context = world.context({ base: repository, commands })
  const names = ['idle', 'dirty', 'untracked', 'ahead', 'detached', 'running', 'locked'] as const
  const made = Object.fromEntries(names.map((name) => [name, makeWorkspace(world, context, repository, name)])) as Record<
    (typeof names)[number],
    ReturnType<typeof makeWorkspace>
  >
  writeFileSync(join(made.dirty.path, 'f'), '2\n')
  writeFileSync(join(made.untracked.path, 'new'), '2\n')
  world.commit(made.ahead.path, { f: '3\n' })
  world.sh(made.detached.path, 'checkout', '--quiet', '--detach')
  world.commit(made.detached.path, { f: '4\n' })
  world.sh(repository, 'worktree', 'unlock', made.locked.path)
  world.sh(repository, 'worktree', 'lock', '--reason', 'on a portable device', made.locked.path)
  return { repository, context, made }
}

it('what was not used for long and loses nothing is released, and all else is kept, each with why', async () => {
  await using world = openGitWorld()
  const { repository, context, made } = someWorkspaces(world)
  const { released, kept } = await collectWorkspaces(later(context, 8), {})
  const why = Object.fromEntries(kept.map(({ id, why: text }) => [id, text]))
  // The branch keeps its commits.
  expect(released.map(({ id }) => id).sort()).toEqual([made.idle.record.id, made.ahead.record.id].sort())
  expect(released[0]).toMatchObject({ why: 'not used for 8 days', rescue: null })
  expect(why).toEqual({
    [made.dirty.record.id]: expect.stringContaining('1 changed file'),
    [made.untracked.record.id]: expect.stringContaining('1 untracked file'),
    [made.detached.record.id]: expect.stringContaining('1 commit on no branch'),
    [made.running.record.id]: 'commands run in it: npm test',
    [made.locked.record.id]: 'locked: on a portable device',
  })
  expect(existsSync(made.idle.path)).toBe(false)
  expect(readRecord(made.idle.commonDir, made.idle.key)).toBeUndefined()
  expect(readEvents(made.idle.commonDir, made.idle.key).map(({ name }) => name)).toEqual(expect.arrayContaining(['released', 'gc']))
  for (const name of ['dirty', 'untracked', 'detached', 'running', 'locked'] as const) expect(existsSync(join(made[name].path, 'f')), name).toBe(true)
  expect(world.sh(repository, 'branch', '--list', 'idle', 'ahead', '--format=%(refname:short)').split('\n')).toEqual(['ahead', 'idle'])
})

it('a dry run makes the same plan and changes nothing', async () => {
  await using world = openGitWorld()
  const { repository, context, made } = someWorkspaces(world)
  const past = { pid: 2 ** 22 + 1, startTime: '1' }
  await reservePorts({ ...context, machine: { ...context.machine, self: past } }, { id: 'gone456789', count: 1 })
  world.sh(repository, 'update-ref', 'refs/holdfast/fetch/1700000000000-1-0123456789abcdef', 'HEAD')
  const before = fingerprint(repository, context.root)
  const dry = await collectWorkspaces(later(context, 8), { dryRun: true })
  expect(fingerprint(repository, context.root)).toBe(before)
  expect(dry.tidied.map(({ what }) => what).sort()).toEqual(['fetched commits', 'ports'])
  const wet = await collectWorkspaces(later(context, 8), {})
  expect(wet).toEqual({ ...dry, dryRun: false })
  expect(existsSync(made.idle.path)).toBe(false)
  expect(await collectWorkspaces(later(context, 8), {})).toMatchObject({ released: [], tidied: [] })
})

it('nothing is released that is younger than a day, was used a while ago, is being made or is at work', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { key, record, commonDir, path } = makeWorkspace(world, context, repository, 'a')
  const reasonsAfter = async (days: number) => (await collectWorkspaces(later(context, days), { dryRun: true })).kept.map(({ why }) => why)
  expect(await reasonsAfter(0.5)).toEqual(['it is younger than a day'])
  expect(await reasonsAfter(3)).toEqual(['used 3 days ago; it counts as idle after 7 days'])
  expect(await reasonsAfter(8)).toEqual([])
  const old = { ...record, createdAt: '2020-01-01T00:00:00.000Z', usedAt: '2020-01-01T00:00:00.000Z' }
  writeRecord(commonDir, key, old)
  // Its index and its HEAD were written just now, whatever the record says.
  expect(await reasonsAfter(0)).toEqual(['used 0 h ago; it counts as idle after 7 days'])
  writeRecord(commonDir, key, { ...old, state: 'releasing', holder: context.machine.self })
  expect(await reasonsAfter(8)).toEqual(['another process is at work on it (releasing)'])
  writeRecord(commonDir, key, { ...old, state: 'creating' })
  expect(await reasonsAfter(8)).toEqual([expect.stringContaining('its making was cut short')])
  writeRecord(commonDir, key, old)
  writeFileSync(join(world.sh(path, 'rev-parse', '--absolute-git-dir'), 'index'), 'damaged')
  expect(await reasonsAfter(8)).toEqual([expect.stringContaining('could not be found out')])
})

it('one whose folder is gone is forgotten when it is idle, and its commits that no branch has are kept', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const whole = makeWorkspace(world, context, repository, 'whole')
  const lone = makeWorkspace(world, context, repository, 'lone')
  world.sh(lone.path, 'checkout', '--quiet', '--detach')
  world.commit(lone.path, { f: '1' })
  for (const { path } of [whole, lone]) rmSync(path, { recursive: true })
  const { released, kept } = await collectWorkspaces(later(context, 8), {})
  expect(released.map(({ id }) => id)).toEqual([whole.record.id])
  expect(kept).toEqual([{ id: lone.record.id, why: expect.stringContaining('1 commit on no branch') }])
})

it('with all, every repository with a tree below the root is looked through', async () => {
  await using world = openGitWorld()
  const context = world.context()
  const ids = ['one', 'two'].map((name) => makeWorkspace(world, context, world.repository(name), 'a').record.id)
  mkdirSync(join(context.root, 'stray', 'folder'), { recursive: true })
  const { released } = await collectWorkspaces(later(context, 8), { all: true })
  expect(released.map(({ id }) => id).sort()).toEqual(ids.sort())
  expect(existsSync(join(context.root, 'stray', 'folder'))).toBe(true)
  await expect(collectWorkspaces(context, {})).rejects.toMatchObject({ details: { reason: 'not_a_repository' } })
})
