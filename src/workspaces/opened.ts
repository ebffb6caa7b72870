import type { WorkspaceBase, WorkspaceRecord } from '../core/workspace.ts'
import type { OpenedWorkspace } from '../core/workspace-provider.ts'
import { commitFinder, findTree, type Tree } from '../git/admin.ts'
import { branchRef } from '../git/names.ts'
import { countMissing } from '../git/refs.ts'
import { readStatus } from '../git/status.ts'
import type { WorkspaceContext } from './context.ts'
import { findKnownBase } from './known-base.ts'
import { existing } from './prepare.ts'
import type { Report } from './report.ts'
import { warningsOf } from './resume.ts'
import type { Wanted } from './wanted.ts'

/** The answer to whoever opened a workspace. */
export async function toOpened(context: WorkspaceContext, wanted: Wanted, record: WorkspaceRecord, isNew: boolean, report: Report): Promise<OpenedWorkspace> {
  const { id, kind, path, branch, operator, setup, ports, overlay } = record
  const tree = findTree(wanted.repository.commonDir, path)
  if (tree !== undefined) for (const warning of warningsOf(tree, branch)) report.warn(warning)
  const base = isNew ? record.base : await baseNow(context, wanted, record, tree)
  if (!isNew && kind === 'sandbox' && tree?.commit) await tellDrift(context, wanted, base, tree, report)
  return {
    ...{ id, kind, path, branch, operator, created: isNew, base, setup, ports },
    isolation: kind === 'sandbox' ? 'env-only' : 'worktree',
    copyOnWrite: overlay !== null,
    actions: report.actions,
    warnings: report.warnings,
  }
}

/** Where a workspace that was there is, and how far behind its base as it is known here. */
async function baseNow(
  { settings }: WorkspaceContext,
  { repository, request }: Wanted,
  record: WorkspaceRecord,
  tree: Tree | undefined,
): Promise<WorkspaceBase> {
  const findCommit = commitFinder(repository.commonDir)
  const ref = record.branch === null ? record.base.ref : branchRef(record.branch)
  const sha = (record.branch === null ? tree?.commit : findCommit(ref)) ?? tree?.commit ?? record.base.sha
  const known = findKnownBase(record, request.remote ?? settings.remote, findCommit)
  return existing(ref, sha, known === undefined ? null : await countMissing(repository, sha, known.sha))
}

/** A sandbox goes on where it was left; whoever gets it may expect its base. */
async function tellDrift(
  { git }: WorkspaceContext,
  { repository }: Wanted,
  base: WorkspaceBase,
  { path, adminDir, commit }: Tree,
  report: Report,
): Promise<void> {
  const findCommit = commitFinder(repository.commonDir)
  const baseSha = findCommit(base.ref)
  const ahead = baseSha === null || commit === null ? null : await countMissing(repository, baseSha, commit)
  const { counts } = await readStatus(git, path, { adminDir })
  const dirty = Object.entries(counts).filter(([, count]) => count > 0)
  const parts = [...(ahead ? [`${ahead} ahead`] : []), ...(base.behind ? [`${base.behind} behind`] : []), ...dirty.map(([what, count]) => `${count} ${what}`)]
  if (parts.length > 0) report.warn(`it differs from its base ${base.ref}: ${parts.join(', ')}; it was left as it is`)
}
