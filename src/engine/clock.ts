import { maxTimerMs } from '../core/limits.ts'

/** Monotonic time in milliseconds and a timer; driven by hand in tests. */
export interface Clock {
  now(): number
  /** Calls back once after `ms`; the result cancels. */
  after(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  // Not Date: the wall clock may jump by hours.
  now: () => performance.now(),
  after(ms, call) {
    let turn: NodeJS.Immediate | undefined
    // When the loop was busy, timers run ahead of the bytes and exits that came meanwhile: a turn lets those in first, so
    // that a command is not cut for a silence or a delay that was ours.
    const timer = setTimeout(
      () => {
        turn = setImmediate(call)
      },
      Math.min(Math.max(0, ms), maxTimerMs),
    )
    return () => {
      clearTimeout(timer)
      clearImmediate(turn)
    }
  },
}

/** Calls back at the deadline, also when it is further away than one timer can reach. */
export function atDeadline(clock: Clock, deadline: number, call: () => void): () => void {
  let cancel = (): void => {}
  const arm = (): void => {
    const left = deadline - clock.now()
    cancel = left <= 0 ? clock.after(0, call) : clock.after(Math.min(left, maxTimerMs), arm)
  }
  arm()
  return () => cancel()
}

/** Calls back when `touch` was not called for `ms`. Re-armed lazily: a busy command costs no timers. */
export function whenIdle(clock: Clock, ms: number, call: (silentMs: number) => void): { touch(): void; cancel(): void } {
  let last = clock.now()
  let cancel = (): void => {}
  const arm = (wait: number): void => {
    cancel = atDeadline(clock, clock.now() + wait, () => {
      const silent = clock.now() - last
      if (silent >= ms) call(silent)
      else arm(ms - silent)
    })
  }
  arm(ms)
  return {
    touch() {
      last = clock.now()
    },
    cancel: () => cancel(),
  }
}

/** Resolves after `ms`, or as soon as one of the signals aborts. */
export function pause(clock: Clock, ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((signal) => signal?.aborted)) return resolve()
    const done = (): void => {
      cancel()
      for (const signal of signals) signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    for (const signal of signals) signal?.addEventListener('abort', done, { once: true })
  })
}
