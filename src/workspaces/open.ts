import { setTimeout as pause } from 'node:timers/promises'
import { failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { WorkspaceRecord, WorkspaceSetup } from '../core/workspace.ts'
import type { OpenedWorkspace, OpenWorkspaceRequest, ProviderCall } from '../core/workspace-provider.ts'
import { sweepFetchRefs } from '../git/resolve-base.ts'
import type { WorkspaceContext } from './context.ts'
import { finishTree } from './create.ts'
import { declareVariables } from './declared.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { toOpened } from './opened.ts'
import { prepareTree } from './prepare.ts'
import { readRecord, writeRecord } from './records.ts'
import { createReport, type Report } from './report.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { isHealthy } from './resume.ts'
import { hasTree, lookAt, settle } from './settle.ts'
import { runSetup } from './setup.ts'
import { toWanted, type Wanted } from './wanted.ts'

/** How long another process may take that is at work on the very workspace. */
const othersWorkMs = 15 * 60_000
const lookAgainMs = 100
/** What changes again and again between a look without the lock and one with it, is not a race but a disagreement. */
const maxAttempts = 8
/** When a workspace was last used is known to the minute. */
const usedMs = 60_000

/**
 * Makes a workspace, or gives back the one that is there. Whatever was cut short before, at whatever point, is mended or taken back first;
 * no file of a tree that was handed out is ever touched.
 */
export async function openWorkspace(context: WorkspaceContext, request: OpenWorkspaceRequest, call: ProviderCall = {}): Promise<OpenedWorkspace> {
  const wanted = await toWanted(context, request)
  const { commonDir } = wanted.repository
  const { onProgress } = call
  const quiet: ProviderCall = { signal: call.signal, onProgress: onProgress && ((what) => tellSafely(onProgress, what)) }
  const { record, isNew, report } = await oneAtATime(`${commonDir}\0${wanted.key}`, async () => {
    const known = readRecord(commonDir, wanted.key)
    // Before anything runs in it, its setup too.
    declareVariables(context.root, known?.id ?? wanted.id, wanted.options.passEnv)
    const report = createReport(context, { commonDir, key: wanted.key, id: known?.id ?? wanted.id })
    const found = await findHealthy(context, wanted, known)
    const { record, isNew } = found ? { record: found, isNew: false } : await openAnyhow(context, wanted, report, quiet)
    if (found) await noteUse(context, wanted, found)
    return { record, isNew, report }
  })
  // Whoever comes while it runs waits for it there, and has its result, whatever that is.
  const setup = await setUp(context, wanted, record, report, quiet)
  return toOpened(context, wanted, { ...record, setup }, isNew, report)
}

async function findHealthy(context: WorkspaceContext, wanted: Wanted, record: WorkspaceRecord | undefined): Promise<WorkspaceRecord | undefined> {
  if (record?.state !== 'ready') return undefined
  return isHealthy(await lookAt(context, wanted, record), record, wanted.repository.commonDir) ? record : undefined
}

/** Prepare without the lock, change with it, complete without it. */
async function openAnyhow(
  context: WorkspaceContext,
  wanted: Wanted,
  report: Report,
  call: ProviderCall,
): Promise<{ readonly record: WorkspaceRecord; readonly isNew: boolean }> {
  const { repository, key } = wanted
  const until = monotonicMs() + othersWorkMs
  report.note('requested')
  await sweepFetchRefs(repository, context.now())
  for (let attempt = 1; attempt <= maxAttempts; ) {
    if (call.signal?.aborted) throw failure('canceled', {})
    const record = readRecord(repository.commonDir, key)
    const situation = await lookAt(context, wanted, record)
    const prepared = hasTree(situation, record) ? undefined : await prepareTree(context, wanted, record, situation, report, call)
    try {
      const settled = await withRepositoryLock(context, repository, call.signal, () => settle(context, wanted, prepared, report, call))
      if (settled.kind === 'resumed') return { record: settled.record, isNew: false }
      if (settled.kind === 'begun') {
        const ready = await finishTree(context, wanted, settled.begun, report, call)
        report.note('ready', { sha: settled.begun.asked.sha })
        return { record: ready, isNew: settled.begun.ownsBranch || (wanted.branch === null && prepared?.previous === undefined) }
      }
      if (settled.kind === 'again') attempt += 1
      else await waitForOthers(wanted, record, until, call)
    } finally {
      await prepared?.drop()
    }
  }
  throw failure('workspace_unusable', { workspace: wanted.id, why: `its branch or its tree changed ${maxAttempts} times while it was opened` })
}

async function waitForOthers({ id }: Wanted, record: WorkspaceRecord | undefined, until: number, { signal, onProgress }: ProviderCall): Promise<void> {
  const holder = record?.holder ? `process ${record.holder.pid}` : null
  if (monotonicMs() > until) throw failure('lock_timeout', { what: `the workspace ${record?.id ?? id}`, afterMs: othersWorkMs, holder })
  onProgress?.(`waiting for ${holder ?? 'another process'}`)
  await pause(lookAgainMs, undefined, { signal }).catch(() => {})
}

/** Best effort: whoever changes the record right now notes the use, too. */
async function noteUse(context: WorkspaceContext, { repository, key }: Wanted, { usedAt }: WorkspaceRecord): Promise<void> {
  const now = context.now()
  if (now.getTime() - Date.parse(usedAt) < usedMs) return
  const briefly: typeof context.lock = (file, options) => context.lock(file, { ...options, timeoutMs: 0 })
  await withRepositoryLock({ lock: briefly }, repository, undefined, async () => {
    const record = readRecord(repository.commonDir, key)
    if (record?.state === 'ready') writeRecord(repository.commonDir, key, { ...record, usedAt: now.toISOString() })
  }).catch(() => {})
}

async function setUp(context: WorkspaceContext, wanted: Wanted, record: WorkspaceRecord, report: Report, call: ProviderCall): Promise<WorkspaceSetup | null> {
  const { repository, key, request } = wanted
  let current = record
  if (request.setup !== undefined && request.setup !== record.options.setup) {
    current = await withRepositoryLock(context, repository, call.signal, async () => {
      const newest = readRecord(repository.commonDir, key) ?? record
      const changed = { ...newest, options: { ...newest.options, setup: request.setup ?? null } }
      writeRecord(repository.commonDir, key, changed)
      return changed
    })
  }
  const setup = await runSetup(context, repository, key, current, call)
  if (setup !== null && setup.run !== record.setup?.run) report.did('setup', `${setup.command} ended: ${setup.ended ?? setup.state}`, { run: setup.run })
  return setup
}

function tellSafely(onProgress: (what: string) => void, what: string): void {
  try {
    onProgress(what)
  } catch {
    // Whoever listens is no reason to stop.
  }
}
