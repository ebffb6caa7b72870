import { failure, type HoldfastError } from '../core/errors.ts'
import { maxFileLinks } from '../core/files.ts'

/** Something was swapped between the look at it and its use: to be done again. */
export class Swapped extends Error {}

/** How programs of GNU, busybox and musl, and shells, say what went wrong. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/no such file|nonexistent/i, 'ENOENT'],
  [/permission denied/i, 'EACCES'],
  [/not permitted/i, 'EPERM'],
  [/name too long/i, 'ENAMETOOLONG'],
  [/no space left/i, 'ENOSPC'],
  [/quota exceeded/i, 'EDQUOT'],
  [/file too large/i, 'EFBIG'],
  [/read-only file ?system/i, 'EROFS'],
  [/is a directory/i, 'EISDIR'],
  [/not a directory/i, 'ENOTDIR'],
  [/not empty/i, 'ENOTEMPTY'],
  [/file exists/i, 'EEXIST'],
  [/symbolic link/i, 'ELOOP'],
  [/text file busy/i, 'ETXTBSY'],
  [/busy/i, 'EBUSY'],
  [/i\/o error|input\/output error/i, 'EIO'],
]
const maxTextChars = 200

/** The errno that the last line of a complaint means, or else its words. */
export function errnoIn(complaint: string): string {
  const last = complaint.trim().split('\n').at(-1) ?? ''
  // Names stand before it.
  const words = last.slice(last.lastIndexOf(': ') + 1)
  return phrases.find(([phrase]) => phrase.test(words))?.[1] ?? (last.slice(-maxTextChars) || 'UNKNOWN')
}

/** What a script refused; `path` as the caller wrote it. */
export function shellFault(root: string, path: string, [reason = '', first = '', second = '']: readonly string[]): HoldfastError | Swapped {
  switch (reason) {
    case 'root':
      return failure('root_missing', { root })
    case 'outside':
      return failure('file_outside', { path, why: first || 'leads outside' })
    case 'git':
      return failure('file_outside', { path, why: 'belongs to git' })
    case 'loop':
      return failure('file_loop', { path, links: maxFileLinks })
    case 'long':
      return failure('file_name_too_long', { path })
    case 'missing':
      return failure('file_missing', { path })
    case 'kind':
      return failure('file_kind', { path, is: first, needed: second })
    case 'denied':
      return failure('file_denied', { path, why: first || 'this user may not (EACCES)' })
    case 'changed':
      return failure('file_changed', { path, why: first })
    case 'swapped':
      return new Swapped(path)
    case 'said':
      return systemFault(path, errnoIn(first))
    default:
      return failure('file_failed', { path, errno: first || reason })
  }
}

function systemFault(path: string, errno: string): HoldfastError {
  switch (errno) {
    case 'ENOENT':
      return failure('file_missing', { path })
    case 'EACCES':
    case 'EPERM':
      return failure('file_denied', { path, why: `this user may not (${errno})` })
    case 'EROFS':
      return failure('file_denied', { path, why: 'its file system is read-only (EROFS)' })
    case 'EISDIR':
      return failure('file_kind', { path, is: 'a directory', needed: 'a file' })
    case 'ENOTDIR':
      return failure('file_kind', { path, is: 'a file, or below one', needed: 'a directory' })
    case 'ENOTEMPTY':
    case 'EEXIST':
      return failure('file_kind', { path, is: 'a directory with something in it', needed: 'an empty one' })
    case 'ENAMETOOLONG':
      return failure('file_name_too_long', { path })
    case 'ELOOP':
      return failure('file_loop', { path, links: maxFileLinks })
    default:
      return failure('file_failed', { path, errno })
  }
}
