import { TextDecoder } from 'node:util'
import type { LogPlan, Running, Session } from '../core/backend.ts'
import { type ExecutionPlan, type Input, type StreamName, streamNames } from '../core/command.ts'
import { failure, messageOf } from '../core/errors.ts'
import { type Outcome, toOutcome } from '../core/outcome.ts'
import type { Leftover, StreamTotals } from '../core/run.ts'
import { type Clock, pause, systemClock } from './clock.ts'
import { type LogWriter, openLogWriter } from './output.ts'
import { watch } from './settle.ts'

/** A chunk as it is handed to a listener: the bytes, and the same as text with no character cut. */
export interface Delivery {
  readonly stream: StreamName
  readonly bytes: Uint8Array
  readonly text: string
}

export interface ExecuteRequest {
  readonly session: Session
  readonly plan: ExecutionPlan
  readonly logs: LogPlan
  readonly signal?: AbortSignal | undefined
  /** When it aborts, a command that is being ended gets no further grace. */
  readonly hurry?: AbortSignal | undefined
  /** Gets what is printed until the run is settled; may throw or be slow without harm. */
  readonly onOutput?: ((chunk: Delivery) => void) | undefined
  readonly clock?: Clock | undefined
}

export interface Executed {
  readonly outcome: Outcome
  readonly durationMs: number
  readonly stdout: StreamTotals
  readonly stderr: StreamTotals
  readonly leftovers: readonly Leftover[]
  readonly notes: readonly string[]
  /** The last bytes of each stream whose log could not be written to its end. */
  readonly unsaved: Partial<Record<StreamName, Uint8Array>>
}

/** A run that has started. */
export interface Execution {
  readonly running: Running
  readonly finished: Promise<Executed>
  /** What is known right now. */
  progress(): { elapsedMs: number; stdout: StreamTotals; stderr: StreamTotals; lastBytes: Uint8Array }
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
  const running = await session.start(plan.command, logs).catch((error: unknown) => {
    for (const stream of streamNames) writers[stream].finish()
    throw error
  })
  const notes: string[] = []
  let latest: StreamName = 'stdout'
  const deliver = createDelivery(request.onOutput)

  let outputOver = (): void => {}
  const outputEnded = new Promise<void>((resolve) => {
    outputOver = resolve
  })
  const watching = watch({ running, limits: plan.limits, leftovers: plan.leftovers, signal, hurry: request.hurry, clock, outputEnded })
  const pumped = pump()

  async function pump(): Promise<void> {
    try {
      for await (const { stream, bytes } of running.output) {
        // Recorded first, then delivered: a listener cannot cost a byte.
        writers[stream].write(bytes)
        latest = stream
        watching.touch()
        if (!watching.cut()) deliver.push(stream, bytes)
      }
    } catch (error) {
      notes.push(`the output could not be read to its end: ${messageOf(error)}`)
    } finally {
      outputOver()
    }
  }

  if (plan.command.stdin === 'fed') feed(running, plan.stdin ?? new Uint8Array(), notes)
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
    return {
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
    running,
    finished,
    progress: () => ({
      elapsedMs: clock.now() - startedAt,
      stdout: writers.stdout.totals(),
      stderr: writers.stderr.totals(),
      lastBytes: writers[latest].recent(),
    }),
  }
}

/** How long the iteration of the output may take to end after it was released. */
const letGoMs = 1_000

const inputChunkBytes = 64 * 1024

function feed(running: Running, stdin: Input, notes: string[]): void {
  void (async () => {
    try {
      if (stdin instanceof Uint8Array) await writeAll(running, stdin)
      else for await (const chunk of stdin) await writeAll(running, chunk)
    } finally {
      // Also where the source fails: the command must not wait for more.
      await running.endInput()
    }
  })().catch((error: unknown) => {
    notes.push(`the standard input could not be written to its end: ${messageOf(error)}`)
  })
}

async function writeAll(running: Running, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; at += inputChunkBytes) await running.write(bytes.subarray(at, at + inputChunkBytes))
}

function logFailures(writers: Readonly<Record<StreamName, LogWriter>>): string[] {
  return streamNames.flatMap((stream) => {
    const why = writers[stream].failure()
    return why ? [`the log of ${stream} could not be written to its end (${why}); ${writers[stream].totals().droppedBytes} bytes are missing`] : []
  })
}

// A byte order mark is output like any other.
const newDecoder = (): TextDecoder => new TextDecoder('utf-8', { ignoreBOM: true })

function createDelivery(listener: ExecuteRequest['onOutput']) {
  const decoders: Record<StreamName, TextDecoder> = { stdout: newDecoder(), stderr: newDecoder() }
  let failures = 0
  let firstFailure = ''
  function note(error: unknown): void {
    if (failures === 0) firstFailure = messageOf(error)
    failures += 1
  }
  function call(chunk: Delivery): void {
    try {
      // An async function is a listener too; a rejection that nobody takes would end the whole process.
      const result: unknown = listener?.(chunk)
      if (result instanceof Promise) result.catch(note)
    } catch (error) {
      note(error)
    }
  }
  return {
    push(stream: StreamName, bytes: Uint8Array): void {
      if (listener) call({ stream, bytes, text: decoders[stream].decode(bytes, { stream: true }) })
    },
    end(): void {
      if (!listener) return
      for (const stream of streamNames) {
        const text = decoders[stream].decode()
        if (text) call({ stream, bytes: new Uint8Array(), text })
      }
    },
    notes: (): string[] => (failures > 0 ? [`the output listener failed ${failures} times, first with: ${firstFailure}`] : []),
  }
}
