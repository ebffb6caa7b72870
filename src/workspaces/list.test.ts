import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import type { Git } from '../git/git.ts'
import type { WorkspaceContext } from './context.ts'
import { keyOf, repositoryFiles } from './layout.ts'
import { listWorkspaces } from './list.ts'
import { writeRecord } from './records.ts'

/** Whoever starts git with it fails. */
const noGit: Git = {
  run: (call) => Promise.reject(new Error(`git was started: ${call.args.join(' ')}`)),
  require: (what) => Promise.reject(new Error(`git was started: ${what}`)),
}

const filesOnly = (world: GitWorld, overrides: Partial<WorkspaceContext> = {}): WorkspaceContext => world.context({ git: noGit, ...overrides })

it('a plain list says what is checked out and how each stands, without a git process', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = filesOnly(world, { base: repository })
  const sha = world.sh(repository, 'rev-parse', 'HEAD')
  const made = makeWorkspace(world, context, repository, 'feat/a', { createdAt: '2026-01-01T00:00:00Z' })
  makeWorkspace(world, context, repository, 'detached', { createdAt: '2026-01-02T00:00:00Z' })
  const detached = (await listWorkspaces(context, {}))[1]!
  world.sh(detached.path, 'checkout', '--quiet', '--detach')
  world.sh(repository, 'pack-refs', '--all')
  expect(await listWorkspaces(context, {})).toEqual([
    {
      ...{ id: made.record.id, kind: 'branch', path: made.path, repository: made.commonDir, branch: 'feat/a', operator: null, state: 'ready' },
      ...{ base: made.record.base, head: sha, headBranch: null, ahead: null, behind: null, dirty: null, operation: null, locked: null, setup: null },
      ...{ running: [], bytes: null, ports: [], overlay: null, createdAt: '2026-01-01T00:00:00Z', usedAt: made.record.usedAt, warnings: [] },
    },
    expect.objectContaining({ branch: 'detached', head: sha, headBranch: null, warnings: ['it is detached and not on detached'] }),
  ])
})

it('a look at the trees adds how far each is from its base, what is dirty, and what it takes', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path } = makeWorkspace(world, context, repository, 'a')
  world.commit(repository, { base: '1' })
  world.commit(path, { one: '1' })
  world.commit(path, { two: '2' })
  writeFileSync(join(path, 'one'), '2')
  writeFileSync(join(path, 'untracked'), Buffer.alloc(500_000, 'x'))
  const [row] = await listWorkspaces(context, { status: true, bytes: true })
  expect(row).toMatchObject({ ahead: 2, behind: 1, dirty: { staged: 0, changed: 1, untracked: 1, conflicted: 0 }, warnings: [] })
  expect(row!.bytes).toBeGreaterThan(500_000)
  expect(row!.bytes).toBeLessThan(700_000)
})

it('what was fetched to begin at is not counted as work of the workspace', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const remote = world.remote(repository)
  const other = world.path('other')
  world.sh(world.folder, 'clone', '--quiet', remote, other)
  const sha = world.commit(other, { theirs: '1' })
  world.sh(other, 'push', '--quiet', 'origin', 'main')
  world.sh(repository, 'fetch', '--quiet', '--refmap=', 'origin', 'main')
  const context = world.context({ base: repository })
  const { path } = makeWorkspace(world, context, repository, 'a', { base: { source: 'remote', ref: 'refs/heads/main', sha, behind: 0, remoteError: null } })
  world.sh(path, 'reset', '--quiet', '--hard', sha)
  world.commit(path, { ours: '1' })
  expect((await listWorkspaces(context, { status: true }))[0]).toMatchObject({ ahead: 1, behind: 0 })
})

it('of a branch that was there its commits count as its own, and one that is its own base has no distance', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path, record, commonDir } = makeWorkspace(world, context, repository, 'a')
  const sha = world.commit(path, { before: '1' })
  const base = { ...record.base, source: 'existing' as const, ref: 'refs/heads/a', sha }
  writeRecord(commonDir, keyOf({ branch: 'a' }), { ...record, base })
  expect((await listWorkspaces(context, { status: true }))[0]).toMatchObject({ ahead: 1, behind: 0 })
  writeRecord(commonDir, keyOf({ branch: 'a' }), { ...record, base, baseName: 'a' })
  expect((await listWorkspaces(context, { status: true }))[0]).toMatchObject({ ahead: null, behind: null, warnings: [] })
})

it('a tree that is gone, forgotten, locked by somebody, on another branch or in a rebase is shown as that', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { f: '1\n' })
  const context = world.context({ base: repository })
  const trees = Object.fromEntries(
    ['gone', 'forgotten', 'locked', 'elsewhere', 'rebasing', 'no-file'].map((name) => [name, makeWorkspace(world, context, repository, name)]),
  )
  const path = (name: string): string => trees[name]!.path
  rmSync(path('gone'), { recursive: true })
  world.sh(repository, 'worktree', 'unlock', path('forgotten'))
  world.sh(repository, 'worktree', 'remove', path('forgotten'))
  mkdirSync(path('forgotten'))
  world.sh(repository, 'worktree', 'unlock', path('locked'))
  world.sh(repository, 'worktree', 'lock', '--reason', 'agent 4711 running', path('locked'))
  world.sh(path('elsewhere'), 'checkout', '--quiet', '-b', 'another')
  world.commit(path('rebasing'), { f: '2\n' })
  world.commit(repository, { f: '3\n' })
  expect(() => world.sh(path('rebasing'), 'rebase', 'main')).toThrow()
  rmSync(join(path('no-file'), '.git'))
  const rows = Object.fromEntries((await listWorkspaces(context, { status: true })).map((row) => [row.branch, row]))
  expect(rows.gone).toMatchObject({ state: 'missing', dirty: null, warnings: [expect.stringContaining('open the workspace again')] })
  expect(rows.forgotten).toMatchObject({ state: 'unregistered', dirty: null, warnings: [expect.stringContaining('does not know')] })
  expect(rows.locked).toMatchObject({ state: 'ready', locked: 'agent 4711 running', warnings: [] })
  expect(rows.elsewhere).toMatchObject({ headBranch: 'another', locked: null, warnings: ['another is checked out and not elsewhere'] })
  expect(rows.rebasing).toMatchObject({ operation: 'rebase', headBranch: null, dirty: { conflicted: 1 }, warnings: [] })
  expect(rows['no-file']).toMatchObject({ state: 'ready', dirty: { changed: 0 }, warnings: [expect.stringContaining('.git is gone')] })
})

it('what cannot be found out of one tree is a warning of its row, and the others are whole', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const commands = {
    ...world.context().commands,
    running: async ({ branch }: { branch: string | null }) => (branch === 'bad' ? Promise.reject(new Error('no leases')) : [{ run: 'r1', command: 'make' }]),
  }
  const context = world.context({ base: repository, commands })
  const { path } = makeWorkspace(world, context, repository, 'bad', { createdAt: '2026-01-01T00:00:00Z' })
  makeWorkspace(world, context, repository, 'good')
  writeFileSync(join(world.sh(path, 'rev-parse', '--absolute-git-dir'), 'index'), 'no index')
  const [bad, good] = await listWorkspaces(context, { status: true })
  expect(bad).toMatchObject({ dirty: null, running: [], warnings: [expect.stringContaining('no leases'), expect.stringContaining('index')] })
  expect(good).toMatchObject({ dirty: { staged: 0 }, running: [{ run: 'r1', command: 'make' }], warnings: [] })
})

it('with all, every repository with a tree below the root is listed, and trees of one that is gone are told', async () => {
  await using world = openGitWorld()
  const [one, two, three] = [world.repository('one'), world.repository('two'), world.repository('three')]
  const context = filesOnly(world)
  const first = makeWorkspace(world, context, one, 'a')
  const second = makeWorkspace(world, context, two, 'a')
  const third = makeWorkspace(world, context, three, 'a')
  rmSync(three, { recursive: true })
  const told: string[] = []
  const listed = await listWorkspaces(context, { all: true }, (warning) => told.push(warning))
  expect(listed.map(({ id }) => id).sort()).toEqual([first.record.id, second.record.id].sort())
  expect(told).toEqual([expect.stringContaining(third.path)])
  await expect(listWorkspaces(context, {})).rejects.toMatchObject({ details: { reason: 'not_a_repository' } })
})

it('from inside of a repository that moved its workspaces are listed, and each says that it has to be mended', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const { record } = makeWorkspace(world, filesOnly(world), repository, 'a')
  renameSync(repository, world.path('moved'))
  const told: string[] = []
  const rows = await listWorkspaces(filesOnly(world, { base: world.path('moved') }), { all: true }, (warning) => told.push(warning))
  expect(rows).toMatchObject([{ id: record.id, repository: world.path('moved', '.git'), warnings: [expect.stringContaining('moved from')] }])
  expect(told).toEqual([])
})

it('500 workspaces are listed in less than a second, by their files alone', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = filesOnly(world, { base: repository })
  const first = makeWorkspace(world, context, repository, 'w0')
  const admin = join(first.commonDir, 'worktrees')
  for (let n = 1; n < 500; n++) {
    const path = `${first.path}-${n}`
    const to = join(admin, `w${n}`)
    for (const folder of [to, path]) mkdirSync(folder)
    writeFileSync(join(to, 'commondir'), '../..\n')
    writeFileSync(join(path, '.git'), `gitdir: ${to}\n`)
    writeFileSync(join(to, 'gitdir'), `${path}/.git\n`)
    writeFileSync(join(to, 'HEAD'), `ref: refs/heads/w${n}\n`)
    appendFileSync(join(first.commonDir, 'packed-refs'), `${first.record.base.sha} refs/heads/w${n}\n`)
    const id = n.toString(16).padStart(10, '0')
    writeFileSync(join(to, 'locked'), `holdfast:${id}:${first.record.nonce}\n`)
    const record = { ...first.record, id, branch: `w${n}`, path }
    writeFileSync(repositoryFiles(first.commonDir).record(keyOf({ branch: `w${n}` })), JSON.stringify(record))
  }
  const times: number[] = []
  for (let round = 0; round < 3; round++) {
    const started = performance.now()
    const rows = await listWorkspaces(context, { all: true })
    times.push(performance.now() - started)
    expect(rows).toHaveLength(500)
    expect(
      rows.every(({ head, locked, state, warnings }) => head === first.record.base.sha && locked === null && state === 'ready' && warnings.length === 0),
    ).toBe(true)
  }
  expect(Math.min(...times)).toBeLessThan(1_000)
}, 60_000)

it('no commit fails while the state is asked for all the time', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path, record } = makeWorkspace(world, context, repository, 'a')
  let isOver = false
  let looks = 0
  const polling = (async () => {
    while (!isOver) {
      const rows = await listWorkspaces(context, { status: true })
      expect(rows[0]?.dirty).not.toBeNull()
      looks++
    }
  })()
  const env = { ...world.env, GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.org' }
  const run = promisify(execFile)
  try {
    for (let n = 0; n < 30; n++) {
      writeFileSync(join(path, 'f'), String(n))
      await run('git', ['add', 'f'], { cwd: path, env })
      await run('git', ['commit', '--quiet', '-m', String(n)], { cwd: path, env })
    }
  } finally {
    isOver = true
  }
  await polling
  expect(looks).toBeGreaterThan(3)
  expect(world.sh(path, 'rev-list', '--count', `${record.base.sha}..HEAD`)).toBe('30')
})
