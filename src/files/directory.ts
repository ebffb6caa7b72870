import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, realpathSync, type Stats } from 'node:fs'
import { join } from 'node:path'

/**
 * A directory that is open. What is done by `at(name)` is done in this very directory, wherever it may have been moved, and whatever
 * stands in its place by now.
 */
export interface Directory {
  readonly dev: number
  readonly ino: number
  /** Where the system finds an entry of it, for one call of node:fs right now. The entry itself may be a link. */
  at<N extends string | Buffer>(name: N): N
  stats(): Stats
  /** The names of its entries. */
  names(): Buffer[]
  close(): void
}

/** How directories are held on this machine. */
export interface DirectoryOpener {
  readonly way: 'handles' | 'paths'
  /** By an absolute path, of which the last name is no link. */
  open(path: string): Directory
  /** An entry of a directory, or `..`. Throws ENOTDIR or ELOOP where it is a link or no directory. */
  below(directory: Directory, name: string | Buffer): Directory
}

// Linux, on x86 and arm (open(2)); Node does not name it. Such a handle needs no permission to read the directory.
const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants

/** Directories as handles, and their entries through /proc/self/fd, which the kernel resolves from the handle like openat(2). */
const handles: DirectoryOpener = {
  way: 'handles',
  open: (path) => handle(openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW)),
  below: (directory, name) => handle(openSync(directory.at(name), O_PATH | O_DIRECTORY | O_NOFOLLOW)),
}

function handle(fd: number): Directory {
  const self = `/proc/self/fd/${fd}`
  const { dev, ino } = fstatSync(fd)
  return {
    dev,
    ino,
    at: <N extends string | Buffer>(name: N): N => (typeof name === 'string' ? `${self}/${name}` : Buffer.concat([Buffer.from(`${self}/`), name])) as N,
    stats: () => fstatSync(fd),
    names: () => readdirSync(self, { encoding: 'buffer' }),
    close: closer(fd),
  }
}

/**
 * Directories by their paths, looked at anew before each use, where the system has no paths through handles. Weaker: between the
 * look and the use, which follow each other at once, another process may put a link in the place of a directory.
 */
const paths: DirectoryOpener = {
  way: 'paths',
  open: (path) => held(realpathSync.native(path)),
  below: (directory, name) => {
    const path = directory.at(name)
    if (name !== '..' && !lstatSync(path).isDirectory()) throw Object.assign(new Error(`ENOTDIR: not a directory, open '${path}'`), { code: 'ENOTDIR' })
    return held(realpathSync.native(path))
  },
}

function held(path: string): Directory {
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  const { dev, ino } = fstatSync(fd)
  const check = (): void => {
    const found: Stats | undefined = lstatSync(path, { throwIfNoEntry: false })
    const isSame = found?.dev === dev && found.ino === ino && realpathSync.native(path) === path
    if (!isSame) throw Object.assign(new Error(`ESTALE: it was moved or replaced, open '${path}'`), { code: 'ESTALE' })
  }
  return {
    dev,
    ino,
    at: <N extends string | Buffer>(name: N): N => {
      check()
      return (typeof name === 'string' ? join(path, name) : Buffer.concat([Buffer.from(path === '/' ? path : `${path}/`), name])) as N
    },
    stats: () => fstatSync(fd),
    names: () => {
      check()
      return readdirSync(path, { encoding: 'buffer' })
    },
    close: closer(fd),
  }
}

// A descriptor that was closed may be somebody else's by now.
function closer(fd: number): () => void {
  let isOpen = true
  return () => {
    if (isOpen) closeSync(fd)
    isOpen = false
  }
}

let chosen: DirectoryOpener | undefined

/** The strongest way that this machine has. */
export function directoryOpener(): DirectoryOpener {
  chosen ??= canWalkHandles() ? handles : paths
  return chosen
}

function canWalkHandles(): boolean {
  if (process.platform !== 'linux') return false
  try {
    const root = handles.open('/')
    try {
      const again = handles.below(root, '.')
      again.close()
      return again.ino === root.ino && again.dev === root.dev
    } finally {
      root.close()
    }
  } catch {
    return false
  }
}

export const directoryOpeners = { handles, paths } as const
