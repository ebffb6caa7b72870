import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import { copyFiles } from './copy-files.ts'

function places(world: World): { source: string; target: string } {
  for (const name of ['source/a', 'target', 'outside']) mkdirSync(world.path(name), { recursive: true })
  return { source: world.path('source'), target: world.path('target') }
}

const file = (path: string, isSecret = false) => ({ path, isSecret })

it('a folder of the target that is a link is not written through', async () => {
  await using world = openWorld()
  const { source, target } = places(world)
  writeFileSync(join(source, 'a/f'), 'f')
  symlinkSync(world.path('outside'), join(target, 'a'))
  const { files, left } = await copyFiles({ source, target, files: [file('a/f')] })
  expect([files, [...left], readdirSync(world.path('outside'))]).toEqual([0, [['its folder is a link or a file in the tree', ['a/f']]], []])
})

it('a link of the target at the place of a file is not written through', async () => {
  await using world = openWorld()
  const { source, target } = places(world)
  for (const name of ['f', 's']) {
    writeFileSync(join(source, name), 'new')
    symlinkSync(world.path('outside', name), join(target, name))
  }
  const { files, left } = await copyFiles({ source, target, files: [file('f'), file('s', true)] })
  expect([files, [...left], readdirSync(world.path('outside'))]).toEqual([0, [['it is there already', ['f', 's']]], []])
})

it('what cannot be read is told, the rest is copied, and a file that was in its place stays', async () => {
  await using world = openWorld()
  const { source, target } = places(world)
  for (const name of ['a/one', 'a/two', 'gone']) writeFileSync(join(source, name), name)
  writeFileSync(join(target, 'gone'), 'own work')
  const { files, left } = await copyFiles({ source, target, files: [file('a/one'), file('missing'), file('gone'), file('a/two')] })
  expect([files, Object.fromEntries(left)]).toEqual([2, { 'it cannot be copied (ENOENT)': ['missing'], 'it is there already': ['gone'] }])
  expect([readFileSync(join(target, 'gone'), 'utf8'), readFileSync(join(target, 'a/two'), 'utf8')]).toEqual(['own work', 'a/two'])
})

it('folders are made as they are, and their owner can write in them', async () => {
  await using world = openWorld()
  const { source, target } = places(world)
  writeFileSync(join(source, 'a/f'), 'f')
  chmodSync(join(source, 'a'), 0o550)
  await copyFiles({ source, target, files: [file('a/f')] })
  expect(statSync(join(target, 'a')).mode & 0o777).toBe(0o750)
  chmodSync(join(source, 'a'), 0o750)
})

it('a large file is copied whole, and a secret is for its owner alone whatever its source allows', async () => {
  await using world = openWorld()
  const { source, target } = places(world)
  const content = Buffer.alloc(3 * 1024 ** 2, 'large ')
  writeFileSync(join(source, 'large'), content)
  writeFileSync(join(source, 'secret'), 's', { mode: 0o666 })
  const { files, bytes } = await copyFiles({ source, target, files: [file('large'), file('secret', true)] })
  expect([files, bytes, readFileSync(join(target, 'large')).equals(content)]).toEqual([2, content.length + 1, true])
  expect(lstatSync(join(target, 'secret')).mode & 0o777).toBe(0o600)
})

it('others have their turn while many files are copied', async () => {
  await using world = openWorld()
  const { source, target } = places(world)
  const files = Array.from({ length: 4_000 }, (_, number) => file(`a/${number}`))
  for (const { path } of files) writeFileSync(join(source, path), 'x')
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await copyFiles({ source, target, files })
  clearInterval(timer)
  expect(turns).toBeGreaterThan(3)
  expect(existsSync(join(target, 'a/3999'))).toBe(true)
})
