import type { ByteSource } from '../core/byte-source.ts'
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
  /** Lines with a word of trouble that are like none of these, in a log that has too many different ones. */
  readonly passedOver: number
}

export const maxMembers = 12

// Each suspect is judged, which takes microseconds, so there are only so many. In a log in which more lines differ than the first of these
// figures, no word of trouble may have more than a share of the others, nor what goes on alike behind it more than a small one, and the shares
// shrink as room does: so a flood leaves room for what is unlike it.
const maxFree = 4096
const maxSuspects = 16_384
const firstShare = 256
const alikeShare = 1 / 16
/** Where lines do not get in any more, the latest are kept: what ended a run stands late. */
const maxLatest = 1024

interface Entry {
  readonly members: LineRef[]
  readonly kind: number
  count: number
  lastFeeds: number
}

interface Kind {
  readonly first: Entry
  count: number
}

const known = new WeakMap<LogSection, Suspects>()
/** What was found in the same bytes, of whatever section they were. */
const inBytes = new WeakMap<ByteSource, Suspects>()

/** Passes over a section once, however often it is asked for, and under whatever mask. */
export function suspectsIn(section: LogSection): Suspects {
  const found = known.get(section)
  if (found) return found
  const before = inBytes.get(section.source)
  const made = before ? asOf(before, section) : lookThrough(section)
  known.set(section, made)
  if (!before) inBytes.set(section.source, made)
  return made
}

/** The same lines as those of a section of the same bytes. */
function asOf({ suspects, ...counts }: Suspects, section: LogSection): Suspects {
  const shift = (first: LineRef | undefined): number => (first ? section.firstLine - first.section.firstLine : 0)
  return {
    ...counts,
    suspects: suspects.map(({ members, count, lastNumber }) => {
      const by = shift(members[0])
      return { members: members.map((line) => ({ ...line, section, number: line.number + by })), count, lastNumber: lastNumber + by }
    }),
  }
}

/** Line feeds in a section. */
export const lineFeedsOf = (section: LogSection): number => suspectsIn(section).feeds

function lookThrough(section: LogSection): Suspects {
  const entries: Entry[] = []
  const byShape = new Map<number, Entry>()
  const words = new Map<number, Kind>()
  const kinds = new Map<number, Kind>()
  const latest: Entry[] = []
  let passedOver = 0

  const begin = (line: Sifted): Entry => ({ members: [refOf(section, line)], kind: line.kind, count: 1, lastFeeds: line.feeds })
  const share = (): number => firstShare * (1 - entries.length / maxSuspects) ** 3
  const countIn = (of: ReadonlyMap<number, Kind>, key: number): number => of.get(key)?.count ?? 0
  const isRoomFor = (kind: number): boolean =>
    entries.length < maxFree ||
    (entries.length < maxSuspects && (countIn(words, wordOf(kind)) < Math.max(1, share()) || countIn(kinds, kind) < Math.floor(share() * alikeShare)))
  const take = (line: Sifted): void => {
    const entry = begin(line)
    entries.push(entry)
    if (line.shape !== 0) byShape.set(line.shape, entry)
    addTo(words, wordOf(line.kind), entry)
    addTo(kinds, line.kind, entry)
  }
  // They count as being like the first of their kind.
  const passOver = (entry: Entry): void => {
    const like = (kinds.get(entry.kind) ?? words.get(wordOf(entry.kind)))?.first
    if (like) goOn(like, entry.lastFeeds)
    else passedOver += 1
  }
  const feeds = sift(section.source, (line) => {
    const alike = line.shape === 0 ? undefined : byShape.get(line.shape)
    if (alike) {
      goOn(alike, line.feeds)
      if (alike.members.length < maxMembers) alike.members.push(refOf(section, line))
    } else if (isRoomFor(line.kind)) take(line)
    else if (latest.push(begin(line)) >= 2 * maxLatest) latest.splice(0, maxLatest).forEach(passOver)
  })
  latest.splice(0, Math.max(0, latest.length - maxLatest)).forEach(passOver)
  const suspects = [...entries, ...latest].map(({ members, count, lastFeeds }): Suspect => ({ members, count, lastNumber: section.firstLine + lastFeeds }))
  return { feeds, suspects, passedOver }
}

function addTo(kinds: Map<number, Kind>, key: number, entry: Entry): void {
  const kind = kinds.get(key)
  if (kind) kind.count += 1
  else kinds.set(key, { first: entry, count: 1 })
}

/** The part of a kind that tells the word of trouble and what stands right before it. */
const wordOf = (kind: number): number => kind >>> 16

function goOn(entry: Entry, feeds: number): void {
  entry.count += 1
  entry.lastFeeds = feeds
}

const refOf = (section: LogSection, { start, end, feeds }: Sifted): LineRef => ({ section, number: section.firstLine + feeds, start, end })
