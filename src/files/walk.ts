import { lstatSync, mkdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs'
import { errnoOf, failure, hasReason } from '../core/errors.ts'
import { joinNames, parsePath, refuseGit } from '../core/file-path.ts'
import { type FileLink, maxFileLinks } from '../core/files.ts'
import type { Directory, DirectoryOpener } from './directory.ts'
import { fileFault } from './fault.ts'

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

// What is swapped while it is opened is looked at again, so often.
const maxSwaps = 100
const swapErrors = ['ELOOP', 'ENOTDIR', 'ENOENT', 'EINVAL']

export function walk(opener: DirectoryOpener, root: string, path: string, options: WalkOptions = {}): Landing {
  const asked = parsePath(path)
  // Before a directory is made for it.
  if (options.changes) refuseGit(path, asked)
  const position = openRoot(opener, root)
  try {
    return findLanding(position, path, [...asked].reverse(), options)
  } catch (error) {
    const isAway = position.isAway()
    position.close()
    const fault = fileFault(path, error)
    throw isAway && !hasReason(fault, 'file_loop') ? failure('file_outside', { path, why: 'leads outside' }) : fault
  }
}

/** `todo` has the names that are still to be walked, the next one last. What it throws while the position is away is not told. */
function findLanding(position: Position, path: string, todo: string[], options: WalkOptions): Landing {
  const links: FileLink[] = []
  let swaps = 0
  const land = (found: Pick<Landing, 'names' | 'parent' | 'name' | 'stats' | 'directory'>): Landing => {
    if (options.changes) refuseGit(path, found.names)
    return { path, links, close: position.close, ...found }
  }
  const entry = (name: string, stats: Stats | undefined): Landing =>
    land({ names: position.names(name), parent: position.current(), name, stats, directory: undefined })
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (name === '..') {
      position.up()
      continue
    }
    const isLast = todo.length === 0
    const stats = lstatSync(position.current().at(name), { throwIfNoEntry: false })
    try {
      if (stats?.isDirectory()) position.enter(name)
      else if (stats?.isSymbolicLink() && !(isLast && options.keepLast && !position.isAway())) {
        if (links.length >= maxFileLinks) throw failure('file_loop', { path, links: maxFileLinks })
        const target = readlinkSync(position.current().at(name))
        links.push({ path: position.isAway() ? null : joinNames(position.names(name)), target })
        todo.push(...namesIn(target).reverse())
        if (target.startsWith('/')) position.toTop()
      } else if (position.isAway()) throw failure('file_outside', { path, why: 'leads outside' })
      else if (isLast) return entry(name, stats)
      else if (stats) throw failure('file_kind', { path, is: 'below a file', needed: 'below a directory' })
      else if (!options.makeParents) throw failure('file_missing', { path })
      else {
        refuseGit(path, position.names(name))
        makeDirectory(position.current(), name)
        todo.push(name)
      }
    } catch (error) {
      if (!stats || !swapErrors.includes(errnoOf(error) ?? '') || ++swaps > maxSwaps) throw error
      todo.push(name)
    }
  }
  if (position.isAway()) throw failure('file_outside', { path, why: 'leads outside' })
  const directory = position.current()
  const names = position.names()
  return land({ names, parent: position.parent(), name: names.at(-1), stats: directory.stats(), directory })
}

const namesIn = (target: string): string[] => target.split('/').filter((name) => name !== '' && name !== '.')

/** Where a walk is: in a directory below the root that it came to by names, or, for a while, outside. */
interface Position {
  isAway(): boolean
  current(): Directory
  /** That which has the current one; of the root itself: the root. */
  parent(): Directory
  /** From the root to where it is, and a further one. */
  names(further?: string): string[]
  /** Into an entry. Throws ENOTDIR, ELOOP or ENOENT where that is no directory any more. */
  enter(name: string): void
  /** To the directory above: inside, the one that the walk came from, wherever that is now. */
  up(): void
  /** To the root of the file system. */
  toTop(): void
  close(): void
}

function openRoot(opener: DirectoryOpener, root: string): Position {
  const opened: Directory[] = []
  const keep = (directory: Directory): Directory => {
    opened.push(directory)
    return directory
  }
  const top = keep(openFolder(opener, root))
  const inside: { readonly directory: Directory; readonly name: string }[] = []
  let away: Directory | undefined
  const current = (): Directory => away ?? inside.at(-1)?.directory ?? top
  const goTo = (directory: Directory): void => {
    inside.length = 0
    // By whatever way one comes to the root, there one is inside.
    away = directory.dev === top.dev && directory.ino === top.ino ? undefined : directory
  }
  return {
    isAway: () => away !== undefined,
    current,
    parent: () => inside.at(-2)?.directory ?? top,
    names: (further) => [...inside.map(({ name }) => name), ...(further === undefined ? [] : [further])],
    enter(name) {
      const directory = keep(opener.below(current(), name))
      if (away === undefined) inside.push({ directory, name })
      else goTo(directory)
    },
    up() {
      if (away === undefined && inside.length > 0) inside.pop()
      else goTo(keep(opener.below(current(), '..')))
    },
    toTop: () => goTo(keep(opener.open('/'))),
    close() {
      for (const directory of opened) directory.close()
    },
  }
}

function openFolder(opener: DirectoryOpener, root: string): Directory {
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
