import { byteLength, oneLine, plural } from '../core/text.ts'
import type { LogStream } from './log.ts'
import type { Comparison, Difference } from './past.ts'
import { shorten } from './shorten.ts'

/** Of the budget so much may tell of earlier runs; where that is less than a line, nothing is told. */
const share = 0.15
const leastBytes = 90
const maxMendedLines = 3
const maxMendedBytes = 160
const leastMendedBytes = 30

/** What stands around an output that is shown whole. */
const wholeBytes = 120

export interface ComparisonLinesOptions {
  readonly budget: number
  readonly failed: boolean
  /** What of the budget is left; default: all. */
  readonly room?: number | undefined
  /** What has to find place in the same room. */
  readonly streams?: readonly LogStream[] | undefined
}

/**
 * What is new and what is gone against earlier runs, in at most 15 % of the budget: one line with counts, then errors of the last
 * failed run that are gone. They are mended where this run passed; a run that failed may only not have come as far, and where a log is not
 * whole nobody knows.
 */
export function comparisonLines(comparison: Comparison | undefined, { budget, room: left = budget, failed, streams = [] }: ComparisonLinesOptions): string[] {
  // An output that can be shown whole is worth more than what may be said of it.
  const beside = left - streams.reduce((sum, { bytes }) => sum + bytes, wholeBytes)
  let room = Math.min(Math.floor(budget * share), beside >= 0 ? beside : Number.POSITIVE_INFINITY)
  if (!comparison || room < leastBytes) return []
  const sides = [comparison.passing, comparison.failing].filter((side) => side !== null)
  const lines: string[] = []
  const add = (line: string): boolean => {
    const cost = byteLength(line) + 1
    if (cost > room) return false
    room -= cost
    lines.push(line)
    return true
  }
  const parts = sides.map((side) => sideWords(side))
  // The last passing run tells more of the two.
  if (sides.length === 0 || !(add(parts.join('; ')) || (parts[0] !== undefined && add(parts[0])))) return []
  const word = comparison.failing?.isGoneAtMost ? 'not seen' : failed ? 'gone' : 'mended'
  for (const text of (comparison.failing?.mended ?? []).slice(0, maxMendedLines)) {
    const most = Math.min(maxMendedBytes, room - 1)
    if (most < leastMendedBytes || !add(shorten(`${word}: ${oneLine(text)}`, most))) break
  }
  return lines
}

function sideWords({ past, added, gone, mendedCount, isAddedAtMost, isGoneAtMost }: Difference): string {
  const when = past.earlierMs === null ? '' : `, ${roughDuration(past.earlierMs)} earlier`
  const errors = mendedCount === 0 ? '' : ` (${mendedCount} like errors)`
  const atMost = (isSo: boolean): string => (isSo ? 'at most ' : '')
  const counts =
    added === 0 && gone === 0
      ? 'nothing new, nothing gone'
      : `${atMost(isAddedAtMost)}${plural(added, 'line')} new, ${atMost(isGoneAtMost)}${gone} gone${errors}`
  const cut = [isAddedAtMost ? 'the earlier log' : '', isGoneAtMost ? 'this log' : ''].filter(Boolean).join(' and ')
  return `against ${shorten(oneLine(past.name), 60)} (${past.outcome}${when}): ${counts}${cut === '' ? '' : `, ${cut} not being whole`}`
}

const steps = [
  [86_400_000, 'day'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** The largest unit alone: `5 min`, `2 h`, `3 days`. */
function roughDuration(ms: number): string {
  const [size, unit] = steps.find(([least]) => ms >= least) ?? [1_000, 's']
  const count = Math.max(1, Math.floor(ms / size))
  return unit === 'day' ? plural(count, unit) : `${count} ${unit}`
}
