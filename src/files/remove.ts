import { lstatSync, rmdirSync, unlinkSync } from 'node:fs'
import { errnoOf, failure } from '../core/errors.ts'
import { isGitName, joinNames } from '../core/file-path.ts'
import type { FileRemoved } from '../core/files.ts'
import type { Directory, DirectoryOpener } from './directory.ts'
import { kindOf, Swapped } from './open-file.ts'
import { walk } from './walk.ts'

/** See Files.remove. Throws Swapped where another process was in between. */
export function removePath(opener: DirectoryOpener, root: string, path: string, recursive: boolean): FileRemoved {
  // A link that leads out is refused also where it would be removed itself.
  walk(opener, root, path, { changes: true }).close()
  const landing = walk(opener, root, path, { changes: true, keepLast: true })
  try {
    const { names, parent, name, stats, directory } = landing
    if (name === undefined) throw failure('file_outside', { path, why: 'is the root itself' })
    if (!stats) throw failure('file_missing', { path })
    if (!directory) {
      unlink(path, parent, name)
      return { path: joinNames(names), kind: kindOf(stats), entries: 1 }
    }
    if (recursive) refuseHeld(opener, path, directory, parent.dev)
    const below = recursive ? emptyDirectory(opener, path, directory) : 0
    rmdirSync(parent.at(name))
    return { path: joinNames(names), kind: 'directory', entries: below + 1 }
  } finally {
    landing.close()
  }
}

function unlink(path: string, parent: Directory, name: string): void {
  try {
    unlinkSync(parent.at(name))
  } catch (error) {
    // A directory took its place.
    if (errnoOf(error) === 'EISDIR') throw new Swapped(path)
    throw error
  }
}

/** Looks through all of it before anything is removed or moved. */
export function refuseHeld(opener: DirectoryOpener, path: string, directory: Directory, dev: number): void {
  if (directory.dev !== dev) throw failure('file_denied', { path, why: 'another file system is mounted there, or below it' })
  for (const raw of directory.names()) {
    if (isGitName(raw.toString('utf8'))) throw failure('file_outside', { path, why: 'holds what belongs to git' })
    const below = openBelow(opener, directory, raw)
    try {
      if (below) refuseHeld(opener, path, below, dev)
    } finally {
      below?.close()
    }
  }
}

/** Removes what is in a directory; links themselves, not what they lead to. How many entries that were. */
function emptyDirectory(opener: DirectoryOpener, path: string, directory: Directory): number {
  let removed = 0
  for (const raw of directory.names()) {
    if (isGitName(raw.toString('utf8'))) throw failure('file_outside', { path, why: 'holds what belongs to git' })
    const below = openBelow(opener, directory, raw)
    if (below) {
      try {
        if (below.dev !== directory.dev) throw failure('file_denied', { path, why: 'another file system is mounted below it' })
        removed += emptyDirectory(opener, path, below)
      } finally {
        below.close()
      }
      rmdirSync(directory.at(raw))
    } else unlinkSync(directory.at(raw))
    removed += 1
  }
  return removed
}

/** The entry as a directory; undefined where it is something else. */
function openBelow(opener: DirectoryOpener, directory: Directory, raw: Buffer): Directory | undefined {
  if (!lstatSync(directory.at(raw), { throwIfNoEntry: false })?.isDirectory()) return undefined
  try {
    return opener.below(directory, raw)
  } catch (error) {
    if (['ELOOP', 'ENOTDIR', 'ENOENT'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}
