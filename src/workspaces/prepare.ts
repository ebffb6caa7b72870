import type { WorkspaceBase, WorkspaceRecord } from '../core/workspace.ts'
import type { ProviderCall } from '../core/workspace-provider.ts'
import { looksFor } from '../git/base-names.ts'
import { branchRef } from '../git/names.ts'
import { checkBranchFits, findRef } from '../git/refs.ts'
import { type ResolvedBase, resolveBase } from '../git/resolve-base.ts'
import type { WorkspaceContext } from './context.ts'
import { foldersOf, type NewTree } from './create.ts'
import { prepareCheckout } from './features.ts'
import { checkLimits } from './limits.ts'
import { prepareBase, probeOverlay } from './overlay.ts'
import type { Report } from './report.ts'
import type { Situation } from './resume.ts'
import { toOptions, type Wanted } from './wanted.ts'

/** What a new tree takes that may take long: found out without the lock of the repository, and good only as long as nothing changes. */
export interface Prepared extends NewTree {
  /** Lets go of what was fetched. */
  drop(): Promise<void>
}

export async function prepareTree(
  context: WorkspaceContext,
  wanted: Wanted,
  record: WorkspaceRecord | undefined,
  situation: Situation,
  report: Report,
  call: ProviderCall,
): Promise<Prepared> {
  const { repository } = wanted
  const previous = record?.state === 'creating' ? undefined : record
  if (previous === undefined) await checkLimits(context, repository)
  const start = await findStart(context, wanted, record, situation, call)
  try {
    const options = record === undefined ? wanted.options : toOptions(record.options, wanted.request)
    const plan = await prepareCheckout(context, repository, start.sha, { ...options, ...call })
    if (options.copyOnWrite && !plan.noCheckout && (await probeOverlay(context)).ok) {
      await prepareBase(context, repository, { sha: start.sha, config: plan.config, folders: foldersOf(repository.commonDir, options), ...call })
    }
    if (start.fetchedAt !== null) report.note('fetched', { ref: start.base.ref, sha: start.sha })
    return { ...start, options, plan, previous }
  } catch (error) {
    await start.drop()
    throw error
  }
}

type Start = Pick<Prepared, 'sha' | 'cut' | 'base' | 'baseName' | 'drop'> & Pick<ResolvedBase, 'fetchedAt'>

/** Which commit the tree begins at, and whether a branch is made there. A branch that is there is never cut anew, and nothing is fetched for it. */
async function findStart(
  context: WorkspaceContext,
  wanted: Wanted,
  record: WorkspaceRecord | undefined,
  situation: Situation,
  call: ProviderCall,
): Promise<Start> {
  const { repository, branch, request } = wanted
  const kept = { fetchedAt: null, drop: async () => {} }
  const remote = request.remote ?? context.settings.remote
  const baseName = async (): Promise<string> => request.base ?? record?.baseName ?? (await looksFor(repository, { remote })).name
  if (branch === null) {
    // A sandbox whose folder is gone goes on where it was.
    const sha = situation.kind === 'gone' && record?.state !== 'creating' ? situation.tree.commit : null
    if (sha !== null && record !== undefined) return { ...kept, sha, cut: 'no', base: existing(record.base.ref, sha), baseName: record.baseName }
  } else {
    const ref = branchRef(branch)
    const tip = await findRef(repository, ref)
    if (tip !== undefined) {
      const wasCut = record?.state === 'creating' && record.base.source !== 'existing' && record.base.sha === tip
      if (wasCut) return { ...kept, sha: tip, cut: 'before', base: record.base, baseName: record.baseName }
      return { ...kept, sha: tip, cut: 'no', base: existing(ref, tip), baseName: await baseName() }
    }
    await checkBranchFits(repository, branch)
  }
  // A sandbox is to be as the person has it, unless somebody says otherwise.
  const policy = request.remotePolicy ?? (branch === null ? 'local' : context.settings.remotePolicy)
  const base = await resolveBase(repository, { base: request.base, remote, policy, ...call })
  const { source, ref, sha, behind, remoteError, fetchedAt } = base
  return {
    ...{ sha, fetchedAt, base: { source, ref, sha, behind, remoteError }, cut: branch === null ? 'no' : 'now', drop: () => base.drop() },
    baseName: await baseName(),
  }
}

export const existing = (ref: string, sha: string, behind: number | null = null): WorkspaceBase => ({
  source: 'existing',
  ref,
  sha,
  behind,
  remoteError: null,
})
