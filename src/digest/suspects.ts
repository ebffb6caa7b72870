import type { LineRef, LogSection } from './log.ts'
import type { Sifted } from './sieve.ts'
import { sift } from './sieve.ts'

/** Lines with a word of trouble that are alike, apart from numbers at least. */
export interface Suspect {
  /** The first of them, at most `maxMembers`. */
  readonly members: readonly LineRef[]
  readonly count: number
  readonly lastNumber: number
}

/** What one pass over a section finds. */
export interface Suspects {
  /** Line feeds in the section. */
  readonly feeds: number
  /** In the order of their first lines. */
  readonly suspects: readonly Suspect[]
  /** Lines with a word of trouble that nobody looks at, because there were too many that differ. */
  readonly passedOver: number
}

export const maxMembers = 12

// Each suspect is judged, which takes microseconds, so there are only so many. In a log in which more lines differ than the first of these
// figures, lines count as alike where they are so around their word of trouble. And where even these are too many, the latest stay.
const maxByShape = 4096
const maxByAround = 12_288
const maxLatest = 1024

interface Entry {
  readonly members: LineRef[]
  count: number
  lastFeeds: number
}

const known = new WeakMap<LogSection, Suspects>()

/** Passes over a section once, however often it is asked for. */
export function suspectsIn(section: LogSection): Suspects {
  const found = known.get(section)
  if (found) return found
  const made = lookThrough(section)
  known.set(section, made)
  return made
}

/** Line feeds in a section. */
export const lineFeedsOf = (section: LogSection): number => suspectsIn(section).feeds

function lookThrough(section: LogSection): Suspects {
  const byShape = new Map<number, Entry>()
  const byAround = new Map<number, Entry>()
  const alone: Entry[] = []
  const latest: Entry[] = []
  let passedOver = 0

  const begin = (line: Sifted): Entry => ({ members: [refOf(section, line)], count: 1, lastFeeds: line.feeds })
  const goesOn = (entry: Entry, line: Sifted): void => {
    entry.count += 1
    entry.lastFeeds = line.feeds
    if (entry.members.length < maxMembers) entry.members.push(refOf(section, line))
  }
  const feeds = sift(section.source, (line) => {
    const { shape, around } = line
    const alike = shape === 0 ? undefined : (byShape.get(shape) ?? (byShape.size < maxByShape ? undefined : byAround.get(around)))
    if (alike) goesOn(alike, line)
    else if (shape === 0 ? alone.length < maxByShape : byShape.size < maxByShape) {
      const entry = begin(line)
      if (shape === 0) alone.push(entry)
      else byShape.set(shape, entry)
      if (around !== 0 && !byAround.has(around)) byAround.set(around, entry)
    } else if (shape !== 0 && byAround.size < maxByAround) byAround.set(around, begin(line))
    else {
      latest.push(begin(line))
      if (latest.length >= 2 * maxLatest) passedOver += latest.splice(0, maxLatest).length
    }
  })
  passedOver += latest.splice(0, latest.length - maxLatest).length
  const entries = [...new Set([...byShape.values(), ...byAround.values(), ...alone, ...latest])]
  const suspects = entries
    .map(({ members, count, lastFeeds }): Suspect => ({ members, count, lastNumber: section.firstLine + lastFeeds }))
    .sort((a, b) => (a.members[0] as LineRef).start - (b.members[0] as LineRef).start)
  return { feeds, suspects, passedOver }
}

const refOf = (section: LogSection, { start, end, feeds }: Sifted): LineRef => ({ section, number: section.firstLine + feeds, start, end })
