import { existsSync } from 'node:fs'
import type { ExecutionPlan } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { failure, type HoldfastError, hasReason } from '../core/errors.ts'
import type { StreamTotals } from '../core/run.ts'
import type { Listening, RunStatus, SupervisedRun, SupervisedSession } from '../core/supervised.ts'
import { atDeadline, type Clock, pause, systemClock } from './clock.ts'
import type { Listeners } from './delivery.ts'
import { readEnd } from './end-files.ts'
import { findPieces, measureLog } from './log-reader.ts'

/** Contact with the supervisor of a run: beginning it, finding the run again when it is lost, and telling that it is. */

/** Where a supervisor writes what there is of a run. */
export interface SupervisedPaths {
  /** The folder with all of it. */
  readonly path: string
  readonly stdout: string
  readonly stderr: string
  /** The end record. */
  readonly end: string
  /** The first process, written right after the start. */
  readonly process: string
}

export interface SuperviseRequest extends Listeners {
  readonly session: SupervisedSession
  readonly plan: ExecutionPlan
  readonly id: string
  readonly paths: SupervisedPaths
  /** Whether the run ends with this process. */
  readonly bound: boolean
  /** A new connection to the supervisor of this session; undefined where it does not answer any more. */
  reconnect(): Promise<SupervisedSession | undefined>
  readonly signal?: AbortSignal | undefined
  /** When it aborts, a command that is being ended gets no further grace. */
  readonly hurry?: AbortSignal | undefined
  /** How long it is tried to take up contact again; default: about three seconds. */
  readonly regainMs?: number | undefined
  readonly clock?: Clock | undefined
}

/** How long a request of which nothing depends may take. */
const answerMs = 2_000
/** How much later than it should a run may end before the supervisor is asked whether it is still there. */
export const overdueMs = 10_000
/** What the supervisor itself may take to end a tree after the grace. */
export const killMs = 2_000
/** With the pauses between them about three seconds. */
const reconnectTries = 6
const longestPauseMs = 2_000
/** The same for a run that is to end: whoever wants that does not wait for a network. */
const abortedMs = 10_000

export interface Begun {
  /** Undefined where it is over, or nobody can say what became of it. */
  readonly run: SupervisedRun | undefined
  readonly end?: EndRecord | undefined
}

/** Where contact is lost while it is being started, it is found out whether it was. */
export async function begin(request: SuperviseRequest, listen: Listening, input: Uint8Array | undefined, inputEnds: boolean): Promise<Begun> {
  const { session, plan, id, paths, bound, clock = systemClock } = request
  const { limits, leftovers } = plan
  try {
    return { run: await session.start(plan.command, { id, folder: paths.path, limits, leftovers, input, inputEnds, bound, listen }) }
  } catch (error) {
    if (!hasReason(error, 'supervisor_lost') || wasNeverAsked(error)) throw error
    const found = await lookAgain(request, listen, clock)
    // It lives, and knows nothing of the run.
    if (found === 'unknown') throw error
    return { run: found, end: readEnd(paths.end, id) }
  }
}

const wasNeverAsked = (error: HoldfastError): boolean => error.details.unsent === true

/** The run over a new connection; undefined where its supervisor does not answer, or holds it no longer. */
export async function regain(request: SuperviseRequest, listen: Listening, clock: Clock): Promise<SupervisedRun | undefined> {
  const found = await lookAgain(request, listen, clock)
  return found === 'unknown' ? undefined : found
}

async function lookAgain(request: SuperviseRequest, listen: Listening, clock: Clock): Promise<SupervisedRun | undefined | 'unknown'> {
  const { regainMs } = request
  const since = clock.now()
  const deadline = since + (regainMs ?? Number.POSITIVE_INFINITY)
  for (let tries = 0; regainMs === undefined ? tries < reconnectTries : clock.now() < (request.signal?.aborted ? since + abortedMs : deadline); tries += 1) {
    try {
      const session = await inTime(request.reconnect(), clock, regainMs)
      if (!session) return undefined
      const run = await inTime(session.attach(request.id, listen), clock)
      return run ?? (existsSync(request.paths.end) || existsSync(request.paths.process) ? undefined : 'unknown')
    } catch {
      await pause(clock, Math.min(longestPauseMs, 50 * 2 ** tries))
    }
  }
  return undefined
}

/** Rejects once a run is overdue and the supervisor does not say that it goes on. */
export function watchAnswers(run: SupervisedRun, clock: Clock, dueAt: () => number): { silent: Promise<never>; stop(): void } {
  let isOver = false
  let cancel = (): void => {}
  const silent = new Promise<never>((_, reject) => {
    const arm = (at: number): void => {
      cancel = atDeadline(clock, at, async () => {
        // Meanwhile it may have been asked to end, or a limit may be further away than this look.
        if (dueAt() > clock.now()) return arm(Math.min(dueAt(), clock.now() + overdueMs))
        const status = await bounded(run.status(), clock)
        if (isOver) return
        if (status) arm(clock.now() + overdueMs)
        else reject(failure('supervisor_unavailable', { why: 'it does not answer' }))
      })
    }
    arm(clock.now() + overdueMs)
  })
  silent.catch(() => {})
  return {
    silent,
    stop() {
      isOver = true
      cancel()
    },
  }
}

/** What is answered in time, or undefined. */
export async function bounded<T>(answer: Promise<T> | undefined, clock: Clock): Promise<T | undefined> {
  return answer && inTime(answer, clock).catch(() => undefined)
}

/** Rejects where it takes too long. */
export async function inTime<T>(answer: Promise<T>, clock: Clock, ms: number = answerMs): Promise<T> {
  const over = new AbortController()
  const late = pause(clock, ms, over.signal).then(() => {
    throw failure('supervisor_unavailable', { why: `it did not answer within ${ms} ms` })
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    late.catch(() => {})
    over.abort()
  }
}

/** The totals of a run that goes on, as its supervisor counts them. What its log left out is looked up where there can be something. */
export function totalsNow(path: string, counted: RunStatus['stdout'] | undefined): StreamTotals {
  if (!counted) return measureLog(path)
  const { bytes, lines } = counted
  const kept = findPieces(path, undefined).reduce((sum, { length }) => sum + length, 0)
  if (kept >= bytes) return { bytes, lines, droppedBytes: 0, gap: null }
  const { droppedBytes, gap } = measureLog(path)
  return { bytes, lines, droppedBytes, gap }
}
