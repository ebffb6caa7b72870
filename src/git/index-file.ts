import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import { readPlain } from './plain-file.ts'
import { hasOpen, isWorkingIn, listPids, readOfProcess } from './processes.ts'

/** The index of a tree as a file. git reads a damaged one without complaint in some places, and shows nonsense. */

// Of some million files.
const maxIndexBytes = 1024 ** 3

export type IndexHealth = 'whole' | 'missing' | 'damaged'

/** By its checksum (gitformat-index(5)); no git process is started. */
export function checkIndex(adminDir: string): IndexHealth {
  let bytes: Buffer
  try {
    bytes = readPlain(join(adminDir, 'index'), maxIndexBytes)
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? 'missing' : 'damaged'
  }
  if (bytes.toString('latin1', 0, 4) !== 'DIRC') return 'damaged'
  return hashes.some(({ name, size }) => isSummed(bytes, name, size)) ? 'whole' : 'damaged'
}

/** As repositories name their objects. */
const hashes = [
  { name: 'sha1', size: 20 },
  { name: 'sha256', size: 32 },
] as const

/** DIRC, version, number of entries. */
const headerBytes = 12

function isSummed(bytes: Buffer, hash: string, size: number): boolean {
  if (bytes.length < headerBytes + size) return false
  const body = bytes.subarray(0, -size)
  const sum = bytes.subarray(-size)
  // `index.skipHash` leaves zeros in its place.
  return sum.every((byte) => byte === 0) || createHash(hash).update(body).digest().equals(sum)
}

export interface IndexLock {
  readonly path: string
  readonly ageMs: number
  /** Who may still need it, in words; null: nobody that can be found. */
  readonly holder: string | null
}

/** The lock on the index of a tree; undefined where there is none. */
export function findIndexLock(adminDir: string, tree: string, now: Date): IndexLock | undefined {
  const path = join(adminDir, 'index.lock')
  let changedMs: number
  try {
    changedMs = statSync(path).mtimeMs
  } catch {
    return undefined
  }
  return { path, ageMs: Math.max(0, now.getTime() - changedMs), holder: findHolder(path, tree) }
}

/**
 * A process that has the lock open, or any git that works in the tree: while a hook or an editor runs, git keeps the lock and not its
 * descriptor. Of other users' processes nothing can be seen. Without /proc nobody can be found, which is told as somebody.
 */
function findHolder(lock: string, tree: string): string | null {
  const pids = listPids()
  if (pids === undefined) return 'a process that cannot be looked for on this system'
  const holder = pids.find((pid) => hasOpen(pid, lock) || (isWorkingIn(pid, tree) && readOfProcess(pid, 'comm').startsWith('git')))
  return holder === undefined ? null : `process ${holder}`
}
