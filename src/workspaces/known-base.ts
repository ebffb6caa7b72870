import type { WorkspaceRecord } from '../core/workspace.ts'
import type { FindCommit } from '../git/admin.ts'
import { privateRefs } from './layout.ts'

/** The base of a workspace as this repository knows it now. Nothing is fetched. */
export interface KnownBase {
  /** The full ref, or null where only the commit is left that the workspace began at. */
  readonly ref: string | null
  readonly sha: string
}

/** undefined where the base was a name that leads nowhere any more, and the workspace did not begin at a commit of it. */
export function findKnownBase(
  { base, baseName, branch }: Pick<WorkspaceRecord, 'base' | 'baseName' | 'branch'>,
  remote: string | null,
  findCommit: FindCommit,
): KnownBase | undefined {
  const named = baseName.replace(/^refs\/(?:heads|tags|remotes)\//, '')
  const tracked = [`refs/remotes/${remote ?? 'origin'}/${named}`, `refs/remotes/${named}`]
  const local = [`refs/heads/${named}`, `refs/tags/${named}`]
  const found = base.ref.startsWith('refs/') && !base.ref.startsWith(`${privateRefs}/`) ? [base.ref] : []
  // A base that was fetched is named as the remote names it, and here the branch of that name may be anywhere.
  const candidates = base.source === 'local' ? [...found, ...local, ...tracked] : [...tracked, ...found, ...local]
  for (const ref of candidates) {
    // A branch is never its own base.
    const sha = ref === `refs/heads/${branch}` ? null : findCommit(ref)
    if (sha !== null) return { ref, sha }
  }
  return base.source === 'existing' ? undefined : { ref: null, sha: base.sha }
}

/**
 * The commits that a workspace did not make, as its base is last known. The commit that it began at is one of them even where no ref
 * has it yet: what was fetched to begin there moved no ref. Of a branch that was there, where it was says nothing.
 */
export function tipsOf(base: KnownBase, record: Pick<WorkspaceRecord, 'base'>): readonly string[] {
  return record.base.source === 'existing' ? [base.sha] : [...new Set([base.sha, record.base.sha])]
}
