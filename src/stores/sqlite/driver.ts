import { createRequire } from 'node:module'

/** What is used of the driver `libsql`. */
export interface DriverDatabase {
  exec(sql: string): unknown
  prepare(sql: string): DriverStatement
  close(): unknown
}
export interface DriverStatement {
  raw(on: boolean): DriverStatement
  all(params: readonly SqlValue[]): unknown[]
  run(params: readonly SqlValue[]): { changes: number; lastInsertRowid: number | bigint }
}
export type Driver = new (path: string) => DriverDatabase
export type SqlValue = string | number | null

/** Loads the driver when the first store is opened: a command that needs none does not pay for it. Throws where it is not installed. */
export function loadDriver(): Driver {
  return createRequire(import.meta.url)('libsql') as Driver
}

/** One open database. After `close` every method throws. */
export interface Connection {
  exec(sql: string): void
  /** Rows as arrays of columns. */
  all(sql: string, params?: readonly SqlValue[]): readonly (readonly SqlValue[])[]
  run(sql: string, params?: readonly SqlValue[]): { readonly changes: number; readonly rowid: number }
  /** Runs `body` in one transaction that may write; all of it happens or nothing. */
  write<T>(body: () => T): T
  close(): void
}

export function connect(driver: Driver, location: string): Connection {
  const database = new driver(location)
  const statements = new Map<string, DriverStatement>()
  let open = true
  const prepare = (sql: string): DriverStatement => {
    // The driver ends the whole process when some of its functions are used after close.
    if (!open) throw new Error('the connection is closed')
    const known = statements.get(sql)
    if (known) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const exec = (sql: string): void => {
    if (!open) throw new Error('the connection is closed')
    database.exec(sql)
  }
  return {
    exec,
    // `get` of the driver may answer with the row of an earlier call (it does not reset its statement); `all` never does.
    all: (sql, params = []) => prepare(sql).raw(true).all(params) as (readonly SqlValue[])[],
    run(sql, params = []) {
      const { changes, lastInsertRowid } = prepare(sql).run(params)
      return { changes, rowid: Number(lastInsertRowid) }
    },
    write(body) {
      exec('begin immediate')
      try {
        const value = body()
        exec('commit')
        return value
      } catch (error) {
        try {
          exec('rollback')
        } catch {
          // Where SQLite has rolled back by itself there is nothing to undo; the first error is the one that counts.
        }
        throw error
      }
    },
    close() {
      if (!open) return
      open = false
      statements.clear()
      database.close()
    },
  }
}

export type Trouble = 'busy' | 'damaged' | 'readonly' | 'full' | 'unreachable' | 'other'

// Primary result codes, https://sqlite.org/rescode.html
const troubles: Readonly<Record<number, Trouble>> = {
  5: 'busy',
  6: 'busy',
  15: 'busy',
  3: 'readonly',
  8: 'readonly',
  23: 'readonly',
  13: 'full',
  11: 'damaged',
  26: 'damaged',
  10: 'unreachable',
  14: 'unreachable',
}

/** What an error of the driver means. */
export function troubleOf(error: unknown): Trouble {
  const { rawCode, message } = (error ?? {}) as { rawCode?: unknown; message?: unknown }
  // An error of opening has its code in the text alone.
  const code = typeof rawCode === 'number' ? rawCode : Number(/: (\d+)"\)$/.exec(String(message))?.[1] ?? Number.NaN)
  return troubles[code & 0xff] ?? 'other'
}

const reasons: Readonly<Record<Exclude<Trouble, 'other'>, string>> = {
  busy: 'locked by another process',
  damaged: 'the file is damaged',
  readonly: 'it is read-only',
  full: 'the disk is full',
  unreachable: 'the disk or the folder cannot be read or written',
}

export function whyOf(error: unknown): string {
  const trouble = troubleOf(error)
  return trouble === 'other' ? (error instanceof Error ? error.message : String(error)) : reasons[trouble]
}
