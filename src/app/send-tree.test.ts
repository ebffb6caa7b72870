import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { openLocalSite } from '../../test/support/local-site.ts'
import type { AppContext } from './context.ts'
import { sendTree } from './send-tree.ts'

it('a copy of a repository has what git tracks and would track, also below other repositories in it, and no state of git', async () => {
  await using world = openGitWorld()
  const tree = world.repository('tree', { 'a/file': 'tracked', '.gitignore': 'skipped\n' })
  const library = world.repository('library', { 'lib/part': 'of a submodule', '.gitignore': 'built\n' })
  world.sh(tree, 'submodule', 'add', '--quiet', library, 'vendor')
  renameSync(world.repository('nested', { 'in/side': 'of a repository' }), join(tree, 'nested'))
  mkdirSync(join(tree, 'skipped'))
  for (const [name, text] of [
    ['a/file', 'changed'],
    ['new', 'untracked'],
    ['skipped/x', ''],
    ['vendor/built', ''],
    ['nested/fresh', 'untracked, too'],
  ] as const)
    writeFileSync(join(tree, name), text)
  const root = world.path('copy')
  mkdirSync(root)
  const site = openLocalSite({ root, folder: world.path('site') })
  const context = {
    workspaces: { openTools: async () => ({ runProgram: world.runProgram }) },
    ownEnv: world.env,
    repositoryOf: () => ({ root: tree }),
  } as unknown as AppContext
  const place = { site, runFolder: (run: string) => world.path('kept', 'runs', run) }
  expect(await sendTree(context, place, tree, { title: 'box' })).toEqual([])
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
  expect(Object.fromEntries(files.sort().map((name) => [name, readFileSync(join(root, name), 'utf8')]))).toMatchObject({
    '.gitignore': 'skipped\n',
    'a/file': 'changed',
    'nested/fresh': 'untracked, too',
    'nested/in/side': 'of a repository',
    new: 'untracked',
    'vendor/.gitignore': 'built\n',
    'vendor/lib/part': 'of a submodule',
  })
  expect(files.filter((name) => /skipped|built|\.git\//.test(`${name}/`))).toEqual([])
  // Once is enough.
  writeFileSync(join(root, 'new'), 'changed there')
  await sendTree(context, place, tree, { title: 'box' })
  expect(readFileSync(join(root, 'new'), 'utf8')).toBe('changed there')
  await site[Symbol.asyncDispose]()
})
