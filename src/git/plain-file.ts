import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join, relative, sep } from 'node:path'
import { errnoOf, failure } from '../core/errors.ts'

/**
 * Files in folders that whoever works in a worktree can write to, as the git folder is. There may be a pipe in the place of a file, which
 * would be waited for; a link, by which another file would be written; or more than fits into memory.
 */

const defaultMaxBytes = 16 * 1024 ** 2

/** A whole file, links followed. Throws what the system says where there is none, `file_kind` and `file_too_large`; nothing is waited for. */
export function readPlain(path: string, maxBytes = defaultMaxBytes): Buffer {
  // A device may do something already when it is opened.
  requireFile(path, statSync(path))
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  try {
    const found = fstatSync(descriptor)
    requireFile(path, found)
    if (found.size > maxBytes) throw failure('file_too_large', { path, bytes: found.size, maxBytes })
    const buffer = Buffer.alloc(found.size)
    let length = 0
    for (let read = -1; length < buffer.length && read !== 0; length += read) read = readSync(descriptor, buffer, length, buffer.length - length, length)
    return buffer.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

/** The same as text. */
export const readPlainText = (path: string, maxBytes?: number): string => readPlain(path, maxBytes).toString('utf8')

/** Puts a new file in the place of what is there, in one step. What lies in the way, a link as well, is never written through. */
export function replacePlain(path: string, content: string | Uint8Array, { temporary = `${path}.new`, mode = 0o600, finish }: ReplaceOptions = {}): void {
  rmSync(temporary, { force: true })
  const descriptor = openSync(temporary, 'wx', mode)
  try {
    writeFileSync(descriptor, content)
    finish?.(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(temporary, path)
}

export interface ReplaceOptions {
  /** A sibling that no other process writes at the same time. */
  readonly temporary?: string | undefined
  readonly mode?: number | undefined
  /** Called before the file has its name, with its descriptor. */
  readonly finish?: ((descriptor: number) => void) | undefined
}

/** Adds to the end of a file in one write, made where there is none. Throws `file_kind` for a link, and for what is no file or has other names. */
export function appendPlain(path: string, text: string): void {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants
  const descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
  try {
    const found = fstatSync(descriptor)
    requireFile(path, found)
    if (found.nlink > 1) throw failure('file_kind', { path, is: 'a file with other names', needed: 'one of its own' })
    writeSync(descriptor, text)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes a folder below another one, and those between them. Throws `file_kind` where one of these is a link, or no folder: what is made there would be elsewhere. */
export function makePlainFolder(top: string, folder: string, mode = 0o700): void {
  mkdirSync(top, { recursive: true, mode })
  let path = top
  for (const name of relative(top, folder).split(sep)) {
    path = join(path, name)
    try {
      mkdirSync(path, { mode })
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
      const found = lstatSync(path)
      if (!found.isDirectory()) throw failure('file_kind', { path, is: found.isSymbolicLink() ? 'a link' : 'no folder', needed: 'a folder' })
    }
  }
}

function requireFile(path: string, found: Stats): void {
  if (!found.isFile()) throw failure('file_kind', { path, is: found.isDirectory() ? 'a folder' : 'a pipe, a socket or a device', needed: 'a file' })
}
