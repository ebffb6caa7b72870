import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { createGit } from './git.ts'
import { openRepository } from './open.ts'
import { publishedRef, reconcile } from './publication.ts'

/** Four commits: `first`, then `second` and `third` on it, and `side`, which only has `first` before it. */
async function open(world: GitWorld) {
  const folder = world.repository('a')
  const first = world.sh(folder, 'rev-parse', 'HEAD')
  const second = world.commit(folder, { two: 'two' })
  const third = world.commit(folder, { three: 'three' })
  const side = world.sh(folder, 'commit-tree', '-p', first, '-m', 'side', `${first}^{tree}`)
  const repo = await openRepository(world.context(), folder)
  const set = (local: string, published: string): void => {
    world.sh(folder, 'update-ref', 'refs/heads/work', local)
    world.sh(folder, 'update-ref', 'refs/remotes/origin/work', published)
  }
  const both = (): string[] => ['refs/heads/work', 'refs/remotes/origin/work'].map((ref) => world.sh(folder, 'rev-parse', ref))
  return { folder, repo, first, second, third, side, set, both }
}

it('a branch that is behind what was published is brought there, and only the branch moves', async () => {
  await using world = openGitWorld()
  const { repo, first, third, set, both } = await open(world)
  set(first, third)
  expect(await publishedRef(repo, 'origin', 'work')).toEqual({ ref: 'refs/remotes/origin/work', sha: third })
  expect(await reconcile(repo, 'work', 'origin', () => true)).toBe('fast-forwarded')
  expect(both()).toEqual([third, third])
})

it('a branch that is ahead, equal, unpublished or not there stays as it is', async () => {
  await using world = openGitWorld()
  const { repo, folder, second, third, set, both } = await open(world)
  set(third, second)
  expect(await reconcile(repo, 'work', 'origin', () => true)).toBe('ahead')
  expect(both()).toEqual([third, second])
  set(second, second)
  expect(await reconcile(repo, 'work', 'origin', () => true)).toBe('equal')
  world.sh(folder, 'update-ref', '-d', 'refs/remotes/origin/work')
  expect(await publishedRef(repo, 'origin', 'work')).toBeUndefined()
  expect(await reconcile(repo, 'work', 'origin', () => true)).toBe('unpublished')
  expect(await reconcile(repo, 'none', 'origin', () => true)).toBe('unpublished')
  expect(world.sh(folder, 'rev-parse', 'work')).toBe(second)
})

it('a branch that diverged is refused with both tips, and neither is rewritten', async () => {
  await using world = openGitWorld()
  const { repo, side, third, set, both } = await open(world)
  set(side, third)
  await expect(reconcile(repo, 'work', 'origin', () => true)).rejects.toMatchObject({
    code: 'conflict',
    details: { reason: 'branch_diverged', branch: 'work', local: side, published: third, remote: 'refs/remotes/origin/work' },
  })
  expect(both()).toEqual([side, third])
})

it('a branch that a worktree has, or that stands for another one, is not moved', async () => {
  await using world = openGitWorld()
  const { repo, folder, first, third, set, both } = await open(world)
  set(first, third)
  expect(await reconcile(repo, 'work', 'origin', () => false)).toBe('in-use')
  expect(both()).toEqual([first, third])
  world.sh(folder, 'branch', 'real', first)
  world.sh(folder, 'symbolic-ref', 'refs/heads/work', 'refs/heads/real')
  expect(await reconcile(repo, 'work', 'origin', () => true)).toBe('in-use')
  expect(world.sh(folder, 'rev-parse', 'real')).toBe(first)
})

it('a commit that comes to the branch at the last moment survives, and is told', async () => {
  await using world = openGitWorld()
  const { folder, first, third, side, set, both } = await open(world)
  set(first, third)
  const git = createGit({
    runProgram: (request) => {
      if (request.argv.includes('update-ref')) world.sh(folder, 'update-ref', 'refs/heads/work', side)
      return world.runProgram(request)
    },
    ownEnv: world.env,
  })
  const repo = await openRepository({ git, settings: { trusted: [] } }, folder)
  await expect(reconcile(repo, 'work', 'origin', () => true)).rejects.toMatchObject({
    details: { reason: 'branch_moved', branch: 'work', expected: first, found: side, retryable: true },
  })
  expect(both()).toEqual([side, third])
})

it('where history is cut off nothing is said to have diverged, and the branch stays', async () => {
  await using world = openGitWorld()
  const { folder, side, third } = await open(world)
  world.sh(folder, 'branch', 'side', side)
  world.sh(folder, 'branch', 'work', third)
  world.sh(world.folder, 'clone', '--quiet', '--depth=1', '--no-single-branch', `file://${folder}`, 'shallow')
  world.sh(world.path('shallow'), 'branch', '--quiet', '--no-track', 'work', 'origin/side')
  const repo = await openRepository(world.context(), world.path('shallow'))
  expect(await reconcile(repo, 'work', 'origin', () => true)).toBe('unknown')
  expect(world.sh(world.path('shallow'), 'rev-parse', 'work')).toBe(side)
})
