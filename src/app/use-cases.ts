import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { Target } from '../core/target.ts'
import { digestLog } from '../digest/digest.ts'
import { fitInto } from '../digest/within.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { inputChunkBytes } from '../engine/feed.ts'
import { type App, type Call, type DigestSize, type ExecCall, type ExecInput, type RunResult, type StopSignal, stopSignals } from './api.ts'
import type { ActiveRun, AppContext } from './context.ts'
import { examine } from './doctor.ts'
import { createExecutions, type Within } from './execution.ts'
import type { FilesAt, FileUseCases } from './files.ts'
import { followLogs } from './follow-logs.ts'
import { awaitEnd, caughtUp, type HeldRuns, measured, settleAbandoned, unreachable } from './following.ts'
import { collectAll, collectWhenDue } from './gc.ts'
import { holdElsewhere } from './holder.ts'
import { supervisorNeeded } from './holding.ts'
import { tryHome } from './home.ts'
import { indexPending, indexRuns } from './index-output.ts'
import { writeInput } from './input.ts'
import { streamOf } from './log-streams.ts'
import type { NoteUseCases } from './notes.ts'
import { createPlaces } from './places.ts'
import { compareWithPassed } from './previous.ts'
import { readOutput } from './reading.ts'
import { checkSize, roomFor, toResult, toResultNow } from './results.ts'
import { mountsOf } from './run-tree.ts'
import { searchRuns } from './search.ts'
import type { SiteCall } from './sites.ts'
import { resumeFrom, takeSnapshot } from './snapshots.ts'
import { stopEnded, stopForeign } from './stopping.ts'
import type { WorkspaceUseCases } from './workspaces.ts'

/** Outputs are indexed so long after the last run ended: while one command follows the other none is held up by it, unless so many wait. */
const indexAfterMs = 250
const maxUnindexed = 64
/** For a list of runs no site is waited for longer. */
const settleMs = 3_000
/** What a run that other programs hold may take to end when this process closes. */
const closeMs = 4_000

/** What the app does besides listing what there is; see createApp, which loads it when it is needed. */
export interface UseCases
  extends Omit<
    App,
    'runs' | 'stats' | 'countShown' | 'config' | 'backends' | 'install' | 'uninstall' | keyof NoteUseCases | keyof WorkspaceUseCases | keyof FileUseCases
  > {
  workspaces(): Promise<WorkspaceUseCases>
  /** The files of a target; undefined: this machine. */
  filesAt(target: string | Target | undefined, tree: string, call?: SiteCall): Promise<FilesAt | undefined>
  /** The record of a run that this process holds, as it is now. */
  held(id: string): Promise<RunRecord | undefined>
  /** A record of a run whose holder died is brought to its end; others come back as they are. */
  settle(record: RunRecord): Promise<RunRecord>
  /** Ends what this process holds. The records stay open. */
  close(): Promise<void>
}

/** `history` resolves when the history may be looked at. */
export function createUseCases(context: AppContext, history: () => Promise<void>): UseCases {
  const places = createPlaces(context)
  const executions = createExecutions(context, places, async (workspace) => (await workspaces()).ensureMounted(workspace))
  const held: HeldRuns = { context, places }
  const background = new Set<Promise<unknown>>()
  /** Runs that are over and not in the index yet. */
  const ended: RunRecord[] = []
  let indexing: NodeJS.Timeout | undefined

  function later(work: () => Promise<unknown>): void {
    const running: Promise<unknown> = work()
      .catch(() => {})
      .finally(() => background.delete(running))
    background.add(running)
  }

  function checkWait(waitMs: number | undefined): void {
    if (waitMs === undefined || (Number.isFinite(waitMs) && waitMs >= 0)) return
    throw failure('invalid', { field: 'waitMs', value: waitMs, accepted: 'a number of milliseconds, not negative' })
  }

  function indexWhenOver(run: ActiveRun): void {
    later(async () => {
      const { record } = await run.finished
      // One that was let go of is indexed by whoever finds its end.
      if (record.state === 'running') return
      ended.push(record)
      if (!indexing) indexing = setTimeout(() => later(indexEnded), indexAfterMs).unref()
      else if (ended.length < maxUnindexed) indexing.refresh()
    })
  }

  async function indexEnded(): Promise<void> {
    clearTimeout(indexing)
    indexing = undefined
    if (ended.length === 0) return
    await indexRuns(context, ended.splice(0))
    await collectWhenDue(context)
  }

  const exec = (input: ExecInput, call: ExecCall = {}): Promise<RunResult> => execWithin(input, call, undefined)

  async function execWithin(input: ExecInput, call: ExecCall, within: Within | undefined): Promise<RunResult> {
    checkSize(input)
    checkWait(input.waitMs)
    if (input.detach) {
      const askedAt = systemClock.now()
      const elsewhere = await heldElsewhere(input, call)
      if (elsewhere) return execElsewhere(input, call, elsewhere === 'without-supervisor', askedAt)
    }
    // What is detached belongs to nobody's request.
    const cancel = call.signal && !input.detach ? new AbortController() : undefined
    const stopCanceling = cancel ? linkAbort(call.signal, cancel) : () => {}
    const calledAt = systemClock.now()
    const run = await executions.begin(input, { ...call, signal: cancel?.signal }, within, call.signal).catch((error: unknown) => {
      stopCanceling()
      throw error
    })
    indexWhenOver(run)
    if (input.detach) executions.letBe(run)
    call.onBegin?.(toResultNow(context, run.begun, input, [], run))
    // Counted from when it was asked for: on a busy machine word of the start comes late, and a target may have to be made first.
    const askedAt = run.begun.target ? calledAt : run.askedAt
    const waitMs = input.waitMs === undefined ? undefined : Math.max(0, input.waitMs - (systemClock.now() - askedAt))
    const result = await (input.detach ? answerWithin(run, waitMs ?? 0, input, call.signal) : answerWithin(run, waitMs, input))
    // Once answered, the run belongs to nobody's request any more.
    stopCanceling()
    if (result.state === 'running') executions.letBe(run)
    return result
  }

  async function answerWithin(run: ActiveRun, waitMs: number | undefined, size: DigestSize, signal?: AbortSignal): Promise<RunResult> {
    const end = await within(run.finished, waitMs, signal)
    return end ? toResult(context, end.record, size, end.warnings, { ...run, ...end }) : toResult(context, await run.current(), size, [], run)
  }

  /** A process of its own holds what is to outlive this one where no supervisor does, or has to be fed for longer than a moment. */
  async function heldElsewhere(input: ExecInput, call: ExecCall): Promise<'without-supervisor' | 'to-be-fed' | undefined> {
    if (context.settings.disabledBy) throw failure('disabled', { where: context.settings.disabledBy })
    const { stdin } = input
    const given = typeof stdin === 'string' ? Buffer.byteLength(stdin) : (stdin ?? new Uint8Array())
    const bytes = typeof given === 'number' ? given : given instanceof Uint8Array ? given.length : Number.POSITIVE_INFINITY
    if (bytes > inputChunkBytes) return 'to-be-fed'
    tryHome(context.home, context.homePlace)
    return (await executions.placeFor(input, call)).kind === 'plain' ? 'without-supervisor' : undefined
  }

  async function execElsewhere(input: ExecInput, call: ExecCall, plain: boolean, askedAt: number): Promise<RunResult> {
    const what = supervisorNeeded(input.pty, input.interactive)
    const place = what === undefined ? undefined : await executions.placeFor(input, call)
    if (what !== undefined && place?.kind === 'plain') throw failure('supervisor_needed', { what, why: place.why })
    tryHome(context.home, context.homePlace)
    const id = await holdElsewhere(context, input, plain)
    const record = await context.records.require(id)
    call.onBegin?.(toResultNow(context, record, input))
    const waited = await awaitEnd(held, record, Math.max(0, (input.waitMs ?? 0) - (systemClock.now() - askedAt)), call.signal)
    return toResult(context, await measured(held, waited), input, context.home.warnings)
  }

  async function wait(input: DigestSize & { run: string; waitMs?: number | undefined }, call: Call = {}): Promise<RunResult> {
    checkSize(input)
    checkWait(input.waitMs)
    const record = await context.records.require(input.run)
    const own = executions.find(record.id)
    if (own) return answerWithin(own, input.waitMs, input, call.signal)
    return toResult(context, await measured(held, await awaitEnd(held, record, input.waitMs, call.signal)), input)
  }

  async function stop(input: { run: string; signal?: StopSignal | undefined }, call: Call = {}): Promise<RunResult> {
    const signal = input.signal ?? 'SIGTERM'
    if (!stopSignals.includes(signal)) throw failure('invalid', { field: 'signal', value: signal, accepted: stopSignals.join(', ') })
    const record = await settleAbandoned(held, await context.records.require(input.run))
    const own = executions.find(record.id)
    if (own) {
      own.cancel(signal)
      return toResult(context, (await own.finished).record, {})
    }
    if (record.state === 'running') return toResult(context, await stopForeign(held, record, signal, call), {})
    return toResult(context, await stopEnded(held, record, signal), {})
  }

  async function current(reference: string): Promise<RunRecord> {
    const record = await context.records.require(reference)
    return executions.find(record.id)?.current() ?? measured(held, await settleAbandoned(held, record))
  }

  /** What runs somewhere else have printed by now is here before it is looked through. */
  async function catchUp(): Promise<void> {
    const going = await context.records.list({ running: true, limit: 100 })
    await Promise.all(going.filter(({ holder, id }) => holder.site !== undefined && !executions.find(id)).map((record) => caughtUp(held, record, settleMs)))
  }

  let room: Promise<WorkspaceUseCases> | undefined
  function workspaces(): Promise<WorkspaceUseCases> {
    room ??= import('./workspaces.ts').then(({ createWorkspaces }) => createWorkspaces(context, { execWithin, stop: (run: string) => stop({ run }), places }))
    return room
  }

  return {
    workspaces,
    async filesAt(target, tree, call) {
      const named = await places.sites.find(target)
      if (!named) return undefined
      const { files, site } = await places.sites.open({ ...named, tree, mounts: mountsOf(context, tree) }, call)
      return { files, title: site.title, isOwn: site.workspace === 'own' }
    },
    exec,
    wait,
    stop,
    input: (input) => writeInput(held, executions, input),
    async show(input) {
      checkSize(input)
      return toResult(context, await current(input.run), input)
    },
    output: async (input) => readOutput(context, await current(input.run), input),
    async follow(input, call) {
      await followLogs(held, await context.records.require(input.run), input.streams, call)
    },
    async search(input) {
      await history()
      await indexEnded()
        .then(() => indexPending(context, 200))
        .then(catchUp)
        .catch(() => {})
      const result = await searchRuns(context, input)
      return { ...result, warnings: [...result.warnings, ...(await context.records.warnings())] }
    },
    async digest({ text, previous, ...size }) {
      checkSize(size)
      const { general } = context.masking
      const stream = streamOf(text, general)
      const comparison = previous === undefined ? undefined : compareWithPassed(stream, streamOf(previous, general))
      return { digest: fitInto(roomFor(context, size), (budget) => digestLog([stream], { budget, failed: true, comparison })) }
    },
    async snapshot(input) {
      await history()
      return takeSnapshot(context, input)
    },
    async resume(input) {
      await history()
      return resumeFrom(context, input)
    },
    async pin({ run, pinned }) {
      const found = await current(run)
      // That it cannot be reached now is not for its record.
      const lasting = found.warnings.filter((warning) => warning !== unreachable(found))
      const { record, warnings } = await context.records.setPinned({ ...found, warnings: lasting }, pinned)
      return toResult(context, record, {}, warnings)
    },
    async gc({ dryRun }) {
      await history()
      return collectAll(context, dryRun === true)
    },
    doctor: async (input) => examine(context, await workspaces(), input?.fix, input?.targets ? places.sites : undefined),
    held: async (id) => executions.find(id)?.current(),
    settle: async (record) => (executions.find(record.id) ? record : settleAbandoned(held, record, settleMs)),
    async close() {
      await within(
        executions
          .close()
          .then(() => Promise.all(background))
          .then(indexEnded)
          .catch(() => {}),
        closeMs,
      )
      await (await room)?.close()
      await places.close()
    },
  }
}

/** Passes an abort on until the returned function is called. */
function linkAbort(from: AbortSignal | undefined, to: AbortController): () => void {
  if (!from) return () => {}
  const abort = (): void => to.abort(from.reason)
  if (from.aborted) abort()
  from.addEventListener('abort', abort, { once: true })
  return () => from.removeEventListener('abort', abort)
}

/** What the promise gives, or undefined after `ms` (undefined: never) or when the signal aborts. */
async function within<T>(promise: Promise<T>, ms: number | undefined, signal?: AbortSignal): Promise<T | undefined> {
  if (ms === undefined && !signal) return promise
  const stop = new AbortController()
  const unlink = linkAbort(signal, stop)
  try {
    return await Promise.race([promise, pause(systemClock, ms ?? Number.MAX_SAFE_INTEGER, stop.signal).then(() => undefined)])
  } finally {
    // A timer that nobody needs would keep the process alive.
    stop.abort()
    unlink()
  }
}
