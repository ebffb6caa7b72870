import { setTimeout as pause } from 'node:timers/promises'
import { failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { WorkspaceRecord, WorkspaceSetup } from '../core/workspace.ts'
import type { ProviderCall } from '../core/workspace-provider.ts'
import type { GitRepository } from '../git/open.ts'
import { makePlainFolder } from '../git/plain-file.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'
import { findWorkspace } from './find.ts'
import { repositoryFiles } from './layout.ts'
import { readRecord, writeRecord } from './records.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { setupInputsOf } from './setup-inputs.ts'

/**
 * The setup of a workspace: a command that is run once in each physical tree. How far it came is in the record, outside of the tree. Who runs
 * it holds a lock of the workspace alone, so that others can go on in the repository; the lock ends with its holder, and what it left
 * `running` is then run again, whole.
 */

type Place = Pick<GitRepository, 'commonDir' | 'mainRoot'>

/** Tries without anybody asking for one. */
const maxAttempts = 3
/** How long somebody else's setup is waited for: longer than a setup may take. */
const waitMs = 65 * 60_000
const lookAgainMs = 200

/** Runs the setup where it was not run in this tree. Null where there is none. Throws `setup_failed`; the tree stays as the setup left it. */
export async function runSetup(
  context: WorkspaceContext,
  repo: Place,
  key: string,
  record: WorkspaceRecord,
  call: ProviderCall = {},
): Promise<WorkspaceSetup | null> {
  const { setup: command } = record.options
  if (command === null) return null
  const before = readRecord(repo.commonDir, key)?.setup ?? record.setup
  if (isDone(record, before)) return before
  return withSetupLock(context, repo, key, record, call, async () => {
    const current = readRecord(repo.commonDir, key)?.setup ?? null
    if (isDone(record, current)) return current
    const last = current !== null && current.command === command ? current : null
    // Whoever waited for a failure has failed, too: the next call tries again.
    if (last?.state === 'failed' && (wasRunBy(before, last) || isExhausted(record, last))) throw failed(record, last)
    const attempts = last !== null && isOfThisTree(record, last) ? last.attempt : 0
    return runOnce(context, repo, key, record, { attempt: attempts + 1, last, call })
  })
}

/** Runs the setup now, however often it was tried and also where it is done. Throws like `runSetup`. */
export async function rerunSetup(
  context: WorkspaceContext,
  request: { readonly workspace: string; readonly repo?: string | undefined },
  call: ProviderCall = {},
): Promise<{ readonly id: string; readonly setup: WorkspaceSetup }> {
  const { commonDir, key, record } = await findWorkspace(context, request.workspace, request.repo)
  if (record.options.setup === null) throw failure('invalid', { field: 'workspace', value: request.workspace, accepted: 'a workspace that has a setup' })
  if (record.state !== 'ready') throw failure('workspace_unusable', { workspace: record.id, why: `it is ${record.state}` })
  const repo = { commonDir, mainRoot: commonDir }
  const setup = await withSetupLock(context, repo, key, record, call, async () => {
    const last = readRecord(commonDir, key)?.setup ?? null
    return runOnce(context, repo, key, record, { attempt: (last?.attempt ?? 0) + 1, last, call })
  })
  return { id: record.id, setup }
}

async function withSetupLock<T>(
  context: WorkspaceContext,
  { commonDir }: Place,
  key: string,
  { id }: WorkspaceRecord,
  { signal, onProgress }: ProviderCall,
  work: () => Promise<T>,
): Promise<T> {
  const { folder, setup } = repositoryFiles(commonDir)
  makePlainFolder(commonDir, folder)
  onProgress?.('setup')
  const unlock = await context.lock(setup(key), { what: `the setup of workspace ${id}`, timeoutMs: waitMs, signal })
  try {
    return await work()
  } finally {
    unlock()
  }
}

interface Attempt {
  readonly attempt: number
  /** What is on record of it. */
  readonly last: WorkspaceSetup | null
  readonly call: ProviderCall
}

async function runOnce(
  context: WorkspaceContext,
  repo: Place,
  key: string,
  record: WorkspaceRecord,
  { attempt, last, call }: Attempt,
): Promise<WorkspaceSetup> {
  const { signal, onProgress } = call
  const command = record.options.setup as string
  if (last?.state === 'running' && last.run !== null) await waitForRun(context, record, last.run, call)
  const begun: WorkspaceSetup = { command, state: 'running', attempt, run: null, ended: null, holder: context.machine.self, inputs: setupInputsOf(record) }
  const write = (setup: WorkspaceSetup): Promise<void> => writeSetup(context, repo, key, record, setup, setup.state === 'running' ? signal : undefined)
  const told = (name: string, facts: Record<string, string | number | boolean>, durationMs: number | null = null): void =>
    tell(repo.commonDir, key, { at: context.now().toISOString(), workspace: record.id, name, durationMs, facts })
  await write(begun)
  onProgress?.(`setup: ${command}`)
  const since = monotonicMs()
  let noted: Promise<void> = Promise.resolve()
  const onBegin = (run: string): void => {
    told('setup-started', { run, attempt })
    // Only so that others know which run it is; the end says it again.
    noted = write({ ...begun, run }).catch(() => {})
  }
  let result: { readonly run: string; readonly ok: boolean; readonly ended: string }
  try {
    result = await context.commands.setup(record, command, { onBegin, signal })
  } catch (error) {
    await noted
    // It never ran, so that this was no attempt.
    await write({ ...(last ?? begun), command, state: 'pending', attempt: attempt - 1, holder: null })
    throw error
  }
  await noted
  const { run, ok, ended } = result
  told('setup-finished', { run, attempt, ok, ended }, Math.round(monotonicMs() - since))
  const over = { ...begun, run, ended, holder: null }
  if (!ok && signal?.aborted) {
    await write({ ...over, state: 'pending', attempt: attempt - 1 })
    throw failure('canceled', {})
  }
  // It may have changed what it reads: what is there now is what it was run for.
  const setup: WorkspaceSetup = { ...over, state: ok ? 'done' : 'failed', inputs: setupInputsOf(record) }
  await write(setup)
  if (!ok) throw failed(record, setup)
  return setup
}

/** A supervisor goes on with the run of a holder that died. Two at once in one tree would spoil it. */
async function waitForRun(context: WorkspaceContext, record: WorkspaceRecord, run: string, { signal, onProgress }: ProviderCall): Promise<void> {
  const until = monotonicMs() + waitMs
  const goesOn = async (): Promise<boolean> => (await context.commands.running(record)).some((command) => command.run === run)
  while (await goesOn()) {
    if (signal?.aborted) throw failure('canceled', {})
    if (monotonicMs() > until) throw failure('lock_timeout', { what: `the setup of workspace ${record.id}`, afterMs: waitMs, holder: `run ${run}` })
    onProgress?.(`waiting for run ${run}, the setup that was begun before`)
    await pause(lookAgainMs, undefined, { signal }).catch(() => {})
  }
}

/** The rest of the record may change at any time, and a workspace may be released while its setup runs. */
async function writeSetup(
  context: WorkspaceContext,
  repo: Place,
  key: string,
  { id, nonce }: WorkspaceRecord,
  setup: WorkspaceSetup,
  signal: AbortSignal | undefined,
): Promise<void> {
  await withRepositoryLock(context, repo, signal, async () => {
    const record = readRecord(repo.commonDir, key)
    if (record?.nonce !== nonce) throw failure('workspace_unusable', { workspace: id, why: 'it was released while its setup ran' })
    writeRecord(repo.commonDir, key, { ...record, setup })
  })
}

const failed = ({ id }: WorkspaceRecord, { command, run, attempt, ended }: WorkspaceSetup) =>
  failure('setup_failed', { workspace: id, command, run: run ?? 'none', attempt, ended: ended ?? 'unknown' })

const isDone = (record: WorkspaceRecord, setup: WorkspaceSetup | null): boolean => setup?.state === 'done' && isOfThisTree(record, setup)

const isExhausted = (record: WorkspaceRecord, setup: WorkspaceSetup): boolean => setup.attempt >= maxAttempts && isOfThisTree(record, setup)

/** Whether `now` is the end of what ran, or had yet to begin, when `before` was read. */
const wasRunBy = (before: WorkspaceSetup | null, now: WorkspaceSetup): boolean => before?.state === 'running' || now.attempt > (before?.attempt ?? 0)

/** Whether it was run in this tree, with this command and for the files that are there now. */
const isOfThisTree = (record: WorkspaceRecord, setup: WorkspaceSetup): boolean =>
  setup.command === record.options.setup && setup.inputs === setupInputsOf(record)
