import { failure } from '../core/errors.ts'
import { maxTimerMs } from '../core/limits.ts'
import { classifyProviderError } from './classify.ts'
import type { ProviderErrorClassification } from './provider-error.ts'

/** The time of day and a timer. Driven by hand in tests. */
export interface RetryClock {
  /** Milliseconds since 1970: a state may be resumed in another process. */
  now(): number
  /** Calls back once after `ms`; the result cancels. */
  after(ms: number, call: () => void): () => void
}

/** Where a loop stands. Plain JSON: store it, and hand it to the next `retry`. */
export interface RetryState {
  /** Calls that have failed. */
  readonly attempts: number
  /** Time that was waited between them, in all. */
  readonly waitedMs: number
  /** When the next call is due, in milliseconds since 1970; null where none is waited for. */
  readonly nextAtMs: number | null
}

/** Told before each wait. */
export interface RetryWait {
  readonly error: unknown
  readonly classification: ProviderErrorClassification
  /** The call that failed, from 1. */
  readonly attempt: number
  readonly delayMs: number
  readonly state: RetryState
}

export interface RetryPolicy {
  /** Calls in all, the first included. Default 5. */
  readonly maxAttempts?: number | undefined
  /** No wait begins that would end later than this after the start; what an earlier process waited counts. Default 15 minutes. */
  readonly maxTotalMs?: number | undefined
  /** No wait is longer. A provider that states a longer one is not asked again. Default 5 minutes. */
  readonly maxDelayMs?: number | undefined
  /** The wait after the first failure is drawn below this, and below twice as much after each further one. Default 1 second. */
  readonly baseDelayMs?: number | undefined
  /**
   * `full`: anything from 0 to the bound. `decorrelated`: from the base to three times the wait before. `none`: the bound. A stated wait is
   * never cut short; up to a tenth of it, at most `baseDelayMs`, is added, so that those who wait for the same moment do not all come at it.
   */
  readonly jitter?: 'full' | 'decorrelated' | 'none' | undefined
  /** Ends the loop: a wait at once, with the reason of the signal; during a call with what the call rejects with. */
  readonly signal?: AbortSignal | undefined
  /** Where an earlier loop stood. */
  readonly state?: RetryState | undefined
  /** Told before each wait. What it throws is ignored. */
  readonly onWait?: ((wait: RetryWait) => void) | undefined
  /** Given each new state, to store it; awaited before the wait. Where it rejects, the loop goes on. */
  readonly onState?: ((state: RetryState) => void | Promise<void>) | undefined
  /** Says what an error means. Default: `classifyProviderError`. */
  readonly classify?: ((error: unknown, options: { readonly now: number }) => ProviderErrorClassification) | undefined
  readonly clock?: RetryClock | undefined
  /** From 0 to below 1. Default: Math.random. */
  readonly random?: (() => number) | undefined
}

/** What the function is told of its call. */
export interface RetryCall {
  /** From 1; goes on from a resumed state. */
  readonly attempt: number
  readonly signal: AbortSignal | undefined
}

const wallClock: RetryClock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * Calls a function until it resolves, waiting in between as the provider asks or with growing waits. Rejects with the error of the last call
 * where its classification says that waiting does not help, where a bound is reached, or where the stated wait is longer than a wait may be;
 * `onState` has then been given when to come back, if the provider said so. Throws `invalid_argument` for a policy that cannot be.
 */
export async function retry<Result>(run: (call: RetryCall) => Result | Promise<Result>, policy: RetryPolicy = {}): Promise<Result> {
  const { signal, clock = wallClock, classify = classifyProviderError, maxAttempts, maxTotalMs, maxDelayMs } = checkPolicy(policy)
  const startedAt = clock.now()
  let state = policy.state ?? { attempts: 0, waitedMs: 0, nextAtMs: null }
  const earlierMs = state.waitedMs
  let lastDelayMs = 0

  // A clock that was set back, or a state of another machine, must not hold a call longer than a wait may be.
  const dueIn = state.nextAtMs === null ? 0 : Math.min(Math.max(0, state.nextAtMs - startedAt), maxDelayMs)
  if (dueIn > 0) {
    await pause(clock, dueIn, signal)
    state = { ...state, waitedMs: state.waitedMs + dueIn }
  }
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await run({ attempt: state.attempts + 1, signal })
    } catch (error) {
      if (signal?.aborted) throw error
      const now = clock.now()
      const classification = classify(error, { now })
      const attempts = state.attempts + 1
      const delayMs = nextDelayMs(policy, classification, attempts, lastDelayMs)
      const spentMs = earlierMs + (now - startedAt)
      const goesOn = classification.waitingHelps && attempts < maxAttempts && delayMs <= maxDelayMs && spentMs + delayMs <= maxTotalMs
      // Who gives up for now leaves when to come back; who gives up for good, nothing.
      const isStated = classification.waitingHelps && classification.retryAfterMs !== null
      state = { attempts, waitedMs: state.waitedMs, nextAtMs: goesOn || isStated ? now + delayMs : null }
      await store(policy, state)
      if (!goesOn) throw error
      tell(policy, { error, classification, attempt: attempts, delayMs, state })
      await pause(clock, delayMs, signal)
      lastDelayMs = delayMs
      state = { attempts, waitedMs: state.waitedMs + delayMs, nextAtMs: null }
    }
  }
}

const defaults = { maxAttempts: 5, maxTotalMs: 15 * 60_000, maxDelayMs: 5 * 60_000, baseDelayMs: 1_000 } as const

/** How long to wait after a failure: as stated and a little more, or drawn below a bound that doubles. */
function nextDelayMs(policy: RetryPolicy, { retryAfterMs }: ProviderErrorClassification, attempts: number, lastDelayMs: number): number {
  const { baseDelayMs = defaults.baseDelayMs, maxDelayMs = defaults.maxDelayMs, jitter = 'full', random = Math.random } = policy
  if (retryAfterMs !== null) return retryAfterMs + (jitter === 'none' ? 0 : Math.round(random() * Math.min(baseDelayMs, retryAfterMs / 10)))
  const bound = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(attempts - 1, 40))
  if (jitter === 'none') return bound
  if (jitter === 'full') return Math.round(random() * bound)
  const upper = Math.max(baseDelayMs, lastDelayMs * 3)
  return Math.min(maxDelayMs, Math.round(baseDelayMs + random() * (upper - baseDelayMs)))
}

async function store({ onState }: RetryPolicy, state: RetryState): Promise<void> {
  try {
    await onState?.(state)
  } catch {
    // A store that fails costs the resuming, not the call.
  }
}

function tell({ onWait }: RetryPolicy, wait: RetryWait): void {
  try {
    onWait?.(wait)
  } catch {
    // Whoever listens has no say in the loop.
  }
}

/** Resolves after `ms`, longer than one timer can be, too; rejects as soon as the signal aborts. */
async function pause(clock: RetryClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  // Counted by timers, not by the time of day, which may jump.
  for (let left = ms; left > 0; left -= maxTimerMs) {
    signal?.throwIfAborted()
    await new Promise<void>((resolve) => {
      const done = (): void => {
        cancel()
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const cancel = clock.after(Math.min(left, maxTimerMs), done)
      signal?.addEventListener('abort', done, { once: true })
    })
  }
  signal?.throwIfAborted()
}

type CheckedPolicy = RetryPolicy & Required<{ [Key in 'maxAttempts' | 'maxTotalMs' | 'maxDelayMs']: number }>

function checkPolicy(policy: RetryPolicy): CheckedPolicy {
  const checked = {
    ...policy,
    maxAttempts: requireNumber('maxAttempts', policy.maxAttempts ?? defaults.maxAttempts, 1),
    maxTotalMs: requireNumber('maxTotalMs', policy.maxTotalMs ?? defaults.maxTotalMs, 0),
    maxDelayMs: requireNumber('maxDelayMs', policy.maxDelayMs ?? defaults.maxDelayMs, 0),
  }
  requireNumber('baseDelayMs', policy.baseDelayMs ?? defaults.baseDelayMs, 0)
  if (policy.state !== undefined) {
    requireNumber('state.attempts', policy.state.attempts, 0)
    requireNumber('state.waitedMs', policy.state.waitedMs, 0)
    if (policy.state.nextAtMs !== null) requireNumber('state.nextAtMs', policy.state.nextAtMs, 0)
    if (policy.state.attempts >= checked.maxAttempts)
      throw failure('invalid', { field: 'state.attempts', value: policy.state.attempts, accepted: `fewer than maxAttempts (${checked.maxAttempts})` })
  }
  return checked
}

function requireNumber(field: string, value: unknown, least: number): number {
  if (typeof value === 'number' && value >= least) return value
  throw failure('invalid', { field, value, accepted: `a number, at least ${least}` })
}
