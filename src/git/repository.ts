import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** A git repository as its files tell of it; no git process is started. All paths are absolute, without symbolic links. */
export interface Repository {
  /** Top of this worktree; of a bare repository the repository itself. */
  readonly root: string
  /** The folder of this worktree's own state (HEAD, index). */
  readonly gitDir: string
  /** What all worktrees share: objects, refs, configuration. */
  readonly commonDir: string
  /**
   * The same folder for every worktree of the repository: that of the main checkout, which holds `.git`; the common
   * folder itself where it is bare or lies apart from its checkout.
   */
  readonly mainRoot: string
}

// The files that link folders hold one path, and HEAD one ref.
const maxLinkBytes = 16 * 1024
const maxConfigBytes = 256 * 1024

/**
 * Finds the repository that holds a folder, like git does, up to the root of the file system. Undefined where there is
 * none, and where a `.git` file leads nowhere: what lies above it is another repository. Never throws.
 */
export function findRepository(from: string): Repository | undefined {
  let folder = realFolder(from)
  while (folder !== undefined) {
    const dotGit = join(folder, '.git')
    const found = look(dotGit)
    if (found?.isFile()) {
      const link = readText(dotGit, maxLinkBytes)
      if (link !== undefined) return linked(folder, link)
    }
    if (found?.isDirectory()) {
      const repository = inFolder(folder, dotGit, found)
      if (repository !== undefined) return repository
    }
    // A bare repository. Inside of a .git folder the repository is the one that the folder belongs to.
    if (basename(folder) !== '.git' && look(join(folder, 'HEAD')) && isGitFolder(folder)) return describe(folder, folder)
    const parent = dirname(folder)
    folder = parent === folder ? undefined : parent
  }
  return undefined
}

/** What was found in `.git` folders, by their paths; good as long as the very same folder stands there. */
const known = new Map<string, { readonly folder: string; readonly repository: Repository }>()
const maxKnown = 100

function inFolder(root: string, dotGit: string, { dev, ino, birthtimeMs }: Stats): Repository | undefined {
  // The number of a folder that was removed is given to the next one.
  const folder = `${dev}:${ino}:${birthtimeMs}`
  const last = known.get(dotGit)
  if (last?.folder === folder) return last.repository
  const repository = isGitFolder(dotGit) ? describe(root, dotGit) : undefined
  if (known.size >= maxKnown) known.clear()
  // What lies apart says in files of its own where it belongs, and those may change.
  if (repository?.gitDir === dotGit && repository.commonDir === dotGit) known.set(dotGit, { folder, repository })
  else known.delete(dotGit)
  return repository
}

/** The branch that is checked out, also before its first commit; or the short commit of a detached HEAD. Both null where HEAD cannot be understood. */
export function headOf(gitDir: string): { readonly branch: string | null; readonly commit: string | null } {
  const head = readText(join(gitDir, 'HEAD'), maxLinkBytes)?.trim() ?? ''
  const branch = /^ref:\s*refs\/heads\/([^\s\p{Cc}~^:?*[\\]{1,1000})$/u.exec(head)?.[1]
  // With reftables the branch is not in this file, and this stands in its place (git, reftable documentation).
  if (branch !== undefined && branch !== '.invalid') return { branch, commit: null }
  return { branch: null, commit: /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head) ? head.slice(0, shortCommit) : null }
}

/** As long as git shows a commit in a small repository. */
const shortCommit = 7

/** The repository behind a `.git` file, as linked worktrees, submodules and separate git folders have it. */
function linked(root: string, text: string): Repository | undefined {
  const target = /^gitdir:\s*([^\r\n\0]+)/.exec(text)?.[1]?.trimEnd()
  const gitDir = target ? realFolder(resolve(root, target)) : undefined
  return gitDir !== undefined && isGitFolder(gitDir) ? describe(root, gitDir) : undefined
}

function describe(root: string, found: string): Repository | undefined {
  const gitDir = realFolder(found)
  if (gitDir === undefined) return undefined
  const commonDir = commonOf(gitDir)
  if (commonDir === undefined) return undefined
  return { root, gitDir, commonDir, mainRoot: mainRootOf(commonDir) }
}

/** Depends on the common folder alone, so that all worktrees agree. */
export function mainRootOf(commonDir: string): string {
  if (basename(commonDir) === '.git') return dirname(commonDir)
  // A submodule keeps its state inside the repository above it, and says where its checkout is.
  const worktree = coreSetting(commonDir, 'worktree')
  return (worktree === undefined ? undefined : realFolder(resolve(commonDir, worktree))) ?? commonDir
}

/** A setting of the section `core` in a file of configuration of a git folder, as it stands there; undefined where there is none. */
export function coreSetting(gitDir: string, name: 'worktree' | 'bare', file = 'config'): string | undefined {
  let section = ''
  for (const line of (readText(join(gitDir, file), maxConfigBytes) ?? '').split('\n')) {
    const heading = /^\s*\[([^\]]*)\]/.exec(line)
    if (heading) section = (heading[1] as string).trim().toLowerCase()
    const setting = section === 'core' ? /^\s*([a-z]+)\s*=\s*(.*)$/i.exec(line) : null
    if (setting?.[1]?.toLowerCase() === name) return unquoted((setting[2] as string).trim())
  }
  return undefined
}

function unquoted(value: string): string {
  const inside = /^"(.*)"$/.exec(value)?.[1]
  return inside === undefined ? value : inside.replace(/\\(.)/g, '$1')
}

/** Where the shared part is; of a linked worktree, what its `commondir` names. */
function commonOf(gitDir: string): string | undefined {
  const named = readText(join(gitDir, 'commondir'), maxLinkBytes)?.trim()
  const commonDir = named ? realFolder(resolve(gitDir, named)) : gitDir
  return commonDir !== undefined && isFolder(join(commonDir, 'objects')) && isFolder(join(commonDir, 'refs')) ? commonDir : undefined
}

function isGitFolder(folder: string): boolean {
  return isFolder(folder) && readText(join(folder, 'HEAD'), maxLinkBytes) !== undefined && commonOf(folder) !== undefined
}

// Every command asks where it runs, and most of what is asked for on the way up is not there: so without errors that are thrown.

function isFolder(path: string): boolean {
  return look(path)?.isDirectory() === true
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    return isFolder(real) ? real : undefined
  } catch {
    return undefined
  }
}

/** The beginning of a regular file; undefined for everything else. A pipe in its place is not waited for. */
export function readText(path: string, maxBytes: number): string | undefined {
  let descriptor: number | undefined
  try {
    if (!look(path)?.isFile()) return undefined
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const { size } = fstatSync(descriptor)
    const buffer = Buffer.alloc(Math.min(size, maxBytes))
    return buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, buffer.length, 0))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
