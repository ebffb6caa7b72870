import { existsSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import type { ProviderCall, ReleasedWorkspace, ReleaseWorkspaceRequest } from '../core/workspace-provider.ts'
import type { Tree } from '../git/admin.ts'
import { type GitRepository, openRepository } from '../git/open.ts'
import { replacePlain } from '../git/plain-file.ts'
import { removeRegistration } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import type { FoundWorkspace } from './find.ts'
import { removeHalfMade } from './half-made.ts'
import { clearOfCommands } from './occupied.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { isMounted, mountAgain, removeOverlay } from './overlay.ts'
import { whatIsAt } from './placement.ts'
import { freePorts } from './ports.ts'
import { readRecord, removeRecord, writeRecord } from './records.ts'
import { findReleasable, releaseLost } from './release-lost.ts'
import { requireOwn, rootOf } from './release-owned.ts'
import { type KeptWork, keepLateWork, keepWork } from './release-work.ts'
import { createReport, type Report } from './report.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { emptyTrashLater, moveAside, moveToTrash, putBack, removeEmptyParent } from './trash.ts'

/** How long another process may take that is at work on the very workspace. */
const othersWorkMs = 15 * 60_000
const lookAgainMs = 100

/** What one release works with. */
export interface Releasing {
  readonly context: WorkspaceContext
  readonly repository: GitRepository
  readonly key: string
  readonly request: ReleaseWorkspaceRequest
  readonly call: ProviderCall
  readonly report: Report
}

/**
 * Removes the tree of a workspace, never its branch. Commands end first, then what is nowhere else is saved, and only then is the tree
 * taken away: in one step, and deleted later. What is refused, or fails before that step, leaves the workspace ready as it was. Cut short at
 * any point, it is finished by releasing again, or by opening again. One that is not there any more is no failure.
 */
export async function releaseWorkspace(context: WorkspaceContext, request: ReleaseWorkspaceRequest, call: ProviderCall = {}): Promise<ReleasedWorkspace> {
  const found = await findReleasable(context, request)
  if (found === undefined) return releaseLost(context, request)
  return oneAtATime(`${found.commonDir}\0${found.key}`, () => release(context, found, request, call))
}

async function release(context: WorkspaceContext, found: FoundWorkspace, request: ReleaseWorkspaceRequest, call: ProviderCall): Promise<ReleasedWorkspace> {
  const { commonDir, key } = found
  const repository = await openRepository(context, commonDir)
  const report = createReport(context, { commonDir, key, id: found.record.id })
  const releasing: Releasing = { context, repository, key, request, call, report }
  const { id, branch } = found.record
  const answer = (released: boolean, rescue: string | null = null, stopped: readonly string[] = []): ReleasedWorkspace => ({
    ...{ id, released, rescue, branch, stopped },
    ...{ actions: report.actions, warnings: report.warnings },
  })
  const claimed = await claim(releasing, found.record)
  if (typeof claimed === 'string') return answer(claimed === 'half-made')
  const progress = { isRemoved: false }
  try {
    const own = requireOwn(releasing, claimed)
    const stopped = await clearOfCommands(releasing, claimed, own)
    const kept = await keepWork(releasing, claimed, own)
    const { rescue } = await withRepositoryLock(context, repository, call.signal, () => remove(releasing, claimed, kept, progress))
    report.note('released', { rescue: rescue?.ref ?? null, mode: request.mode ?? 'rescue' })
    emptyTrashLater(context)
    return answer(true, rescue?.ref ?? null, stopped)
  } catch (error) {
    await withRepositoryLock(context, repository, undefined, async () => letGo(releasing, claimed, progress.isRemoved))
    throw error
  }
}

/** Writes down that the workspace is being released, so that nothing new begins in it. Waits for others that are at work on it. */
async function claim(releasing: Releasing, { id }: WorkspaceRecord): Promise<WorkspaceRecord | 'none' | 'half-made'> {
  const { context, repository, key, call } = releasing
  const until = monotonicMs() + othersWorkMs
  for (;;) {
    const claimed = await withRepositoryLock(context, repository, call.signal, async () => {
      const record = readRecord(repository.commonDir, key)
      if (record === undefined || record.id !== id) return 'none'
      if (isOthersWork(context, record)) return 'wait'
      if (record.state === 'creating') {
        await removeHalfMade(context, { repository, root: rootOf(context) }, record)
        await forget(releasing, record)
        releasing.report.did('removed', 'it was being made when that was cut short, and was never handed out')
        return 'half-made'
      }
      putBack(context, record)
      await mountFirst(releasing, record)
      const mine: WorkspaceRecord = { ...record, state: 'releasing', holder: context.machine.self }
      writeRecord(repository.commonDir, key, mine)
      releasing.report.note('releasing')
      return mine
    })
    if (claimed !== 'wait') return claimed
    if (monotonicMs() > until) throw failure('lock_timeout', { what: `the workspace ${id}`, afterMs: othersWorkMs, holder: null })
    await pause(lookAgainMs, undefined, { signal: call.signal }).catch(() => {})
    if (call.signal?.aborted) throw failure('canceled', {})
  }
}

function isOthersWork({ machine }: WorkspaceContext, { state, holder }: WorkspaceRecord): boolean {
  if (state === 'ready' || holder === null) return false
  const isSelf = holder.pid === machine.self.pid && holder.startTime === machine.self.startTime
  return !isSelf && machine.isAlive(holder)
}

/** After the machine was started anew, the files of a copy-on-write tree cannot be seen before they are mounted. */
async function mountFirst({ context, report, request }: Releasing, { overlay, path }: WorkspaceRecord): Promise<void> {
  if (overlay === null || isMounted(context, overlay, path) || !existsSync(overlay.upper)) return
  try {
    await mountAgain(context, overlay, path)
  } catch (error) {
    if (request.mode !== 'discard') throw error
    report.warn('its files could not be mounted, and were not looked at')
  }
}

/** Takes the tree away and forgets it, with the lock of the repository. Each step may have been done before. Gives what was kept of it. */
async function remove(releasing: Releasing, claimed: WorkspaceRecord, kept: KeptWork, progress: { isRemoved: boolean }): Promise<KeptWork> {
  const { context, repository, key, report } = releasing
  const record = readRecord(repository.commonDir, key)
  if (record?.state !== 'releasing' || record.nonce !== claimed.nonce) {
    throw failure('workspace_unusable', { workspace: claimed.id, why: 'somebody else changed it while it was released' })
  }
  const own = requireOwn(releasing, record)
  let all = kept
  if (record.overlay !== null) {
    // Once it is not mounted any more it cannot be looked at.
    if (kept.seen !== null && !own.isEmpty) all = await keepWork(releasing, record, own, kept)
    const how = await removeOverlay(context, record.overlay, record.path)
    if (how === 'lazily') report.warn('something still has files of its tree open, and sees them until it ends')
    progress.isRemoved = true
    if (whatIsAt(record.path) === 'empty folder') rmdirSync(record.path)
  } else if (own.path !== undefined) {
    const aside = moveAside(context, own.path, record)
    all = await keepLateWork(releasing, record, own, { path: aside, before: kept })
    // From here on it is finished, not taken back: whoever goes on finds the tree aside.
    progress.isRemoved = true
    moveToTrash(context, aside, record.id)
  }
  progress.isRemoved = true
  if (own.tree !== undefined) await forgetTree(releasing, own.tree)
  if (existsSync(record.path)) report.warn(`something made ${record.path} again after the tree was gone; it is left as it is`)
  await forget(releasing, record)
  report.did('removed', `the tree ${record.path} is gone${record.branch === null ? '' : `; its branch ${record.branch} is as it was`}`)
  return all
}

/**
 * Deregisters a tree whose folder was taken away. Its registration first names a place where nothing can be: whatever something makes at
 * the old one from now on is none of the tree's, and git would delete it.
 */
async function forgetTree({ repository }: Releasing, { adminDir, path }: Tree): Promise<void> {
  const nowhere = join(adminDir, 'no-tree')
  replacePlain(join(adminDir, 'gitdir'), `${join(nowhere, '.git')}\n`)
  await removeRegistration(repository, nowhere)
  if (existsSync(adminDir)) throw failure('git_failed', { what: `forgetting the worktree ${path}` })
}

async function forget({ context, repository, key }: Releasing, { id, path }: WorkspaceRecord): Promise<void> {
  await freePorts(context, id)
  removeEmptyParent(path)
  // The very last: as long as it is there, whoever releases again goes on from here.
  removeRecord(repository.commonDir, key)
}

/** Nothing was removed, so the workspace is what it was; otherwise whoever comes next goes on from here. */
function letGo({ repository, key }: Releasing, { nonce }: WorkspaceRecord, isRemoved: boolean): void {
  const record = readRecord(repository.commonDir, key)
  if (record?.state !== 'releasing' || record.nonce !== nonce) return
  writeRecord(repository.commonDir, key, { ...record, state: isRemoved ? 'releasing' : 'ready', holder: null })
}
