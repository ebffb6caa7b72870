import { chmodSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { failure, messageOf } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import type { LockFile } from '../../core/workspace.ts'
import { type DriverDatabase, loadDriver } from './driver.ts'

/** How often a lock that is held is asked for again. A bit apart, so that those who wait do not all ask at once. */
const askAgainMs = 15

/**
 * A lock between processes. Node has no way to lock a file, and a lock that is a file of its own outlives a holder that is killed; the
 * exclusive transaction of an empty database is a lock of the system (fcntl(2)), which ends with its holder.
 */
export const lockFile: LockFile = async (file, { what, timeoutMs, signal }) => {
  const until = monotonicMs() + timeoutMs
  for (;;) {
    if (signal?.aborted) throw failure('canceled', {})
    const database = tryLock(file)
    if (database) return unlock(database)
    if (monotonicMs() >= until) throw failure('lock_timeout', { what, afterMs: timeoutMs, holder: holderOf(file) })
    await new Promise((resolve) => setTimeout(resolve, askAgainMs * (0.5 + Math.random())))
  }
}

function tryLock(file: string): DriverDatabase | undefined {
  requireEmpty(file)
  let database: DriverDatabase | undefined
  try {
    database = new (loadDriver())(file)
    database.exec('pragma busy_timeout = 0')
    database.exec('begin exclusive')
    // The driver makes the file as the umask says.
    chmodSync(file, 0o600)
    tellHolder(file)
    return database
  } catch (error) {
    database?.close()
    if (/locked|busy/i.test(messageOf(error))) return undefined
    throw failure('store_unusable', { path: file, why: messageOf(error) }, error)
  }
}

function unlock(database: DriverDatabase): () => void {
  let isHeld = true
  return () => {
    if (!isHeld) return
    isHeld = false
    try {
      database.exec('rollback')
    } finally {
      database.close()
    }
  }
}

/**
 * The folder of a lock may be one that others write to. What is opened is a file of its own that nothing was ever written to: a link would
 * lock another database, and of one that has content a journal is played back, which may name files to delete.
 */
function requireEmpty(file: string): void {
  const unusable = (why: string) => failure('store_unusable', { path: file, why })
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found && !(found.isFile() && found.nlink === 1 && found.size === 0)) throw unusable('something else is in the place of the lock; remove it')
  // Of a database without content a journal that was left is thrown away, not played back; one that is held has one.
  const journal = lstatSync(`${file}-journal`, { throwIfNoEntry: false })
  if (journal && !(journal.isFile() && journal.nlink <= 1)) throw unusable(`something else is in the place of ${file}-journal; remove it`)
}

/** For those who wait. Nothing is written through a link or into a pipe that was put there. */
function tellHolder(file: string): void {
  const path = `${file}.holder`
  const draft = `${path}.new`
  rmSync(draft, { force: true, recursive: true })
  writeFileSync(draft, String(process.pid), { mode: 0o600, flag: 'wx' })
  renameSync(draft, path)
}

/** Only to be told: it may be that of a holder before. */
function holderOf(file: string): string | null {
  try {
    const path = `${file}.holder`
    const found = lstatSync(path)
    const pid = found.isFile() && found.size < 32 ? readFileSync(path, 'utf8').trim() : ''
    return /^\d+$/.test(pid) ? `process ${pid}` : null
  } catch {
    return null
  }
}
