import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { type Random, random } from '../../test/support/random.ts'
import { openWorld } from '../../test/support/world.ts'
import { errnoOf } from '../core/errors.ts'
import { isInside } from '../core/paths.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { directoryOpeners } from './directory.ts'
import { createHostFiles } from './host-files.ts'

const machine = { self: identifySelf(), isAlive }
const names = ['a', 'b', 'c']
const secret = 'stands outside\n'

interface Tree extends AsyncDisposable {
  path(...parts: string[]): string
}

/** A world for links that lead to each other, which are never followed when it goes. */
function openTree(): Tree {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'holdfast-test-')))
  return { path: (...parts) => join(folder, ...parts), [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** Directories and files inside and outside of `ws`, and links between all of them, some to nothing, some to each other. */
function plant(world: Tree, { int, pick }: Random): void {
  const folders = ['ws', 'outside']
  for (let i = 0; i < 8; i += 1) folders.push(join(pick(folders), pick(names)))
  for (const folder of folders) mkdirSync(world.path(folder), { recursive: true })
  for (let i = 0; i < 12; i += 1) {
    const folder = pick(folders)
    const path = world.path(folder, `${pick(names)}${int(0, 3)}`)
    try {
      if (int(0, 3) === 0) writeFileSync(path, folder.startsWith('ws') ? 'inside\n' : secret, { flag: 'wx' })
      else symlinkSync(pick([() => somewhere(pick, int), () => world.path(pick(folders)), () => `${'../'.repeat(int(0, 4))}${pick(folders)}`])(), path)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
    }
  }
}

const somewhere = (pick: Random['pick'], int: Random['int']): string =>
  Array.from({ length: int(1, 4) }, () => pick(['..', pick(names), `${pick(names)}${int(0, 3)}`, `${pick(names)}${int(0, 3)}`])).join('/')

/** What the system says to a path, in our words. */
function truthOf(root: string, path: string): readonly string[] {
  try {
    const real = realpathSync.native(`${root}/${path}`)
    return [isInside(root, real) ? real : 'file_outside']
  } catch (error) {
    // A way that fails outside is not told apart from one that ends there.
    return [{ ENOENT: 'file_missing', ENOTDIR: 'file_kind', ELOOP: 'file_loop' }[errnoOf(error) ?? ''] ?? String(error), 'file_outside']
  }
}

/** Everything in a folder with its content. Node's own recursion follows links. */
function everythingIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return [path, ...everythingIn(path)]
    return [`${path} ${entry.isFile() ? readFileSync(path, 'utf8') : readlinkSync(path)}`]
  })
}

it.each(['handles', 'paths'] as const)('in random trees of links every path leads where the system says, by %s', async (way) => {
  const seen = new Map<string, number>()
  for (let seed = 1; seed <= 60; seed += 1) {
    await using world = openTree()
    const chance = random(seed)
    plant(world, chance)
    const root = world.path('ws')
    const files = createHostFiles({ root, machine, opener: directoryOpeners[way] })
    const paths = Array.from({ length: 40 }, () => somewhere(chance.pick, chance.int)).filter((path) => isInside(root, join(root, path)))
    for (const path of paths) {
      const truth = truthOf(root, path)
      const found = await files.canonicalPath(path).catch((error: { details: { reason: string } }) => error.details.reason)
      // A way that goes above the root by its text, and back, is refused for its text.
      expect([...truth, ...(goesAbove(path) ? ['file_outside'] : [])], `seed ${seed}, ${path}`).toContain(found)
      const kind = found.startsWith('/') ? 'inside' : found
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }
    const before = everythingIn(world.path('outside')).sort()
    for (const path of paths) {
      const read = await files.readText(path).catch(() => ({ text: '' }))
      expect(read.text, `seed ${seed}, ${path}`).not.toBe(secret)
      const act = chance.pick(['write', 'append', 'mkdir', 'remove'] as const)
      await (act === 'write' || act === 'append'
        ? files[act](path, 'new')
        : act === 'mkdir'
          ? files.mkdir(path)
          : files.remove(path, { recursive: true })
      ).catch(() => {})
    }
    expect(everythingIn(world.path('outside')).sort(), `seed ${seed}`).toEqual(before)
  }
  for (const kind of ['inside', 'file_outside', 'file_missing', 'file_kind', 'file_loop']) expect(seen.get(kind), kind).toBeGreaterThan(1)
})

function goesAbove(path: string): boolean {
  let depth = 0
  return path.split('/').some((name) => {
    depth += name === '..' ? -1 : 1
    return depth < 0
  })
}

it('what is written by way of a dangling link is where the system would have put it', async () => {
  await using world = openWorld()
  mkdirSync(world.path('ws/sub'), { recursive: true })
  symlinkSync('../sub/./made', world.path('ws/sub/link'))
  const files = createHostFiles({ root: world.path('ws'), machine })
  await files.write('sub/link', 'by us')
  expect(readFileSync(world.path('ws/sub/link'), 'utf8')).toBe('by us')
  expect(dirname(realpathSync.native(world.path('ws/sub/link')))).toBe(world.path('ws/sub'))
})
