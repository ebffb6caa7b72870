import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { openWorld, type World } from '../../test/support/world.ts'

// Root may do everything, so that what is denied is tried as somebody else.
const isRoot = process.getuid?.() === 0
const nobody = 65534
const user = isRoot ? nobody : (process.getuid?.() ?? 0)

const program = `
import { createHostFiles } from './src/files/host-files.ts'
import { identifySelf, isAlive } from './src/process/identity.ts'
const [, , root, act, path] = process.argv
const files = createHostFiles({ root: root!, machine: { self: identifySelf(), isAlive } })
const calls = { write: () => files.write(path!, 'new'), append: () => files.append(path!, '+new'), readText: () => files.readText(path!), list: () => files.list(path!) }
const result = await calls[act as keyof typeof calls]().catch((error) => ({ error: error.details?.reason ?? String(error) }))
console.log(JSON.stringify(result))
`

interface Place extends AsyncDisposable {
  readonly world: World
  as(act: 'write' | 'append' | 'readText' | 'list', path: string): Record<string, unknown>
  /** A file of that user, with the content `old`. */
  put(path: string, mode: number, owner?: number): string
  folder(path: string, mode: number): string
}

async function openPlace(): Promise<Place> {
  const world = openWorld()
  const file = await bundle(program, world.path('program.mjs'))
  chmodSync(world.folder, 0o755)
  const own = (path: string, mode: number, owner = user): string => {
    if (isRoot) chownSync(path, owner, owner)
    chmodSync(path, mode)
    return path
  }
  mkdirSync(world.path('ws'))
  own(world.path('ws'), 0o755)
  return {
    world,
    as(act, path) {
      const { stdout, stderr } = spawnSync(process.execPath, [file, world.path('ws'), act, path], {
        env: world.env,
        encoding: 'utf8',
        timeout: 20_000,
        ...(isRoot ? { uid: nobody, gid: nobody } : {}),
      })
      if (stdout === '') throw new Error(stderr)
      return JSON.parse(stdout) as Record<string, unknown>
    },
    put(path, mode, owner) {
      writeFileSync(world.path('ws', path), 'old')
      return own(world.path('ws', path), mode, owner)
    },
    folder(path, mode) {
      mkdirSync(world.path('ws', path), { recursive: true })
      return own(world.path('ws', path), mode)
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

it('where the directory takes no new name, a file is written in place, and the answer says so', async () => {
  await using place = await openPlace()
  const folder = place.folder('closed', 0o755)
  const file = place.put('closed/file', 0o640)
  chmodSync(folder, 0o555)
  const { ino } = statSync(file)
  expect(place.as('write', 'closed/file')).toMatchObject({ created: false, route: 'in-place' })
  expect(place.as('append', 'closed/file')).toMatchObject({ created: false, route: 'in-place' })
  expect(readFileSync(file, 'utf8')).toBe('new+new')
  expect(statSync(file)).toMatchObject({ ino, mode: 0o100640 })
  expect(place.as('write', 'closed/fresh')).toEqual({ error: 'file_denied' })
  expect(place.as('append', 'closed/fresh')).toEqual({ error: 'file_denied' })
  expect(place.as('write', 'closed/deep/fresh')).toEqual({ error: 'file_denied' })
  expect(readdirSync(folder)).toEqual(['file'])
})

it('a file with another name somewhere is not written in place', async () => {
  await using place = await openPlace()
  const folder = place.folder('closed', 0o755)
  const file = place.put('closed/file', 0o644)
  linkSync(file, place.world.path('elsewhere'))
  chmodSync(folder, 0o555)
  expect(place.as('write', 'closed/file')).toEqual({ error: 'file_denied' })
  expect(place.as('append', 'closed/file')).toEqual({ error: 'file_denied' })
  expect(readFileSync(place.world.path('elsewhere'), 'utf8')).toBe('old')
})

it.runIf(isRoot)('a file of another user, which may be written, keeps its owner', async () => {
  await using place = await openPlace()
  const file = place.put('theirs', 0o666, 0)
  expect(place.as('write', 'theirs')).toMatchObject({ route: 'in-place' })
  expect(statSync(file)).toMatchObject({ uid: 0, gid: 0 })
  expect(readFileSync(file, 'utf8')).toBe('new')
  expect(readdirSync(place.world.path('ws'))).toEqual(['theirs'])
})

it('what this user may not read or write is denied, and is not replaced either', async () => {
  await using place = await openPlace()
  const file = place.put('locked', 0o000)
  place.folder('hidden', 0o000)
  place.folder('passable', 0o311)
  writeFileSync(place.world.path('ws/passable/file'), 'seen')
  chmodSync(place.world.path('ws/passable/file'), 0o644)
  for (const act of ['readText', 'write', 'append'] as const) expect(place.as(act, 'locked'), act).toEqual({ error: 'file_denied' })
  for (const act of ['readText', 'write', 'append'] as const) expect(place.as(act, 'hidden/file'), act).toEqual({ error: 'file_denied' })
  expect(place.as('list', 'hidden')).toEqual({ error: 'file_denied' })
  // A directory that may be passed and not read serves whoever knows the names.
  expect(place.as('readText', 'passable/file')).toMatchObject({ text: 'seen' })
  chmodSync(file, 0o600)
  expect(readFileSync(file, 'utf8')).toBe('old')
})
