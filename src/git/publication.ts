import { failure } from '../core/errors.ts'
import { branchRef } from './names.ts'
import type { GitRepository } from './open.ts'
import { findRefs, isAncestor, moveRef } from './refs.ts'

/** What was published of a branch, as it is known here; nothing is fetched. */
export async function publishedRef(repo: GitRepository, remote: string, branch: string): Promise<{ ref: string; sha: string } | undefined> {
  const ref = `refs/remotes/${remote}/${branch}`
  const found = (await findRefs(repo, [ref])).get(ref)
  return found && { ref, sha: found.sha }
}

/**
 * `unpublished`: nothing is known of it. `equal`, `ahead`: nothing to do. `in-use`: it is behind, and a worktree has it. `unknown`: history
 * is missing here, so that nothing can be said. In all of these the branch is as it was.
 */
export type Reconciled = 'unpublished' | 'equal' | 'ahead' | 'in-use' | 'unknown' | 'fast-forwarded'

/**
 * Brings a branch to what was published of it, if and only if that loses nothing and no worktree has it (`isFree`, asked at the last
 * moment). Rejects with `branch_diverged`, naming both tips, and with `branch_moved` where it moved meanwhile; both are left as they are.
 */
export async function reconcile(repo: GitRepository, branch: string, remote: string, isFree: () => boolean): Promise<Reconciled> {
  const ref = branchRef(branch)
  const tracking = `refs/remotes/${remote}/${branch}`
  const refs = await findRefs(repo, [ref, tracking])
  const local = refs.get(ref)
  const published = refs.get(tracking)
  if (local === undefined || published === undefined) return 'unpublished'
  if (local.sha === published.sha) return 'equal'
  const isBehind = await isAncestor(repo, local.sha, published.sha)
  if (isBehind !== true) {
    const isAhead = await isAncestor(repo, published.sha, local.sha)
    if (isAhead === true) return 'ahead'
    if (isAhead === 'unknown' || isBehind === 'unknown') return 'unknown'
    throw failure('branch_diverged', { branch, local: local.sha, published: published.sha, remote: tracking })
  }
  // A symbolic ref is another branch, which may be checked out under its own name.
  if (local.symref !== null || !isFree()) return 'in-use'
  await moveRef(repo, ref, published.sha, local.sha)
  return 'fast-forwarded'
}
