import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { openLocalSite } from '../../test/support/local-site.ts'
import { openWorld } from '../../test/support/world.ts'
import type { AppContext } from './context.ts'
import { sendTree } from './send-tree.ts'

const busybox = (process.env.PATH ?? '')
  .split(':')
  .map((folder) => join(folder, 'busybox'))
  .find((path) => existsSync(path))

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

describe.each([
  ['whose input can be ended', true, 'tar'],
  ['whose input can be ended, by busybox', true, 'busybox'],
  ['whose input cannot be ended alone', false, 'tar'],
  // Its tar reads on behind the end of an archive.
  ['whose input cannot be ended alone, by busybox', false, 'busybox'],
] as const)('a copy to a site %s', (_, canEndInput, tools) => {
  async function open(world: ReturnType<typeof openWorld>) {
    const [tree, root, bin] = ['tree', 'copy', 'bin'].map((name) => world.path(name)) as [string, string, string]
    for (const folder of [tree, root, bin]) mkdirSync(folder)
    if (tools === 'busybox') for (const name of ['tar', 'sed', 'base64']) symlinkSync(busybox ?? '', join(bin, name))
    const env = { PATH: `${bin}:${process.env.PATH}` }
    const site = openLocalSite({ root, folder: world.path('site'), canEndInput, env, shell: tools === 'busybox' ? ['busybox', 'sh'] : ['sh'] })
    const context = { repositoryOf: () => undefined } as unknown as AppContext
    const send = (to: Pick<typeof site, 'open' | 'root' | 'title'>) =>
      sendTree(context, { site: to as typeof site, runFolder: (run: string) => world.path('kept', 'runs', run) }, tree, { title: 'box' })
    return { tree, root, site, send }
  }
  const isThere = tools !== 'busybox' || busybox !== undefined
  if (!isThere) console.warn('skipped: copies by busybox: there is none')

  it.skipIf(!isThere)('is whole, byte for byte, and there is nothing else', async () => {
    await using world = openWorld()
    const { tree, root, site, send } = await open(world)
    const warnings: Error[] = []
    const hear = (warning: Error): void => void warnings.push(warning)
    process.on('warning', hear)
    const sizes = [0, 1, 511, 512, 513, 7_000_001]
    for (const size of sizes) writeFileSync(join(tree, `file ${size}`), randomBytes(size))
    expect(await send(site)).toEqual([])
    expect(readdirSync(root).sort()).toEqual(readdirSync(tree).sort())
    for (const size of sizes) expect(readFileSync(join(root, `file ${size}`)).equals(readFileSync(join(tree, `file ${size}`)))).toBe(true)
    process.off('warning', hear)
    // Whoever waits for room again and again leaves no listeners behind.
    expect(warnings).toEqual([])
    await site[Symbol.asyncDispose]()
  })

  it.skipIf(!isThere)('that was cut between two files is no whole one, and is made again', async () => {
    await using world = openWorld()
    const { tree, root, site, send } = await open(world)
    for (const name of ['first', 'second', 'third']) writeFileSync(join(tree, name), 'x'.repeat(600))
    // The first file has a block for its name and two for its content.
    let left = 3 * 512
    const cut: Pick<typeof site, 'open' | 'root' | 'title'> = Object.create(site, {
      open: {
        value: async (request: Parameters<typeof site.open>[0]) => {
          const channel = await site.open(request)
          if (!request.argv.join(' ').includes('tar ')) return channel
          const stdin = new Writable({
            write(chunk: Buffer, _encoding, done) {
              const text = canEndInput ? chunk : Buffer.from(chunk.toString().replaceAll('\n', ''), 'base64')
              const part = text.subarray(0, left)
              left -= part.length
              if (part.length > 0) channel.stdin.write(canEndInput ? part : `${part.toString('base64')}\n`)
              if (left > 0) return done()
              if (canEndInput) channel.stdin.end()
              else channel.stdin.write('.\n.\n.\n')
              done(new Error('cut'))
            },
          })
          return Object.create(channel, { stdin: { value: stdin } })
        },
      },
    })
    await expect(send(cut)).rejects.toThrow(/a copy of the workspace/)
    expect(readdirSync(root)).toHaveLength(1)
    expect(await send(site)).toEqual([])
    expect(readdirSync(root).sort()).toEqual(['first', 'second', 'third'])
    await site[Symbol.asyncDispose]()
  })
})
