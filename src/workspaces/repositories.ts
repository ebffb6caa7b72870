import { readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { failure } from '../core/errors.ts'
import { findRepository, readText } from '../git/repository.ts'
import type { WorkspaceContext } from './context.ts'
import { canonical } from './placement.ts'

/** A tree below the root of all workspaces whose repository is not where the tree says that it is. */
export interface LostTree {
  readonly path: string
  /** The common folder that its `.git` file names; null where it has none that can be understood. */
  readonly commonDir: string | null
}

// A `.git` file holds one path.
const maxLinkBytes = 16 * 1024

export interface FoundRepositories {
  /** Common folders, each once. */
  readonly commonDirs: readonly string[]
  readonly lost: readonly LostTree[]
}

/**
 * Every repository that has a tree below the root, found by the `.git` files of the trees alone: no git process, no list that has to
 * be kept. One whose trees are all gone is not found here, but from inside of it.
 */
export function repositoriesBelow(root: string): FoundRepositories {
  const known = new Map<string, string | undefined>()
  const lost: LostTree[] = []
  for (const path of treesBelow(root)) {
    const named = commonDirNamedBy(path)
    if (named !== undefined && !known.has(named)) known.set(named, realCommonDir(named))
    if (named === undefined || known.get(named) === undefined) lost.push({ path, commonDir: named ?? null })
  }
  const commonDirs = new Set([...known.values()].filter((found) => found !== undefined))
  return { commonDirs: [...commonDirs], lost }
}

/** The folders of trees, by their place alone: `<root>/<repository>/<tree>`, without links as in the records. */
export function treesBelow(root: string): string[] {
  return foldersIn(canonical(root)).flatMap((folder) => foldersIn(folder))
}

/** The common folder of the repository that a request means: that of `repo`, else of where Holdfast works. Throws `not_a_repository`. */
export function requireCommonDir(context: Pick<WorkspaceContext, 'base'>, repo: string | undefined): string {
  const path = resolve(context.base, repo ?? '.')
  const commonDir = findRepository(path)?.commonDir
  if (commonDir === undefined) throw failure('not_a_repository', { path })
  return commonDir
}

/** The common folder that the `.git` file of a tree leads to, whether or not it is there. */
function commonDirNamedBy(tree: string): string | undefined {
  const adminDir = adminDirNamedBy(tree)
  // <common>/worktrees/<name>: git writes no other form for a worktree (gitrepository-layout(5)).
  return adminDir === undefined ? undefined : dirname(dirname(adminDir))
}

/** The administrative folder that the `.git` file of a tree names, whether or not it is there; undefined where it has no such file. */
export function adminDirNamedBy(tree: string): string | undefined {
  const named = /^gitdir:\s*([^\r\n\0]+)/.exec(readText(join(tree, '.git'), maxLinkBytes) ?? '')?.[1]?.trimEnd()
  return named ? resolve(tree, named) : undefined
}

function realCommonDir(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    return statSync(join(real, 'objects')).isDirectory() && statSync(join(real, 'HEAD')).isFile() ? real : undefined
  } catch {
    return undefined
  }
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => join(folder, entry.name))
  } catch {
    return []
  }
}
