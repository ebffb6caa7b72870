import { type StreamName, streamNames } from '../core/command.ts'
import type { RunRecord } from '../core/run.ts'
import type { Mark } from '../core/scan.ts'
import type { ScanPatterns } from '../core/scan-pattern.ts'
import type { Candidate } from '../core/store.ts'
import type { AppContext } from './context.ts'
import { logBelowRuns } from './run-folder.ts'
import type { SearchBounds } from './search-bounds.ts'
import type { Matcher } from './search-matcher.ts'
import { worthScanning } from './worth-scanning.ts'

/** What a scan knows of a stream: where in its log there may be hits, that all of it is to be read, or that a bound kept it from being scanned. */
export type Scanned = readonly Mark[] | 'unknown' | 'left-out'

export interface Scan {
  /** The term of the query that was scanned for. */
  readonly term: number
  of(record: Candidate, stream: StreamName): Scanned
}

/** What scans the logs of runs, where that is quicker than to read them here; gives undefined where it is not, or cannot be done. */
export function scannerOf(
  context: AppContext,
  matcher: Matcher,
  weights: readonly number[],
  bounds: SearchBounds,
): (records: readonly Candidate[]) => Promise<Scan | undefined> {
  let chosen: ScannedTerm | undefined | null = null
  return async (records) => {
    const bytes = records.reduce((sum, record) => sum + record.stdout.bytes + record.stderr.bytes, 0)
    if (bytes < worthScanning.bytes && records.length < worthScanning.runs) return undefined
    if (chosen === null) chosen = termToScan(matcher, weights)
    return chosen && scanRuns(context, records, chosen, bounds)
  }
}

interface ScannedTerm {
  readonly term: number
  readonly patterns: ScanPatterns
}

/** The term that says most of those that can be scanned for. */
function termToScan(matcher: Matcher, weights: readonly number[]): ScannedTerm | undefined {
  const terms = Array.from({ length: matcher.terms }, (_, term) => term).sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0))
  for (const term of terms) {
    const patterns = matcher.scanFor(term)
    if (patterns) return { term, patterns }
  }
  return undefined
}

async function scanRuns(context: AppContext, records: readonly Candidate[], { term, patterns }: ScannedTerm, bounds: SearchBounds): Promise<Scan | undefined> {
  const root = `${context.home.runs}/`
  // Runs that could not be kept at home are somewhere else, and read here.
  const mayBeElsewhere = context.home.mayHaveSpares()
  const { unscanned = 0, ...asked } = patterns
  const pathOf = (record: Candidate, stream: StreamName): string | undefined => {
    if (record[stream].bytes === 0 || !isInOneFile(record) || ((record.traits ?? 0) & unscanned) !== 0) return undefined
    if (mayBeElsewhere && !context.records.folder(record.id).path.startsWith(root)) return undefined
    return logBelowRuns(record.id, stream)
  }
  const files = records.flatMap((record) =>
    streamNames.flatMap((stream) => {
      const path = pathOf(record, stream)
      return path === undefined ? [] : [{ path, traits: record.traits }]
    }),
  )
  if (files.length === 0) return undefined
  const scan = await context.openScan()
  const found = typeof scan === 'function' ? await scan({ ...asked, folder: context.home.runs, files, timeoutMs: Math.max(1, bounds.leftMs) }) : scan
  if (!found) return undefined
  if ('why' in found) {
    bounds.readHere(`ripgrep ${found.why}`)
    return undefined
  }
  return {
    term,
    of(record, stream) {
      const path = pathOf(record, stream)
      if (path === undefined || found.capped.has(path) || found.unread.has(path)) return 'unknown'
      const marks = found.marks.get(path)
      if (marks) return found.complete ? marks : 'unknown'
      return found.complete ? [] : 'left-out'
    },
  }
}

/** A log that is in one file, and whose lines are those that are searched. */
const isInOneFile = (record: RunRecord): boolean => !record.pty && record.state !== 'running' && record.state !== 'interrupted' && record.leftovers.length === 0
