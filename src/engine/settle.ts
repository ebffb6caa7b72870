import type { Running } from '../core/backend.ts'
import { messageOf } from '../core/errors.ts'
import type { Limits } from '../core/limits.ts'
import type { Cut, ExitStatus } from '../core/outcome.ts'
import type { Leftover } from '../core/run.ts'
import { atDeadline, type Clock, pause, whenIdle } from './clock.ts'
import { unconfirmed } from './end-facts.ts'
import { politeSignal } from './polite-signal.ts'

/**
 * How a run ends, exactly once. Everything that can end it (its own exit, a limit, a cancellation, lost contact) offers
 * a cause; the first one wins and all others are ignored. Only then are processes ended, output drained and the
 * result read. Every wait here has a bound.
 */

/** How long a group may take to vanish after KILL before that is reported as not confirmed. */
const killConfirmMs = 2_000
/** After the exit: how long output may still come, from processes that hold the pipe open and keep writing. */
const drainMs = 1_000
/** After the exit: silence that counts as the end of what the pipe held, once no process is about to go on. */
const drainQuietMs = 40
/** How many answers of the backend may take their time. */
const slowAnswers = 2

/** After the exit: how long a process may take to vanish without counting as left behind. */
const goingMs = 25

export interface Ending {
  readonly cut: Cut | undefined
  /** Undefined when contact was lost or the end could not be confirmed. */
  readonly status: ExitStatus | undefined
  readonly leftovers: readonly Leftover[]
  readonly notes: readonly string[]
}

export interface Watch {
  /** Resolves when the run is settled. Never rejects. */
  readonly settled: Promise<Ending>
  /** To be called with every chunk. */
  touch(): void
  /** True from the moment when a limit or a cancellation has won. */
  cut(): boolean
}

export interface WatchRequest {
  readonly running: Running
  readonly limits: Limits
  readonly leftovers: 'report' | 'kill'
  readonly signal: AbortSignal | undefined
  /** When it aborts, no grace is waited for any longer: whoever holds the run has to go. */
  readonly hurry?: AbortSignal | undefined
  readonly clock: Clock
  /** Resolves when the output has ended: no process holds a stream any more. */
  readonly outputEnded: Promise<void>
}

export function watch(request: WatchRequest): Watch {
  const { running, limits, clock, signal } = request
  let cause: Cut | undefined
  let over = false
  let lastByteAt = clock.now()
  const cleanups: (() => void)[] = []
  let idle: ReturnType<typeof whenIdle> | undefined

  const first = new Promise<void>((resolve) => {
    const win = (cut: Cut | undefined): void => {
      if (over) return
      over = true
      cause = cut
      resolve()
    }
    const startedAt = clock.now()
    cleanups.push(atDeadline(clock, startedAt + limits.timeoutMs, () => win({ kind: 'timed_out', limit: 'wall', afterMs: limits.timeoutMs })))
    if (signal) {
      const cancel = (): void => win({ kind: 'canceled' })
      signal.addEventListener('abort', cancel, { once: true })
      cleanups.push(() => signal.removeEventListener('abort', cancel))
      if (signal.aborted) cancel()
    }
    // A rejection is lost contact: it settles the run too, without a status.
    running.ended.then(
      () => win(undefined),
      () => win(undefined),
    )
    if (limits.idleTimeoutMs !== null) {
      idle = whenIdle(clock, limits.idleTimeoutMs, (afterMs) => win({ kind: 'timed_out', limit: 'idle', afterMs }))
      cleanups.push(idle.cancel)
    }
  })

  async function settle(): Promise<Ending> {
    await first
    for (const clean of cleanups.splice(0)) clean()
    const notes: string[] = []
    let ending: Omit<Ending, 'notes'>
    try {
      ending = cause ? await endTree(request, cause, notes) : await afterExit(request, notes, () => drain(request, () => lastByteAt))
    } catch (error) {
      // Whatever goes wrong while ending, the run settles and says so.
      notes.push(`the end of the run could not be handled: ${messageOf(error)}`)
      ending = { cut: cause, status: await statusWithin(running, clock, 0), leftovers: [] }
    }
    if (cause || request.leftovers === 'kill') await drain(request, () => lastByteAt)
    try {
      running.release()
    } catch (error) {
      notes.push(`the command could not be let go of: ${messageOf(error)}`)
    }
    return { ...ending, notes }
  }

  return {
    settled: settle(),
    touch() {
      lastByteAt = clock.now()
      idle?.touch()
    },
    cut: () => cause !== undefined,
  }
}

// The tree is looked at after the drain: what is about to end anyway is not left behind.
async function afterExit(request: WatchRequest, notes: string[], drained: () => Promise<void>): Promise<Omit<Ending, 'notes'>> {
  const { running, clock } = request
  const status = await statusWithin(running, clock, 0)
  await drained()
  let left = (await treeOf(running, notes)) ?? []
  if (left.length > 0) {
    // The last processes of a pipeline or of a group that was killed are still going away.
    await pause(clock, goingMs, request.hurry)
    left = (await treeOf(running, notes)) ?? []
  }
  if (left.length > 0 && request.leftovers === 'kill') left = await kill(request, notes)
  return { cut: undefined, status, leftovers: left }
}

async function endTree(request: WatchRequest, cut: Cut, notes: string[]): Promise<Omit<Ending, 'notes'>> {
  const { running, clock } = request
  const leftovers = await kill(request, notes, politeSignal(request.signal))
  return { cut, status: await statusWithin(running, clock, leftovers.length > 0 ? 0 : killConfirmMs), leftovers }
}

/** TERM to the tree, grace, KILL, confirm. Resolves to what is still alive then: nothing, unless it could not be ended. */
async function kill({ running, limits, clock, hurry }: WatchRequest, notes: string[], first: NodeJS.Signals = 'SIGTERM'): Promise<readonly Leftover[]> {
  await send(running, first, notes)
  if (await goneBy(running, clock, clock.now() + limits.graceMs, notes, hurry)) return []
  const deadline = clock.now() + killConfirmMs
  for (;;) {
    // Again and again: a tree that forks while it is being ended gets away from a single round.
    await send(running, 'SIGKILL', notes)
    if (await goneBy(running, clock, Math.min(deadline, clock.now() + 100), notes)) return []
    if (clock.now() >= deadline) break
  }
  const left = (await treeOf(running, notes)) ?? []
  notes.push(unconfirmed(left))
  return left
}

/** Waits until the first process and its whole tree are gone; false at the deadline, or as soon as `hurry` aborts. */
async function goneBy(running: Running, clock: Clock, deadline: number, notes: string[], hurry?: AbortSignal): Promise<boolean> {
  for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
    const left = hurry?.aborted ? 0 : deadline - clock.now()
    const ended = await endedWithin(running, clock, Math.max(0, left), hurry)
    // A tree that cannot be looked at is not known to be gone.
    if (ended && (await treeOf(running, notes))?.length === 0) return true
    if (clock.now() >= deadline || hurry?.aborted) return false
    await pause(clock, Math.min(wait, Math.max(0, deadline - clock.now())), hurry)
  }
}

// A signal or a look that fails once (no descriptor left, a connection in trouble) must not end the ladder: what it was
// meant for may still run, and the next rung may reach it.
async function send(running: Running, name: NodeJS.Signals, notes: string[]): Promise<void> {
  await running.signal(name).catch((error: unknown) => noteOnce(notes, `${name} could not be sent: ${messageOf(error)}`))
}

function treeOf(running: Running, notes: string[]): Promise<readonly Leftover[] | undefined> {
  return running.tree().catch((error: unknown) => {
    noteOnce(notes, `the processes of the command could not be listed: ${messageOf(error)}`)
    return undefined
  })
}

function noteOnce(notes: string[], note: string): void {
  if (!notes.includes(note)) notes.push(note)
}

async function endedWithin(running: Running, clock: Clock, ms: number, hurry?: AbortSignal): Promise<boolean> {
  const over = new AbortController()
  const ended = running.ended.then(
    () => true,
    () => true,
  )
  const late = pause(clock, ms, over.signal, hurry).then(() => false)
  try {
    return await Promise.race([ended, late])
  } finally {
    over.abort()
  }
}

function statusWithin(running: Running, clock: Clock, ms: number): Promise<ExitStatus | undefined> {
  return race(
    running.ended.catch(() => undefined),
    clock,
    ms,
    undefined,
  )
}

function race<T>(promise: Promise<T>, clock: Clock, ms: number, fallback: T): Promise<T> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => resolve(fallback))
    promise.then((value) => {
      cancel()
      resolve(value)
    })
  })
}

// A child may keep the pipe open after the exit, so waiting for its end could last forever; but what the command itself
// wrote before is in the pipe and has to be read.
async function drain({ running, outputEnded, clock }: WatchRequest, lastByteAt: () => number): Promise<void> {
  const state = { ended: false }
  outputEnded.then(() => {
    state.ended = true
  })
  let deadline = clock.now() + drainMs
  let quietSince = clock.now()
  let patience = slowAnswers
  while (!state.ended && clock.now() < deadline) {
    await race(outputEnded, clock, 10, undefined)
    // A timer can fire before the bytes of the same moment are read; a turn of the loop lets them in.
    await new Promise((resolve) => setImmediate(resolve))
    quietSince = Math.max(quietSince, lastByteAt())
    if (clock.now() - quietSince < drainQuietMs) continue
    // On a busy machine a child that was just started may not have had its turn yet.
    const askedAt = clock.now()
    if (!(await running.busy?.().catch(() => false))) return
    quietSince = clock.now()
    // Where each answer takes longer than that, it is no less true.
    if (patience > 0) deadline += quietSince - askedAt
    patience -= 1
  }
}
