import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'

/** A git repository as its files tell of it; no git process is started. All paths are absolute. */
export interface Repository {
  /** Top of this worktree; of a bare repository the repository itself. */
  readonly root: string
  /** The folder of this worktree's own state (HEAD, index). */
  readonly gitDir: string
  /** What all worktrees share: objects, refs, configuration. */
  readonly commonDir: string
  /** Folder of the main checkout, beside whose `.git` the home of the project lives; the common folder where there is none. */
  readonly mainRoot: string
}

const maxFileBytes = 4096

/** Finds the repository that holds a folder, like git does, up to the root of the file system. Damaged files count as none. */
export function findRepository(from: string): Repository | undefined {
  let folder: string
  try {
    folder = realpathSync(from)
  } catch {
    return undefined
  }
  for (;;) {
    const found = repositoryAt(folder)
    if (found) return found
    const parent = dirname(folder)
    if (parent === folder) return undefined
    folder = parent
  }
}

function repositoryAt(folder: string): Repository | undefined {
  const dotGit = join(folder, '.git')
  if (isFolder(dotGit)) return looksLikeGit(dotGit) ? describe(folder, dotGit) : undefined
  const link = readStart(dotGit)?.match(/^gitdir: ([^\n\0]+)/)?.[1]
  if (link) {
    const gitDir = resolve(folder, link.trimEnd())
    return looksLikeGit(gitDir) ? describe(folder, gitDir) : undefined
  }
  return looksLikeGit(folder) && isFolder(join(folder, 'objects')) ? describe(folder, folder) : undefined
}

function describe(root: string, gitDir: string): Repository {
  const common = readStart(join(gitDir, 'commondir'))?.trim()
  const commonDir = common ? resolve(gitDir, common) : gitDir
  // A submodule keeps its state in the repository above it, yet is a project of its own: its own folder is the main checkout.
  const mainRoot = commonDir === gitDir ? root : basename(commonDir) === '.git' ? dirname(commonDir) : commonDir
  return { root, gitDir, commonDir, mainRoot }
}

const looksLikeGit = (folder: string): boolean => isFolder(folder) && readStart(join(folder, 'HEAD')) !== undefined

/** The branch that is checked out, or the commit of a detached HEAD; both null where HEAD cannot be understood. */
export function headOf(gitDir: string): { branch: string | null; commit: string | null } {
  const head = readStart(join(gitDir, 'HEAD'))?.trim() ?? ''
  const branch = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1]
  // A repository with reftables has this in place of a branch.
  if (branch) return { branch: branch === '.invalid' ? null : branch, commit: null }
  return { branch: null, commit: /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head) ? head : null }
}

function isFolder(path: string): boolean {
  return isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function readStart(path: string): string | undefined {
  let descriptor: number | undefined
  try {
    if (!statSync(path).isFile()) return undefined
    descriptor = openSync(path, 'r')
    const buffer = Buffer.alloc(maxFileBytes)
    return buffer.toString('utf8', 0, readSync(descriptor, buffer))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
