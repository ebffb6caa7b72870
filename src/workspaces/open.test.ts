import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { listTrees } from '../git/admin.ts'
import type { Git, GitCall } from '../git/git.ts'
import { readEvents } from './events.ts'
import { keyOf, repositoryFiles } from './layout.ts'
import { openWorkspace } from './open.ts'
import { readRecord } from './records.ts'

/** A git that tells each call before it is made; what that throws is what the call rejects with. */
function watched(git: Git, before: (call: GitCall) => void | Promise<void>): Git {
  return {
    run: async (call) => {
      await before(call)
      return git.run(call)
    },
    require: async (what, call) => {
      await before(call)
      return git.require(what, call)
    },
  }
}

/** A repository whose remote is one commit ahead of what is known here. */
function repositoryBehind(world: GitWorld): { readonly repo: string; readonly remote: string; readonly known: string; readonly newest: string } {
  const repo = world.repository('repo')
  const remote = world.remote(repo)
  const known = world.sh(repo, 'rev-parse', 'main')
  world.sh(world.folder, 'clone', '-q', remote, 'other')
  const newest = world.commit(world.path('other'), { 'README.md': 'two\n' })
  world.sh(world.path('other'), 'push', '-q', 'origin', 'main')
  rmSync(join(repo, '.git', 'FETCH_HEAD'), { force: true })
  return { repo, remote, known, newest }
}

const refsOf = (world: GitWorld, repo: string): string[] => world.sh(repo, 'for-each-ref', '--format=%(refname) %(objectname)').split('\n')

/** Nothing of a workspace is there: no tree, no record, no folder, no ref besides these. */
function expectNothing(world: GitWorld, repo: string, refs: readonly string[]): void {
  expect(listTrees(join(repo, '.git'))).toHaveLength(1)
  expect(existsSync(join(repo, '.git', 'worktrees'))).toBe(false)
  expect(refsOf(world, repo)).toEqual(refs)
  const { records } = repositoryFiles(join(repo, '.git'))
  expect(existsSync(records) ? readdirSync(records) : []).toEqual([])
  const root = world.path('workspaces')
  const folders = existsSync(root) ? readdirSync(root).filter((name) => !name.startsWith('.')) : []
  expect(folders.flatMap((name) => readdirSync(join(root, name)))).toEqual([])
}

it('a new branch begins at what was fetched, and no ref of the person moves', async () => {
  await using world = openGitWorld()
  const { repo, newest } = repositoryBehind(world)
  const before = refsOf(world, repo)
  const opened = await openWorkspace(world.context(), { repo, base: 'main', branch: 'work' })
  expect(opened).toMatchObject({ branch: 'work', created: true, kind: 'branch', isolation: 'worktree', copyOnWrite: false, warnings: [] })
  expect(opened.base).toEqual({ source: 'remote', ref: 'refs/heads/main', sha: newest, behind: 0, remoteError: null })
  expect(opened.actions.map((action) => action.name)).toEqual(['created'])
  expect(refsOf(world, repo)).toEqual([...before, `refs/heads/work ${newest}`].sort())
  expect(world.sh(opened.path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/work')
  expect(world.sh(opened.path, 'status', '--porcelain')).toBe('')
  expect(readFileSync(join(opened.path, 'README.md'), 'utf8')).toBe('two\n')
  // No upstream is set up, and no FETCH_HEAD is left.
  expect(world.sh(repo, 'config', '--list')).not.toContain('branch.work')
  expect(existsSync(join(repo, '.git', 'FETCH_HEAD'))).toBe(false)
  expect(statSync(world.path('workspaces')).mode & 0o777).toBe(0o700)
  expect(readRecord(join(repo, '.git'), keyOf({ branch: 'work' }))).toMatchObject({ state: 'ready', holder: null, id: opened.id, path: opened.path })
  expect(readEvents(join(repo, '.git'), keyOf({ branch: 'work' })).map((event) => event.name)).toEqual(['requested', 'fetched', 'created', 'ready'])
})

it('without a remote it begins at the local branch, and the answer says all that git said', async () => {
  await using world = openGitWorld()
  const { repo, remote, known } = repositoryBehind(world)
  rmSync(remote, { recursive: true })
  const opened = await openWorkspace(world.context(), { repo, base: 'main', branch: 'work' })
  expect(opened.base).toMatchObject({ source: 'local', ref: 'refs/heads/main', sha: known, behind: 0 })
  expect(opened.base.remoteError).toContain(remote)
})

it('a base that is nowhere is refused, and nothing is left', async () => {
  await using world = openGitWorld()
  const { repo } = repositoryBehind(world)
  const refs = refsOf(world, repo)
  await expect(openWorkspace(world.context(), { repo, base: 'no-such', branch: 'work' })).rejects.toMatchObject({ details: { reason: 'unknown_base' } })
  expectNothing(world, repo, refs)
})

it('a workspace that is open is given back as it is, with its uncommitted work, by at most two processes and without a fetch', async () => {
  await using world = openGitWorld()
  const { repo } = repositoryBehind(world)
  const calls: string[] = []
  const context = world.context({ git: watched(world.git, ({ args }) => void calls.push(args[0] ?? '')) })
  const first = await openWorkspace(context, { repo, branch: 'work' })
  writeFileSync(join(first.path, 'scratch'), 'mine')
  calls.length = 0
  const again = await openWorkspace(context, { repo, branch: 'work' })
  expect(again).toMatchObject({ id: first.id, path: first.path, created: false, actions: [], warnings: [] })
  expect(again.base).toMatchObject({ source: 'existing', ref: 'refs/heads/work', sha: first.base.sha, behind: 0 })
  expect(calls.length).toBeLessThanOrEqual(2)
  expect(calls).not.toContain('fetch')
  expect(readFileSync(join(first.path, 'scratch'), 'utf8')).toBe('mine')
})

it('a branch that is there resumes at its tip: it is not cut anew and nothing is fetched', async () => {
  await using world = openGitWorld()
  const { repo, known } = repositoryBehind(world)
  world.sh(repo, 'branch', 'work')
  const calls: string[] = []
  const context = world.context({ git: watched(world.git, ({ args }) => void calls.push(args[0] ?? '')) })
  const opened = await openWorkspace(context, { repo, base: 'main', branch: 'work' })
  expect(opened).toMatchObject({ created: false, base: { source: 'existing', ref: 'refs/heads/work', sha: known, behind: 0, remoteError: null } })
  expect(opened.actions.map((action) => action.name)).toEqual(['checked-out'])
  expect(calls).not.toContain('fetch')
  expect(calls).not.toContain('push')
  // How far it is behind is what is known here.
  world.sh(repo, 'fetch', '--quiet')
  const missing = Number(world.sh(repo, 'rev-list', '--count', 'work..origin/main'))
  expect(missing).toBeGreaterThan(0)
  expect((await openWorkspace(context, { repo, branch: 'work' })).base).toMatchObject({ source: 'existing', sha: known, behind: missing })
})

for (const [title, local, published, expected] of [
  ['behind what was published is moved forward', 0, 2, 'published'],
  ['ahead of what was published is kept', 2, 0, 'local'],
  ['where it was published is kept', 0, 0, 'local'],
] as const) {
  it(`a branch that is ${title}`, async () => {
    await using world = openGitWorld()
    const repo = world.repository('repo')
    world.sh(repo, 'remote', 'add', 'origin', world.path('nowhere'))
    const base = world.sh(repo, 'rev-parse', 'main')
    const tips = [world.commit(repo, { a: '1' }), world.commit(repo, { a: '2' })]
    const at = (count: number): string => (count === 0 ? base : (tips[count - 1] as string))
    world.sh(repo, 'update-ref', 'refs/heads/work', at(local))
    world.sh(repo, 'update-ref', 'refs/remotes/origin/work', at(published))
    const opened = await openWorkspace(world.context(), { repo, branch: 'work' })
    const tip = expected === 'local' ? at(local) : at(published)
    expect([world.sh(repo, 'rev-parse', 'work'), opened.base.sha, world.sh(opened.path, 'status', '--porcelain')]).toEqual([tip, tip, ''])
    expect(opened.actions.map((action) => action.name)).toEqual(local < published ? ['fast-forwarded', 'checked-out'] : ['checked-out'])
  })
}

it('a branch that diverged from what was published is refused, and neither is moved', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const local = world.commit(repo, { a: '1' })
  world.sh(repo, 'branch', 'work')
  world.sh(repo, 'reset', '-q', '--hard', 'HEAD~1')
  const published = world.commit(repo, { a: '2' })
  world.sh(repo, 'update-ref', 'refs/remotes/origin/work', published)
  const refs = refsOf(world, repo)
  await expect(openWorkspace(world.context(), { repo, branch: 'work' })).rejects.toMatchObject({ details: { reason: 'branch_diverged', local, published } })
  expectNothing(world, repo, refs)
})

it('a branch that is moved while it is opened is opened where it was moved to', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  world.sh(repo, 'branch', 'work')
  const moved = world.commit(repo, { a: '1' })
  let isMoved = false
  const git = watched(world.git, ({ args }) => {
    if (args[0] !== 'worktree' || isMoved) return
    isMoved = true
    world.sh(repo, 'update-ref', 'refs/heads/work', moved)
  })
  const opened = await openWorkspace(world.context({ git }), { repo, branch: 'work' })
  expect([opened.base.sha, world.sh(repo, 'rev-parse', 'work'), world.sh(opened.path, 'status', '--porcelain')]).toEqual([moved, moved, ''])
})

it('a branch that somebody makes while it is opened is theirs', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const theirs = world.sh(repo, 'commit-tree', '-m', 'other', 'main^{tree}')
  let isMade = false
  const git = watched(world.git, ({ args }) => {
    if (args[0] !== 'update-ref' || isMade) return
    isMade = true
    world.sh(repo, 'update-ref', 'refs/heads/work', theirs)
  })
  expect(await openWorkspace(world.context({ git }), { repo, branch: 'work' })).toMatchObject({ created: false, base: { source: 'existing', sha: theirs } })
})

it('a branch that is checked out elsewhere is refused, naming the place', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  world.sh(repo, 'worktree', 'add', '-q', '-b', 'work', world.path('mine'))
  await expect(openWorkspace(world.context(), { repo, branch: 'work' })).rejects.toMatchObject({
    details: { reason: 'branch_in_use', path: world.path('mine') },
  })
  await expect(openWorkspace(world.context(), { repo, branch: 'main' })).rejects.toMatchObject({ details: { reason: 'branch_in_use', path: repo } })
})

it('what fails on the way leaves no branch, no tree and no record', async () => {
  await using world = openGitWorld()
  const { repo } = repositoryBehind(world)
  const refs = refsOf(world, repo)
  const fails = (name: string) => (call: GitCall) => {
    if (call.args.join(' ').includes(name)) throw new Error('broken')
  }
  for (const step of ['worktree add', 'update-ref --no-deref -m holdfast refs/heads/work']) {
    const context = world.context({ git: watched(world.git, fails(step)) })
    await expect(openWorkspace(context, { repo, branch: 'work' }), step).rejects.toThrow('broken')
    expectNothing(world, repo, refs)
  }
  // git was ended after it had made the branch.
  const late = watched(world.git, async (call) => {
    if (call.args[0] !== 'update-ref' || call.args.includes('-d')) return
    await world.git.run(call)
    throw new Error('broken')
  })
  await expect(openWorkspace(world.context({ git: late }), { repo, branch: 'work' })).rejects.toThrow('broken')
  expectNothing(world, repo, refs)
  // The disk is full in the middle of the checkout.
  const full = watched(world.git, async ({ args }) => {
    if (args[0] !== 'worktree' || args[1] !== 'add') return
    await world.git.run({ args, cwd: join(repo, '.git') })
    throw new Error('broken')
  })
  await expect(openWorkspace(world.context({ git: full }), { repo, branch: 'work' })).rejects.toThrow('broken')
  expectNothing(world, repo, refs)
  expect((await openWorkspace(world.context(), { repo, branch: 'work' })).created).toBe(true)
})

it('a branch that moved since it was made is not deleted when its tree fails', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const other = world.sh(repo, 'commit-tree', '-m', 'other', 'main^{tree}')
  const git = watched(world.git, ({ args }) => {
    if (args[0] !== 'worktree') return
    world.sh(repo, 'update-ref', 'refs/heads/work', other)
    throw new Error('broken')
  })
  await expect(openWorkspace(world.context({ git }), { repo, branch: 'work' })).rejects.toThrow('broken')
  expect(world.sh(repo, 'rev-parse', 'work')).toBe(other)
})

it('canceled in the middle it leaves nothing', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const refs = refsOf(world, repo)
  for (const step of ['config', 'update-ref', 'worktree']) {
    const cancel = new AbortController()
    const git = watched(world.git, ({ args }) => {
      if (args[0] === step) cancel.abort()
    })
    await expect(openWorkspace(world.context({ git }), { repo, branch: 'work' }, { signal: cancel.signal }), step).rejects.toMatchObject({
      details: { reason: 'canceled' },
    })
    expectNothing(world, repo, refs)
  }
})

it('a file is written where git says so, and a hook of the repository is not run', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  writeFileSync(join(repo, '.git', 'hooks', 'post-checkout'), '#!/bin/sh\ntouch hook-ran\nexit 1\n', { mode: 0o755 })
  const opened = await openWorkspace(world.context(), { repo, branch: 'work' })
  expect([existsSync(join(opened.path, 'hook-ran')), existsSync(join(repo, 'hook-ran'))]).toEqual([false, false])
})

it('whatever the names are, each workspace has its own folder below the root', async () => {
  await using world = openGitWorld()
  const long = 'x'.repeat(120)
  const branches = ['ab/x', 'ab-x', 'AB_X', 'ünïcode/ŕ', `${long}/1`, `${long}/2`, '@at', 'a.b', 'con', 'feat/login', '日本語']
  const repositories = ['one/repo', 'two/repo'].map((name) => {
    mkdirSync(dirname(world.path(name)), { recursive: true })
    return world.repository(name)
  })
  const paths: string[] = []
  for (const repo of repositories) for (const branch of branches) paths.push((await openWorkspace(world.context(), { repo, branch })).path)
  expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(branches.length * repositories.length)
  for (const path of paths) {
    expect(dirname(dirname(path))).toBe(world.path('workspaces'))
    expect(basename(path).length).toBeLessThan(60)
  }
  const [repo] = repositories
  for (const branch of ['-d', '../escape', 'x..y', 'name.lock', 'HEAD', '', 'a b', 'refs/heads/x']) {
    await expect(openWorkspace(world.context(), { repo, branch }), branch).rejects.toMatchObject({ details: { reason: 'invalid_branch' } })
  }
  for (const branch of ['feat', 'feat/login/deep', 'FEAT/login']) {
    await expect(openWorkspace(world.context(), { repo, branch }), branch).rejects.toMatchObject({
      details: { reason: 'branch_name_conflict', with: 'feat/login' },
    })
  }
})

it('a branch with the name of a tag, or of a commit, is the branch', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const first = world.sh(repo, 'rev-parse', 'main')
  const second = world.commit(repo, { a: '1' })
  world.sh(repo, 'tag', 'work', first)
  world.sh(repo, 'branch', first, second)
  for (const branch of ['work', first]) {
    const opened = await openWorkspace(world.context(), { repo, branch })
    expect([world.sh(opened.path, 'rev-parse', 'HEAD'), world.sh(opened.path, 'symbolic-ref', 'HEAD')]).toEqual([second, `refs/heads/${branch}`])
  }
})

it('a root that is a link is the folder that it leads to, and one inside of a working tree is excluded there and said', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  mkdirSync(world.path('real'))
  symlinkSync(world.path('real'), world.path('link'))
  const linked = await openWorkspace(world.context({ root: world.path('link') }), { repo, branch: 'linked' })
  expect(dirname(dirname(linked.path))).toBe(world.path('real'))
  const inside = await openWorkspace(world.context({ root: join(repo, 'deep', 'trees') }), { repo, branch: 'inside' })
  expect(inside.warnings).toEqual([expect.stringContaining(`inside the working tree ${repo}`)])
  expect(world.sh(repo, 'status', '--porcelain')).toBe('')
  await openWorkspace(world.context({ root: join(repo, 'deep', 'trees') }), { repo, branch: 'again' })
  expect(readFileSync(join(repo, '.git', 'info', 'exclude'), 'utf8').match(/^\/deep\/trees\/$/gm)).toHaveLength(1)
})

it('a folder of the repository that leads elsewhere by a link is refused', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const first = await openWorkspace(world.context(), { repo, branch: 'one' })
  const folder = dirname(first.path)
  rmSync(folder, { recursive: true })
  mkdirSync(world.path('elsewhere'))
  symlinkSync(world.path('elsewhere'), folder)
  await expect(openWorkspace(world.context(), { repo, branch: 'two' })).rejects.toMatchObject({ details: { reason: 'not_owned', path: folder } })
  expect(readdirSync(world.path('elsewhere'))).toEqual([])
})

it('from a linked worktree, a folder in it and a bare repository the same workspace is meant', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo', { 'deep/file': 'x' })
  const first = await openWorkspace(world.context(), { repo, branch: 'work' })
  for (const from of [first.path, join(first.path, 'deep'), join(repo, '.git')]) {
    expect(await openWorkspace(world.context(), { repo: from, branch: 'work' }), from).toMatchObject({ id: first.id, path: first.path, actions: [] })
  }
  world.sh(world.folder, 'clone', '-q', '--bare', repo, 'bare.git')
  expect(await openWorkspace(world.context(), { repo: world.path('bare.git'), base: 'main', branch: 'main' })).toMatchObject({ created: false, branch: 'main' })
})

it('no repository, a repository without a commit, and neither a branch nor an operator are refused', async () => {
  await using world = openGitWorld()
  await expect(openWorkspace(world.context(), { repo: world.root, branch: 'work' })).rejects.toMatchObject({ details: { reason: 'not_a_repository' } })
  world.sh(world.folder, 'init', '-q', '-b', 'main', 'empty')
  await expect(openWorkspace(world.context(), { repo: world.path('empty'), branch: 'work' })).rejects.toMatchObject({ details: { reason: 'unborn_base' } })
  const repo = world.repository('repo')
  await expect(openWorkspace(world.context(), { repo })).rejects.toMatchObject({ details: { reason: 'invalid', field: 'branch' } })
  await expect(openWorkspace(world.context(), { repo, branch: 'a', operator: 'b' })).rejects.toMatchObject({
    details: { reason: 'invalid', field: 'operator' },
  })
})

it('a listener that throws stops nothing', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const heard: string[] = []
  const onProgress = (what: string): void => {
    heard.push(what)
    throw new Error('deaf')
  }
  const opened = await openWorkspace(world.context(), { repo, branch: 'work' }, { onProgress })
  expect(heard.some((what) => what.includes(opened.path))).toBe(true)
})
