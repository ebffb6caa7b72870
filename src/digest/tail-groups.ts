import { isBlob } from './blob.ts'
import type { LineRef, LogSection, LogStream } from './log.ts'
import { lineHead } from './log.ts'
import { lineFeedBefore } from './log-text.ts'
import type { Sifted } from './sieve.ts'
import { siftShapes } from './sieve.ts'
import { suspectsIn } from './suspects.ts'

/** Neighbouring lines that differ at most in their numbers, or are pieces of the same encoded data. */
export interface LineGroup {
  readonly first: LineRef
  readonly last: LineRef
  readonly count: number
}

const maxGroups = 40
const stepBytes = 128 * 1024
/** One group may be all of a log; it is followed so far back. */
const maxBytes = 1024 * 1024
const maxLines = 32_768

/** The last groups of a stream that are not blank, in order. */
export function tailGroups(stream: LogStream): LineGroup[] {
  const groups: Group[] = []
  let bytes = 0
  let seen = 0
  for (const section of [...stream.sections].reverse()) {
    let to = section.source.length
    let feeds = suspectsIn(section).feeds
    while (to > 0 && bytes < maxBytes && seen < maxLines && groups.length <= maxGroups) {
      const from = to <= stepBytes ? 0 : lineFeedBefore(section, to - stepBytes) + 1
      const lines: Sifted[] = []
      const passed = siftShapes(section.source, from, to, (line) => lines.push({ ...line }))
      feeds -= passed
      for (const line of lines.reverse()) put(groups, section, line, feeds)
      bytes += to - from
      seen += passed
      to = from
    }
  }
  return groups.slice(0, maxGroups).reverse()
}

interface Group {
  first: LineRef
  readonly last: LineRef
  count: number
  readonly shape: number
}

/** Lines come from the last to the first. */
function put(groups: Group[], section: LogSection, { start, end, feeds, shape }: Sifted, feedsBefore: number): void {
  const line: LineRef = { section, number: section.firstLine + feedsBefore + feeds, start, end }
  const group = groups.at(-1)
  const isNext = group?.first.number === line.number + 1 && group.first.section === section
  if (group && isNext && ((shape !== 0 && group.shape === shape) || areBlobs(group.first, line))) {
    group.first = line
    group.count += 1
  } else groups.push({ first: line, last: line, count: 1, shape })
}

/** Data is encoded in lines of one length. */
function areBlobs(a: LineRef, b: LineRef): boolean {
  return a.end - a.start === b.end - b.start && isBlob(lineHead(a)) && isBlob(lineHead(b))
}
