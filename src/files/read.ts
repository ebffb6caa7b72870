import { closeSync, constants, fstatSync } from 'node:fs'
import { failure } from '../core/errors.ts'
import { joinNames } from '../core/file-path.ts'
import type { BoundFile } from '../core/files.ts'
import type { DirectoryOpener } from './directory.ts'
import { fileFault } from './fault.ts'
import { statOf } from './look.ts'
import { openRegular, readAt, requireFilePlace } from './open-file.ts'
import { walk } from './walk.ts'

/** Opens a file for reading, for as long as somebody needs it. Throws Swapped where another process was in between. */
export function openForReading(opener: DirectoryOpener, root: string, path: string): BoundFile & { readonly fd: number } {
  const landing = walk(opener, root, path)
  try {
    const { parent, name, exists } = requireFilePlace(landing)
    if (!exists) throw failure('file_missing', { path })
    const { fd } = openRegular(path, parent, name, constants.O_RDONLY)
    const where = joinNames(landing.names)
    let isOpen = true
    return {
      fd,
      path: where,
      stat: () => statOf(where, fstatSync(fd)),
      async read(from, maxBytes) {
        if (!isOpen) throw failure('file_failed', { path, errno: 'EBADF' })
        try {
          return await readAt(fd, from, Math.min(maxBytes, Math.max(0, fstatSync(fd).size - from)))
        } catch (error) {
          throw fileFault(path, error)
        }
      },
      close() {
        if (isOpen) closeSync(fd)
        isOpen = false
      },
    }
  } finally {
    landing.close()
  }
}
