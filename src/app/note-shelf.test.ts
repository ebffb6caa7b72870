import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import { addToBook } from '../context/note-book.ts'
import { failure } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import { memoryStore } from '../stores/memory/store.ts'
import { lockFile } from '../stores/sqlite/lock.ts'
import { openNoteShelf } from './note-shelf.ts'

let top: string
let folder: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'holdfast-shelf-'))
  folder = join(top, 'notes')
})
afterEach(() => rmSync(top, { recursive: true }))

const now = (): Date => new Date('2026-06-01T00:00:00.000Z')
const openLock = async () => lockFile
const idsOf = (notes: readonly { id: string }[]): string[] => notes.map(({ id }) => id).sort()
/** The last change is older than a tick of the clock. */
const age = (seconds: number): void => utimesSync(folder, seconds, seconds)

describe('a shelf of notes', () => {
  it('holds none before the first, and makes nothing when it is only looked at', async () => {
    const shelf = openNoteShelf({ folder: join(top, 'deep', 'notes'), openLock, now })
    expect(await shelf.list()).toEqual([])
    await shelf.use(['n1'])
    expect(await shelf.list({ retired: 'also' })).toEqual([])
    expect(readdirSync(top)).toEqual([])
  })

  it('writes what a plan says, counts uses, and lists the newest first', async () => {
    const shelf = openNoteShelf({ folder, openLock, now })
    const newer = storedNote('n0', 'newer', { createdAt: '2026-05-01T00:00:00.000Z' })
    await shelf.change(() => ({ write: [storedNote('n1', 'a', { uses: 1, usedAt: '2026-05-01T00:00:00.000Z' }), newer] }))
    await shelf.use(['n1', 'n0', 'gone'])
    const usedAt = now().toISOString()
    expect(await shelf.list()).toEqual([
      { ...newer, uses: 1, usedAt },
      { ...storedNote('n1', 'a'), uses: 2, usedAt },
    ])
    await shelf.change((notes) => ({ write: [], remove: [notes[0]?.id ?? ''] }))
    expect(await shelf.list()).toHaveLength(1)
  })

  it('changes nothing where a plan is refused', async () => {
    const shelf = openNoteShelf({ folder, openLock, now })
    await shelf.change(() => ({ write: [storedNote('n1', 'a')] }))
    await expect(
      shelf.change(() => {
        throw failure('note_not_found', { note: 'x' })
      }),
    ).rejects.toMatchObject({ code: 'not_found' })
    expect(idsOf(await shelf.list())).toEqual(['n1'])
    await shelf.change(() => ({ write: [storedNote('n2', 'b')] }))
  })

  it('goes on without a lock where nothing makes one, and says so where one is held for too long', async () => {
    const without = openNoteShelf({ folder, openLock: async () => Promise.reject(failure('store_unusable', { path: folder, why: 'no driver' })), now })
    await without.change(() => ({ write: [storedNote('n1', 'a')] }))
    expect(idsOf(await without.list())).toEqual(['n1'])
    const held = openNoteShelf({
      folder,
      openLock:
        async () =>
        async (_, { what, timeoutMs }) => {
          throw failure('lock_timeout', { what, afterMs: timeoutMs, holder: null })
        },
      now,
    })
    await expect(held.change(() => ({ write: [] }))).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(folder) })
    // A look at notes neither waits for that nor fails.
    await held.use(['n1'])
    expect(await held.list()).toMatchObject([{ id: 'n1', uses: 0 }])
  })

  it('is refused where nothing can be written', async () => {
    writeFileSync(folder, 'no folder')
    await expect(openNoteShelf({ folder, openLock, now }).change(() => ({ write: [storedNote('n1', 'a')] }))).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('the index of a shelf', () => {
  it('is made anew when the files have changed, and asked otherwise', async () => {
    const store = memoryStore()
    let made = 0
    const watched: Store = {
      ...store,
      setNotes(...given) {
        made += 1
        return store.setNotes(...given)
      },
    }
    const shelf = openNoteShelf({ folder, openLock, now, index: { read: (action) => action(watched) } })
    await shelf.change(() => ({ write: [storedNote('n1', 'redis')] }))
    expect([idsOf(await shelf.list()), made]).toEqual([['n1'], 0])
    age(1_000)
    expect([idsOf(await shelf.list()), idsOf(await shelf.list({ tokens: ['redis'] })), idsOf(await shelf.list({ tokens: ['x'] })), made]).toEqual([
      ['n1'],
      ['n1'],
      [],
      1,
    ])
    // By another process, an earlier version, or a person.
    writeFileSync(join(folder, 'n2.json'), JSON.stringify(storedNote('n2', 'other')))
    age(2_000)
    expect([idsOf(await shelf.list()), idsOf(await shelf.list()), made]).toEqual([['n1', 'n2'], ['n1', 'n2'], 2])
    rmSync(join(folder, 'n1.json'))
    age(3_000)
    expect([idsOf(await shelf.list()), made]).toEqual([['n2'], 3])
  })

  it('that takes nothing is not needed', async () => {
    const store = { ...memoryStore(), setNotes: () => Promise.reject(failure('store_unusable', { path: '/x', why: 'it is read-only' })) }
    const shelf = openNoteShelf({ folder, openLock, now, index: { read: (action) => action(store) } })
    await shelf.change(() => ({ write: [storedNote('n1', 'redis', { retired: { at: '', why: 'released', by: null } }), storedNote('n2', 'x')] }))
    age(1_000)
    expect([idsOf(await shelf.list()), idsOf(await shelf.list({ retired: 'only', tokens: ['red*'] }))]).toEqual([['n2'], ['n1']])
  })
})

describe('eight processes', () => {
  const source = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)))
  const program = `
import { openNoteShelf } from ${source('./note-shelf.ts')}
import { addToBook } from ${source('../context/note-book.ts')}
import { makeNote } from ${source('../context/notes.ts')}
import { lockFile } from ${source('../stores/sqlite/lock.ts')}
const [folder, name] = process.argv.slice(2)
const shelf = openNoteShelf({ folder, openLock: async () => lockFile, now: () => new Date() })
for (let i = 0; i < 10; i += 1) {
  for (const text of [name + ' has number ' + i, 'all say number ' + i]) {
    const note = makeNote({ text }, { now: new Date(), id: name + i + (text.startsWith('all') ? 'a' : '') })
    await shelf.change((notes) => addToBook(notes, note, { cap: 50, now: new Date() }))
  }
}
`
  let bundleDir = ''
  beforeEach(async () => {
    bundleDir = mkdtempSync(join(fileURLToPath(new URL('../../node_modules/', import.meta.url)), '.holdfast-test-'))
    const stdin = { contents: program, loader: 'ts', resolveDir: bundleDir } as const
    await build({ stdin, outfile: join(bundleDir, 'program.mjs'), bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
  })
  afterEach(() => rmSync(bundleDir, { recursive: true, force: true }))

  it('that add at once lose none, say nothing twice, and keep the cap', async () => {
    const names = [...'abcdefgh']
    await Promise.all(
      names.map(
        (name) =>
          new Promise<void>((resolve, reject) => {
            const child = spawn(process.execPath, [join(bundleDir, 'program.mjs'), folder, name], { stdio: ['ignore', 'ignore', 'pipe'] })
            let errors = ''
            child.stderr.on('data', (chunk) => {
              errors += chunk
            })
            child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(errors))))
          }),
      ),
    )
    const shelf = openNoteShelf({ folder, openLock, now })
    const all = await shelf.list({ retired: 'also' })
    expect(new Set(all.map(({ text }) => text)).size).toBe(90)
    expect(all).toHaveLength(90)
    expect(all.filter(({ retired }) => retired === null)).toHaveLength(50)
    const shared = all.filter(({ text }) => text.startsWith('all'))
    expect(shared).toHaveLength(10)
    // Each was confirmed by the seven others.
    expect(shared.map(({ uses }) => uses)).toEqual(Array(10).fill(7))
    const { retires } = await shelf.change((notes) => addToBook(notes, storedNote('z', 'one more'), { cap: 50, now: now() }))
    expect(retires).toHaveLength(1)
  }, 60_000)
})
