import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import { findArtifacts } from './artifacts.ts'
import type { WorkspaceContext } from './context.ts'
import { readEvents } from './events.ts'
import { collectWorkspaces } from './gc.ts'
import { readRecord, writeRecord } from './records.ts'

const dayMs = 86_400_000
const later = (context: WorkspaceContext): WorkspaceContext => ({ ...context, now: () => new Date(Date.now() + 30 * dayMs) })
const tag = 'Signature: 8a477f597d28d172789f06886806bc55\n'

function fill(path: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
}

function some(world: GitWorld, part: Partial<WorkspaceContext> = {}) {
  const repository = world.repository('r', { '.gitignore': 'node_modules\ntarget\ndist\nvendored/__pycache__\n.venv\nlogs\n', 'src/a.ts': 'a\n' })
  const context = world.context({ base: repository, ...part })
  const made = makeWorkspace(world, context, repository, 'work')
  return { repository, context, made, path: made.path }
}

it('what git ignores as a whole and a tool fills again is found, wherever it is, and nothing else', async () => {
  await using world = openGitWorld()
  const { context, path } = some(world)
  fill(path, { 'kept/.venv/in-git': '1\n' })
  world.sh(path, 'add', '--force', 'kept/.venv/in-git')
  fill(path, {
    'node_modules/a/index.js': '',
    'packages/b/node_modules/c/index.js': '',
    'target/CACHEDIR.TAG': tag,
    'other/target/result': 'no tag',
    'dist/result.js': '',
    'logs/today': '',
    'kept/.venv/new': 'beside a file of git',
    '__pycache__/untracked': 'not ignored',
    'src/node_modules/mine/.git/HEAD': 'ref: refs/heads/main\n',
    'src/node_modules/mine/work': '',
  })
  symlinkSync(join(path, 'logs'), join(path, '.venv'))
  expect(await findArtifacts(context, { path })).toEqual(['node_modules', 'packages/b/node_modules', 'target'])
})

it('they are taken away from a workspace that was not used for long, whose work stays, and its setup is run again', async () => {
  await using world = openGitWorld()
  const { context, made, path } = some(world)
  const setup = { command: 'npm ci', state: 'done', attempt: 2, run: 'r1', ended: 'exit 0', holder: null } as const
  writeRecord(made.commonDir, made.key, { ...made.record, options: { ...made.record.options, setup: 'npm ci' }, setup })
  fill(path, { 'node_modules/a/index.js': '', 'logs/today': '1\n', 'new.ts': 'mine\n', 'src/a.ts': 'changed\n' })
  const before = world.sh(path, 'status', '--porcelain')

  const young = await collectWorkspaces(context, { artifacts: true })
  expect([young.cleared, young.kept]).toEqual([[], [{ id: made.record.id, why: 'it is younger than a day' }]])
  const planned = await collectWorkspaces(later(context), { artifacts: true, dryRun: true })
  expect(planned).toMatchObject({ dryRun: true, released: [], cleared: [{ id: made.record.id, folders: ['node_modules'] }] })
  expect([existsSync(join(path, 'node_modules')), readRecord(made.commonDir, made.key)?.setup?.state]).toEqual([true, 'done'])

  const { cleared, released, kept } = await collectWorkspaces(later(context), { artifacts: true })
  expect([cleared, released, kept]).toEqual([[{ id: made.record.id, folders: ['node_modules'] }], [], []])
  expect(readdirSync(path).sort()).toEqual(['.git', '.gitignore', 'logs', 'new.ts', 'src'])
  expect(world.sh(path, 'status', '--porcelain')).toBe(before)
  expect(readRecord(made.commonDir, made.key)).toMatchObject({ state: 'ready', setup: { state: 'pending', attempt: 0 } })
  expect(readEvents(made.commonDir, made.key).at(-1)).toMatchObject({ name: 'cleared', facts: { folders: 'node_modules' } })
  expect((await collectWorkspaces(later(context), { artifacts: true })).kept).toEqual([{ id: made.record.id, why: expect.stringContaining('nothing in it') }])
})

it('nothing is taken from under a command that runs, also where it began after the look', async () => {
  await using world = openGitWorld()
  let looks = 0
  const running = async () => (looks++ === 0 ? [] : [{ run: 'r1', command: 'npm test' }])
  const { context, made, path } = some(world, { commands: { ...world.context().commands, running } })
  fill(path, { 'node_modules/a/index.js': '' })
  for (const why of ['something came to run in it', 'commands run in it: npm test']) {
    expect(await collectWorkspaces(later(context), { artifacts: true })).toMatchObject({ cleared: [], kept: [{ id: made.record.id, why }] })
  }
  expect(existsSync(join(path, 'node_modules/a/index.js'))).toBe(true)
})
