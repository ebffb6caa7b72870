import type { LineRef, LogStream } from '../log.ts'

/** A line as a recogniser sees it. */
export interface LogLine {
  readonly stream: LogStream['name']
  /** Its number in the stream, from 1. */
  readonly number: number
  /** As its tool printed it: without controls, and without the time or container name that a runner put before it. */
  readonly text: string
  readonly ref: LineRef
}

/** Figures that the log states, or that were counted line by line where it states none; never more than it holds. */
export interface Counts {
  readonly failed?: number | undefined
  readonly passed?: number | undefined
  readonly skipped?: number | undefined
  /** Of tests: all of them. */
  readonly total?: number | undefined
  readonly errors?: number | undefined
  readonly warnings?: number | undefined
}

/** One failed test, diagnosis, step or package. */
export interface Failure {
  /** The line that names it, in the log as it is. */
  readonly line: LogLine
  /** The lines that explain it, the most telling first, at most `maxDetails`: message, expected and received, place, source. */
  readonly details: readonly LogLine[]
  /** `file:line` or `file:line:column` as the log has it, where it names one. */
  readonly place?: string | undefined
  /** The test's name or the message, one line. */
  readonly title: string
}

/** What a tool said of one package, process or step of a log of several; the name is empty where none has it. */
export interface Part {
  readonly name: string
  readonly counts: Counts
}

/** What one tool said in a log. */
export interface Recognised {
  readonly tool: string
  /** What is counted, in the singular: `test`, `error`, `package`, `resource`. */
  readonly noun: string
  readonly counts: Counts
  /** Where several packages printed into one log: those of which the tool said something. Their counts make up `counts`. */
  readonly parts?: readonly Part[] | undefined
  /** True where not every line of the log was read, so that what was counted line by line is the least there can be. */
  readonly isPartial?: boolean | undefined
  /** In the order of the log, at most `maxFailures`; `counts` has them all. */
  readonly failures: readonly Failure[]
  /** Lines that warn, at most `maxFailures`. */
  readonly warnings: readonly LogLine[]
  /** The tool's own closing lines with its totals. */
  readonly totals: readonly LogLine[]
}

export const maxFailures = 50
export const maxDetails = 12

/** Reads the lines of a log once, in order: those of stdout, then those of stderr. Of a long log, those that may matter, with gaps. */
export interface Reader {
  line(line: LogLine): void
  /** Undefined where the log turned out not to be of this tool. */
  end(): Recognised | undefined
}

/** Knows how one tool prints its results. What it does not know it leaves alone; the general digest has that. */
export interface Recogniser {
  readonly name: string
  /** Found in a line that only this tool prints. Linear in the length of the line; tested on lines of at most 4,096 characters. */
  readonly signs: RegExp
  open(): Reader
}
