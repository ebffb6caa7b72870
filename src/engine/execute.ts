import type { LogPlan, Running, Session } from '../core/backend.ts'
import { type ExecutionPlan, type StreamName, streamNames } from '../core/command.ts'
import { failure, messageOf } from '../core/errors.ts'
import { type Outcome, toOutcome } from '../core/outcome.ts'
import type { Leftover, ProcessIdentity, StreamTotals, Usage } from '../core/run.ts'
import { type Clock, pause, systemClock } from './clock.ts'
import { createDelivery, type Listeners } from './delivery.ts'
import { logFailure } from './end-facts.ts'
import { feed } from './feed.ts'
import { openOrderWriter } from './order.ts'
import { type LogWriter, openLogWriter } from './output.ts'
import { watch } from './settle.ts'

export interface ExecuteRequest extends Listeners {
  readonly session: Session
  readonly plan: ExecutionPlan
  readonly logs: LogPlan
  readonly signal?: AbortSignal | undefined
  /** When it aborts, a command that is being ended gets no further grace. */
  readonly hurry?: AbortSignal | undefined
  readonly clock?: Clock | undefined
}

export interface Executed {
  /** `interrupted`: who held the run died; what it did next is unknown. */
  readonly state: 'ended' | 'interrupted'
  readonly outcome: Outcome
  readonly durationMs: number
  readonly stdout: StreamTotals
  readonly stderr: StreamTotals
  readonly leftovers: readonly Leftover[]
  readonly usage?: Usage | undefined
  readonly notes: readonly string[]
  /** The last bytes of each stream whose log could not be written to its end. */
  readonly unsaved: Partial<Record<StreamName, Uint8Array>>
}

export interface Progress {
  readonly elapsedMs: number
  readonly stdout: StreamTotals
  readonly stderr: StreamTotals
}

/** A run that has started. */
export interface Execution {
  readonly process: ProcessIdentity | null
  readonly running: Running
  readonly finished: Promise<Executed>
  /** To be called once the end is on record. */
  recorded(): void
  /** What is known right now. */
  progress(): Progress & { lastBytes: Uint8Array }
}

/**
 * Starts the command and sees it to its end: logs on disk as bytes come, limits, kill, drain. Rejects with a
 * HoldfastError when nothing was started; `finished` never rejects.
 */
export async function execute(request: ExecuteRequest): Promise<Execution> {
  const { session, plan, logs, signal, clock = systemClock } = request
  if (signal?.aborted) throw failure('canceled_before_start', {})
  const startedAt = clock.now()
  const writers = { stdout: openLogWriter(logs.stdout, logs.maxBytes), stderr: openLogWriter(logs.stderr, logs.maxBytes) }
  const order = logs.order === undefined ? undefined : openOrderWriter(logs.order, clock)
  const running = await session.start(plan.command, logs).catch((error: unknown) => {
    for (const stream of streamNames) writers[stream].finish()
    throw error
  })
  const notes: string[] = []
  let latest: StreamName = 'stdout'
  const deliver = createDelivery(request)

  let outputOver = (): void => {}
  const outputEnded = new Promise<void>((resolve) => {
    outputOver = resolve
  })
  const watching = watch({ running, limits: plan.limits, leftovers: plan.leftovers, signal, hurry: request.hurry, clock, outputEnded })
  const pumped = pump()

  async function pump(): Promise<void> {
    try {
      for await (const { stream, offset, bytes } of running.output) {
        // Recorded first, then delivered: a listener cannot cost a byte.
        writers[stream].write(bytes)
        order?.add(stream, bytes.length)
        latest = stream
        watching.touch()
        if (!watching.cut()) deliver.push(stream, bytes, offset)
      }
    } catch (error) {
      notes.push(`the output could not be read to its end: ${messageOf(error)}`)
    } finally {
      outputOver()
    }
  }

  if (plan.command.stdin !== 'none') void feed(running, plan.stdin ?? new Uint8Array(), { notes })
  const finished = (async (): Promise<Executed> => {
    const ending = await watching.settled
    // Reading was given up by now; a backend that does not let go of the iteration is not waited for.
    const over = new AbortController()
    await Promise.race([pumped, pause(clock, letGoMs, over.signal)])
    over.abort()
    const durationMs = clock.now() - startedAt
    if (!watching.cut()) deliver.end()
    const stdout = writers.stdout.finish()
    const stderr = writers.stderr.finish()
    order?.finish()
    return {
      state: 'ended',
      outcome: toOutcome(ending.cut, ending.status),
      durationMs,
      stdout,
      stderr,
      leftovers: ending.leftovers,
      notes: [...ending.notes, ...notes, ...logFailures(writers), ...deliver.notes()],
      unsaved: Object.fromEntries(streamNames.filter((stream) => writers[stream].failure()).map((stream) => [stream, writers[stream].recent()])),
    }
  })()

  return {
    process: running.process,
    running,
    finished,
    recorded() {
      for (const stream of streamNames) writers[stream].recorded()
    },
    progress: () => ({
      elapsedMs: clock.now() - startedAt,
      stdout: writers.stdout.totals(),
      stderr: writers.stderr.totals(),
      lastBytes: writers[latest].recent(),
    }),
  }
}

/** How long the iteration of the output may take to end after it was released. */
export const letGoMs = 1_000

function logFailures(writers: Readonly<Record<StreamName, LogWriter>>): string[] {
  return streamNames.flatMap((stream) => {
    const why = writers[stream].failure()
    return why ? [logFailure(stream, why, writers[stream].totals())] : []
  })
}
