import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import type { Files } from '../core/files.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { createHostFiles } from './host-files.ts'

const machine = { self: identifySelf(), isAlive }
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const large = Buffer.alloc(3 * 1024 * 1024 + 1, 'abcdefg')

interface Place extends AsyncDisposable {
  readonly root: string
  readonly files: Files
}

function openPlace(): Place {
  const world = openWorld()
  return { root: world.root, files: createHostFiles({ root: world.root, machine }), [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function* piecesOf(bytes: Uint8Array, meanwhile: () => void = () => {}): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700_000) yield bytes.subarray(at, at + 700_000)
  meanwhile()
}

async function taken(pieces: AsyncIterable<Uint8Array>, meanwhile: () => void = () => {}): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) {
    if (all.length === 0) meanwhile()
    all.push(piece)
  }
  return Buffer.concat(all)
}

it('a file of another mode that takes its place while an upload is on the way keeps its own', async () => {
  await using place = openPlace()
  const file = join(place.root, 'file')
  const appears = (): void => writeFileSync(file, 'other', { mode: 0o600 })
  expect(await place.files.upload('file', piecesOf(large, appears))).toMatchObject({ created: false, route: 'staged', sha256: hashOf(large) })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file).equals(large)).toBe(true)
  expect(readdirSync(place.root)).toEqual(['file'])
})

it('a file that is removed, or whose directory is replaced, while an upload is on the way is made as a new one', async () => {
  await using place = openPlace()
  for (const [name, meanwhile] of [
    ['a', () => place.files.remove('a', { recursive: true })],
    ['b', () => place.files.move('b', 'elsewhere')],
  ] as const) {
    await place.files.write(`${name}/file`, 'old')
    chmodSync(join(place.root, name, 'file'), 0o600)
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield large
      await meanwhile()
    }
    expect(await place.files.upload(`${name}/file`, pieces())).toMatchObject({ path: `${name}/file`, created: true })
    expect(readFileSync(join(place.root, name, 'file')).equals(large)).toBe(true)
    expect(statSync(join(place.root, name, 'file')).mode & 0o777).toBe(0o666 & ~process.umask())
    expect(readdirSync(join(place.root, name))).toEqual(['file'])
  }
  expect(readFileSync(join(place.root, 'elsewhere/file'), 'utf8')).toBe('old')
  expect(readdirSync(join(place.root, 'elsewhere'))).toEqual(['file'])
})

it('a download tells when the bytes change under it, and not when some are added', async () => {
  await using place = openPlace()
  const file = join(place.root, 'file')
  const changes: readonly [string, () => void, string | undefined][] = [
    ['added to', () => appendFileSync(file, 'more'), undefined],
    ['cut', () => truncateSync(file, 10), 'file_changed'],
    ['overwritten', () => writeFileSync(file, Buffer.alloc(large.length, 'x')), 'file_changed'],
  ]
  for (const [name, change, reason] of changes) {
    writeFileSync(file, large)
    // A change may come within one tick of the clock of the file system.
    utimesSync(file, 1, 1)
    const { pieces, sha256 } = await place.files.download('file')
    const end = await taken(pieces, change).then(
      (bytes) => bytes.equals(large),
      (error: { details: { reason: string } }) => error.details.reason,
    )
    expect(end, name).toBe(reason ?? true)
    if (reason) await expect(sha256, name).rejects.toMatchObject({ details: { reason } })
    else expect(await sha256).toBe(hashOf(large))
  }
})

it('a download that is not taken to its end closes the file', async () => {
  await using place = openPlace()
  await place.files.write('file', large)
  const open = readdirSync('/proc/self/fd').length
  const { pieces, sha256 } = await place.files.download('file')
  for await (const piece of pieces) {
    expect(piece.length).toBeGreaterThan(0)
    break
  }
  await expect(sha256).rejects.toMatchObject({ details: { reason: 'canceled' } })
  expect(readdirSync('/proc/self/fd')).toHaveLength(open)
})

it('moving a file over another name of it takes the old name away', async () => {
  await using place = openPlace()
  await place.files.write('a', 'same')
  linkSync(join(place.root, 'a'), join(place.root, 'b'))
  expect(await place.files.move('a', 'b', { replace: true })).toEqual({ from: 'a', path: 'b', replaced: true })
  expect(readdirSync(place.root)).toEqual(['b'])
  expect(await place.files.move('b', 'b', { replace: true })).toEqual({ from: 'b', path: 'b', replaced: false })
  mkdirSync(join(place.root, 'd'))
  await expect(place.files.move('d', 'd/e/f')).rejects.toMatchObject({ details: { reason: 'file_kind' } })
})
