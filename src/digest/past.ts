import type { LineRef, LogStream } from './log.ts'

/** An earlier run of the same command. */
export interface PastLog {
  /** How the digest calls it: a run id, or the name of a file. */
  readonly name: string
  readonly outcome: 'passed' | 'failed'
  /** When it began, milliseconds since the epoch; null where that is not known. */
  readonly startedMs: number | null
  readonly streams: readonly LogStream[]
}

/** What an output says that an earlier one did not, and the other way around, apart from times, hashes, ports and the like. */
export interface Difference {
  readonly past: PastLog
  /** True for a line whose like is not in the earlier output. */
  isNew(line: LineRef): boolean
  /** Lines that are new. */
  readonly added: number
  /** Lines of the earlier output whose like is gone. */
  readonly gone: number
  /** Of those the ones that named trouble, in order: what is mended. Clean texts. */
  readonly mended: readonly string[]
}

export interface Comparison {
  /** Against the last run that passed, and the last that failed; null where there is none. */
  readonly passing: Difference | null
  readonly failing: Difference | null
}

/** Compares an output with earlier ones of the same command. */
export function compare(_streams: readonly LogStream[], _past: readonly PastLog[]): Comparison {
  return { passing: null, failing: null }
}
