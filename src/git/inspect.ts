import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ByteText, toShown } from './byte-text.ts'
import type { Git } from './git.ts'
import { headsOfTrees, namesIn, operationIn, stashLog } from './kept-state.ts'
import { findLoneCommits, type LoneCommits, listRefs } from './lone-commits.ts'
import { findNested, type NestedRepository } from './nested.ts'
import { readPlainText } from './plain-file.ts'
import { hashFiles } from './raw-objects.ts'
import { isAt, isFile, readChanges, type TreeChanges } from './tree-changes.ts'
import { type TreeGit, type TreePlace, treeGit } from './tree-place.ts'

/** What a tree holds. */
export interface Inspection {
  readonly tree: TreeGit
  readonly found: TreeChanges
  /** `refs/heads/…`; null for a detached HEAD. */
  readonly headRef: string | null
  readonly operation: string | null
  readonly commits: LoneCommits
  /** Paths whose changes git was told not to see. */
  readonly hidden: readonly ByteText[]
  readonly nested: readonly (NestedRepository & { readonly inspection: Inspection })[]
  /** What would be lost with the tree, in words; empty: nothing. */
  readonly holds: readonly string[]
  /** How many commits of its branch no remote has, where there are remotes; they stay with the branch. */
  readonly unpushed: number
}

export interface InspectOptions {
  /** Commits that are not the tree's to lose: where it began. */
  readonly known?: readonly string[] | undefined
}

/**
 * Looks for all that would be lost with a tree. Changes nothing in it. Rejects wherever something cannot be seen: then it is not known
 * whether anything would be lost.
 */
export function inspectTree(git: Git, place: TreePlace, { known }: InspectOptions = {}): Promise<Inspection> {
  return inspect(git, place, (tree) => findLoneCommits(tree, { known: known ?? [] }))
}

async function inspect(git: Git, place: TreePlace, findCommits: (tree: TreeGit) => Promise<LoneCommits>): Promise<Inspection> {
  const tree = treeGit(git, place)
  const headRef = await headRefOf(tree)
  const countLater = headRef === null || !hasRemotes(tree) ? Promise.resolve(0) : countUnpushed(tree)
  const [found, commits, unpushed] = await Promise.all([readChanges(tree), findCommits(tree), countLater])
  const hidden = await findHidden(tree, found)
  const nested: Inspection['nested'][number][] = []
  for (const one of findNested(tree, found)) nested.push({ ...one, inspection: await inspect(git, one.place, (inner) => nestedCommits(inner, one)) })
  const operation = operationIn(place.adminDir)
  return { tree, found, headRef, operation, commits, hidden, nested, unpushed, holds: inWords({ found, operation, commits, hidden, nested }) }
}

/** Of a repository that dies with the tree everything counts that no remote has. */
async function nestedCommits(tree: TreeGit, { outlives, kind }: NestedRepository): Promise<LoneCommits> {
  if (outlives) return findLoneCommits(tree)
  const named = namesIn([...stashLog(tree.commonDir), ...headsOfTrees(tree.commonDir)])
  return findLoneCommits(tree, {
    from: [...named, ...(await listRefs(tree, ownBranches)).map(({ sha }) => sha)],
    kept: kind === 'untracked' ? [] : ['--remotes'],
  })
}

/** What a repository of its own keeps besides what it has from remotes. */
export const ownBranches = ['refs/heads', 'refs/tags', 'refs/stash', 'refs/notes']

async function headRefOf(tree: TreeGit): Promise<string | null> {
  const named = /^ref: (refs\/heads\/\S+)\s*$/.exec(readPlainText(join(tree.place.adminDir, 'HEAD')))?.[1]
  // With reftables this stands in the place of the ref.
  if (named !== undefined && named !== 'refs/heads/.invalid') return named
  const { exitCode, stdout } = await tree.run(['symbolic-ref', '--quiet', 'HEAD'], { reads: true })
  return exitCode === 0 ? stdout.trim() : null
}

const maxPackedBytes = 256 * 1024 ** 2

/** Where nothing was ever fetched, that nothing is pushed says nothing. */
function hasRemotes({ commonDir }: TreeGit): boolean {
  const folder = join(commonDir, 'refs', 'remotes')
  const packed = join(commonDir, 'packed-refs')
  return (existsSync(folder) && readdirSync(folder).length > 0) || (existsSync(packed) && readPlainText(packed, maxPackedBytes).includes(' refs/remotes/'))
}

async function countUnpushed(tree: TreeGit): Promise<number> {
  const { exitCode, stdout } = await tree.run(['rev-list', '--count', 'HEAD', '--not', '--remotes'], { reads: true })
  // Before the first commit there is nothing to push.
  return exitCode === 0 ? Number(stdout.trim()) : 0
}

async function findHidden(tree: TreeGit, found: TreeChanges): Promise<ByteText[]> {
  return [...(await findFlagged(tree, found)), ...findUntold(tree, found)]
}

/** What was taken out of the index and is ignored since: its deletion is told, and not that it is there. */
function findUntold(tree: TreeGit, { changes }: TreeChanges): ByteText[] {
  const untracked = new Set(changes.filter(({ kind }) => kind === 'untracked').map(({ path }) => path))
  return changes.filter(({ index, path }) => index === 'D' && !untracked.has(path) && isFile(tree, path)).map(({ path }) => path)
}

async function findFlagged(tree: TreeGit, { entries }: TreeChanges): Promise<ByteText[]> {
  const there = entries.filter(({ path, hidden, mode }) => hidden !== null && mode !== '160000' && isAt(tree, path))
  const gone = entries.filter(({ path, hidden }) => hidden === 'assume-unchanged' && tree.isThere && !isAt(tree, path)).map(({ path }) => path)
  if (there.length === 0) return gone
  const scratch = mkdtempSync(join(tree.place.adminDir, 'holdfast-look-'))
  try {
    const paths = there.map(({ path }) => path)
    const files = new Map((await hashFiles(tree, paths, scratch, { write: false })).map((file) => [file.path, file]))
    const isSame = ({ path, mode, oid }: (typeof there)[number]): boolean => files.get(path)?.oid === oid && files.get(path)?.mode === mode
    return [...there.filter((entry) => !isSame(entry)).map(({ path }) => path), ...gone]
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function inWords({ found, operation, commits, hidden, nested }: Pick<Inspection, 'found' | 'operation' | 'commits' | 'hidden' | 'nested'>): string[] {
  const { changes } = found
  const count = (test: (change: (typeof changes)[number]) => boolean): number => changes.filter(test).length
  return [
    ...some(
      count(({ kind, worktree }) => kind === 'changed' && worktree !== '.'),
      'changed file',
    ),
    ...some(
      count(({ kind, index }) => kind === 'changed' && index !== '.'),
      'staged file',
    ),
    ...some(
      count(({ kind, path }) => kind === 'untracked' && !path.endsWith('/')),
      'untracked file',
    ),
    ...some(
      count(({ kind }) => kind === 'unmerged'),
      'file in conflict',
      'files in conflict',
    ),
    ...some(hidden.length, 'changed file that git was told not to see', 'changed files that git was told not to see'),
    ...(operation === null ? [] : [`a ${operation} that is not over`]),
    ...some(commits.count, 'commit on no branch', 'commits on no branch'),
    ...nested.flatMap(({ path, kind, inspection }) => {
      if (kind !== 'untracked' && inspection.holds.length === 0) return []
      const what = kind === 'submodule' ? 'the submodule' : 'the repository'
      return [`${what} ${toShown(path)}${inspection.holds.length > 0 ? ` (${inspection.holds.join(', ')})` : ''}`]
    }),
  ]
}

const some = (count: number, one: string, many = `${one}s`): string[] => (count === 0 ? [] : [`${count} ${count === 1 ? one : many}`])
