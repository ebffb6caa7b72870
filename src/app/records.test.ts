import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endedRecord, runRecord, storedNote } from '../../test/conformance/store.ts'
import { until } from '../../test/support/clock.ts'
import { failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { Store } from '../core/store.ts'
import { memoryStore } from '../stores/memory/store.ts'
import { lockFile } from '../stores/sqlite/lock.ts'
import { openSqliteStore } from '../stores/sqlite/open.ts'
import { describeHome } from './home.ts'
import { openRecords, type Records, type RecordsOptions } from './records.ts'

const [a, b, c] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'] as const
let project = ''
let alive = true
const opened: Records[] = []
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'holdfast-records-'))
  alive = true
  mkdirSync(join(project, '.holdfast', 'runs'), { recursive: true, mode: 0o700 })
})
afterEach(async () => {
  for (const records of opened.splice(0)) await records.close()
  rmSync(project, { recursive: true, force: true })
})

const path = (...parts: string[]): string => join(project, '.holdfast', ...parts)
const pending = (): string[] => (existsSync(path('pending')) ? readdirSync(path('pending')) : [])
const journals = (): string => pending().reduce((all, name) => all + readFileSync(path('pending', name), 'utf8'), '')

/** As a process of its own has them: each `open` is one to the others. */
function open(changes: Partial<RecordsOptions> = {}): Records {
  const home = describeHome({ override: undefined, project, state: join(project, 'state'), temporary: join(project, 'tmp') })
  const processes = async () => ({ self: { pid: 4_000_001 + opened.length, startTime: 'x' }, isAlive: () => alive })
  const records = openRecords({
    home,
    openStore: openSqliteStore,
    memoryStore: async () => memoryStore(),
    processes,
    openLock: async () => lockFile,
    now: monotonicMs,
    ...changes,
  })
  opened.push(records)
  return records
}

/** One whose store cannot be had: what it says is in its journal only. Closing it is not waited for. */
function openUntold(): Records {
  const records = open({ openStore: () => new Promise(() => {}) })
  opened.pop()
  return records
}

/** Names the writes that reach the store. */
function watchedStore(calls: string[]): RecordsOptions['openStore'] {
  return async (file) => {
    const found = await openSqliteStore(file)
    const watched = (name: 'begin' | 'finish'): Store['begin'] => {
      return (record) => {
        calls.push(`${name} ${record.id}`)
        return found.store[name](record)
      }
    }
    return { ...found, store: { ...found.store, begin: watched('begin'), finish: watched('finish') } }
  }
}

const ids = async (records: Records): Promise<string[]> => (await records.list({ limit: 10 })).map(({ id }) => id)
const find = async (records: Records, id: string) => (await records.list({ limit: 10 })).find((record) => record.id === id)

describe('the index', () => {
  it('is told once of a run that begins and ends within a moment, and not before the run is over', async () => {
    const calls: string[] = []
    const records = open({ openStore: watchedStore(calls) })
    await records.count()
    await records.begin(runRecord(a))
    await records.replace(endedRecord(a, 0))
    expect([calls, journals()]).toEqual([[], `${a}\n`])
    await until(() => calls.length > 0 && journals() === '')
    expect(calls).toEqual([`finish ${a}`])
    await records.begin(runRecord(b))
    await until(() => calls.length > 1 && journals() === '')
    await records.finish(endedRecord(b, 0))
    await records.close()
    expect(calls).toEqual([`finish ${a}`, `begin ${b}`, `finish ${b}`])
    expect(pending()).toEqual([])
  })

  it('gives whoever reads all that was told before, in its order', async () => {
    const records = open()
    for (const id of [a, b, c]) void records.begin(runRecord(id))
    expect(await ids(records)).toEqual([c, b, a])
    void records.replace(endedRecord(b, 1))
    expect((await records.list({ failing: true, limit: 5 })).map(({ id }) => id)).toEqual([b])
    expect(await records.count()).toEqual({ runs: 3, failing: 1 })
    expect((await records.require('last')).id).toBe(c)
    expect((await records.require('b')).state).toBe('ended')
  })

  it('has the runs of a living process that has told it nothing yet', async () => {
    const other = openUntold()
    await other.begin(runRecord(a))
    await other.begin(runRecord(b, { startedAt: '2026-03-14T10:00:01.000Z' }))
    const records = open()
    expect(await ids(records)).toEqual([b, a])
    expect((await records.require('aaa')).state).toBe('running')
    await other.begin(runRecord(c, { startedAt: '2026-03-14T10:00:02.000Z' }))
    // Its answer would wait for the index.
    void other.replace(endedRecord(a, 3))
    expect(await ids(records)).toEqual([c, b, a])
    expect((await find(records, a))?.outcome?.exitCode).toBe(3)
    expect(journals().trim().split('\n').sort()).toEqual([a, b, c])
  })

  it('takes in what a process left that died, and clears it away', async () => {
    const other = openUntold()
    await other.begin(runRecord(a))
    const [name] = pending()
    expect(name).toBeDefined()
    alive = false
    const records = open()
    expect(await ids(records)).toEqual([a])
    expect(pending()).not.toContain(name)
    expect(await ids(records)).toEqual([a])
    await records.close()
    expect(pending()).toEqual([])
  })

  it('clears away what a process left empty when the next one begins a run', async () => {
    mkdirSync(path('pending'))
    writeFileSync(path('pending', '77.0.long-ago'), '')
    alive = false
    const records = open()
    await records.count()
    expect(pending()).toHaveLength(1)
    const next = open()
    await next.begin(runRecord(a))
    await next.count()
    expect(pending()).not.toContain('77.0.long-ago')
  })

  it('never takes back an end or a pin for what it hears late', async () => {
    const first = open()
    await first.begin(runRecord(a))
    await first.begin(runRecord(b))
    const { store } = await openSqliteStore(path('index.db'))
    await first.count()
    await store.finish(endedRecord(a, 0))
    await store.setPinned(a, true)
    await store.setPinned(b, true)
    mkdirSync(path('pending'), { recursive: true })
    writeFileSync(path('pending', '77.0.long-ago'), `${a}\n${b}\n`)
    const records = open()
    expect(await find(records, a)).toMatchObject({ state: 'ended', pinned: true })
    await records.replace(endedRecord(b, 0))
    expect(await find(records, b)).toMatchObject({ state: 'ended', pinned: true })
    await store.close()
  })

  it('is told at once where nothing can be noted', async () => {
    writeFileSync(path('pending'), 'no folder')
    const calls: string[] = []
    const records = open({ openStore: watchedStore(calls) })
    await records.count()
    expect(await records.begin(runRecord(a))).toEqual([])
    expect(calls).toEqual([`begin ${a}`])
    expect(await records.finish(endedRecord(a, 0))).toEqual([])
    expect(calls).toEqual([`begin ${a}`, `finish ${a}`])
  })

  it('that cannot be used is told by the next one who can, and the result says so', async () => {
    let usable = false
    let now = 1_000
    const openStore: RecordsOptions['openStore'] = async (file) => {
      if (!usable) throw failure('store_unusable', { path: file, why: 'it is locked' })
      return openSqliteStore(file)
    }
    const records = open({ openStore, now: () => now })
    await records.begin(runRecord(a))
    expect((await records.replace(endedRecord(a, 0))).join()).toMatch(/not in the index yet.*it is locked/)
    expect((await records.begin(runRecord(b))).join()).toMatch(/not in the index yet.*it is locked/)
    expect(await ids(records)).toEqual([b, a])
    await records.notes.change(() => ({ write: [storedNote('n1', 'kept')] }))
    usable = true
    const other = open()
    expect(await ids(other)).toEqual([b, a])
    expect((await other.notes.list()).map(({ id }) => id)).toEqual(['n1'])
    now += 10_000
    expect(await ids(records)).toEqual([b, a])
    expect(journals()).toBe('')
    expect(await records.replace(endedRecord(b, 0))).toEqual([])
  })

  it('leaves to the next one what it could not be told to the end', async () => {
    const openStore: RecordsOptions['openStore'] = async (file) => {
      throw failure('store_unusable', { path: file, why: 'it is locked' })
    }
    const records = open({ openStore })
    await records.begin(runRecord(a))
    await records.close()
    const [name] = pending()
    expect(name).toBeDefined()
    expect(await ids(open())).toEqual([a])
    expect(pending()).not.toContain(name)
    expect(journals()).toBe('')
  })

  it('is not asked for by who runs and finds it well', async () => {
    const records = open()
    await records.count()
    const { store } = await openSqliteStore(path('index.db'))
    await records.begin(runRecord(a))
    await records.replace(endedRecord(a, 0))
    expect(await store.count()).toEqual({ runs: 0, failing: 0 })
    await records.close()
    expect(await store.count()).toEqual({ runs: 1, failing: 0 })
    await store.close()
  })
})

describe('a run that goes on', () => {
  it('is known as pinned as soon as somebody pinned it, and not any more when that was taken back', async () => {
    const records = open()
    const begun = runRecord(a, { startedAt: new Date().toISOString() })
    await records.begin(begun)
    expect(records.isPinned(begun)).toBe(false)
    const other = open()
    await other.setPinned(await other.require(a), true)
    expect(records.isPinned(begun)).toBe(true)
    await other.setPinned(await other.require(a), false)
    expect(records.isPinned(begun)).toBe(false)
    expect(records.isPinned({ ...begun, id: b })).toBe(false)
  })
})

describe('a run that begins', () => {
  it('never takes the folder of another one', async () => {
    const records = open()
    await records.begin(runRecord(a, { purpose: 'first' }))
    await open().begin(runRecord(a, { purpose: 'second' }))
    expect((await records.require(a)).purpose).toBe('first')
  })
})
