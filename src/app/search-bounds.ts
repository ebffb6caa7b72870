import { performance } from 'node:perf_hooks'
import type { RunRecord } from '../core/run.ts'
import { formatCount, plural } from '../core/text.ts'

/** What one search may take: it answers in seconds, whatever there is to look through. */
const maxMs = 10_000
const maxReadBytes = 2 * 1024 ** 3

/** What a search has taken so far, and what it left out because of that. */
export interface SearchBounds {
  readonly leftMs: number
  readonly reached: boolean
  /** So many bytes of logs were read here. */
  readonly readBytes: number
  /** What was scanned elsewhere does not count. */
  count(bytes: number): void
  /** That a run was not looked at, or not all of it. */
  leaveOut(record: RunRecord): void
  /** That there are further runs, of which nothing is known. */
  leaveOutOlder(): void
  /** That a log is not there, though the run had printed something, or cannot be read. */
  missing(record: RunRecord): void
  /** That logs are read here, which takes longer, because a program cannot look through them: its name and why. */
  readHere(why: string): void
  warnings(): string[]
}

export function openBounds(limits = { maxMs, maxReadBytes }): SearchBounds {
  const startedAt = performance.now()
  let read = 0
  let runs = 0
  let bytes = 0
  let newest: RunRecord | undefined
  let older = false
  let unusable: string | undefined
  const gone = new Set<string>()
  const leftMs = (): number => Math.max(0, limits.maxMs - (performance.now() - startedAt))
  return {
    get leftMs() {
      return leftMs()
    },
    get readBytes() {
      return read
    },
    get reached() {
      return leftMs() === 0 || read > limits.maxReadBytes
    },
    count(more) {
      read += more
    },
    leaveOut(record) {
      runs += 1
      bytes += record.stdout.bytes + record.stderr.bytes
      newest ??= record
    },
    leaveOutOlder() {
      older = true
    },
    missing({ id }) {
      gone.add(id)
    },
    readHere(why) {
      unusable ??= why
    },
    warnings() {
      const troubles = [
        ...(unusable === undefined ? [] : [`${unusable}; the logs were read without it, which takes longer`]),
        ...(gone.size === 0 ? [] : [`not there any more, or not readable: what ${plural(gone.size, 'run')} printed, the newest ${[...gone][0]}`]),
      ]
      if (!newest) return troubles
      const what = `${plural(runs, 'run')} of ${formatCount(bytes)} bytes${older ? ' and older ones' : ''}`
      const bound = leftMs() === 0 ? `${limits.maxMs / 1000} seconds` : `${formatCount(limits.maxReadBytes)} bytes`
      return [
        ...troubles,
        `not looked through, after ${bound}: ${what}, the newest ${newest.id} of ${newest.startedAt}; go on with a rarer word, or with run (one of them), since, failing or workspace`,
      ]
    },
  }
}
