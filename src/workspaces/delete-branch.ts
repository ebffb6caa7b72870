import { resolve } from 'node:path'
import { hasReason, messageOf } from '../core/errors.ts'
import { listTrees, usesBranch } from '../git/admin.ts'
import { findIntegration } from '../git/integrated.ts'
import { branchRef, checkBranch } from '../git/names.ts'
import { type GitRepository, openRepository } from '../git/open.ts'
import { createRef, deleteRef, findRef } from '../git/refs.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'
import { idOf, keyOf, privateRefs } from './layout.ts'
import { withRepositoryLock } from './repository-lock.ts'

/** What became of a branch that was to be deleted. Whatever was not certain, it is retained. */
export const branchOutcomes = ['deleted', 'retained-unmerged', 'retained-checked-out', 'retained-raced', 'retained-failed'] as const

export interface DeletedBranch {
  readonly branch: string
  readonly outcome: (typeof branchOutcomes)[number]
  /** Where it was; null where there was none. */
  readonly tip: string | null
  /** The ref that keeps its tip for a while. */
  readonly kept: string | null
  /** One sentence. */
  readonly why: string
}

export interface DeleteBranch {
  readonly branch: string
  readonly repo?: string | undefined
  /** Full refs that have to hold what the branch adds. Default: what was published of it, the default branches of the remotes, and the branch of the main checkout. */
  readonly into?: readonly string[] | undefined
}

/** Deletes a branch that no worktree has and whose work is elsewhere. Its tip is kept under a private ref. */
export async function deleteWorkspaceBranch(context: WorkspaceContext, { branch, repo, into }: DeleteBranch): Promise<DeletedBranch> {
  checkBranch(branch)
  const repository = await openRepository(context, resolve(context.base, repo ?? '.'))
  const { commonDir } = repository
  const result = await withRepositoryLock(context, repository, undefined, () => deleteUnderLock(context, repository, branch, into))
  const { outcome, tip, kept } = result
  const at = context.now().toISOString()
  tell(commonDir, keyOf({ branch }), { at, workspace: idOf(commonDir, { branch }), name: 'branch', durationMs: null, facts: { outcome, tip, kept } })
  return result
}

async function deleteUnderLock(context: WorkspaceContext, repository: GitRepository, branch: string, into: DeleteBranch['into']): Promise<DeletedBranch> {
  const { commonDir } = repository
  const ref = branchRef(branch)
  const tip = await findRef(repository, ref)
  if (tip === undefined) return { branch, outcome: 'deleted', tip: null, kept: null, why: `there is no branch ${branch}` }
  const retained = (outcome: DeletedBranch['outcome'], why: string): DeletedBranch => ({ branch, outcome, tip, kept: null, why })
  const tree = listTrees(commonDir).find((each) => usesBranch(each, branch))
  if (tree !== undefined) return retained('retained-checked-out', `${tree.path} has it checked out, or has set it aside for a ${tree.operation ?? 'while'}`)
  const merged = await findHolder(repository, branch, tip, into)
  if (merged === undefined) return retained('retained-unmerged', `no other branch is known to hold all that it adds, up to ${tip}`)
  const kept = `${privateRefs}/deleted/${idOf(commonDir, { branch })}/${context.newName()}`
  try {
    await createRef(repository, kept, tip)
    await deleteRef(repository, ref, tip)
    return { branch, outcome: 'deleted', tip, kept, why: `${merged.ref} holds it (${merged.how})` }
  } catch (error) {
    await deleteRef(repository, kept, tip).catch(() => {})
    return retained(hasReason(error, 'branch_moved') ? 'retained-raced' : 'retained-failed', messageOf(error))
  }
}

async function findHolder(
  repository: GitRepository,
  branch: string,
  tip: string,
  into: DeleteBranch['into'],
): Promise<{ ref: string; how: string } | undefined> {
  for (const ref of into ?? (await usualHolders(repository, branch))) {
    const sha = await findRef(repository, ref)
    const how = sha === undefined ? undefined : await findIntegration(repository, tip, sha)
    if (how !== undefined) return { ref, how }
  }
  return undefined
}

async function usualHolders(repository: GitRepository, branch: string): Promise<string[]> {
  const { stdout } = await repository.require('reading refs', ['for-each-ref', '--format=%(refname)', 'refs/remotes/'], { reads: true })
  const remote = stdout.split('\n').filter((ref) => ref.endsWith('/HEAD') || ref.replace(/^refs\/remotes\/[^/]+\//, '') === branch)
  const main = listTrees(repository.commonDir).find(({ isMain }) => isMain)?.branch
  return [...remote, ...(main && main !== branch ? [branchRef(main)] : [])]
}
