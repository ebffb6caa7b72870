import { closeSync, constants, linkSync, renameSync, unlinkSync } from 'node:fs'
import { errnoOf, failure } from '../core/errors.ts'
import { joinNames } from '../core/file-path.ts'
import type { FileMoved } from '../core/files.ts'
import type { DirectoryOpener } from './directory.ts'
import { fileFault } from './fault.ts'
import { inWords, kindOf, openRegular, Swapped } from './open-file.ts'
import { refuseHeld } from './remove.ts'
import { type Landing, walk } from './walk.ts'

/** See Files.move. Throws Swapped where another process was in between. */
export function movePath(opener: DirectoryOpener, root: string, from: string, to: string, replace: boolean): FileMoved {
  // A link that leads out is refused also where it would be moved itself.
  walk(opener, root, from, { changes: true }).close()
  const source = walk(opener, root, from, { changes: true, keepLast: true })
  try {
    const { name, stats, directory, parent, names } = source
    if (name === undefined) throw failure('file_outside', { path: from, why: 'is the root itself' })
    if (!stats) throw failure('file_missing', { path: from })
    if (directory) refuseHeld(opener, from, directory, parent.dev)
    const target = openTarget(opener, root, to)
    try {
      if (directory && target.names.length > names.length && names.every((each, at) => target.names[at] === each))
        throw failure('file_kind', { path: to, is: 'below what is to be moved', needed: 'outside of it' })
      const replaced = put(source, target, replace)
      return { from: joinNames(names), path: joinNames(target.names), replaced }
    } catch (error) {
      throw error instanceof Swapped ? error : fileFault(to, error)
    } finally {
      target.close()
    }
  } finally {
    source.close()
  }
}

function openTarget(opener: DirectoryOpener, root: string, to: string): Landing {
  walk(opener, root, to, { changes: true, makeParents: true }).close()
  return walk(opener, root, to, { changes: true, keepLast: true })
}

/** Whether a file that was there is gone. */
function put(source: Landing, target: Landing, replace: boolean): boolean {
  const { path, parent, name, stats } = target
  if (name === undefined) throw failure('file_outside', { path, why: 'is the root itself' })
  const [old, fresh] = [source.parent.at(source.name as string), parent.at(name)]
  if (!stats) {
    giveName(source, target)
    return false
  }
  if (!replace) throw failure('file_kind', { path, is: `${inWords[kindOf(stats)]} that is there already`, needed: 'a name that nothing has' })
  if (!stats.isFile() || source.directory)
    throw failure('file_kind', { path, is: inWords[kindOf(stats)], needed: source.directory ? 'a name that nothing has' : 'a file' })
  // What this user may not write is not replaced either.
  closeSync(openForWriting(target))
  if (stats.ino !== source.stats?.ino || stats.dev !== source.stats.dev) renameSync(old, fresh)
  // Two names of one file: a rename does nothing.
  else if (source.name !== name || source.parent.ino !== parent.ino) unlinkSync(old)
  else return false
  return true
}

function openForWriting({ path, parent, name }: Landing): number {
  try {
    return openRegular(path, parent, name as string, constants.O_WRONLY).fd
  } catch (error) {
    if (errnoOf(error) === 'ETXTBSY') return openRegular(path, parent, name as string, constants.O_RDONLY).fd
    throw error
  }
}

function giveName(source: Landing, target: Landing): void {
  const [old, fresh] = [source.parent.at(source.name as string), target.parent.at(target.name as string)]
  if (!source.stats?.isFile()) {
    renameSync(old, fresh)
    return
  }
  try {
    // Unlike a rename, it replaces nothing that appeared meanwhile.
    linkSync(old, fresh)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw new Swapped(target.path)
    // Some file systems know no links, and of the files of others none may be made.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errnoOf(error) ?? '')) throw error
    renameSync(old, fresh)
    return
  }
  try {
    unlinkSync(old)
  } catch (error) {
    unlinkSync(fresh)
    throw error
  }
}
