import { closeSync, constants, fstatSync, openSync, read, type Stats, write } from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf, failure } from '../core/errors.ts'
import type { FileKind } from '../core/files.ts'
import type { Directory } from './directory.ts'
import type { Landing } from './walk.ts'

export const readFrom = promisify(read)
const writeTo = promisify(write)

export function kindOf(stats: Stats): FileKind {
  return stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'other'
}

export const inWords: Readonly<Record<FileKind, string>> = { file: 'a file', directory: 'a directory', link: 'a link', other: 'a pipe, socket or device' }

/** Thrown where something was swapped between the look at it and its use: look again. */
export class Swapped extends Error {}

// Whoever swaps it without end is told that it cannot be used.
const maxAttempts = 200

/** Does it, and does it again where something was swapped. */
export async function settled<T>(path: string, act: () => T | Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof Swapped)) throw error
      if (attempt >= maxAttempts) throw failure('file_failed', { path, errno: 'ELOOP' }, error)
    }
  }
}

/** The directory and the name of what has to be a regular file, or missing. */
export function requireFilePlace(landing: Landing): { readonly parent: Directory; readonly name: string; readonly exists: boolean } {
  const { path, parent, name, stats } = landing
  if (name === undefined || landing.directory) throw failure('file_kind', { path, is: 'a directory', needed: 'a file' })
  if (stats && !stats.isFile()) throw failure('file_kind', { path, is: inWords[kindOf(stats)], needed: 'a file' })
  return { parent, name, exists: stats !== undefined }
}

export interface OpenFile {
  readonly fd: number
  readonly stats: Stats
}

const { O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants

/** Opens what has just been seen to be a regular file. Never waits. Throws Swapped where it is none any more. */
export function openRegular(path: string, parent: Directory, name: string, flags: number): OpenFile {
  let fd: number
  try {
    fd = openSync(parent.at(name), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  } catch (error) {
    // A link, a pipe that nobody reads, a directory: it was a file a moment ago.
    if (['ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR'].includes(errnoOf(error) ?? '')) throw new Swapped(path)
    throw error
  }
  const stats = fstatSync(fd)
  if (stats.isFile()) return { fd, stats }
  closeSync(fd)
  throw new Swapped(path)
}

const chunkBytes = 4 * 1024 * 1024

/**
 * Writes all of it at the position that the descriptor is at, at most so much with one call of the system. Returns how many bytes were
 * written before an error, and the error.
 */
export async function writeAll(fd: number, content: Uint8Array, callBytes = chunkBytes): Promise<{ readonly written: number; readonly error?: unknown }> {
  let written = 0
  try {
    while (written < content.length) {
      const { bytesWritten } = await writeTo(fd, content, written, Math.min(callBytes, content.length - written), null)
      written += bytesWritten
    }
    return { written }
  } catch (error) {
    return { written, error }
  }
}

/** Up to `length` bytes from an offset on; fewer only at the end of the file. Into `room`, where it is given. */
export async function readAt(fd: number, from: number, length: number, room?: Buffer): Promise<Buffer> {
  const buffer = room ?? Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await readFrom(fd, buffer, filled, Math.min(chunkBytes, length - filled), from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
