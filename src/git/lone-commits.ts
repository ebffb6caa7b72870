import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { headLog, namesIn, operationState } from './kept-state.ts'
import { readPlainText } from './plain-file.ts'
import type { TreeGit } from './tree-place.ts'

/** Commits that nothing holds but the tree that goes away. */
export interface LoneCommits {
  readonly count: number
  /** Those that hold all of them. */
  readonly tips: readonly string[]
}

/** What outlives the tree: shared by all trees of the repository, and meant to stay. (A glob without a bracket would mean what is below it.) */
const lasting = ['--branches', '--tags', '--remotes', '--glob=refs/stas[h]']

const listTimeoutMs = 5 * 60_000

/**
 * Finds them from HEAD and its reflog, from what an operation left, and from the refs that belong to this tree alone. `from`: where else to
 * look. `known`: commits that somebody else has. `kept`: what outlives it, as options of rev-list.
 */
export async function findLoneCommits(
  tree: TreeGit,
  { known = [], from = [], kept = lasting }: { readonly known?: readonly string[]; readonly from?: readonly string[]; readonly kept?: readonly string[] } = {},
): Promise<LoneCommits> {
  const refs = (await listOwnRefs(tree)).map(({ sha }) => sha)
  const { adminDir } = tree.place
  const named = new Set([...namesIn([...headLog(adminDir), ...operationState(adminDir)]), ...refs, ...from, ...(await detachedHead(tree))])
  if (named.size === 0) return { count: 0, tips: [] }
  // What a reflog names may have been thrown away long ago, and what an operation left may name a tree: both are passed over.
  const args = ['rev-list', '--ignore-missing', '--parents', '--stdin', ...known.map((sha) => `^${sha}`), ...(kept.length > 0 ? ['--not', ...kept] : [])]
  const stdin = `${[...named].join('\n')}\n`
  const listed = await tree.require('looking for commits on no branch', args, { reads: true, stdin, timeoutMs: listTimeoutMs })
  const commits = listed.stdout.split('\n').filter(Boolean)
  const parents = new Set(commits.flatMap((line) => line.split(' ').slice(1)))
  return { count: commits.length, tips: commits.map((line) => line.split(' ')[0] as string).filter((sha) => !parents.has(sha)) }
}

export interface OwnRef {
  readonly name: string
  readonly sha: string
}

/** The refs that belong to one tree and die with it (git-worktree(1)). */
export async function listOwnRefs(tree: TreeGit): Promise<OwnRef[]> {
  const { place, commonDir } = tree
  // They are never packed in a worktree that is not the main one, so that its folder shows whether there are any.
  const isPlain = commonDir !== place.adminDir && !existsSync(join(place.adminDir, 'reftable'))
  if (isPlain && !holdsFiles(join(place.adminDir, 'refs'))) return []
  return listRefs(tree, ['refs/worktree', 'refs/bisect', 'refs/rewritten'])
}

function holdsFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder, { withFileTypes: true, recursive: true }).some((entry) => !entry.isDirectory())
}

export async function listRefs(tree: TreeGit, patterns: readonly string[]): Promise<OwnRef[]> {
  const { stdout } = await tree.require('reading refs', ['for-each-ref', '--format=%(refname) %(objectname)', '--', ...patterns], { reads: true })
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ name: line.slice(0, line.lastIndexOf(' ')), sha: line.slice(line.lastIndexOf(' ') + 1) }))
}

/** Where HEAD names a branch, that keeps its commit, or is looked at itself. */
async function detachedHead(tree: TreeGit): Promise<string[]> {
  const text = readPlainText(join(tree.place.adminDir, 'HEAD')).trim()
  if (/^[0-9a-f]{40,64}$/.test(text)) return /^0+$/.test(text) ? [] : [text]
  if (text !== 'ref: refs/heads/.invalid' && text.startsWith('ref: refs/heads/')) return []
  const found = await tree.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { reads: true })
  return found.exitCode === 0 ? [found.stdout.trim()] : []
}
