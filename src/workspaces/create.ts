import { failure, type HoldfastError, hasReason } from '../core/errors.ts'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceBase, WorkspaceOptions, WorkspaceOverlay, WorkspaceRecord } from '../core/workspace.ts'
import type { ProviderCall } from '../core/workspace-provider.ts'
import { findTree, listTrees, type Tree, usesBranch } from '../git/admin.ts'
import { type GitResult, gitFailure } from '../git/git.ts'
import { checkIndex } from '../git/index-file.ts'
import { branchRef } from '../git/names.ts'
import { createRef, deleteRef, findRef } from '../git/refs.ts'
import { addTree } from '../git/trees.ts'
import { carryOver } from './carry-over.ts'
import type { WorkspaceContext } from './context.ts'
import { freeBytesAt } from './disk-usage.ts'
import { type CheckoutPlan, finishCheckout } from './features.ts'
import { overlayName, removeHalfMade } from './half-made.ts'
import { lockReasonOf, writeAdminCopy } from './identity.ts'
import { makeOverlayTree, probeOverlay } from './overlay.ts'
import { preparePlace } from './placement.ts'
import { freePorts, reservePorts } from './ports.ts'
import { removeRecord, writeRecord } from './records.ts'
import type { Report } from './report.ts'
import { withRepositoryLock } from './repository-lock.ts'
import type { Wanted } from './wanted.ts'

/** A tree that is to be made. */
export interface NewTree {
  /** The commit that it begins at; of a branch that is there, its tip. */
  readonly sha: string
  /** `now`: the branch is made with it. `before`: it was, by an open call that did not come to its end. */
  readonly cut: 'now' | 'before' | 'no'
  readonly base: WorkspaceBase
  readonly baseName: string
  readonly options: WorkspaceOptions
  readonly plan: CheckoutPlan
  /** The record of the workspace whose tree is made anew. It comes back when this fails. */
  readonly previous: WorkspaceRecord | undefined
}

/** A tree that is registered and not ready yet. Nobody else touches it while its record says `creating` and this process lives. */
export interface BegunTree {
  readonly record: WorkspaceRecord
  readonly asked: NewTree
  /** Whether the branch is there because of this workspace alone. */
  readonly ownsBranch: boolean
}

/** Registers the tree, with the lock of the repository. Where it fails, nothing is left of it: no tree, no branch, no record. */
export async function beginTree(context: WorkspaceContext, wanted: Wanted, asked: NewTree, report: Report, call: ProviderCall): Promise<BegunTree> {
  const { repository, key, branch } = wanted
  const { commonDir } = repository
  const id = asked.previous?.id ?? wanted.id
  const { previous } = asked
  const path = previous !== undefined && isBelow(wanted.root, previous.path) ? previous.path : wanted.path
  for (const warning of preparePlace(wanted.root, path)) report.warn(warning)
  const ports = await reservePorts(context, { id, count: asked.options.ports, commonDir })
  let begun: BegunTree = { record: toRecord(context, wanted, asked, { id, path, ports }), asked, ownsBranch: asked.cut === 'before' }
  writeRecord(commonDir, key, begun.record)
  try {
    if (asked.cut === 'now' && branch !== null) {
      // One that was ended, or canceled, may have made it all the same.
      begun = { ...begun, ownsBranch: true }
      await createRef(repository, branchRef(branch), asked.sha).catch((error: unknown) => {
        if (hasReason(error, 'branch_moved') || hasReason(error, 'branch_name_conflict')) begun = { ...begun, ownsBranch: false }
        throw error
      })
    }
    call.onProgress?.(`checking out ${path}`)
    const overlay = await makeTree(context, wanted, begun, report, call)
    if (overlay !== null) {
      begun = { ...begun, record: { ...begun.record, overlay } }
      writeRecord(commonDir, key, begun.record)
    }
    const tree = await requireTree(wanted, begun)
    writeAdminCopy(tree.adminDir, { ...begun.record, key })
    return begun
  } catch (error) {
    await undoTree(context, wanted, begun)
    throw error
  }
}

/** Completes a tree and says that it is ready, without the lock for as long as that takes. Where it fails, nothing is left of it. */
export async function finishTree(
  context: WorkspaceContext,
  wanted: Wanted,
  begun: BegunTree,
  report: Report,
  { signal, onProgress }: ProviderCall,
): Promise<WorkspaceRecord> {
  const { repository, key } = wanted
  const { record, asked } = begun
  const { path, options, kind } = record
  try {
    report.add(await finishCheckout(context, repository, { path, options, plan: asked.plan, signal, onProgress }))
    const source = listTrees(repository.commonDir).find((tree) => tree.isMain)?.path ?? null
    report.add(await carryOver(context, { source, path, entries: options.carry, kind, signal, onProgress }))
    return await withRepositoryLock(context, repository, signal, async () => {
      const { adminDir } = await requireTree(wanted, begun)
      if (checkIndex(adminDir) !== 'whole') throw failure('workspace_unusable', { workspace: record.id, why: 'its index was not written' })
      // Until now the record said what this tree was made from; of a workspace that was there it is kept where that began.
      const base = asked.previous?.base ?? record.base
      const ready: WorkspaceRecord = { ...record, base, state: 'ready', holder: null, usedAt: context.now().toISOString() }
      writeRecord(repository.commonDir, key, ready)
      return ready
    })
  } catch (error) {
    await withRepositoryLock(context, repository, undefined, () => undoTree(context, wanted, begun)).catch(() => {})
    throw error
  }
}

function toRecord(
  context: WorkspaceContext,
  { repository, branch, operator }: Wanted,
  { base, baseName, options, previous }: NewTree,
  own: Pick<WorkspaceRecord, 'id' | 'path' | 'ports'>,
): WorkspaceRecord {
  const now = context.now().toISOString()
  return {
    ...own,
    version: 1,
    kind: branch === null ? 'sandbox' : 'branch',
    branch,
    operator,
    state: 'creating',
    commonDir: repository.commonDir,
    nonce: context.newName(),
    baseName,
    base: { source: base.source, ref: base.ref, sha: base.sha, behind: base.behind, remoteError: base.remoteError },
    options,
    createdAt: previous?.createdAt ?? now,
    usedAt: now,
    setup: null,
    overlay: null,
    holder: context.machine.self,
  }
}

async function makeTree(
  context: WorkspaceContext,
  { repository, branch }: Wanted,
  { record, asked }: BegunTree,
  report: Report,
  { signal }: ProviderCall,
): Promise<WorkspaceOverlay | null> {
  const { path, options } = record
  const { config, noCheckout } = asked.plan
  const lockReason = lockReasonOf(record)
  if (options.copyOnWrite) {
    const request = { path, sha: asked.sha, branch, lockReason, name: overlayName(record), config, signal, folders: foldersOf(repository.commonDir, options) }
    // Trees look through all files of a commit.
    const isPart = 'a sparse checkout is asked for, or is what the main checkout has'
    const made = noCheckout ? isPart : await tryOverlay(context, () => makeOverlayTree(context, repository, request))
    if (typeof made !== 'string') return made
    report.add([{ name: 'copy-on-write', status: 'skipped', detail: `an ordinary tree was made, because ${made}` }])
  }
  const at = branch === null ? { sha: asked.sha } : { branch }
  const result = await addTree(repository, { path, at, lockReason, noCheckout, config, signal })
  if (result.exitCode !== 0) throw checkoutFailure(path, branch, repository.mainRoot, result)
  return null
}

/** Ignored folders of the main checkout that a copy-on-write tree has without a copy. */
export function foldersOf(commonDir: string, { carry }: WorkspaceOptions): { readonly source: string; readonly entries: readonly string[] } | undefined {
  const source = listTrees(commonDir).find((tree) => tree.isMain)?.path
  return source === undefined || carry.length === 0 ? undefined : { source, entries: carry }
}

async function tryOverlay(context: WorkspaceContext, make: () => Promise<WorkspaceOverlay>): Promise<WorkspaceOverlay | string> {
  const probe = await probeOverlay(context)
  if (!probe.ok) return probe.why
  try {
    return await make()
  } catch (error) {
    if (hasReason(error, 'copy_on_write_unavailable')) return String(error.details.why)
    throw error
  }
}

/** The tree as it must be now: registered as ours, on its branch, and the branch where it was made. That git said so is no proof of it. */
async function requireTree({ repository, branch }: Wanted, { record, asked }: BegunTree): Promise<Tree> {
  const tree = findTree(repository.commonDir, record.path)
  const unusable = (why: string): HoldfastError => failure('workspace_unusable', { workspace: record.id, why })
  if (tree === undefined || tree.lockReason !== lockReasonOf(record)) throw unusable('git did not register it')
  if (tree.branch !== branch) throw unusable(`it is on ${tree.branch ?? 'no branch'} and not on ${branch ?? 'none'}`)
  // As the files of the repository have it; where they have something else, or nothing, git is asked.
  if (tree.commit === asked.sha) return tree
  const head = branch === null ? tree.commit : await findRef(repository, branchRef(branch))
  if (head === asked.sha) return tree
  if (branch !== null) throw failure('branch_moved', { branch, expected: asked.sha, found: head ?? 'nothing' })
  throw unusable(`it is at ${head} and not at ${asked.sha}`)
}

/**
 * Takes back what was done, the record at the very end: as long as it says `creating`, whoever opens the workspace next goes on from here. A
 * branch is deleted only where it was made for this tree and is where it was made.
 */
async function undoTree(context: WorkspaceContext, wanted: Wanted, { record, asked, ownsBranch }: BegunTree): Promise<void> {
  const { repository, key, branch } = wanted
  const { commonDir } = repository
  try {
    await removeHalfMade(context, wanted, record)
    if (ownsBranch && branch !== null && !listTrees(commonDir).some((tree) => usesBranch(tree, branch))) {
      await deleteRef(repository, branchRef(branch), asked.sha).catch((error: unknown) => {
        if (!hasReason(error, 'branch_moved')) throw error
      })
    }
    if (asked.previous) writeRecord(commonDir, key, asked.previous)
    else {
      await freePorts(context, record.id)
      removeRecord(commonDir, key)
    }
  } catch {
    // What failed before is what is told; what is left stands in the record.
  }
}

function checkoutFailure(path: string, branch: string | null, mainRoot: string, result: GitResult): HoldfastError {
  const { stderr, answer: git } = result
  const elsewhere = /already (?:checked out|used by worktree) at '([^']+)'/.exec(stderr)?.[1]
  if (elsewhere !== undefined && branch !== null) return failure('branch_in_use', { branch, path: elsewhere, git })
  if (/No space left on device|Disk quota exceeded/.test(stderr)) return failure('disk_full', { path, freeBytes: freeBytesAt(path), neededBytes: 1 })
  if (/promisor/.test(stderr)) return failure('promisor_unreachable', { path: mainRoot, git })
  if (/already exists/.test(stderr)) return failure('path_occupied', { path, what: 'something that came meanwhile' })
  return gitFailure(`making the worktree ${path}`, result)
}
