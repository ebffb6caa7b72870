import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endedRecord, runRecord, storedNote } from '../../../test/conformance/store.ts'
import type { Store } from '../../core/store.ts'
import { type Connection, connect, type Driver, loadDriver } from './driver.ts'
import { migrations } from './migrations.ts'
import { openSqliteStore, type SqliteOptions } from './open.ts'

let dir = ''
let path = ''
const closing: (() => unknown)[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-store-'))
  path = join(dir, 'index.db')
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  chmodSync(dir, 0o700)
  rmSync(dir, { recursive: true, force: true })
})

async function open(options: SqliteOptions = {}): ReturnType<typeof openSqliteStore> {
  const opened = await openSqliteStore(path, options)
  closing.push(() => opened.store.close())
  return opened
}

/** The database without the store around it, as another program has it. */
function raw(file = path): Connection {
  const connection = connect(loadDriver(), file)
  closing.push(() => connection.close())
  return connection
}

type Database = InstanceType<Driver>
const driver: new (path: string) => Database = loadDriver()

/** Does not wait for the disk. */
class Unsynced extends driver {
  override exec(sql: string): unknown {
    return super.exec(sql.replace('synchronous = normal', 'synchronous = off'))
  }
}

/** A whole store with some runs and one note in it, closed and in one file. */
async function makeStore(): Promise<void> {
  const { store } = await openSqliteStore(path, { journal: 'delete', driver: () => Unsynced })
  for (let i = 0; i < 30; i += 1) {
    await store.finish(endedRecord(`run-${i}`, i % 2))
    await store.index(`run-${i}`, `alpha word${i}`, true)
  }
  await store.setNotes([note], 's1')
  await store.close()
}

const note = storedNote('n1', 'kept')
const files = (): string[] => readdirSync(dir).sort()
const damagedName = /^index\.damaged-\d{8}-\d{6}(-\d+)?\.db$/
const fails = (why: string | RegExp): object => ({ code: 'unavailable', details: { reason: 'store_unusable', path, why: expect.stringMatching(why) } })

function overwrite(offset: number, bytes: Buffer, file = path): void {
  const fd = openSync(file, 'r+')
  writeSync(fd, bytes, 0, bytes.length, offset)
  closeSync(fd)
}

/** Bytes that are no page of any database, the same each time. */
const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => (i * 2_654_435_761 + (i >> 3)) & 0xff))

async function expectWorks(store: Store): Promise<void> {
  await store.begin(runRecord('after'))
  await store.finish(endedRecord('after', 1))
  await store.index('after', 'needle', true)
  expect((await store.find('after'))?.state).toBe('ended')
  expect((await store.candidates(['needle'], { limit: 5 })).map(({ id }) => id)).toContain('after')
}

describe('a new store', () => {
  it('is made with its folders, for its owner only, and asks for the records of the run folders', async () => {
    path = join(dir, 'deep', 'down', 'index.db')
    const { store, warnings, rebuild } = await open()
    await expectWorks(store)
    expect({ warnings, rebuild }).toEqual({ warnings: [], rebuild: true })
    for (const name of readdirSync(dirname(path))) expect(statSync(join(dirname(path), name)).mode & 0o777, name).toBe(0o600)
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
  })

  it('is there again when it is opened again, and then asks for nothing', async () => {
    const first = await open()
    await first.store.finish(endedRecord('a', 0))
    await first.store.close()
    const { store, warnings, rebuild } = await open()
    expect({ warnings, rebuild }).toEqual({ warnings: [], rebuild: false })
    expect(await store.find('a')).toEqual(endedRecord('a', 0))
  })

  it('is made from an empty file', async () => {
    writeFileSync(path, '')
    const { store, warnings, rebuild } = await open()
    expect({ warnings, rebuild }).toEqual({ warnings: [], rebuild: true })
    await expectWorks(store)
    expect(files().filter((name) => damagedName.test(name))).toEqual([])
  })

  it('uses a write-ahead log, and none where it is told so', async () => {
    await open()
    expect(raw().all('pragma journal_mode')).toEqual([['wal']])
    path = join(dir, 'other.db')
    await open({ journal: 'delete' })
    expect(raw().all('pragma journal_mode')).toEqual([['delete']])
  })

  it('is made once when several open it at the same moment', async () => {
    const opened = await Promise.all(Array.from({ length: 6 }, () => open()))
    expect(opened.filter(({ rebuild }) => rebuild)).toHaveLength(1)
    for (const [i, { store }] of opened.entries()) await store.begin(runRecord(`run-${i}`))
    expect((await opened[0]?.store.count())?.runs).toBe(6)
  })
})

describe('a damaged store', () => {
  const expectReplaced = async (options: SqliteOptions = {}): Promise<string> => {
    const before = readFileSync(path)
    const { store, warnings, rebuild } = await open({ now: () => new Date('2026-03-14T10:20:30Z'), ...options })
    const aside = files().filter((name) => damagedName.test(name))
    expect(aside).toHaveLength(1)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(aside[0])
    expect(rebuild).toBe(true)
    expect(readFileSync(join(dir, aside[0] as string)).equals(before)).toBe(true)
    await expectWorks(store)
    expect((await store.count()).runs).toBe(1)
    return aside[0] as string
  }

  it('that is no database is moved aside under a dated name, whole, with one warning', async () => {
    writeFileSync(path, 'this is no database, sorry. '.repeat(500))
    expect(await expectReplaced()).toBe('index.damaged-20260314-102030.db')
  })

  it('takes the files beside it along', async () => {
    writeFileSync(path, noise(5_000))
    writeFileSync(`${path}-wal`, 'the log')
    writeFileSync(`${path}-shm`, 'the memory')
    const name = await expectReplaced()
    expect(readFileSync(join(dir, `${name}-wal`), 'utf8')).toBe('the log')
    expect(readFileSync(join(dir, `${name}-shm`), 'utf8')).toBe('the memory')
  })

  it('that is shorter than a header is moved aside', async () => {
    writeFileSync(path, 'SQLite format 3\u0000')
    await expectReplaced()
  })

  it('does not take the name of an earlier one', async () => {
    writeFileSync(join(dir, 'index.damaged-20260314-102030.db'), 'an earlier one')
    writeFileSync(path, noise(5_000))
    await open({ now: () => new Date('2026-03-14T10:20:30Z') })
    expect(readFileSync(join(dir, 'index.damaged-20260314-102030.db'), 'utf8')).toBe('an earlier one')
    expect(files()).toContain('index.damaged-20260314-102030-2.db')
  })

  it.each([2, 3, 5, 8, 12])('with noise from page %i on is moved aside', async (page) => {
    await makeStore()
    overwrite((page - 1) * 4_096, noise(20_000))
    await expectReplaced()
  })

  it('that was cut short is moved aside', async () => {
    await makeStore()
    writeFileSync(path, readFileSync(path).subarray(0, 10_000))
    await expectReplaced()
  })

  it('is moved once when several processes find the damage at the same moment', async () => {
    writeFileSync(path, noise(50_000))
    const opened = await Promise.all(Array.from({ length: 5 }, () => open()))
    expect(files().filter((name) => damagedName.test(name))).toHaveLength(1)
    expect(opened.flatMap(({ warnings }) => warnings)).toHaveLength(1)
    for (const [i, { store }] of opened.entries()) await store.begin(runRecord(`run-${i}`))
    expect((await opened[4]?.store.count())?.runs).toBe(5)
  })

  it('with garbage as its write-ahead log and shared memory just works', async () => {
    await makeStore()
    writeFileSync(`${path}-wal`, noise(32_768))
    writeFileSync(`${path}-shm`, noise(32_768))
    const { store, warnings, rebuild } = await open()
    expect({ warnings, rebuild }).toEqual({ warnings: [], rebuild: false })
    expect((await store.count()).runs).toBe(30)
    await expectWorks(store)
  })

  /** More than what is read whole at every start. */
  const enlarge = (): void =>
    raw().exec(`insert into records with recursive n (i) as (select 1000 union all select i + 1 from n where i < 3000) select i, hex(zeroblob(500)) from n`)
  const pageOf = (sql: string): number => Number(raw().all(sql)[0]?.[0])

  it.each(['records', 'labels', 'runs_failing', 'outputs_data', 'label_parts_data', 'notes'])('that is large shows damage at the root of %s', async (name) => {
    await makeStore()
    enlarge()
    overwrite((pageOf(`select rootpage from sqlite_schema where name = '${name}'`) - 1) * 4_096, noise(4_096))
    await expectReplaced({ journal: 'delete' })
  })

  it('that shows in the middle of use rejects with a code, and is moved aside at the next start', async () => {
    await makeStore()
    enlarge()
    const page = pageOf("select pageno from dbstat where name = 'records' and pagetype = 'leaf' order by path limit 1")
    const { store, rebuild } = await open({ journal: 'delete' })
    expect(rebuild).toBe(false)
    overwrite((page - 1) * 4_096, noise(4_096))
    // Another writer makes the open connection drop what it has read.
    raw().exec("update runs set pinned = 1 where id = 'run-29'")
    await expect(store.list({ limit: 100 })).rejects.toMatchObject(fails('damaged'))
    await expect(store.finish(endedRecord('run-0', 0))).rejects.toMatchObject(fails('damaged'))
    await store.close()
    const again = await open()
    expect(again.rebuild).toBe(true)
    expect(files().filter((name) => damagedName.test(name))).toHaveLength(1)
    await expectWorks(again.store)
  })

  it('in one row leaves that row out and shows the others', async () => {
    const { store } = await open()
    for (const id of ['a', 'b', 'c', 'd']) await store.finish(endedRecord(id, 0))
    raw().exec("update records set record = '{\"id\": ' where seq = 2; update records set record = x'00ff' where seq = 3")
    expect((await store.list({ limit: 10 })).map(({ id }) => id)).toEqual(['d', 'a'])
    expect(await store.find('b')).toBeUndefined()
    expect((await store.candidates([], { limit: 10 })).map(({ id }) => id)).toEqual(['d', 'a'])
  })
})

describe('a store that changes under an open one', () => {
  it('is opened anew when another process has put it aside and made a new one', async () => {
    const { store } = await open()
    await store.begin(runRecord('old'))
    for (const name of files()) rmSync(join(dir, name))
    const other = await open()
    await expectWorks(store)
    expect((await other.store.find('after'))?.id).toBe('after')
  })

  it('says so when it was removed, so that a new one is opened and filled before it is used', async () => {
    const { store } = await open()
    await store.begin(runRecord('old'))
    for (const name of files()) rmSync(join(dir, name))
    await expect(store.begin(runRecord('new'))).rejects.toMatchObject(fails('removed'))
    await expect(store.list({ limit: 1 })).rejects.toMatchObject(fails('removed'))
    expect(files()).toEqual([])
    expect((await open()).rebuild).toBe(true)
  })
})

describe('a store of a newer version', () => {
  it('is refused by name and number, and not written to', async () => {
    await makeStore()
    raw().exec('pragma user_version = 9999')
    for (const close of closing.splice(0)) close()
    const before = readFileSync(path)
    const wanted = { code: 'failed_precondition', details: { reason: 'store_newer', path, version: 9_999, known: migrations.length } }
    await expect(openSqliteStore(path)).rejects.toMatchObject(wanted)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(files()).toEqual(['index.db'])
  })

  it('is refused also when only its write-ahead log says so', async () => {
    await (await open()).store.close()
    raw().exec('pragma user_version = 9999')
    await expect(openSqliteStore(path)).rejects.toMatchObject({ code: 'failed_precondition' })
  })
})

describe('a store of an earlier version', () => {
  it('is brought up to date with its runs, which have no command to be compared by', async () => {
    const connection = raw()
    connection.exec(`${migrations[0]}; pragma user_version = 1`)
    connection.run("insert into runs (id, state, failing, started_ms) values ('old', 'ended', 0, 1)")
    connection.run('insert into records (seq, record) values (1, ?)', [JSON.stringify(endedRecord('old', 0))])
    const { store, rebuild } = await open()
    expect(rebuild).toBe(false)
    expect(await store.find('old')).toEqual(endedRecord('old', 0))
    await store.finish(endedRecord('new', 1, { commandKey: 'key' }))
    expect(await store.previous('key', 'none')).toEqual({ passed: null, failed: 'new', latest: 'failed' })
    await expectWorks(store)
  })

  it('finds the previous runs of a command by an index', async () => {
    await open()
    const plan = raw().all("explain query plan select seq, id from runs where command_key = 'k' and verdict = 'passed' and seq < 9 order by seq desc limit 1")
    expect(String(plan[0]?.[3])).toContain('USING INDEX runs_command (command_key=? AND verdict=? AND seq<?)')
    expect(plan).toHaveLength(1)
  })
})

describe('a store that cannot be written', () => {
  it('is read, and refuses to write, when no permission bit allows writing (which root respects too)', async () => {
    await makeStore()
    chmodSync(path, 0o444)
    const before = readFileSync(path)
    const { store, warnings, rebuild } = await open()
    expect(warnings).toEqual([expect.stringContaining('read-only')])
    expect(rebuild).toBe(false)
    expect((await store.count()).runs).toBe(30)
    expect((await store.candidates(['word7'], { limit: 3 })).map(({ id }) => id)).toEqual(['run-7'])
    await expect(store.begin(runRecord('a'))).rejects.toMatchObject(fails('read-only'))
    await expect(store.remove(['run-1'])).rejects.toMatchObject(fails('read-only'))
    await expect(store.setNotes([note], 's2')).rejects.toMatchObject(fails('read-only'))
    await store.close()
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('is read when its folder is read-only', async () => {
    await makeStore()
    chmodSync(dir, 0o500)
    const { store, warnings } = await open()
    expect(warnings).toHaveLength(1)
    expect((await store.count()).runs).toBe(30)
    await expect(store.begin(runRecord('a'))).rejects.toMatchObject(fails('read-only'))
  })

  it('and is not there, is refused with its reason', async () => {
    chmodSync(dir, 0o500)
    await expect(openSqliteStore(path)).rejects.toMatchObject(fails('its folder is read-only'))
  })

  it('and is damaged, is refused and stays where it is', async () => {
    writeFileSync(path, noise(5_000))
    chmodSync(path, 0o400)
    await expect(openSqliteStore(path)).rejects.toMatchObject(fails('read-only and damaged'))
    expect(files()).toEqual(['index.db'])
  })

  it('because SQLite refuses (query_only stands in for a file system that became read-only), rejects each write with a code', async () => {
    class ReadOnlyLater extends driver {
      override prepare(sql: string): ReturnType<Database['prepare']> {
        if (sql.startsWith('insert into notes')) super.exec('pragma query_only = 1')
        return super.prepare(sql)
      }
    }
    const { store } = await open({ driver: () => ReadOnlyLater })
    await expect(store.setNotes([note], 's2')).rejects.toMatchObject(fails('read-only'))
    expect(await store.listNotes()).toEqual([])
  })

  it('because the disk is full (a limit on pages stands in for it) says so, keeps what it has and can be read', async () => {
    class Small extends driver {
      override exec(sql: string): unknown {
        return super.exec(sql === 'begin immediate' ? 'pragma max_page_count = 60; begin immediate' : sql)
      }
    }
    const { store } = await open({ driver: () => Small })
    await store.begin(runRecord('first'))
    const big = { ...runRecord('second'), command: 'x'.repeat(400_000) }
    await expect(store.begin(big)).rejects.toMatchObject(fails('the disk is full'))
    expect((await store.list({ limit: 5 })).map(({ id }) => id)).toEqual(['first'])
    await store.begin(runRecord('third'))
    expect((await store.count()).runs).toBe(2)
  })
})

describe('a store that cannot be opened', () => {
  it('because its driver is missing says which', async () => {
    const driver = (): Driver => {
      throw new Error("Cannot find module '@libsql/somewhere'\nRequire stack: ...")
    }
    await expect(openSqliteStore(path, { driver })).rejects.toMatchObject(fails(/driver libsql cannot be loaded \(Cannot find module '@libsql\/somewhere'\)/))
  })

  it('because a folder or a file is in its way says so', async () => {
    mkdirSync(path)
    await expect(openSqliteStore(path)).rejects.toMatchObject(fails(/directory/))
    writeFileSync(join(dir, 'file'), '')
    const below = join(dir, 'file', 'index.db')
    await expect(openSqliteStore(below)).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'store_unusable', path: below } })
  })
})

describe('a locked store', () => {
  it('is waited for without standing still, and then given up with a reason', async () => {
    const { store } = await open({ busyMs: 400 })
    const other = raw()
    other.exec('begin immediate')
    let beats = 0
    const beat = setInterval(() => {
      beats += 1
    }, 1)
    closing.push(() => clearInterval(beat))
    await expect(store.begin(runRecord('a'))).rejects.toMatchObject(fails('locked by another process'))
    expect(beats).toBeGreaterThan(2)
    expect(await store.list({ limit: 5 })).toEqual([])
    other.exec('rollback')
    await store.begin(runRecord('b'))
    expect((await store.count()).runs).toBe(1)
  })

  it('is written as soon as the lock is gone', async () => {
    const { store } = await open({ busyMs: 20_000 })
    const other = raw()
    other.exec('begin immediate')
    const writes = ['a', 'b', 'c'].map((id) => store.begin(runRecord(id)))
    setTimeout(() => other.exec('rollback'), 100)
    await Promise.all(writes)
    expect((await store.list({ limit: 5 })).map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  })

  it('does not hold up its closing for longer than the wait, and what was begun before is written', async () => {
    const { store } = await open({ busyMs: 20_000 })
    const other = raw()
    other.exec('begin immediate')
    const write = store.begin(runRecord('a'))
    setTimeout(() => other.exec('rollback'), 50)
    await store.close()
    await write
    expect((await (await open()).store.find('a'))?.id).toBe('a')
  })

  it('that nobody ever unlocks is refused when it is opened', async () => {
    await makeStore()
    const other = raw()
    other.exec('begin exclusive')
    await expect(openSqliteStore(path, { busyMs: 200 })).rejects.toMatchObject(fails('locked by another process'))
    other.exec('rollback')
    expect((await (await open()).store.count()).runs).toBe(30)
  })
})

describe('the damaged files of the case B064', () => {
  const script = fileURLToPath(new URL('../../../../shared/cases/B064.sh', import.meta.url))
  const expected: Record<string, { readonly moved: boolean } | { readonly reason: string }> = {
    header: { moved: true },
    pages: { moved: true },
    wal: { moved: false },
    empty: { moved: false },
    readonly: { reason: 'store_unusable' },
    future: { reason: 'store_newer' },
  }
  it.for(Object.keys(expected))('%s', (name, context) => {
    if (!existsSync(script)) context.skip(`${script} is absent`)
    if (spawnSync('sqlite3', ['-version']).error) context.skip('sqlite3 is not installed')
    return replaceBy(name)
  })

  async function replaceBy(name: string): Promise<void> {
    expect(spawnSync('bash', [script, dir]).status).toBe(0)
    path = join(dir, `${name}.db`)
    const wanted = expected[name] as { moved?: boolean; reason?: string }
    const before = readFileSync(path)
    if (wanted.reason !== undefined) {
      await expect(openSqliteStore(path)).rejects.toMatchObject({ details: { reason: wanted.reason } })
      expect(readFileSync(path).equals(before)).toBe(true)
      return
    }
    const { store, warnings } = await open()
    await expectWorks(store)
    const aside = files().filter((file) => file.startsWith(`${name}.damaged-`) && file.endsWith('.db'))
    expect(aside).toHaveLength(wanted.moved === true ? 1 : 0)
    expect(warnings).toHaveLength(wanted.moved === true ? 1 : 0)
    for (const file of aside) expect(readFileSync(join(dir, basename(file))).equals(before)).toBe(true)
  }
})

describe('writes of the same moment', () => {
  it('share a transaction, and one that fails takes no other with it', async () => {
    let transactions = 0
    class Counting extends driver {
      override exec(sql: string): unknown {
        if (sql === 'begin immediate') transactions += 1
        return super.exec(sql)
      }
    }
    const { store } = await open({ driver: () => Counting })
    transactions = 0
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.begin(runRecord(id))))
    expect(transactions).toBe(1)
    const nameless = { ...runRecord('x'), id: null as unknown as string }
    const settled = await Promise.allSettled([store.finish(endedRecord('a', 1)), store.finish(nameless), store.finish(endedRecord('c', 1))])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await store.list({ limit: 9 })).map(({ id, state }) => `${id} ${state}`)).toEqual(['d running', 'c ended', 'b running', 'a ended'])
  })
})
