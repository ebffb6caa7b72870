import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { findTree, listHalfMadeTrees, listTrees, usesBranch } from './admin.ts'

it('every tree is told with its place, branch, commit and lock, as git itself tells them', async () => {
  await using world = openGitWorld()
  const repository = world.repository('one')
  const sha = world.sh(repository, 'rev-parse', 'HEAD')
  world.sh(repository, 'worktree', 'add', '-q', '-b', 'a/b', '--lock', '--reason', 'why not', world.path('at a'))
  world.sh(repository, 'worktree', 'add', '-q', '--detach', world.path('detached'))
  rmSync(world.path('detached'), { recursive: true })
  world.sh(repository, 'pack-refs', '--all')
  const none = { operation: null, operationBranch: null, movedBranches: [], lockReason: null }
  const common = join(repository, '.git')
  const admin = (name: string) => ({ name, adminDir: join(common, 'worktrees', name), isMain: false })
  const attached = { ...none, ...admin('at-a'), path: world.path('at a'), branch: 'a/b', commit: sha, lockReason: 'why not' }
  const detached = { ...none, ...admin('detached'), path: world.path('detached'), branch: null, commit: sha }
  expect(listTrees(common)).toEqual([
    { ...none, name: '', adminDir: common, path: repository, branch: 'main', commit: sha, isMain: true },
    ...readdirSync(join(common, 'worktrees')).map((name) => (name === 'detached' ? detached : attached)),
  ])
  expect(findTree(common, world.path('detached'))).toEqual(detached)
  expect(findTree(common, repository)?.isMain).toBe(true)
  expect(findTree(common, world.path('elsewhere'))).toBeUndefined()
})

it('a bare repository has no main tree, and one that was only said to be bare keeps it', async () => {
  await using world = openGitWorld()
  const repository = world.repository('one')
  world.sh(world.folder, 'clone', '-q', '--bare', repository, 'bare.git')
  expect(listTrees(world.path('bare.git'))).toEqual([])
  world.sh(repository, 'config', 'core.bare', 'true')
  expect(listTrees(join(repository, '.git')).map((tree) => tree.branch)).toEqual(['main'])
})

it('a tree that is found by another way to its place is the same tree', async () => {
  await using world = openGitWorld()
  const repository = world.repository('one')
  const common = join(repository, '.git')
  for (const place of ['x/tree', 'y/tree']) world.sh(repository, 'worktree', 'add', '-q', '--detach', world.path(place))
  symlinkSync(world.path('y'), world.path('z'))
  expect(findTree(common, world.path('z', 'tree'))?.path).toBe(world.path('y', 'tree'))
})

const operations: readonly { readonly name: string; readonly begin: string; readonly branch?: string }[] = [
  { name: 'rebase', begin: 'git rebase main', branch: 'work' },
  { name: 'rebase', begin: 'git rebase --apply main', branch: 'work' },
  { name: 'merge', begin: 'git merge main' },
  { name: 'cherry-pick', begin: 'git cherry-pick main' },
  { name: 'revert', begin: 'git revert HEAD~1' },
  { name: 'bisect', begin: 'git bisect start && git bisect bad && git bisect good HEAD~2', branch: 'work' },
]

for (const { name, begin, branch } of operations) {
  it(`a tree in the middle of "${begin}" says so, and which branch waits for its end`, async () => {
    await using world = openGitWorld()
    const repository = world.repository('one', { file: 'zero\n' })
    const tree = world.path('tree')
    world.sh(repository, 'worktree', 'add', '-q', '-b', 'work', tree)
    for (const text of ['one\n', 'two\n']) world.commit(tree, { file: text })
    world.commit(repository, { file: 'other\n' })
    const env = { ...world.env, GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b', GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b', GIT_EDITOR: 'true' }
    spawnSync('sh', ['-c', begin], { cwd: tree, env, timeout: 20_000 })
    const found = findTree(join(repository, '.git'), tree)
    expect(found).toMatchObject({ operation: name, operationBranch: branch ?? null })
    expect(found && usesBranch(found, 'work')).toBe(true)
    expect(found && usesBranch(found, 'main')).toBe(false)
  })
}

it('a branch that a rebase will move along is in use', async () => {
  await using world = openGitWorld()
  const repository = world.repository('one', { file: 'zero\n' })
  const tree = world.path('tree')
  world.sh(repository, 'worktree', 'add', '-q', '-b', 'work', tree)
  world.commit(tree, { other: 'one\n' })
  world.sh(tree, 'branch', 'lower')
  world.commit(tree, { file: 'two\n' })
  world.commit(repository, { file: 'other\n' })
  expect(() => world.sh(tree, 'rebase', '--update-refs', 'main')).toThrow()
  const found = findTree(join(repository, '.git'), tree)
  expect(found && usesBranch(found, 'lower')).toBe(true)
})

it('an administrative folder that names no place is told apart, with its lock', async () => {
  await using world = openGitWorld()
  const repository = world.repository('one')
  const half = join(repository, '.git', 'worktrees', 'half')
  mkdirSync(half, { recursive: true })
  writeFileSync(join(half, 'locked'), 'holdfast:0123456789:abc')
  expect(existsSync(join(half, 'gitdir'))).toBe(false)
  expect(listTrees(join(repository, '.git'))).toHaveLength(1)
  expect(listHalfMadeTrees(join(repository, '.git'))).toEqual([{ adminDir: half, lockReason: 'holdfast:0123456789:abc' }])
})
