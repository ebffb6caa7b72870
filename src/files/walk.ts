import { lstatSync, mkdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs'
import { errnoOf, failure, hasReason } from '../core/errors.ts'
import { type FileLink, maxFileLinks } from '../core/files.ts'
import type { Directory, DirectoryOpener } from './directory.ts'
import { fileFault } from './fault.ts'
import { joinNames, parsePath, refuseGit } from './path.ts'

/**
 * Finds where a path leads, name by name, each looked up in the directory that was opened before it. The system never follows a link
 * on the way: what a link says is walked like the path itself, so that it is known at each step whether that is inside of the root.
 * The way may go outside by links and come back; what counts is where it ends. Outside nothing is made, and what is found there is
 * not told: every way that ends there is `file_outside`.
 */
export interface WalkOptions {
  /** What it leads to is to be made, changed or removed: state of git is refused. */
  readonly changes?: boolean | undefined
  /** Make the directories that are missing on the way. */
  readonly makeParents?: boolean | undefined
  /** A link at the very end is what was asked for. */
  readonly keepLast?: boolean | undefined
}

/** Where a path leads. Whoever walked closes it. */
export interface Landing {
  /** As the caller wrote it. */
  readonly path: string
  /** From the root, links followed. */
  readonly names: readonly string[]
  /** The directory that has the entry. Of the root itself: the root. */
  readonly parent: Directory
  /** undefined: the root itself. */
  readonly name: string | undefined
  /** What is there; undefined: nothing. */
  readonly stats: Stats | undefined
  /** Where it is a directory. */
  readonly directory: Directory | undefined
  readonly links: readonly FileLink[]
  close(): void
}

interface Inside {
  readonly directory: Directory
  readonly name: string
}

// A directory that is swapped while it is opened is looked at again, so often.
const maxSwaps = 100

export function walk(opener: DirectoryOpener, root: string, path: string, options: WalkOptions = {}): Landing {
  const asked = parsePath(path)
  // Before a directory is made for it.
  if (options.changes) refuseGit(path, asked)
  const todo = [...asked].reverse()
  const links: FileLink[] = []
  const opened: Directory[] = []
  const keep = (directory: Directory): Directory => {
    opened.push(directory)
    return directory
  }
  const close = (): void => {
    for (const directory of opened) directory.close()
  }
  const outside = () => failure('file_outside', { path, why: 'leads outside' })
  /** The directory that the way is at, while it is outside. */
  let away: Directory | undefined
  try {
    const top = keep(openRoot(opener, root))
    /** The directories below the root that the way went through. */
    const inside: Inside[] = []
    let swaps = 0
    const current = (): Directory => inside.at(-1)?.directory ?? top
    const namesTo = (last?: string): string[] => [...inside.map(({ name }) => name), ...(last === undefined ? [] : [last])]

    const enter = (found: Directory, name: string): void => {
      if (away === undefined) inside.push({ directory: found, name })
      else if (found.dev === top.dev && found.ino === top.ino) away = undefined
      else away = found
    }
    const goOut = (to: Directory): void => {
      inside.length = 0
      away = to
      enter(to, '')
    }
    const follow = (directory: Directory, name: string): void => {
      if (links.length >= maxFileLinks) throw failure('file_loop', { path, links: maxFileLinks })
      const target = readlinkSync(directory.at(name))
      links.push({ path: away === undefined ? joinNames(namesTo(name)) : null, target })
      todo.push(
        ...target
          .split('/')
          .filter((part) => part !== '' && part !== '.')
          .reverse(),
      )
      if (target.startsWith('/')) goOut(keep(opener.open('/')))
    }
    const landing = (name: string | undefined, stats: Stats | undefined, directory?: Directory): Landing => {
      const names = namesTo(directory ? undefined : name)
      if (options.changes) refuseGit(path, names)
      return { path, names, parent: directory ? (inside.at(-2)?.directory ?? top) : current(), name, stats, directory, links, close }
    }

    for (;;) {
      const name = todo.pop()
      if (name === undefined) break
      if (name === '..') {
        if (away === undefined && inside.length > 0) inside.pop()
        else if (away === undefined) goOut(keep(opener.below(top, '..')))
        else enter(keep(opener.below(away, '..')), '')
        continue
      }
      const directory: Directory = away ?? current()
      const isLast = todo.length === 0
      const stats = lstatSync(directory.at(name), { throwIfNoEntry: false })
      if (stats === undefined) {
        if (away !== undefined) throw outside()
        if (isLast) return landing(name, undefined)
        if (!options.makeParents) throw failure('file_missing', { path })
        refuseGit(path, namesTo(name))
        makeDirectory(directory, name)
        todo.push(name)
      } else if (stats.isSymbolicLink() && !(isLast && options.keepLast && away === undefined)) {
        try {
          follow(directory, name)
        } catch (error) {
          // It is no link any more.
          if (errnoOf(error) !== 'EINVAL' && errnoOf(error) !== 'ENOENT') throw error
          todo.push(name)
          if (++swaps > maxSwaps) throw error
        }
      } else if (stats.isDirectory()) {
        let found: Directory
        try {
          found = keep(opener.below(directory, name))
        } catch (error) {
          const isSwapped = ['ELOOP', 'ENOTDIR', 'ENOENT'].includes(errnoOf(error) ?? '')
          if (!isSwapped || ++swaps > maxSwaps) throw error
          todo.push(name)
          continue
        }
        enter(found, name)
      } else {
        if (away !== undefined) throw outside()
        if (!isLast) throw failure('file_kind', { path, is: 'below a file', needed: 'below a directory' })
        return landing(name, stats)
      }
    }
    if (away !== undefined) throw outside()
    const last = inside.at(-1)
    const directory = last?.directory ?? top
    return landing(last?.name, directory.stats(), directory)
  } catch (error) {
    close()
    const fault = fileFault(path, error)
    throw away === undefined || hasReason(fault, 'file_loop') ? fault : outside()
  }
}

function openRoot(opener: DirectoryOpener, root: string): Directory {
  try {
    return opener.open(realpathSync.native(root))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') throw failure('root_missing', { root }, error)
    throw fileFault(root, error)
  }
}

function makeDirectory(parent: Directory, name: string): void {
  try {
    mkdirSync(parent.at(name))
  } catch (error) {
    // Somebody else made it, or something: that is looked at next.
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}
