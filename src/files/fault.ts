import { errnoOf, failure, HoldfastError } from '../core/errors.ts'
import { maxFileLinks } from '../core/files.ts'

/** What a system error means for the file that a caller named; an error of ours stays as it is. */
export function fileFault(path: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error
  const errno = errnoOf(error) ?? 'UNKNOWN'
  switch (errno) {
    case 'ENOENT':
      return failure('file_missing', { path }, error)
    case 'EACCES':
    case 'EPERM':
      return failure('file_denied', { path, why: `this user may not (${errno})` }, error)
    case 'EROFS':
      return failure('file_denied', { path, why: 'its file system is read-only (EROFS)' }, error)
    case 'EISDIR':
      return failure('file_kind', { path, is: 'a directory', needed: 'a file' }, error)
    case 'ENOTDIR':
      return failure('file_kind', { path, is: 'a file, or below one', needed: 'a directory' }, error)
    case 'ENOTEMPTY':
    case 'EEXIST':
      return failure('file_kind', { path, is: 'a directory with something in it', needed: 'an empty one' }, error)
    case 'ENAMETOOLONG':
      return failure('file_name_too_long', { path }, error)
    case 'ELOOP':
      return failure('file_loop', { path, links: maxFileLinks }, error)
    default:
      return failure('file_failed', { path, errno }, error)
  }
}
