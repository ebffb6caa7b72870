import type { Clock } from '../../src/engine/clock.ts'

/** A clock that stands still until it is moved. */
export interface HandClock extends Clock {
  /** Moves the time on, calling what falls due in order; between two calls everything that waits for a promise gets its turn. */
  advance(ms: number): Promise<void>
  /** Timers that are armed. */
  pending(): number
}

/** Like setTimeout, a timer of more than 2^31 - 1 ms fires at once: whoever relies on such a timer fails here too. */
export function handClock(start = 0): HandClock {
  let now = start
  let order = 0
  const timers = new Map<number, { at: number; call: () => void }>()
  return {
    now: () => now,
    after(ms, call) {
      order += 1
      const id = order
      timers.set(id, { at: now + (ms > 2 ** 31 - 1 ? 1 : Math.max(0, ms)), call })
      return () => timers.delete(id)
    },
    async advance(ms) {
      const until = now + ms
      await turn()
      for (;;) {
        const next = [...timers].filter(([, { at }]) => at <= until).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0]
        if (!next) break
        timers.delete(next[0])
        now = Math.max(now, next[1].at)
        next[1].call()
        await turn()
      }
      now = until
    },
    pending: () => timers.size,
  }
}

/** Lets everything run that waits for nothing but a turn of the loop. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Calls `step` until it says true, giving the loop a turn in between: for what has no bound but the test's own. */
export async function until(step: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await step())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Real time that can be made to jump ahead, for real programs: a limit comes when the test says so, a grace takes its time. */
export interface JumpClock extends Clock {
  jump(ms: number): void
}

export function jumpClock(): JumpClock {
  let ahead = 0
  const timers = new Set<() => void>()
  const now = (): number => performance.now() + ahead
  return {
    now,
    after(ms, call) {
      const at = now() + ms
      let timer: NodeJS.Timeout
      const arm = (): void => {
        clearTimeout(timer)
        timer = setTimeout(
          () => {
            timers.delete(arm)
            call()
          },
          Math.max(0, at - now()),
        )
      }
      timers.add(arm)
      arm()
      return () => {
        timers.delete(arm)
        clearTimeout(timer)
      }
    },
    jump(ms) {
      ahead += ms
      for (const arm of [...timers]) arm()
    },
  }
}
