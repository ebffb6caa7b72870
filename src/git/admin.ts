import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { coreSetting, findRepository, readText } from './repository.ts'

/** A working tree of a repository, as its administrative folder tells of it. No git process is started. */
export interface Tree {
  /** Of its administrative folder; of the main checkout empty. */
  readonly name: string
  readonly adminDir: string
  /** Where it was when git last looked; nothing need be there. */
  readonly path: string
  /** What HEAD names, without `refs/heads/`; null where it is detached. The branch need not exist. */
  readonly branch: string | null
  /** The commit of HEAD; null where there is none, or none that can be found in the files. */
  readonly commit: string | null
  /** What was begun in it and is not over. */
  readonly operation: TreeOperation | null
  /** The branch that comes back when the operation is over. */
  readonly operationBranch: string | null
  /** Branches that the rebase which goes on will move, too. */
  readonly movedBranches: readonly string[]
  /** null: not locked. Empty: locked without a reason. */
  readonly lockReason: string | null
  readonly isMain: boolean
}

export type TreeOperation = 'rebase' | 'am' | 'merge' | 'cherry-pick' | 'revert' | 'bisect'

/** An administrative folder that does not say where its tree is: an `add` was ended at its very beginning. git does not list it. */
export interface HalfMadeTree {
  readonly adminDir: string
  readonly lockReason: string | null
}

// Every file that is read here holds one line: a path, a ref, a reason. `update-refs` holds three for each branch.
const maxLineBytes = 64 * 1024
const maxPackedBytes = 64 * 1024 ** 2

/** All trees of a repository: the main checkout first, which a bare repository does not have. */
export function listTrees(commonDir: string): readonly Tree[] {
  const findCommit = commitFinder(commonDir)
  const main = readMain(commonDir, findCommit)
  return [...(main ? [main] : []), ...adminDirs(commonDir).flatMap((adminDir) => readTree(adminDir, findCommit) ?? [])]
}

/** The tree that is registered at a path, whether anything is there or not. */
export function findTree(commonDir: string, path: string): Tree | undefined {
  const findCommit = commitFinder(commonDir)
  const wanted = new Set([path, real(path)])
  // git names the folder after the last part of the path, unless that is taken.
  const guess = readTree(join(commonDir, 'worktrees', basename(path)), findCommit)
  if (guess && wanted.has(guess.path)) return guess
  for (const adminDir of adminDirs(commonDir)) {
    const at = pathOf(adminDir)
    if (at !== undefined && wanted.has(at)) return readTree(adminDir, findCommit)
  }
  const main = readMain(commonDir, findCommit)
  return main && wanted.has(main.path) ? main : undefined
}

/** Whether moving the branch would pull the ground from under the tree: it has it checked out, or has set it aside for an operation. */
export function usesBranch(tree: Tree, branch: string): boolean {
  return tree.branch === branch || tree.operationBranch === branch || tree.movedBranches.includes(branch)
}

export function listHalfMadeTrees(commonDir: string): readonly HalfMadeTree[] {
  return adminDirs(commonDir)
    .filter((adminDir) => pathOf(adminDir) === undefined)
    .map((adminDir) => ({ adminDir, lockReason: lockReasonOf(adminDir) }))
}

/** The tree of an administrative folder; undefined where it does not say where that is. */
export function readTree(adminDir: string, findCommit: FindCommit = commitFinder(dirname(dirname(adminDir)))): Tree | undefined {
  const path = pathOf(adminDir)
  if (path === undefined) return undefined
  return {
    name: basename(adminDir),
    adminDir,
    path,
    ...headOf(adminDir, findCommit),
    ...operationOf(adminDir),
    lockReason: lockReasonOf(adminDir),
    isMain: false,
  }
}

function readMain(commonDir: string, findCommit: FindCommit): Tree | undefined {
  const isBare = ['config', 'config.worktree'].some((file) => coreSetting(commonDir, 'bare', file)?.toLowerCase() === 'true')
  // `core.bare` is shared by all worktrees, so whoever sets it in one of them hides a checkout that is still there: its index stays.
  if (isBare && !existsSync(join(commonDir, 'index'))) return undefined
  const path = basename(commonDir) === '.git' ? dirname(commonDir) : (findRepository(commonDir)?.mainRoot ?? commonDir)
  return { name: '', adminDir: commonDir, path, ...headOf(commonDir, findCommit), ...operationOf(commonDir), lockReason: null, isMain: true }
}

function adminDirs(commonDir: string): string[] {
  const folder = join(commonDir, 'worktrees')
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}

function pathOf(adminDir: string): string | undefined {
  const link = readText(join(adminDir, 'gitdir'), maxLineBytes)?.trimEnd()
  return link ? dirname(resolve(adminDir, link)) : undefined
}

function lockReasonOf(adminDir: string): string | null {
  return readText(join(adminDir, 'locked'), maxLineBytes)?.trim() ?? null
}

function headOf(adminDir: string, findCommit: FindCommit): Pick<Tree, 'branch' | 'commit'> {
  const head = readText(join(adminDir, 'HEAD'), maxLineBytes)?.trim() ?? ''
  const ref = /^ref:\s*(.+)$/.exec(head)?.[1]
  if (ref === undefined) return { branch: null, commit: toCommit(head) }
  return { branch: toBranch(ref), commit: findCommit(ref) }
}

// With reftables HEAD holds this in place of its ref (git, reftable documentation).
const toBranch = (ref: string): string | null => (ref === 'refs/heads/.invalid' ? null : (/^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null))

/** A tree that is being made has a HEAD of zeros. */
const toCommit = (text: string): string | null => (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text) && !/^0+$/.test(text) ? text : null)

function operationOf(adminDir: string): Pick<Tree, 'operation' | 'operationBranch' | 'movedBranches'> {
  const there = new Set(names(adminDir))
  const line = (...parts: string[]): string => readText(join(adminDir, ...parts), maxLineBytes)?.trim() ?? ''
  const none = { operationBranch: null, movedBranches: [] }
  if (there.has('rebase-merge')) {
    const moved = line('rebase-merge', 'update-refs').split('\n')
    return {
      operation: 'rebase',
      operationBranch: toBranch(line('rebase-merge', 'head-name')),
      movedBranches: moved.flatMap((text) => toBranch(text) ?? []),
    }
  }
  if (there.has('rebase-apply')) {
    if (existsSync(join(adminDir, 'rebase-apply', 'applying'))) return { operation: 'am', ...none }
    return { operation: 'rebase', operationBranch: toBranch(line('rebase-apply', 'head-name')), movedBranches: [] }
  }
  if (there.has('MERGE_HEAD')) return { operation: 'merge', ...none }
  if (there.has('CHERRY_PICK_HEAD')) return { operation: 'cherry-pick', ...none }
  if (there.has('REVERT_HEAD')) return { operation: 'revert', ...none }
  // Between two commits of a series there is only the list of what is still to do.
  if (there.has('sequencer')) return { operation: line('sequencer', 'todo').startsWith('revert') ? 'revert' : 'cherry-pick', ...none }
  if (there.has('BISECT_LOG')) {
    const start = line('BISECT_START').replace(/^refs\/heads\//, '')
    return { operation: 'bisect', operationBranch: start === '' || toCommit(start) ? null : start, movedBranches: [] }
  }
  return { operation: null, ...none }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export type FindCommit = (ref: string) => string | null

/** Looks refs up in the files of a repository; packed refs are read at most once. Null where git itself has to be asked. */
export function commitFinder(commonDir: string): FindCommit {
  let packed: Map<string, string> | undefined
  const find = (ref: string, depth: number): string | null => {
    // A name from a HEAD that somebody wrote by hand may lead anywhere.
    if (ref.split('/').includes('..')) return null
    const text = readText(join(commonDir, ref), maxLineBytes)?.trim()
    const next = text === undefined ? undefined : /^ref:\s*(.+)$/.exec(text)?.[1]
    if (next !== undefined) return depth < maxSymbolic ? find(next, depth + 1) : null
    if (text !== undefined) return toCommit(text)
    packed ??= readPacked(commonDir)
    return packed.get(ref) ?? null
  }
  return (ref) => find(ref, 0)
}

/** As many refs that name refs git follows. */
const maxSymbolic = 5

function readPacked(commonDir: string): Map<string, string> {
  const text = readText(join(commonDir, 'packed-refs'), maxPackedBytes) ?? ''
  return new Map(Array.from(text.matchAll(/^([0-9a-f]{40}|[0-9a-f]{64}) (\S.*)$/gm), ([, sha, ref]) => [ref as string, sha as string]))
}

/** Without symbolic links, also where the last part is not there. */
function real(path: string): string {
  try {
    return join(realpathSync.native(dirname(path)), basename(path))
  } catch {
    return path
  }
}
