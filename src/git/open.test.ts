import { chownSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { inTree, openRepository } from './open.ts'

it.each(['sha1', 'sha256'])('a repository of %s is the same from its top, a folder in it, its git folder and a linked worktree', async (format) => {
  await using world = openGitWorld()
  const folder = world.path('a')
  world.sh(world.folder, 'init', '--quiet', `--object-format=${format}`, '--initial-branch=main', folder)
  world.commit(folder, { 'deep/er/file': 'x\n' })
  const tree = world.path('elsewhere', 'tree')
  world.sh(folder, 'worktree', 'add', '--quiet', tree)
  const places = [folder, join(folder, 'deep', 'er'), join(folder, '.git', 'refs'), tree, join(tree, 'deep')]
  const opened = await Promise.all(places.map((place) => openRepository(world.context(), place)))
  expect(opened.map(({ commonDir, mainRoot, isBare }) => [commonDir, mainRoot, isBare])).toEqual(places.map(() => [join(folder, '.git'), folder, false]))
  expect(opened.map(({ root }) => root)).toEqual([folder, folder, folder, tree, tree])
  expect(opened.at(-1)?.gitDir).toBe(join(folder, '.git', 'worktrees', 'tree'))
  const head = await opened[3]?.require('asking', ['rev-parse', 'HEAD'])
  expect(head?.stdout.trim()).toHaveLength(format === 'sha1' ? 40 : 64)
})

it('a bare repository has no checkout, also seen from its worktrees and when it is named .git', async () => {
  await using world = openGitWorld()
  const source = world.repository('source')
  for (const bare of [world.path('a.git'), world.path('around', '.git')]) {
    world.sh(world.folder, 'clone', '--quiet', '--bare', source, bare)
    const tree = world.path('around', `tree-of-${bare.length}`)
    world.sh(bare, 'worktree', 'add', '--quiet', tree, 'main')
    const found = await Promise.all([bare, tree].map((place) => openRepository(world.context(), place)))
    expect(found.map(({ commonDir, isBare, root }) => [commonDir, isBare, root])).toEqual([
      [bare, true, null],
      [bare, true, tree],
    ])
    expect((await found[0]?.require('asking', ['rev-parse', 'refs/heads/main']))?.stdout.trim()).toBe(world.sh(source, 'rev-parse', 'HEAD'))
  }
})

it('a setting that calls a checkout bare does not make it go away', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  world.sh(folder, 'config', 'core.bare', 'true')
  expect(await openRepository(world.context(), folder)).toMatchObject({ isBare: false, root: folder, mainRoot: folder })
})

it('a git folder that lies apart and a submodule are found by their checkouts', async () => {
  await using world = openGitWorld()
  const source = world.repository('source')
  world.sh(world.folder, 'clone', '--quiet', '--separate-git-dir', world.path('data'), source, 'apart')
  expect(await openRepository(world.context(), world.path('apart'))).toMatchObject({ commonDir: world.path('data'), isBare: false, root: world.path('apart') })
  const outer = world.repository('outer')
  world.sh(outer, 'submodule', '--quiet', 'add', source, 'sub')
  const sub = await openRepository(world.context(), join(outer, 'sub'))
  expect(sub).toMatchObject({ commonDir: join(outer, '.git', 'modules', 'sub'), mainRoot: join(outer, 'sub'), isBare: false })
})

it('where there is no repository that is said with the words of git, also for a link that leads nowhere', async () => {
  await using world = openGitWorld()
  const refused = (path: string) => expect(openRepository(world.context(), path)).rejects
  await refused(world.root).toMatchObject({
    code: 'not_found',
    details: { reason: 'not_a_repository', git: { stderr: expect.stringContaining('not a git repository') } },
  })
  await refused(world.path('no', 'such', 'folder')).toMatchObject({ details: { reason: 'not_a_repository' } })
  mkdirSync(world.path('broken'))
  writeFileSync(world.path('broken', '.git'), `gitdir: ${world.path('gone')}\n`)
  await refused(world.path('broken')).toMatchObject({ details: { reason: 'not_a_repository' } })
})

it.skipIf(process.geteuid?.() !== 0)('the repository of another user is refused, unless the person trusts it', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  chownSync(folder, 12345, 12345)
  const open = (trusted: readonly string[]) => openRepository({ git: world.git, settings: { trusted } }, folder)
  await expect(open([])).rejects.toMatchObject({
    code: 'permission_denied',
    details: { reason: 'dubious_ownership', path: folder, remedy: expect.any(String) },
  })
  await expect(open([world.path('other')])).rejects.toMatchObject({ details: { reason: 'dubious_ownership' } })
  const repo = await open([folder])
  expect((await inTree(repo.git, folder).run(['status', '--porcelain'])).exitCode).toBe(0)
  expect((await inTree(world.git, folder).run(['status', '--porcelain'])).stderr).toContain('dubious ownership')
  writeFileSync(join(world.home, '.gitconfig'), `[safe]\n\tdirectory = ${folder}\n`)
  expect((await open([])).mainRoot).toBe(folder)
  const asked = await inTree(world.git, folder).run(['status', '--porcelain'])
  expect([asked.exitCode, asked.stderr]).toEqual([0, ''])
})

it('with the folder of its own state, a tree is that of its registration, wherever its link leads', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const other = world.repository('other')
  const tree = world.path('tree')
  world.sh(folder, 'worktree', 'add', '--quiet', tree)
  rmSync(join(tree, '.git'))
  renameSync(join(other, '.git'), join(tree, '.git'))
  const adminDir = join(folder, '.git', 'worktrees', 'tree')
  expect((await inTree(world.git, tree, adminDir).require('asking', ['rev-parse', '--absolute-git-dir'])).stdout.trim()).toBe(adminDir)
})
