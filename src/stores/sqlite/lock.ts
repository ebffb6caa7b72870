import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
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
  let database: DriverDatabase | undefined
  try {
    database = new (loadDriver())(file)
    database.exec('pragma busy_timeout = 0')
    database.exec('begin exclusive')
    // The driver makes the file as the umask says.
    chmodSync(file, 0o600)
    writeFileSync(`${file}.holder`, String(process.pid), { mode: 0o600 })
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

/** Only to be told: it may be that of a holder before. */
function holderOf(file: string): string | null {
  try {
    return `process ${readFileSync(`${file}.holder`, 'utf8').trim()}`
  } catch {
    return null
  }
}
