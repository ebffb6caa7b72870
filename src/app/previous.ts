import { type RunRecord, type Verdict, verdictOf } from '../core/run.ts'
import type { LogStream } from '../digest/log.ts'
import { type Comparison, compare, type Difference, type PastLog } from '../digest/past.ts'
import type { RunComparison, RunDifference } from './api.ts'
import type { AppContext } from './context.ts'
import { type RunFolder, readRecord } from './run-folder.ts'

/** Reads what a run printed, masked, for a digest. */
export type StreamsOf = (folder: RunFolder, record: RunRecord) => readonly LogStream[]

/**
 * The earlier runs of the same command that are worth a comparison: for a run that failed the last that passed and the last that failed;
 * for one that passed the last that failed, where that was the latest. Runs whose logs are gone are passed over, and where the index
 * cannot be used there are none.
 */
export async function findPrevious(context: Pick<AppContext, 'records'>, record: RunRecord, streamsOf: StreamsOf): Promise<readonly PastLog[]> {
  const verdict = verdictOf(record)
  if (verdict === null || record.commandKey === undefined || printed(record) === 0) return []
  const { passed, failed, latest } = await context.records.previous(record)
  const wanted = verdict === 'failed' ? [passed, failed] : latest === 'failed' ? [failed] : []
  return wanted.flatMap((id) => {
    const folder = id === null ? undefined : context.records.folder(id)
    const earlier = id === null || !folder ? undefined : readRecord(folder, id)
    const outcome = earlier ? verdictOf(earlier) : null
    return folder && earlier && outcome ? pastLog(record, earlier, outcome, streamsOf(folder, earlier)) : []
  })
}

const printed = ({ stdout, stderr }: RunRecord): number => stdout.bytes + stderr.bytes

function pastLog(record: RunRecord, earlier: RunRecord, outcome: Verdict, streams: readonly LogStream[]): PastLog[] {
  if (printed(earlier) > 0 && streams.every(({ sections }) => sections.length === 0)) return []
  const earlierMs = Date.parse(record.startedAt) - Date.parse(earlier.startedAt)
  return [{ name: earlier.id, outcome, earlierMs: earlierMs >= 0 ? earlierMs : null, streams, moved: movedBetween(earlier.cwd, record.cwd) }]
}

/** The tops of two copies of a project, by one folder in both. */
export function movedBetween(from: string, to: string): PastLog['moved'] {
  if (from === to) return undefined
  const [a, b] = [from.split('/'), to.split('/')]
  while (a.length > 2 && b.length > 2 && a.at(-1) === b.at(-1)) {
    a.pop()
    b.pop()
  }
  return { from: a.join('/'), to: b.join('/') }
}

/** With a log that somebody says is of an earlier run that passed. */
export function compareWithPassed(stream: LogStream, previous: LogStream): Comparison {
  return compare([stream], [{ name: 'the previous log', outcome: 'passed', earlierMs: null, streams: [previous] }])
}

/** A comparison as programs read it. */
export function toComparison({ passing, failing }: Comparison): RunComparison {
  const counts = (difference: Difference | null): RunDifference | null =>
    difference && { run: difference.past.name, added: difference.added, gone: difference.gone, mended: difference.mendedCount }
  return { passing: counts(passing), failing: counts(failing) }
}
