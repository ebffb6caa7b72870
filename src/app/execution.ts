import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { Session } from '../core/backend.ts'
import { type ExecutionPlan, markVariable, type ResolvedCommand } from '../core/command.ts'
import { failure, type HoldfastError, toHoldfastError, withFacts } from '../core/errors.ts'
import { resolveLimits } from '../core/limits.ts'
import { emptyTotals, type ProcessIdentity, type RunRecord } from '../core/run.ts'
import { headBytes } from '../core/text.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { type Execution, execute } from '../engine/execute.ts'
import type { Masker } from '../engine/redact.ts'
import { type ExecCall, type ExecInput, type StopSignal, stopSignals } from './api.ts'
import { type Program, resolveCwd, resolveProgram } from './command.ts'
import type { ActiveRun, AppContext } from './context.ts'
import { composeEnvironment } from './environment.ts'
import { tryHome } from './home.ts'
import { keepPrintedSecrets, noteSecrets } from './masking.ts'
import { type RunFolder, readRecord } from './run-folder.ts'
import { newRunId } from './run-id.ts'

/** How often a request of another process to stop a run is looked for. */
const stopPollMs = 150
/** What a command gets to end when this process closes; a longer grace of its own does not count then. */
const closeGraceMs = 1_500
const maxPurposeBytes = 2_000

/** The runs that this process holds, from before their start to after their end. */
export interface Executions {
  begin(input: ExecInput, call: ExecCall): Promise<ActiveRun>
  find(id: string): ActiveRun | undefined
  /** Cancels all and waits until they are over. */
  close(): Promise<void>
}

interface Prepared {
  readonly program: Program
  readonly cwd: string
  readonly env: Record<string, string>
  readonly plan: Omit<ExecutionPlan, 'command'>
  readonly notes: readonly string[]
  readonly secrets: readonly string[]
  readonly masker: Masker
}

export function createExecutions(context: AppContext): Executions {
  const active = new Map<string, ActiveRun>()
  /** Runs that are between being asked for and being active. */
  const beginning = new Set<Promise<ActiveRun>>()
  /** Runs of this process that ended by themselves and left processes behind. */
  const leaving = new Map<string, ProcessIdentity | null>()
  /** Cut the grace of each run that goes on short. */
  const hurries = new Set<() => void>()
  let session: Promise<Session> | undefined
  let closed = false

  async function prepare(input: ExecInput, id: string): Promise<Prepared> {
    const { settings, root, base } = context
    if (settings.disabledBy) throw failure('disabled', { where: settings.disabledBy })
    const program = resolveProgram(input, settings.runtimes)
    const { limits, notes } = resolveLimits(input, settings.limits)
    const leftovers = input.leftovers ?? 'report'
    if (leftovers !== 'report' && leftovers !== 'kill') throw failure('invalid', { field: 'leftovers', value: leftovers, accepted: 'report or kill' })
    const env = composeEnvironment({
      own: context.ownEnv,
      pass: [...settings.env.pass, ...(input.passEnv ?? [])],
      set: { ...settings.env.set, ...input.env },
      mark: { name: markVariable, id },
    })
    const cwd = await resolveCwd(root, base, input.cwd)
    for (const name of input.passEnv ?? []) if (context.ownEnv[name] === undefined) notes.push(`the variable ${name} is not set here and was not passed on`)
    const named = [...settings.env.pass, ...(input.passEnv ?? [])].map((name) => [name, env[name]] as const)
    const secrets = context.secretsOf({ ...Object.fromEntries(named), ...settings.env.set, ...input.env })
    const stdin = typeof input.stdin === 'string' ? Buffer.from(input.stdin) : input.stdin
    return { program, cwd, env, plan: { limits, stdin, leftovers }, notes, secrets, masker: context.masking.withSecrets(secrets) }
  }

  async function begin(input: ExecInput, call: ExecCall): Promise<ActiveRun> {
    if (closed) throw failure('closed', {})
    const id = newRunId()
    const prepared = await prepare(input, id)
    tryHome(context.home, context.homePlace)
    const first = firstRecord(context, id, prepared, input.purpose)
    const warnings = [...context.home.warnings, ...(await context.records.begin(first))]
    const folder = context.records.folder(id)
    const canceled = { outcome: { kind: 'canceled', exitCode: null, signal: null, limit: null } } as const
    session ??= context.openSession()
    try {
      await session
      noteSecrets(folder, prepared.secrets)
      if (call.signal?.aborted || closed) return over(first, canceled, prepared.masker, warnings)
      const command: ResolvedCommand = {
        argv: prepared.program.prepare(folder.path),
        cwd: prepared.cwd,
        env: prepared.env,
        stdin: prepared.plan.stdin ? 'fed' : 'none',
        mark: id,
      }
      return await start(await session, first, command, prepared, folder, call, warnings)
    } catch (error) {
      const failed = withFacts(nameRuntime(toHoldfastError(error), prepared.program.runtime), prepared.masker.mask)
      await over(first, { state: 'failed', error: failed.toJSON() }, prepared.masker, warnings).finished
      throw failed
    }
  }

  /** The end of a run that never had a process. */
  function over(first: RunRecord, end: Partial<RunRecord>, masker: Masker, before: readonly string[]): ActiveRun {
    const record: RunRecord = { ...first, state: 'ended', ...end, endedAt: context.now().toISOString(), durationMs: 0 }
    const finished = context.records.replace(record).then((more) => ({ record, warnings: merge(before, more) }))
    return { id: first.id, current: () => record, masker, finished, cancel() {} }
  }

  async function start(
    place: Session,
    first: RunRecord,
    command: ResolvedCommand,
    prepared: Prepared,
    folder: RunFolder,
    call: ExecCall,
    before: readonly string[],
  ): Promise<ActiveRun> {
    const controller = new AbortController()
    const hurryThis = new AbortController()
    const hurryUp = (): void => hurryThis.abort()
    hurries.add(hurryUp)
    // Whoever says KILL while the grace of an earlier request goes on does not want to wait for its end.
    const cancel = (signal?: NodeJS.Signals): void => {
      if (controller.signal.aborted && signal === 'SIGKILL') hurryUp()
      controller.abort({ signal })
    }
    const abort = (): void => controller.abort()
    call.signal?.addEventListener('abort', abort, { once: true })
    const forget = (): void => {
      call.signal?.removeEventListener('abort', abort)
      hurries.delete(hurryUp)
    }
    const execution = await execute({
      session: place,
      plan: { ...prepared.plan, command },
      logs: { stdout: folder.stdout, stderr: folder.stderr, order: folder.order, maxBytes: prepared.plan.limits.maxOutputBytes },
      signal: controller.signal,
      hurry: hurryThis.signal,
      onOutput: call.onOutput,
    }).catch((error: unknown) => {
      forget()
      throw error
    })
    const started: RunRecord = { ...first, process: execution.running.process }
    if (started.process) context.records.started(first.id, started.process)
    const unwatch = watchStopRequest(folder, cancel)
    const finished = finish(execution, started, prepared, folder, before).finally(() => {
      unwatch()
      forget()
      active.delete(first.id)
    })
    const run: ActiveRun = {
      id: first.id,
      current: () => withProgress(started, execution),
      masker: prepared.masker,
      finished,
      cancel,
    }
    active.set(first.id, run)
    return run
  }

  async function finish(execution: Execution, started: RunRecord, prepared: Prepared, folder: RunFolder, before: readonly string[]) {
    const end = await execution.finished
    const notes: string[] = []
    try {
      keepPrintedSecrets(folder, [...context.masking.secrets, ...prepared.secrets])
    } catch (error) {
      notes.push(`secrets in the output could not be noted: ${toHoldfastError(error).message}`)
    }
    const { masker } = prepared
    if (end.leftovers.length > 0) leaving.set(started.id, started.process)
    const record: RunRecord = {
      ...started,
      state: 'ended',
      outcome: end.outcome,
      durationMs: Math.round(end.durationMs),
      endedAt: context.now().toISOString(),
      stdout: end.stdout,
      stderr: end.stderr,
      leftovers: end.leftovers.map(({ pid, name }) => ({ pid, name: masker.mask(name) })),
      // Somebody may have pinned the run while it went on.
      pinned: readRecord(folder, started.id)?.pinned ?? false,
      warnings: [...started.warnings, ...end.notes.map((note) => masker.mask(note)), ...notes],
    }
    return { record, warnings: merge(before, await context.records.replace(record)), unsaved: end.unsaved }
  }

  function endAll(left: ReadonlyMap<string, ProcessIdentity | null>): Promise<unknown>[] {
    return [...left].map(([id, first]) => context.machine.endTree(id, first, 'SIGTERM', closeGraceMs))
  }

  return {
    begin(input, call) {
      const promise = begin(input, call).finally(() => beginning.delete(promise))
      beginning.add(promise)
      return promise
    },
    find: (id) => active.get(id),
    async close() {
      closed = true
      // What is just being started is let come so far that it can be ended.
      await Promise.allSettled(beginning)
      const runs = [...active.values()]
      for (const run of runs) run.cancel()
      const over = new AbortController()
      void pause(systemClock, closeGraceMs, over.signal).then(() => {
        for (const hurryUp of hurries) hurryUp()
      })
      await Promise.all([...runs.map((run) => run.finished), ...(context.endLeftoversOnClose ? endAll(leaving) : [])])
      over.abort()
      await (await session?.catch(() => undefined))?.close()
    },
  }
}

const merge = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])]

function firstRecord(context: AppContext, id: string, { program, cwd, plan, notes, masker }: Prepared, purpose: string | undefined): RunRecord {
  const branch = context.branchOf(cwd)
  return {
    id,
    state: 'running',
    command: masker.mask(program.display),
    runtime: program.runtime,
    purpose: purpose === undefined || purpose === '' ? null : headBytes(masker.mask(purpose), maxPurposeBytes),
    cwd: masker.mask(cwd),
    branch: branch === null ? null : masker.mask(branch),
    startedAt: context.now().toISOString(),
    endedAt: null,
    durationMs: null,
    outcome: null,
    error: null,
    stdout: emptyTotals,
    stderr: emptyTotals,
    leftovers: [],
    warnings: notes,
    holder: context.machine.self,
    process: null,
    pinned: false,
    limits: { timeoutMs: plan.limits.timeoutMs, idleTimeoutMs: plan.limits.idleTimeoutMs },
  }
}

function withProgress(record: RunRecord, execution: Execution): RunRecord {
  const { elapsedMs, stdout, stderr } = execution.progress()
  return { ...record, durationMs: Math.round(elapsedMs), stdout, stderr }
}

// A missing program that stands for a runtime is told by the name that the caller used.
function nameRuntime(error: HoldfastError, runtime: string | null): HoldfastError {
  if (runtime === null || error.details.reason !== 'program_missing') return error
  return failure('runtime_missing', { runtime, program: String(error.details.program) }, error)
}

function watchStopRequest(folder: RunFolder, stop: (signal: StopSignal) => void): () => void {
  const timer = setInterval(() => {
    if (!existsSync(folder.stop)) return
    stop(readStopRequest(folder))
    rmSync(folder.stop, { force: true })
  }, stopPollMs)
  return () => clearInterval(timer)
}

function readStopRequest(folder: RunFolder): StopSignal {
  try {
    const text = readFileSync(folder.stop, 'utf8').trim()
    return stopSignals.find((signal) => signal === text) ?? 'SIGTERM'
  } catch {
    return 'SIGTERM'
  }
}
