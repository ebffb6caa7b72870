import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { type GitRepository, openRepository } from './open.ts'
import { checkBranchFits, countMissing, createRef, deleteRef, findRef, findRefs, isAncestor, moveRef } from './refs.ts'

async function open(world: GitWorld, folder = world.repository('a')): Promise<GitRepository> {
  return openRepository(world.context(), folder)
}
const head = (world: GitWorld, repo: GitRepository): string => world.sh(repo.mainRoot, 'rev-parse', 'HEAD')

it('a ref is found by its full name alone, and one that is not there is undefined', async () => {
  await using world = openGitWorld()
  const repo = await open(world)
  world.sh(repo.mainRoot, 'branch', 'a/b')
  world.sh(repo.mainRoot, 'symbolic-ref', 'refs/heads/other', 'refs/heads/main')
  const sha = head(world, repo)
  expect(await findRef(repo, 'refs/heads/main')).toBe(sha)
  for (const name of ['main', 'refs/heads/a', 'refs/heads', 'refs/heads/mai', 'refs/heads/none']) expect(await findRef(repo, name)).toBeUndefined()
  expect([...(await findRefs(repo, ['refs/heads/main', 'refs/heads/other', 'refs/heads/none']))]).toEqual([
    ['refs/heads/main', { sha, symref: null, isCommit: true }],
    ['refs/heads/other', { sha, symref: 'refs/heads/main', isCommit: true }],
  ])
})

it.each([
  ['was emptied', ''],
  ['names a commit that is not there', `${'1'.repeat(40)}\n`],
  ['holds something else', 'x\n'],
])('a branch whose file %s is broken and never absent, and what its reflog says is proposed', async (_, content) => {
  await using world = openGitWorld()
  const repo = await open(world)
  world.sh(repo.mainRoot, 'branch', 'b')
  const sha = head(world, repo)
  writeFileSync(join(repo.commonDir, 'refs', 'heads', 'b'), content)
  const error = { code: 'failed_precondition', details: { reason: 'branch_broken', branch: 'b', proposed: sha } }
  await expect(findRef(repo, 'refs/heads/b')).rejects.toMatchObject(error)
  await expect(findRefs(repo, ['refs/heads/main', 'refs/heads/b'])).rejects.toMatchObject(error)
  await expect(createRef(repo, 'refs/heads/b', sha)).rejects.toMatchObject(error)
  // What is broken elsewhere keeps nobody from a branch.
  mkdirSync(join(repo.commonDir, 'refs', 'remotes', 'o'), { recursive: true })
  writeFileSync(join(repo.commonDir, 'refs', 'remotes', 'o', 'x'), content)
  expect([...(await findRefs(repo, ['refs/heads/main', 'refs/remotes/o/x'])).keys()]).toEqual(['refs/heads/main'])
})

it('of many that make the same ref exactly one succeeds, and the others are told where it is', async () => {
  await using world = openGitWorld()
  const repo = await open(world)
  const sha = head(world, repo)
  const commits = Array.from({ length: 8 }, (_, index) => world.sh(repo.mainRoot, 'commit-tree', '-m', String(index), `${sha}^{tree}`))
  const made = await Promise.allSettled(commits.map((commit) => createRef(repo, 'refs/heads/new', commit)))
  const winner = made.findIndex(({ status }) => status === 'fulfilled')
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await findRef(repo, 'refs/heads/new')).toBe(commits[winner])
  for (const result of made) {
    if (result.status === 'rejected')
      expect(result.reason).toMatchObject({ details: { reason: 'branch_moved', branch: 'new', expected: 'nothing', found: commits[winner] } })
  }
})

it('a ref is moved and deleted only from where it was expected', async () => {
  await using world = openGitWorld()
  const repo = await open(world)
  const first = head(world, repo)
  const second = world.commit(repo.mainRoot, { two: 'two' })
  await createRef(repo, 'refs/heads/b', first)
  const moved = { code: 'conflict', details: { reason: 'branch_moved', branch: 'b', expected: second, found: first } }
  await expect(moveRef(repo, 'refs/heads/b', first, second)).rejects.toMatchObject(moved)
  await expect(deleteRef(repo, 'refs/heads/b', second)).rejects.toMatchObject(moved)
  await moveRef(repo, 'refs/heads/b', second, first)
  expect(await findRef(repo, 'refs/heads/b')).toBe(second)
  await deleteRef(repo, 'refs/heads/b', second)
  await deleteRef(repo, 'refs/heads/b', second)
  expect(await findRef(repo, 'refs/heads/b')).toBeUndefined()
  await expect(moveRef(repo, 'refs/heads/b', second, first)).rejects.toMatchObject({ details: { reason: 'branch_moved', found: 'nothing' } })
})

it('a new branch is refused beside one whose name is a folder of it, or that differs in case only', async () => {
  await using world = openGitWorld()
  const repo = await open(world)
  for (const name of ['a', 'x/y', 'Case', 'caf\u00e9']) world.sh(repo.mainRoot, 'branch', name)
  const conflict = (branch: string, other: string) =>
    expect(checkBranchFits(repo, branch)).rejects.toMatchObject({ code: 'conflict', details: { reason: 'branch_name_conflict', branch, with: other } })
  await conflict('a/b', 'a')
  await conflict('x', 'x/y')
  await conflict('case', 'Case')
  await conflict('CASE/deep', 'Case')
  await conflict('cafe\u0301', 'caf\u00e9')
  for (const branch of ['ab', 'x/z', 'x/y', 'casebook', 'y/x']) await checkBranchFits(repo, branch)
  // Who comes between the look and the making is told the same.
  const sha = head(world, repo)
  await expect(createRef(repo, 'refs/heads/a/b', sha)).rejects.toMatchObject({ details: { reason: 'branch_name_conflict', with: 'a' } })
  await expect(createRef(repo, 'refs/heads/x', sha)).rejects.toMatchObject({ details: { reason: 'branch_name_conflict', with: 'x/y' } })
})

it('what one commit holds of another is told, and of a history that is cut off a no is none', async () => {
  await using world = openGitWorld()
  const repo = await open(world)
  const first = head(world, repo)
  const second = world.commit(repo.mainRoot, { two: 'two' })
  world.sh(repo.mainRoot, 'checkout', '--quiet', '-b', 'side', first)
  const side = world.commit(repo.mainRoot, { side: 'side' })
  expect(await Promise.all([isAncestor(repo, first, second), isAncestor(repo, second, first), isAncestor(repo, side, second)])).toEqual([true, false, false])
  expect(await Promise.all([countMissing(repo, first, second), countMissing(repo, second, first), countMissing(repo, second, second)])).toEqual([1, 0, 0])
  await expect(isAncestor(repo, first, '1'.repeat(40))).rejects.toMatchObject({ details: { reason: 'git_failed' } })
  expect(await countMissing(repo, first, '1'.repeat(40))).toBeNull()

  world.sh(world.folder, 'clone', '--quiet', '--depth=1', '--no-single-branch', `file://${repo.mainRoot}`, 'shallow')
  const shallow = await openRepository(world.context(), world.path('shallow'))
  expect(await isAncestor(shallow, side, second)).toBe('unknown')
  expect(await isAncestor(shallow, first, second)).toBe('unknown')
  expect(await countMissing(shallow, side, second)).toBeNull()
})

it('a replacement that somebody planted does not change what a commit holds', async () => {
  await using world = openGitWorld()
  const repo = await open(world)
  const first = head(world, repo)
  const second = world.commit(repo.mainRoot, { two: 'two' })
  const orphan = world.sh(repo.mainRoot, 'commit-tree', '-m', 'x', `${first}^{tree}`)
  world.sh(repo.mainRoot, 'replace', '--graft', orphan, second)
  expect(world.sh(repo.mainRoot, 'rev-list', '--count', orphan)).toBe('3')
  writeFileSync(join(repo.commonDir, 'info', 'grafts'), `${orphan} ${second}\n`)
  expect(await isAncestor(repo, first, orphan)).toBe(false)
  expect(await countMissing(repo, first, orphan)).toBe(1)
})
