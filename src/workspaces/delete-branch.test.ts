import { describe, expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { deleteWorkspaceBranch } from './delete-branch.ts'
import { openWorkspace } from './open.ts'

function withBranch(world: GitWorld, commits: readonly Record<string, string>[]) {
  const repo = world.repository('repository', { a: '1\n2\n3\n4\n5\n' })
  world.sh(repo, 'checkout', '--quiet', '-b', 'work')
  for (const files of commits) world.commit(repo, files)
  const tip = world.sh(repo, 'rev-parse', 'HEAD')
  world.sh(repo, 'checkout', '--quiet', 'main')
  const context = world.context({ base: repo })
  return { repo, tip, context, remove: (into?: readonly string[]) => deleteWorkspaceBranch(context, { branch: 'work', repo, into }) }
}

const two = [{ b: 'b\n' }, { c: 'c\n' }]

describe('a branch that is deleted', () => {
  it.each<[string, readonly Record<string, string>[], (world: GitWorld, repo: string) => void, string]>([
    ['at the same commit', [], () => {}, 'same-commit'],
    ['that was merged', two, (world, repo) => world.sh(repo, 'merge', '--quiet', '--no-ff', 'work'), 'ancestor'],
    ['whose changes undo each other', [{ a: 'x\n' }, { a: '1\n2\n3\n4\n5\n' }], (world, repo) => world.commit(repo, { d: 'd' }), 'no-changes'],
    ['whose changes are part of larger ones', [{ a: 'x\n2\n3\n4\n5\n' }], (world, repo) => world.commit(repo, { a: 'x\n2\n3\n4\ny\n' }), 'merge-adds-nothing'],
    ['with the very same files', two, (world, repo) => world.commit(repo, { b: 'b\n', c: 'c\n' }), 'same-tree'],
    [
      'that was picked commit by commit, and changed since',
      two,
      (world, repo) => {
        world.commit(repo, { d: 'd' })
        world.sh(repo, 'cherry-pick', 'main..work')
        world.commit(repo, { b: 'changed\n', c: 'changed\n' })
      },
      'same-patch',
    ],
    [
      'that was squashed, and changed since',
      two,
      (world, repo) => {
        world.commit(repo, { d: 'd' })
        world.commit(repo, { b: 'b\n', c: 'c\n' })
        world.commit(repo, { b: 'changed\n', c: 'changed\n' })
      },
      'same-patch',
    ],
  ])('%s goes, and its tip is kept', async (_, commits, integrate, how) => {
    await using world = openGitWorld()
    const { repo, tip, remove } = withBranch(world, commits)
    integrate(world, repo)
    const deleted = await remove()
    expect(deleted).toMatchObject({ outcome: 'deleted', tip, why: `refs/heads/main holds it (${how})` })
    expect(world.sh(repo, 'rev-parse', `${deleted.kept}`)).toBe(tip)
    expect(world.sh(repo, 'for-each-ref', 'refs/heads/work')).toBe('')
    expect(await remove()).toMatchObject({ outcome: 'deleted', tip: null, kept: null })
  })

  it('goes when it was published', async () => {
    await using world = openGitWorld()
    const { repo, remove } = withBranch(world, two)
    world.remote(repo)
    world.sh(repo, 'push', '--quiet', 'origin', 'work')
    expect(await remove()).toMatchObject({ outcome: 'deleted', why: 'refs/remotes/origin/work holds it (same-commit)' })
  })

  it('is retained where something of it is nowhere else', async () => {
    await using world = openGitWorld()
    const { repo, tip, remove } = withBranch(world, two)
    world.commit(repo, { b: 'b\n' })
    expect(await remove()).toMatchObject({ outcome: 'retained-unmerged', tip, kept: null })
    expect(world.sh(repo, 'rev-parse', 'work')).toBe(tip)
  })

  it('is retained where it is checked out, or set aside for a rebase', async () => {
    await using world = openGitWorld()
    const { repo, context, remove } = withBranch(world, [{ a: 'x\n' }])
    const { path } = await openWorkspace(context, { repo, branch: 'work', remotePolicy: 'local' })
    expect(await remove(['refs/heads/work'])).toMatchObject({ outcome: 'retained-checked-out', why: expect.stringContaining(path) })
    world.commit(repo, { a: 'y\n' })
    expect(() => world.sh(path, 'rebase', 'main')).toThrow()
    expect(await remove(['refs/heads/work'])).toMatchObject({ outcome: 'retained-checked-out', why: expect.stringContaining('rebase') })
  })

  it('is retained where it moves in that moment', async () => {
    await using world = openGitWorld()
    const { repo, context } = withBranch(world, [])
    let moved = ''
    const git: typeof world.git = {
      ...world.git,
      run(call) {
        if (call.args.includes('-d') && call.args.includes('refs/heads/work') && moved === '') {
          moved = world.sh(repo, 'commit-tree', '-m', 'new', '-p', 'work', 'work^{tree}')
          world.sh(repo, 'update-ref', 'refs/heads/work', moved)
        }
        return world.git.run(call)
      },
    }
    expect(await deleteWorkspaceBranch({ ...context, git }, { branch: 'work', repo })).toMatchObject({ outcome: 'retained-raced', kept: null })
    expect(world.sh(repo, 'rev-parse', 'work')).toBe(moved)
    expect(world.sh(repo, 'for-each-ref', 'refs/holdfast')).toBe('')
  })
})
