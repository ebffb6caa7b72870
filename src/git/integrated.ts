import type { GitRepository } from './open.ts'
import { differences } from './read-rescue.ts'
import { emptyTreeOf, type FoundRescue } from './rescue-list.ts'

/** How a branch holds what another commit has. */
export type Integration = 'same-commit' | 'ancestor' | 'no-changes' | 'same-tree' | 'merge-adds-nothing' | 'same-patch'

/**
 * Whether all that a commit adds is in another one, also where it was rebased, squashed or picked; the cheapest test first. Undefined
 * where none of them says so: then it may still be there in another form.
 */
export async function findIntegration(repo: GitRepository, tip: string, into: string): Promise<Integration | undefined> {
  if (tip === into) return 'same-commit'
  if ((await repo.run(['merge-base', '--is-ancestor', tip, into], { reads: true })).exitCode === 0) return 'ancestor'
  const [tree, intoTree] = [await treeOf(repo, tip), await treeOf(repo, into)]
  const found = await repo.run(['merge-base', tip, into], { reads: true })
  if (found.exitCode !== 0) return tree === intoTree ? 'same-tree' : undefined
  const base = found.stdout.trim()
  if ((await treeOf(repo, base)) === tree) return 'no-changes'
  if (tree === intoTree) return 'same-tree'
  // Before git 2.38 there is no such merge, which then says nothing.
  const merged = await repo.run(['merge-tree', '--write-tree', into, tip])
  if (merged.exitCode === 0 && merged.stdout.trim() === intoTree) return 'merge-adds-nothing'
  return (await hasPatches(repo, tip, into, base)) || (await hasPatch(repo, { tree, base, into })) ? 'same-patch' : undefined
}

/** Whether every commit is there in the form of a patch. */
async function hasPatches(repo: GitRepository, tip: string, into: string, base: string): Promise<boolean> {
  const { stdout } = await repo.require('comparing patches', ['cherry', into, tip, base], { reads: true, timeoutMs: compareTimeoutMs })
  return stdout.trim() !== '' && stdout.split('\n').every((line) => !line.startsWith('+'))
}

/** Whether all changes together are there as one commit. */
async function hasPatch(repo: GitRepository, { tree, base, into }: { tree: string; base: string; into: string }): Promise<boolean> {
  const config = ['user.name=Holdfast', 'user.email=holdfast@localhost']
  const squashed = (await repo.require('comparing patches', ['commit-tree', tree, '-p', base, '-m', 'squashed'], { config })).stdout.trim()
  return hasPatches(repo, squashed, into, base)
}

const compareTimeoutMs = 5 * 60_000

async function treeOf(repo: GitRepository, commit: string): Promise<string> {
  return (await repo.require('reading a commit', ['rev-parse', '--verify', `${commit}^{tree}`], { reads: true })).stdout.trim()
}

/** Why a rescue is still needed; undefined where its branch, at `tip`, has all that it holds. */
export async function whyNeeded(repo: GitRepository, { rescue, note }: FoundRescue, tip: string): Promise<string | undefined> {
  if (note.nested.length > 0) return 'it holds repositories that were inside of the tree'
  const { stdout } = await repo.require('reading a rescue', ['rev-list', '--parents', '--max-count=1', rescue.sha], { reads: true })
  const commits = stdout
    .trim()
    .split(' ')
    .slice(1)
    .filter((sha) => sha !== note.state)
  for (const commit of commits) if (!(await isKept(repo, commit, tip))) return `the branch does not have the commit ${commit}`
  return (await hasFiles(repo, { rescue, note }, tip)) ? undefined : 'the branch does not have its files'
}

async function isKept(repo: GitRepository, commit: string, tip: string): Promise<boolean> {
  const alone = await repo.require('looking for commits', ['rev-list', '--max-count=1', commit, '--not', '--branches', '--tags', '--remotes'], { reads: true })
  return alone.stdout.trim() === '' || (await findIntegration(repo, commit, tip)) !== undefined
}

/** Whether each changed file is in the branch as it was saved; or all of them were, in one commit. */
async function hasFiles(repo: GitRepository, { rescue, note }: FoundRescue, tip: string): Promise<boolean> {
  const base = note.head ?? (await emptyTreeOf(repo))
  const [files, index] = [`${rescue.sha}^{tree}`, `${note.state}:index`]
  const pathsIn = async (from: string, to: string): Promise<Set<string>> => new Set((await differences(repo, from, to)).map(({ path }) => path))
  const missing = await pathsIn(files, `${tip}^{tree}`)
  const changed = await pathsIn(base, files)
  if ([...changed].some((path) => missing.has(path))) {
    if (note.head === null || !(await hasPatch(repo, { tree: await treeOf(repo, rescue.sha), base: note.head, into: tip }))) return false
  }
  // What was staged and then changed again is in neither.
  const [apart, lacking] = [await pathsIn(index, files), await pathsIn(index, `${tip}^{tree}`)]
  return [...(await pathsIn(base, index))].every((path) => !apart.has(path) || !lacking.has(path))
}
