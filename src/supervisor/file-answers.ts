import { failure, type HoldfastError } from '../core/errors.ts'
import { type FileEntry, type FileKind, type FileLink, type FileStat, maxFileLinks } from '../core/files.ts'
import { answers, type Frame } from './frames.ts'

/** Readers of answers about files, one per type. Undefined where the frame is of another type, or lacks what it must have. */

/** What a request was about, for the errors that it may end with. */
export interface AskedFile {
  readonly root: string
  readonly path: string
  /** Where something is to be moved to. */
  readonly to?: string | undefined
}

const kinds: readonly (FileKind | undefined)[] = [undefined, 'file', 'directory', 'link', 'other']

export interface FoundFile {
  readonly path: string
  readonly absolute: string
  /** Of what is there; undefined: nothing. */
  readonly stat: FileStat | undefined
  readonly links: readonly FileLink[]
  readonly made: boolean
}

export function readFile(frame: Frame): FoundFile | undefined {
  if (frame.type !== answers.file) return undefined
  let path: string | undefined
  let absolute: string | undefined
  let exists = false
  let made = false
  let kind: FileKind | undefined
  const numbers = { bytes: 0, mode: 0, modified: 0 }
  const links: FileLink[] = []
  while (frame.next()) {
    if (frame.key === 13) path = frame.text()
    else if (frame.key === 21) absolute = frame.text()
    else if (frame.key === 24) exists = frame.number() === 1
    else if (frame.key === 17) kind = kinds[frame.number() ?? 0]
    else if (frame.key === 14) numbers.bytes = frame.number() ?? 0
    else if (frame.key === 11) numbers.mode = frame.number() ?? 0
    else if (frame.key === 20) numbers.modified = frame.number() ?? 0
    else if (frame.key === 22) links.push(linkOf(frame.text()))
    else if (frame.key === 23) made = frame.number() === 1
  }
  if (path === undefined || absolute === undefined || (exists && !kind)) return undefined
  const { bytes, mode, modified } = numbers
  const stat = kind && { path, kind, bytes, mode: mode.toString(8).padStart(4, '0'), modifiedAt: new Date(modified).toISOString() }
  return { path, absolute, stat: exists ? stat : undefined, links, made }
}

/** One that stands outside of the root has no path. */
function linkOf(text: string): FileLink {
  const at = text.indexOf('\0')
  return { path: at > 0 ? text.slice(0, at) : null, target: text.slice(at + 1) }
}

export function readEntries(frame: Frame): { readonly path: string; readonly entries: FileEntry[]; readonly more: boolean } | undefined {
  if (frame.type !== answers.entries) return undefined
  let path: string | undefined
  let more = false
  const entries: FileEntry[] = []
  while (frame.next()) {
    if (frame.key === 13) path = frame.text()
    else if (frame.key === 26) more = frame.number() === 1
    else if (frame.key === 25) {
      const entry = entryOf(frame.bytes())
      if (!entry) return undefined
      entries.push(entry)
    }
  }
  return path === undefined ? undefined : { path, entries, more }
}

const entryHeaderBytes = 9

function entryOf(bytes: Buffer): FileEntry | undefined {
  const end = bytes.indexOf(0, entryHeaderBytes)
  const kind = kinds[bytes[0] ?? 0]
  if (!kind || end < 0) return undefined
  const target = bytes.toString('utf8', end + 1)
  return { name: bytes.toString('utf8', entryHeaderBytes, end), kind, bytes: Number(bytes.readBigUInt64LE(1)), target: target === '' ? null : target }
}

/** In `room`, where that is given. */
export function readBytes(frame: Frame, room?: Buffer): Buffer | undefined {
  if (frame.type !== answers.bytes) return undefined
  let bytes: Buffer | undefined
  while (frame.next()) if (frame.key === 9) bytes = frame.bytes(room)
  return bytes
}

export interface WrittenFile {
  readonly path: string
  /** Where it was, of what was moved. */
  readonly from: string
  readonly bytes: number
  readonly made: boolean
  readonly inPlace: boolean
}

export function readWritten(frame: Frame): WrittenFile | undefined {
  if (frame.type !== answers.written) return undefined
  let path: string | undefined
  let from = ''
  let bytes = 0
  let made = false
  let inPlace = false
  while (frame.next()) {
    if (frame.key === 13) path = frame.text()
    else if (frame.key === 19) from = frame.text()
    else if (frame.key === 14) bytes = frame.number() ?? 0
    else if (frame.key === 23) made = frame.number() === 1
    else if (frame.key === 16) inPlace = frame.number() === 2
  }
  return path === undefined ? undefined : { path, from, bytes, made, inPlace }
}

export function readRemoved(frame: Frame): { readonly path: string; readonly kind: FileKind; readonly entries: number } | undefined {
  if (frame.type !== answers.removed) return undefined
  let path: string | undefined
  let kind: FileKind | undefined
  let entries = 0
  while (frame.next()) {
    if (frame.key === 13) path = frame.text()
    else if (frame.key === 17) kind = kinds[frame.number() ?? 0]
    else if (frame.key === 18) entries = frame.number() ?? 0
  }
  return path === undefined || kind === undefined ? undefined : { path, kind, entries }
}

/** In hexadecimal, of so many bytes. */
export function readHash(frame: Frame): { readonly sha256: string; readonly bytes: number } | undefined {
  if (frame.type !== answers.hash) return undefined
  let sha256: string | undefined
  let bytes = 0
  while (frame.next()) {
    if (frame.key === 12) sha256 = frame.bytes().toString('hex')
    else if (frame.key === 14) bytes = frame.number() ?? 0
  }
  return sha256 === undefined ? undefined : { sha256, bytes }
}

/** What a FILE_REFUSED means for the file that a caller named; undefined where the frame is something else. */
export function readFileRefusal(frame: Frame, asked: AskedFile): HoldfastError | undefined {
  if (frame.type !== answers.fileRefused) return undefined
  let reason = ''
  let errno = ''
  let what = ''
  let needed = ''
  let isSecond = false
  while (frame.next()) {
    if (frame.key === 1) reason = frame.text()
    else if (frame.key === 2) errno = frame.text()
    else if (frame.key === 3) what = frame.text()
    else if (frame.key === 4) needed = frame.text()
    else if (frame.key === 5) isSecond = frame.number() === 1
  }
  const path = (isSecond ? asked.to : undefined) ?? asked.path
  switch (reason) {
    case 'root_missing':
      return failure('root_missing', { root: asked.root })
    case 'file_missing':
      return failure('file_missing', { path })
    case 'file_outside':
      return failure('file_outside', { path, why: what })
    case 'file_loop':
      return failure('file_loop', { path, links: maxFileLinks })
    case 'file_kind':
      return failure('file_kind', { path, is: what, needed })
    case 'file_denied':
      return failure('file_denied', { path, why: what })
    case 'file_name_too_long':
      return failure('file_name_too_long', { path })
    case 'hash':
      return failure('file_changed', { path, why: what })
    case 'no_such_handle':
      return failure('file_failed', { path, errno: 'EBADF' })
    case 'exhausted':
      return failure('file_failed', { path, errno: 'EMFILE' })
    default:
      return failure('file_failed', { path, errno: [errno || reason, what].filter(Boolean).join(', ') })
  }
}
