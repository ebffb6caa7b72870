import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from '../../core/errors.ts'

/*
 * The store as a file, before and beside SQLite: what it is, whether it may be written, and how a damaged one is put
 * aside without a word of it being lost.
 */

export interface Found {
  readonly kind: 'missing' | 'empty' | 'database' | 'damaged'
  /** From the header; 0 where there is none. */
  readonly version: number
  readonly bytes: number
  /** Tells this file from one that takes its place later. */
  readonly inode: number
}

const magic = 'SQLite format 3\u0000'
const headerBytes = 100
const versionOffset = 60

/**
 * Files that SQLite has opened in this process. They must not be opened here again: closing any descriptor of a file
 * releases the locks that the process has on it (https://sqlite.org/howtocorrupt.html), also those of a connection.
 */
const opened = new Set<number>()

/** Must be called before SQLite opens the file. */
export function leaveToSqlite(path: string): void {
  opened.add(inodeOf(path))
}

/** Looks at the header alone, so that a store of a newer version is recognized without being touched. */
export function inspect(path: string): Found {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return { kind: 'missing', version: 0, bytes: 0, inode: 0 }
  const found = { version: 0, bytes: stat.size, inode: stat.ino }
  if (stat.size === 0) return { ...found, kind: 'empty' }
  if (opened.has(stat.ino)) return { ...found, kind: 'database' }
  const header = Buffer.alloc(headerBytes)
  const fd = openSync(path, 'r')
  try {
    readSync(fd, header, 0, headerBytes, 0)
  } finally {
    closeSync(fd)
  }
  if (stat.size < headerBytes || header.toString('latin1', 0, magic.length) !== magic) return { ...found, kind: 'damaged' }
  return { ...found, kind: 'database', version: header.readInt32BE(versionOffset) }
}

/** The inode at `path`, or 0. */
export function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0
}

/** Makes an empty file that only its owner can read, and the folders above it. Leaves a file that is there. */
export function createPrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'wx', 0o600))
    rmSync(markerOf(path), { force: true })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}

/** True where nobody may write the file or its folder. Permission bits bind root too: whoever took them away meant it. */
export function isReadOnly(path: string): boolean {
  return [path, dirname(path)].some((place) => {
    const found = statSync(place, { throwIfNoEntry: false })
    if (!found) return false
    if ((found.mode & 0o222) === 0) return true
    try {
      accessSync(place, constants.W_OK)
      return false
    } catch {
      return true
    }
  })
}

// NFS, SMB, CIFS, 9p, FUSE (sshfs, virtiofs, grpcfuse), Ceph, Lustre: https://man7.org/linux/man-pages/man2/statfs.2.html
const networkTypes = new Set([0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x01021997, 0x65735546, 0x00c36400, 0x0bd00bd0])

/** WAL needs memory that all processes share, which network file systems do not have (https://sqlite.org/wal.html). */
export function isOnNetwork(path: string): boolean {
  if (process.platform !== 'linux') return false
  try {
    return networkTypes.has(statfsSync(dirname(path)).type >>> 0)
  } catch {
    return false
  }
}

const companions = ['-wal', '-shm', '-journal']
const markerOf = (path: string): string => `${path}.damaged`

/** Notes for the next start that the file was found damaged in the middle of use. */
export function markDamaged(path: string, inode: number): void {
  try {
    writeFileSync(markerOf(path), String(inode), { mode: 0o600 })
  } catch {
    // Without the note the next start still finds most damage by itself.
  }
}

export function isMarkedDamaged(path: string, inode: number): boolean {
  const marker = markerOf(path)
  return existsSync(marker) && readFileSync(marker, 'utf8') === String(inode)
}

/**
 * Renames a damaged store with its companions to `index.damaged-YYYYMMDD-HHMMSS.db` beside it and returns the new path;
 * undefined where another process has done so already.
 */
export async function putAside(path: string, inode: number, now: Date): Promise<string | undefined> {
  return withFileLock(`${path}.lock`, () => {
    rmSync(markerOf(path), { force: true })
    if (inodeOf(path) !== inode) return undefined
    const aside = freeName(path, now)
    // Companions first: a write-ahead log that stayed behind would be taken for that of the next store.
    for (const end of companions) if (existsSync(path + end)) renameSync(path + end, aside + end)
    renameSync(path, aside)
    return aside
  })
}

function freeName(path: string, now: Date): string {
  const stamp = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  const stem = join(dirname(path), `${basename(path).replace(/\.db$/, '')}.damaged-${stamp}`)
  for (let n = 1; ; n += 1) {
    const name = `${stem}${n === 1 ? '' : `-${n}`}.db`
    if (![name, ...companions.map((end) => name + end)].some((taken) => existsSync(taken))) return name
  }
}

const staleLockMs = 10_000

/** Runs `body` while no other process does; a lock whose holder died is taken over. */
async function withFileLock<T>(lock: string, body: () => T): Promise<T> {
  for (;;) {
    try {
      closeSync(openSync(lock, 'wx', 0o600))
      break
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
      const held = statSync(lock, { throwIfNoEntry: false })
      if (held && Date.now() - held.mtimeMs > staleLockMs) rmSync(lock, { force: true })
      else await sleep(20)
    }
  }
  try {
    return body()
  } finally {
    rmSync(lock, { force: true })
  }
}
