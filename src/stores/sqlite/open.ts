import { setTimeout as sleep } from 'node:timers/promises'
import { failure, HoldfastError } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import type { Store } from '../../core/store.ts'
import { type Connection, connect, type Driver, loadDriver, troubleOf, whyOf } from './driver.ts'
import { createPrivate, type Found, inodeOf, inspect, isMarkedDamaged, isOnNetwork, isReadOnly, leaveToSqlite, markDamaged, putAside } from './file.ts'
import { migrate, migrations, probe, versionOf } from './migrations.ts'
import { sqliteStore } from './store.ts'

export interface SqliteOptions {
  /** How long an operation waits in all for other processes, without blocking this one. Default: 3,000. */
  readonly busyMs?: number | undefined
  /** Default: WAL, except on network file systems. */
  readonly journal?: 'wal' | 'delete' | undefined
  readonly driver?: (() => Driver) | undefined
  readonly now?: (() => Date) | undefined
}

export interface OpenedStore {
  readonly store: Store
  /** Sentences for the user. */
  readonly warnings: readonly string[]
  /** The store is new and knows no run: the records of the run folders belong into it. */
  readonly rebuild: boolean
  readonly readOnly: boolean
}

/** Writes that share a transaction; so many hold the loop, and other processes, for some milliseconds. */
const maxGroup = 16

interface Waiting {
  body(connection: Connection): unknown
  readonly since: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Runs synchronous work on the current connection, waiting for other processes where it must. */
export interface Access {
  read<T>(body: (connection: Connection) => T): Promise<T>
  /** All of it or nothing, in the order of the calls. May be run again after it was undone. */
  write<T>(body: (connection: Connection) => T): Promise<T>
  /** Whether a write would be taken right now. */
  ready(): boolean
  /** Waits for writes that were begun before. */
  close(): Promise<void>
}

/** The event loop stands still while SQLite waits for a lock, so it does not wait, and is asked again: soon at first, then less often. */
const firstRetryMs = 2
const lastRetryMs = 25
const minTries = 5
/** A file of this size is checked whole when it is opened, in a few milliseconds; of a larger one, a little everywhere. */
const checkedBytes = 1024 * 1024

interface Context {
  readonly path: string
  readonly driver: Driver
  readonly busyMs: number
  readonly journal: 'wal' | 'delete'
  readonly now: () => Date
}

interface Opened {
  readonly connection: Connection
  readonly inode: number
  readonly readOnly: boolean
  readonly isNew: boolean
  readonly warnings: readonly string[]
}

/**
 * Opens the store at `path`, or makes it (0600). A damaged file is moved aside and a new store takes its place. Rejects with `store_newer`, or with `store_unusable` where it is
 * locked for too long, unreachable, or its driver is missing. A read-only store opens with a warning and is only read.
 */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<OpenedStore> {
  let driver: Driver
  try {
    driver = (options.driver ?? loadDriver)()
  } catch (error) {
    throw failure('store_unusable', { path, why: `its driver libsql cannot be loaded (${firstLine(error)})` }, error)
  }
  const context: Context = {
    path,
    driver,
    busyMs: options.busyMs ?? 3_000,
    journal: options.journal ?? (isOnNetwork(path) ? 'delete' : 'wal'),
    now: options.now ?? (() => new Date()),
  }
  const opened = await openFile(context)
  return { store: sqliteStore(accessTo(context, opened)), warnings: opened.warnings, rebuild: opened.isNew, readOnly: opened.readOnly }
}

const firstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] as string

async function openFile(context: Context): Promise<Opened> {
  const { path } = context
  const warnings: string[] = []
  // A second round follows where the file was damaged, a third where another process put it aside at the same moment.
  for (let round = 1; ; round += 1) {
    let found: Found | undefined
    try {
      found = inspect(path)
      if (found.version > migrations.length) throw failure('store_newer', { path, version: found.version, known: migrations.length })
      const readOnly = isReadOnly(path)
      if (readOnly) return { ...(await openReadOnly(context, found)), warnings: [...warnings, `the store ${path} is read-only: nothing new is recorded in it`] }
      if (found.kind === 'damaged' || isMarkedDamaged(path, found.inode)) throw damage
      createPrivate(path)
      found = found.kind === 'missing' ? inspect(path) : found
      const opened = await openWritable(context, found)
      return { ...opened, warnings }
    } catch (error) {
      if (!found || found.kind === 'missing' || round > 3 || !(error === damage || troubleOf(error) === 'damaged')) throw unusable(path, error)
      const moved = await putAside(path, found.inode, context.now()).catch((failed: unknown) => {
        throw failure('store_unusable', { path, why: `it is damaged and cannot be moved aside (${firstLine(failed)})` }, failed)
      })
      if (moved !== undefined) warnings.push(`the store was damaged; it was moved to ${moved} and a new one was made`)
    }
  }
}

const damage = Object.assign(new Error('the file is damaged'), { rawCode: 26 })

async function openWritable(context: Context, found: Found): Promise<Omit<Opened, 'warnings'>> {
  const { path } = context
  leaveToSqlite(path)
  const connection = await retrying(context, () => connect(context.driver, path))
  try {
    const isNew = await retrying(context, () => {
      connection.exec('pragma busy_timeout = 0; pragma synchronous = normal; pragma temp_store = memory')
      const version = versionOf(connection)
      if (version > migrations.length) throw failure('store_newer', { path, version, known: migrations.length })
      if (found.kind === 'database' && (version === 0 || found.bytes <= checkedBytes)) check(connection)
      connection.exec(`pragma journal_mode = ${context.journal}`)
      const before = migrate(connection)
      probe(connection)
      return before === 0
    })
    return { connection, inode: inodeOf(path), readOnly: false, isNew }
  } catch (error) {
    connection.close()
    throw error
  }
}

function check(connection: Connection): void {
  if (connection.all('pragma quick_check(1)')[0]?.[0] !== 'ok') throw damage
}

async function openReadOnly(context: Context, found: Found): Promise<Omit<Opened, 'warnings'>> {
  const { path } = context
  if (found.kind === 'missing') throw failure('store_unusable', { path, why: 'its folder is read-only' })
  if (found.kind !== 'database') throw failure('store_unusable', { path, why: `it is read-only and ${found.kind === 'empty' ? 'empty' : 'damaged'}` })
  const location = `file:${encodeURI(path).replaceAll('?', '%3f').replaceAll('#', '%23')}`
  leaveToSqlite(path)
  let last: unknown
  // Without a writable folder SQLite cannot share a write-ahead log; then the file alone is read as it stands.
  for (const mode of ['mode=ro', 'immutable=1']) {
    let connection: Connection | undefined
    try {
      connection = connect(context.driver, `${location}?${mode}`)
      connection.exec('pragma busy_timeout = 0')
      const version = versionOf(connection)
      if (version < migrations.length) throw failure('store_unusable', { path, why: 'it is read-only and its tables are not those of this version' })
      probe(connection)
      return { connection, inode: found.inode, readOnly: true, isNew: false }
    } catch (error) {
      connection?.close()
      if (error instanceof HoldfastError) throw error
      if (troubleOf(error) === 'damaged') throw failure('store_unusable', { path, why: 'it is read-only and damaged' }, error)
      last = error
    }
  }
  throw last
}

/** Repeats `body` while other processes hold the lock that it needs, at most `busyMs` since `since`. */
async function retrying<T>(context: Context, body: () => T, since = monotonicMs()): Promise<T> {
  let ms = firstRetryMs
  for (let tries = 1; ; tries += 1) {
    try {
      return body()
    } catch (error) {
      // On a busy machine all of the time may pass between two of them.
      if (troubleOf(error) !== 'busy' || (tries >= minTries && monotonicMs() - since > context.busyMs)) throw error
      // Unequal waits keep processes that collided from colliding again.
      await sleep(ms * (0.2 + Math.random()))
      ms = Math.min(ms * 1.5, lastRetryMs)
    }
  }
}

function unusable(path: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error
  return failure('store_unusable', { path, why: whyOf(error) }, error)
}

function accessTo(context: Context, first: Opened): Access {
  const { path } = context
  let current: Opened = first
  let closing = false
  let closed = false
  let reopening: Promise<void> | undefined
  let last: Promise<unknown> = Promise.resolve()
  const waiting: Waiting[] = []

  // The file may be put aside or removed by another process; what is written to the old one would be lost. Who made a new
  // one has filled it; where there is none, one is made by opening anew, which tells the opener to fill it.
  const refresh = async (): Promise<void> => {
    const inode = inodeOf(path)
    if (current.readOnly || inode === current.inode) return
    if (inode === 0) throw failure('store_unusable', { path, why: 'it was removed while it was in use' })
    reopening ??= openFile(context)
      .then((opened) => {
        current.connection.close()
        current = opened
      })
      .finally(() => {
        reopening = undefined
      })
    await reopening
  }
  const attempt = async <T>(body: (connection: Connection) => T, since: number): Promise<T> => {
    try {
      if (closed) throw failure('closed', {})
      await refresh()
      return await retrying(
        context,
        () => {
          if (closed) throw failure('closed', {})
          return body(current.connection)
        },
        since,
      )
    } catch (error) {
      if (troubleOf(error) === 'damaged') markDamaged(path, current.inode)
      throw unusable(path, error)
    }
  }
  // What was asked for in the same moment shares one transaction: a commit costs more than what is written in it.
  const writeWaiting = async (): Promise<void> => {
    const group = waiting.splice(0, maxGroup)
    const [first] = group
    if (!first) return
    if (group.length > 1) {
      try {
        const values = await attempt((connection) => connection.write(() => group.map(({ body }) => body(connection))), first.since)
        group.forEach(({ resolve }, i) => {
          resolve(values[i])
        })
        return
      } catch {
        // All of it was undone. By themselves, those that can be written are, and the others get their own error.
      }
    }
    for (const { body, since, resolve, reject } of group) await attempt((connection) => connection.write(() => body(connection)), since).then(resolve, reject)
  }
  return {
    read: (body) => (closing ? Promise.reject(failure('closed', {})) : attempt(body, monotonicMs())),
    write(body) {
      if (closing) return Promise.reject(failure('closed', {}))
      if (current.readOnly) return Promise.reject(failure('store_unusable', { path, why: 'it is read-only' }))
      return new Promise((resolve, reject) => {
        waiting.push({ body, since: monotonicMs(), resolve: resolve as (value: unknown) => void, reject })
        last = last.then(writeWaiting)
      })
    },
    ready() {
      if (closing || current.readOnly || inodeOf(path) !== current.inode) return false
      try {
        current.connection.exec('begin immediate; rollback')
        return true
      } catch {
        return false
      }
    },
    async close() {
      closing = true
      await last
      closed = true
      current.connection.close()
    },
  }
}
