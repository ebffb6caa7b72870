import { createContext, Script } from 'node:vm'

/**
 * Regular expressions of others. One with nested repetitions can take longer than the age of the universe on a short line and
 * would stop this whole process; V8 interrupts it where it runs under a time limit (vm, `timeout`). Setting that limit up
 * costs some 70 microseconds, so many lines are tested at once.
 */
export interface BoundedRegex {
  /** For each text where its first match is, or null. Undefined when the time for all calls together is used up. */
  find(texts: readonly string[]): readonly (Match | null)[] | undefined
}

export interface Match {
  readonly index: number
  readonly length: number
}

export function boundRegex(pattern: RegExp, totalMs: number): BoundedRegex {
  let leftMs = totalMs
  return {
    find(texts) {
      const startedAt = performance.now()
      // Nothing that has to be undone may happen inside: what is interrupted there runs no `finally`.
      const found = runWithin(leftMs, () =>
        texts.map((text) => {
          const match = pattern.exec(text)
          return match && { index: match.index, length: match[0].length }
        }),
      )
      leftMs -= performance.now() - startedAt
      return found
    },
  }
}

let room: { work: (() => unknown) | undefined } | undefined
let script: Script | undefined

/** Calls a pure function; undefined when it takes longer than `ms`. What it throws is thrown. */
export function runWithin<T>(ms: number, work: () => T): T | undefined {
  if (ms < 1) return undefined
  // Made when first needed: a context of its own takes longer to make than most commands need to start.
  room ??= createContext({ work: undefined as (() => unknown) | undefined }) as { work: (() => unknown) | undefined }
  script ??= new Script('work()')
  room.work = work
  try {
    return script.runInContext(room, { timeout: Math.ceil(ms) }) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw error
  } finally {
    room.work = undefined
  }
}
