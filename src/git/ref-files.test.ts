import { appendFileSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import type { ProgramRequest } from '../core/program.ts'
import { readSettings } from './features.ts'
import { createGit } from './git.ts'
import { openRepository } from './open.ts'
import { namesBelow, possibleRefs } from './ref-files.ts'
import { checkBranchFits, findRefs } from './refs.ts'

/** A repository whose calls of git are counted. */
async function counted(world: GitWorld) {
  const calls: ProgramRequest[] = []
  const runProgram: typeof world.runProgram = (request) => {
    calls.push(request)
    return world.runProgram(request)
  }
  const git = createGit({ runProgram, ownEnv: world.env })
  const repo = await openRepository(world.context({ git }), world.repository('a'))
  await git.run({ args: ['version'], cwd: repo.commonDir })
  calls.splice(0)
  return { repo, made: () => calls.splice(0).length }
}

it('what files say is not there is looked for without a process, and what may be there is asked of git', async () => {
  await using world = openGitWorld()
  const { repo, made } = await counted(world)
  const { commonDir } = repo
  for (const name of ['loose', 'packed', 'deep/er']) world.sh(repo.mainRoot, 'branch', name)
  world.sh(repo.mainRoot, 'tag', '-a', '-m', 'x', 'tagged')
  world.sh(repo.mainRoot, 'pack-refs', '--all')
  world.sh(repo.mainRoot, 'branch', '--force', 'loose', 'main')
  world.sh(repo.mainRoot, 'branch', 'new')
  world.sh(repo.mainRoot, 'symbolic-ref', 'refs/heads/dangling', 'refs/heads/none')
  const there = ['refs/heads/loose', 'refs/heads/packed', 'refs/heads/deep/er', 'refs/heads/new', 'refs/heads/dangling', 'refs/tags/tagged']
  const absent = ['refs/heads/none', 'refs/heads/deep', 'refs/heads/deep/e', 'refs/heads/packed/x', 'refs/heads/new/x', 'refs/tags/main', 'refs/remotes/o/main']
  expect(possibleRefs(commonDir, [...there, ...absent])).toEqual(there)
  // Those that git alone knows the place of.
  expect(possibleRefs(commonDir, ['HEAD', 'refs/bisect/bad', 'refs/heads/none'])).toEqual(['HEAD', 'refs/bisect/bad'])
  expect((await findRefs(repo, absent)).size).toBe(0)
  expect(made()).toBe(0)
  const found = await findRefs(repo, ['refs/heads/packed', 'refs/tags/tagged', ...absent])
  expect([...found].map(([name, { isCommit }]) => [name, isCommit])).toEqual([
    ['refs/heads/packed', true],
    ['refs/tags/tagged', false],
  ])
  expect(made()).toBe(1)
})

it('the refs below a folder are those that git lists, from single files and from the packed one', async () => {
  await using world = openGitWorld()
  const { repo, made } = await counted(world)
  const { commonDir } = repo
  for (const name of ['b', 'c/d']) world.sh(repo.mainRoot, 'branch', name)
  world.sh(repo.mainRoot, 'pack-refs', '--all')
  for (const name of ['c/e', 'f']) world.sh(repo.mainRoot, 'branch', name)
  mkdirSync(join(commonDir, 'refs/heads/left/over'), { recursive: true })
  writeFileSync(join(commonDir, 'refs/heads/g.lock'), '')
  const listed = world.sh(repo.mainRoot, 'for-each-ref', '--format=%(refname)', 'refs/heads/').split('\n')
  expect(listed).toHaveLength(5)
  expect([...(namesBelow(commonDir, 'refs/heads/') ?? [])].sort()).toEqual(listed.sort())
  expect(namesBelow(commonDir, 'refs/none/')).toEqual([])
  await expect(checkBranchFits(repo, 'c')).rejects.toMatchObject({ details: { reason: 'branch_name_conflict' } })
  await expect(checkBranchFits(repo, 'b/x')).rejects.toMatchObject({ details: { reason: 'branch_name_conflict', with: 'b' } })
  expect(made()).toBe(0)
  symlinkSync('b', join(commonDir, 'refs/heads/link'))
  expect(namesBelow(commonDir, 'refs/heads/')).toBeUndefined()
})

it.each([
  ['are kept in another way', ({ commonDir }: { commonDir: string }) => mkdirSync(join(commonDir, 'reftable'))],
  [
    'are configured to be kept in another way',
    ({ commonDir }: { commonDir: string }) => appendFileSync(join(commonDir, 'config'), '[extensions]\n\trefStorage = x\n'),
  ],
  ['are more than are read here', ({ commonDir }: { commonDir: string }) => writeFileSync(join(commonDir, 'packed-refs'), '#\n'.repeat(600_000))],
])('where refs %s, git is asked', async (_, change) => {
  await using world = openGitWorld()
  const { commonDir } = await openRepository(world.context(), world.repository('a'))
  expect(possibleRefs(commonDir, ['refs/heads/none'])).toEqual([])
  expect(namesBelow(commonDir, 'refs/heads/')).toEqual(['refs/heads/main'])
  change({ commonDir })
  expect(possibleRefs(commonDir, ['refs/heads/none'])).toEqual(['refs/heads/none'])
  expect(namesBelow(commonDir, 'refs/heads/')).toBeUndefined()
})

it('the configuration is read again whenever a file of it changed, and each time where it includes others', async () => {
  await using world = openGitWorld()
  const { repo, made } = await counted(world)
  const config = join(repo.commonDir, 'config')
  const url = async (): Promise<string | undefined> => (await readSettings(repo)).get('remote.o.url')
  expect(await url()).toBeUndefined()
  world.sh(repo.mainRoot, 'config', 'remote.o.url', '/a')
  made()
  expect(await url()).toBe('/a')
  expect(await url()).toBe('/a')
  expect(made()).toBe(1)
  world.sh(repo.mainRoot, 'config', 'remote.o.url', '/b')
  // Also where somebody hides that it was.
  utimesSync(config, new Date(0), new Date(0))
  expect(await url()).toBe('/b')
  const other = world.path('other')
  writeFileSync(other, '[remote "o"]\n\turl = /c\n')
  world.sh(repo.mainRoot, 'config', 'include.path', other)
  expect(await url()).toBe('/c')
  writeFileSync(other, '[remote "o"]\n\turl = /d\n')
  expect(await url()).toBe('/d')
})
