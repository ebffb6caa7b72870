import { dayOf, type Shown, type SurfaceName } from '../core/stats.ts'

/** One answer that was given. */
export interface Answered {
  readonly surface: SurfaceName
  readonly operation: string
  /** The run that it was about; null where that was none, or several. */
  readonly run: string | null
  readonly bytes: number
}

/** Counts answers, and has them written down a moment later, many at once. */
export interface ShownCounter {
  count(answered: Answered): void
  /** Writes down what is left. Never rejects: what could not be written was not counted. */
  close(): Promise<void>
}

const behindMs = 250

export function openShownCounter(write: (entries: readonly Shown[]) => Promise<void>, now: () => number): ShownCounter {
  const counted = new Map<string, Shown>()
  let timer: NodeJS.Timeout | undefined
  let last = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (counted.size > 0) {
      const entries = [...counted.values()]
      counted.clear()
      last = last.then(() => write(entries)).catch(() => {})
    }
    return last
  }

  return {
    count({ bytes, ...answered }) {
      const entry = { ...answered, day: dayOf(now()) }
      const key = JSON.stringify([entry.surface, entry.operation, entry.run, entry.day])
      const known = counted.get(key)
      counted.set(key, { ...entry, calls: (known?.calls ?? 0) + 1, bytes: (known?.bytes ?? 0) + bytes })
      timer ??= setTimeout(flush, behindMs).unref()
    },
    close: flush,
  }
}
