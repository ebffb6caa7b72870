import type { LogStream } from './log.ts'

/** The shape of a structured text, in lines that may be shown, within a budget. */
export interface Outline {
  /** `JSON`, `NDJSON`, `CSV`, `HTML`, ... */
  readonly kind: string
  readonly lines: readonly string[]
}

/** The shape of a stream that is data rather than a log, in at most `bytes` bytes; undefined where it is none. */
export function outlineOf(_stream: LogStream, _bytes: number): Outline | undefined {
  return undefined
}
