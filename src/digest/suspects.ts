import type { ByteSource } from '../core/byte-source.ts'
import type { LineRef, LogSection } from './log.ts'
import { shapeMap } from './shape-map.ts'
import type { Sifted } from './sieve.ts'
import { lastHash, sift } from './sieve.ts'
import { waitingLines } from './waiting-lines.ts'

/** Lines with a word of trouble that are alike, apart from numbers at least. */
export interface Suspect {
  /** Of the first of them, at most `maxMembers`, those that differ. */
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
  /** Of the bytes of the first lines that are alike. */
  readonly hashes: number[]
  count: number
  lastFeeds: number
}

interface Kind {
  readonly first: Entry
  /** The kind of the word of trouble and what stands right before it, of which this is a part. */
  readonly word: Kind | undefined
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
  const byShape = shapeMap<Entry>()
  const words = new Map<number, Kind>()
  const kinds = new Map<number, Kind>()
  const latest = waitingLines(maxLatest)
  let passedOver = 0
  let wordShare = firstShare
  let alikes = firstShare * alikeShare

  const isRoomFor = (kind: number): boolean => {
    if (entries.length < maxFree) return true
    if (entries.length >= maxSuspects) return false
    const own = kinds.get(kind)
    const word = own ? own.word : words.get(wordOf(kind))
    return (word?.count ?? 0) < wordShare || (own?.count ?? 0) < alikes
  }
  const take = (line: Sifted): void => {
    const entry: Entry = { members: [refOf(section, line)], hashes: line.shape === 0 ? [] : [lastHash()], count: 1, lastFeeds: line.feeds }
    entries.push(entry)
    if (line.shape !== 0) byShape.add(line.shape, entry)
    const share = firstShare * (1 - entries.length / maxSuspects) ** 3
    wordShare = Math.max(1, share)
    alikes = Math.floor(share * alikeShare)
    const kind = line.kind | 0
    const word = addTo(words, wordOf(kind), entry)
    addTo(kinds, kind, entry, word)
  }
  const goOnAlike = (entry: Entry, line: Sifted): void => {
    goOn(entry, line.feeds)
    if (entry.hashes.length >= maxMembers) return
    const hash = lastHash()
    if (!entry.hashes.includes(hash)) entry.members.push(refOf(section, line))
    entry.hashes.push(hash)
  }
  // They count as being like the first of their kind.
  const passOver = (kind: number, feeds: number): void => {
    const like = (kinds.get(kind) ?? words.get(wordOf(kind)))?.first
    if (like) goOn(like, feeds)
    else passedOver += 1
  }
  const feeds = sift(section.source, (line) => {
    const alike = line.shape === 0 ? undefined : byShape.get(line.shape)
    if (alike) goOnAlike(alike, line)
    else if (isRoomFor(line.kind | 0)) take(line)
    else latest.add(line, passOver)
  })
  const late = latest.end(passOver).map((line): Entry => ({ members: [refOf(section, line)], hashes: [], count: 1, lastFeeds: line.feeds }))
  const suspects = [...entries, ...late].map(({ members, count, lastFeeds }): Suspect => ({ members, count, lastNumber: section.firstLine + lastFeeds }))
  return { feeds, suspects, passedOver }
}

function addTo(kinds: Map<number, Kind>, key: number, entry: Entry, word?: Kind): Kind {
  const kind = kinds.get(key) ?? { first: entry, word, count: 0 }
  if (kind.count === 0) kinds.set(key, kind)
  kind.count += 1
  return kind
}

/** The part of a kind that tells the word of trouble and what stands right before it. */
const wordOf = (kind: number): number => kind >>> 16

function goOn(entry: Entry, feeds: number): void {
  entry.count += 1
  entry.lastFeeds = feeds
}

const refOf = (section: LogSection, { start, end, feeds }: Sifted): LineRef => ({ section, number: section.firstLine + feeds, start, end })
