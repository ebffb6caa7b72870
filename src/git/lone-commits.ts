import { toBytes } from './byte-text.ts'
import { headLog, namesIn, operationState } from './kept-state.ts'
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
 * Finds them from the reflog of HEAD, from what an operation left, and from the refs that belong to this tree alone. `from`: where else to
 * look, HEAD among it. `known`: commits that somebody else has. `kept`: what outlives it, as options of rev-list.
 */
export async function findLoneCommits(
  tree: TreeGit,
  { known = [], from = [], kept = lasting }: { readonly known?: readonly string[]; readonly from?: readonly string[]; readonly kept?: readonly string[] } = {},
): Promise<LoneCommits> {
  const refs = (await listOwnRefs(tree)).map(({ sha }) => sha)
  const { adminDir } = tree.place
  const named = new Set([...namesIn([...headLog(adminDir), ...operationState(adminDir)]), ...refs, ...from])
  const roots = await onlyCommits(tree, [...named])
  if (roots.length === 0) return { count: 0, tips: [] }
  const others = (await onlyCommits(tree, known)).map((sha) => `^${sha}`)
  const listed = await tree.require(
    'looking for commits on no branch',
    ['rev-list', '--parents', '--stdin', ...others, ...(kept.length > 0 ? ['--not', ...kept] : [])],
    {
      reads: true,
      stdin: `${roots.join('\n')}\n`,
      timeoutMs: listTimeoutMs,
    },
  )
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
  return listRefs(tree, ['refs/worktree', 'refs/bisect', 'refs/rewritten'])
}

export async function listRefs(tree: TreeGit, patterns: readonly string[]): Promise<OwnRef[]> {
  const { stdout } = await tree.require('reading refs', ['for-each-ref', '--format=%(refname) %(objectname)', '--', ...patterns], { reads: true })
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ name: line.slice(0, line.lastIndexOf(' ')), sha: line.slice(line.lastIndexOf(' ') + 1) }))
}

/** Of these names those that are commits here, tags followed. What a reflog names may have been thrown away long ago. */
export async function onlyCommits(tree: TreeGit, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const stdin = toBytes(names.map((name) => `${name}^{commit}\n`).join(''))
  const { stdout } = await tree.require('looking for commits', ['cat-file', '--batch-check=%(objectname) %(objecttype)'], { reads: true, stdin })
  return [...new Set(stdout.split('\n').flatMap((line) => /^([0-9a-f]{40,64}) commit$/.exec(line)?.[1] ?? []))]
}
