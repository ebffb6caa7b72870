import { makeNote } from '../context/notes.ts'
import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import { splitLines } from '../core/text.ts'
import { digestLog } from '../digest/digest.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { measureLog } from '../engine/log-reader.ts'
import { type App, type Call, type ExecCall, type ExecInput, type RunResult, type StopSignal, stopSignals } from './api.ts'
import type { ActiveRun, AppContext } from './context.ts'
import { examine } from './doctor.ts'
import { createExecutions } from './execution.ts'
import { awaitEnd, followLogs, settleAbandoned, stopEnded, stopForeign } from './following.ts'
import { collectGarbage, collectWhenDue } from './gc.ts'
import { holdElsewhere } from './holder.ts'
import { makeHome, tryHome } from './home.ts'
import { readOutput } from './reading.ts'
import { roomFor, toResult, toResultNow } from './results.ts'
import { newRunId } from './run-id.ts'
import { indexPending, indexRuns, searchRuns } from './search.ts'
import { resumeFrom, takeSnapshot } from './snapshots.ts'

/** Runs wait so long for others to be indexed with them, so that a burst of short ones is not held up by it. */
const indexAfterMs = 250
/** What a run that other programs hold may take to end when this process closes. */
const closeMs = 4_000

/** What the app does besides listing what there is; see createApp, which loads it when it is needed. */
export interface UseCases extends Omit<App, 'runs' | 'listNotes' | 'removeNote' | 'config'> {
  /** The record of a run that this process holds, as it is now. */
  held(id: string): RunRecord | undefined
  /** A record of a run whose holder died is brought to its end; others come back as they are. */
  settle(record: RunRecord): Promise<RunRecord>
  /** Ends what this process holds. The records stay open. */
  close(): Promise<void>
}

/** `history` resolves when the history may be looked at. */
export function createUseCases(context: AppContext, history: () => Promise<void>): UseCases {
  const executions = createExecutions(context)
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

  function checkBudget(budget: number | undefined): void {
    if (budget === undefined || (Number.isInteger(budget) && budget >= 0)) return
    throw failure('invalid', { field: 'budget', value: budget, accepted: 'a whole number of bytes' })
  }

  function checkWait(waitMs: number | undefined): void {
    if (waitMs === undefined || (Number.isFinite(waitMs) && waitMs >= 0)) return
    throw failure('invalid', { field: 'waitMs', value: waitMs, accepted: 'a number of milliseconds, not negative' })
  }

  function indexWhenOver(run: ActiveRun): void {
    later(async () => {
      ended.push((await run.finished).record)
      indexing ??= setTimeout(() => later(indexEnded), indexAfterMs).unref()
    })
  }

  async function indexEnded(): Promise<void> {
    clearTimeout(indexing)
    indexing = undefined
    if (ended.length === 0) return
    await indexRuns(context, ended.splice(0))
    await collectWhenDue(context)
  }

  async function exec(input: ExecInput, call: ExecCall = {}): Promise<RunResult> {
    checkBudget(input.budget)
    checkWait(input.waitMs)
    if (input.detach) return execDetached(input, call)
    const cancel = new AbortController()
    const stopCanceling = linkAbort(call.signal, cancel)
    const run = await executions.begin(input, { ...call, signal: cancel.signal }).catch((error: unknown) => {
      stopCanceling()
      throw error
    })
    indexWhenOver(run)
    call.onBegin?.(toResultNow(context, run.current(), input.budget, [], run))
    const result = await answerWithin(run, input.waitMs, input.budget)
    // Once answered, the run belongs to nobody's request any more.
    stopCanceling()
    return result
  }

  async function answerWithin(run: ActiveRun, waitMs: number | undefined, budget: number | undefined, signal?: AbortSignal): Promise<RunResult> {
    const end = await within(run.finished, waitMs, signal)
    return end ? toResult(context, end.record, budget, end.warnings, { ...run, ...end }) : toResult(context, run.current(), budget, [], run)
  }

  async function execDetached(input: ExecInput, call: ExecCall): Promise<RunResult> {
    if (context.settings.disabledBy) throw failure('disabled', { where: context.settings.disabledBy })
    tryHome(context.home, context.homePlace)
    const id = await holdElsewhere(context, input)
    const record = await context.records.require(id)
    call.onBegin?.(toResultNow(context, record, input.budget))
    const waited = await awaitEnd(context, record, input.waitMs ?? 0, call.signal)
    return toResult(context, measured(waited), input.budget, context.home.warnings)
  }

  async function wait(input: { run: string; waitMs?: number | undefined; budget?: number | undefined }, call: Call = {}): Promise<RunResult> {
    checkBudget(input.budget)
    checkWait(input.waitMs)
    const record = await context.records.require(input.run)
    const own = executions.find(record.id)
    if (own) return answerWithin(own, input.waitMs, input.budget, call.signal)
    return toResult(context, measured(await awaitEnd(context, record, input.waitMs, call.signal)), input.budget)
  }

  async function stop(input: { run: string; signal?: StopSignal | undefined }, call: Call = {}): Promise<RunResult> {
    const signal = input.signal ?? 'SIGTERM'
    if (!stopSignals.includes(signal)) throw failure('invalid', { field: 'signal', value: signal, accepted: stopSignals.join(', ') })
    const record = await settleAbandoned(context, await context.records.require(input.run))
    const own = executions.find(record.id)
    if (own) {
      own.cancel(signal)
      return toResult(context, (await own.finished).record, undefined)
    }
    if (record.state === 'running') return toResult(context, await stopForeign(context, record, signal, call), undefined)
    return toResult(context, await stopEnded(context, record, signal), undefined)
  }

  async function current(reference: string): Promise<RunRecord> {
    const record = await context.records.require(reference)
    return executions.find(record.id)?.current() ?? measured(await settleAbandoned(context, record))
  }

  /** A run that another process holds: its log is ahead of its record. */
  function measured(record: RunRecord): RunRecord {
    if (record.state !== 'running') return record
    const folder = context.records.folder(record.id)
    return { ...record, stdout: measureLog(folder.stdout), stderr: measureLog(folder.stderr) }
  }

  return {
    exec,
    wait,
    stop,
    async input({ run }) {
      throw failure('input_closed', { run: (await context.records.require(run)).id })
    },
    async show(input) {
      checkBudget(input.budget)
      return toResult(context, await current(input.run), input.budget)
    },
    output: async (input) => readOutput(context, await current(input.run), input),
    async follow(input, call) {
      await followLogs(context, await context.records.require(input.run), input.streams, call)
    },
    async search(input) {
      await history()
      await indexEnded()
        .then(() => indexPending(context, 200))
        .catch(() => {})
      const result = await searchRuns(context, input)
      return { ...result, warnings: [...result.warnings, ...(await context.records.warnings())] }
    },
    async digest({ text, budget }) {
      checkBudget(budget)
      const masked = context.masking.general.mask(text)
      const lines = splitLines(text).length
      const stream = { name: 'stdout' as const, sections: [{ firstLine: 1, text: masked }], bytes: Buffer.byteLength(text), lines, droppedBytes: 0 }
      return { digest: digestLog([stream], { budget: roomFor(context, budget), failed: true }) }
    },
    async snapshot(input) {
      await history()
      return takeSnapshot(context, input)
    },
    async resume() {
      await history()
      return resumeFrom(context)
    },
    async addNote(input) {
      makeHome(context.home, context.homePlace)
      const note = makeNote({ ...input, text: context.masking.general.mask(input.text) }, { now: context.now(), id: newRunId() })
      await context.records.addNote(note)
      return note
    },
    async pin({ run, pinned }) {
      const { record, warnings } = await context.records.setPinned(await current(run), pinned)
      return toResult(context, record, undefined, warnings)
    },
    async gc({ dryRun }) {
      await history()
      return collectGarbage(context, dryRun === true)
    },
    doctor: () => examine(context),
    held: (id) => executions.find(id)?.current(),
    settle: (record) => settleAbandoned(context, record),
    async close() {
      await within(
        executions
          .close()
          .then(() => Promise.all(background))
          .then(indexEnded)
          .catch(() => {}),
        closeMs,
      )
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
