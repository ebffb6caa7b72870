import { readBytes } from '../core/byte-source.ts'
import { cleanLine } from '../core/text.ts'
import type { LineRef, LogSection, Mask } from './log.ts'

/** A line that is too long to be held: its last frame, or the beginning and the end of that. */
export interface LongLine {
  readonly head: string
  readonly tail: string
  /** Bytes of that frame in all. */
  readonly bytes: number
}

// A section is decoded and masked in cells, each with some text around it, so that what is masked by what stands in other lines is
// masked here, too. A cell has the lines that begin in it.
const cellBytes = 8 * 1024
const aroundBytes = 2 * 1024
/** A section of no more is one cell: it is masked as a whole. */
const oneCellBytes = 128 * 1024
/** A private key is known by its first and its last line; no real one is longer. */
const keyBytes = 64 * 1024
const keyWords = 'PRIVATE KEY'
/** A longer line is read by its ends. A quarter of it is more than is shown of any line. */
const maxLineBytes = 32 * 1024
/** Of a long line of frames, so many are looked at from the end for one with something in it. */
const maxFrames = 1000
/** A frame that shows nothing in so many bytes counts as blank. */
const maxBlankBytes = 64 * 1024

interface Cell {
  /** Offsets at which lines begin, and the lines; undefined for one that is too long. */
  readonly starts: readonly number[]
  readonly lines: readonly (string | undefined)[]
}

interface Held {
  readonly cells: Map<number, Cell>
  readonly long: Map<number, string | LongLine>
  readonly frames: Map<number, Frame>
  readonly windows: Map<number, Buffer>
  /** Of windows, whether the words of a private key stand in them. */
  readonly keys: Map<number, boolean>
}

interface Frame {
  readonly from: number
  readonly to: number
}

const held = new WeakMap<LogSection, Held>()
const windowBytes = 16 * 1024
const maxCells = 64
const maxWindows = 32
const maxLong = 64
const maxKeys = 4096

function heldOf(section: LogSection): Held {
  const found = held.get(section)
  if (found) return found
  const made: Held = { cells: new Map(), long: new Map(), frames: new Map(), windows: new Map(), keys: new Map() }
  held.set(section, made)
  return made
}

/** What is in the map, or is made and put there in the place of the oldest entry. */
function remembered<T>(map: Map<number, T>, key: number, most: number, make: () => T): T {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  if (map.size >= most) map.delete(map.keys().next().value as number)
  map.set(key, made)
  return made
}

/** The raw bytes at and around an offset. */
function windowAt(section: LogSection, offset: number): { readonly bytes: Buffer; readonly from: number } {
  const index = Math.floor(offset / windowBytes)
  const from = index * windowBytes
  return { bytes: remembered(heldOf(section).windows, index, maxWindows, () => readBytes(section.source, from, from + windowBytes)), from }
}

const lineFeed = 10
const carriageReturn = 13

/** Where the next line feed at or behind `offset` is; the length of the section where there is none. */
export function lineFeedAfter(section: LogSection, offset: number): number {
  for (let at = offset; at < section.source.length; ) {
    const { bytes, from } = windowAt(section, at)
    const found = bytes.indexOf(lineFeed, at - from)
    if (found >= 0) return from + found
    at = from + windowBytes
  }
  return section.source.length
}

/** Where the last line feed before `offset` is; -1 where there is none. */
export const lineFeedBefore = (section: LogSection, offset: number): number => lastBefore(section, lineFeed, offset, 0)

function lastBefore(section: LogSection, byte: number, offset: number, floor: number): number {
  for (let at = offset; at > floor; ) {
    const { bytes, from } = windowAt(section, at - 1)
    const found = bytes.lastIndexOf(byte, at - 1 - from)
    if (found >= 0) return from + found < floor ? -1 : from + found
    at = from
  }
  return -1
}

/** The beginning of a section, at most so many bytes, decoded and masked. */
export function sectionText({ source, mask }: LogSection, maxBytes: number): string {
  const text = decode(readBytes(source, 0, maxBytes))
  return mask ? mask.mask(text) : text
}

/** A raw line, decoded and masked. */
export function maskedLine(line: LineRef): string | LongLine {
  const { section, start } = line
  const index = section.source.length <= oneCellBytes ? 0 : Math.floor(start / cellBytes)
  const cell = remembered(heldOf(section).cells, index, maxCells, () => makeCell(section, index))
  const at = indexIn(cell.starts, start)
  return (cell.starts[at] === start ? cell.lines[at] : undefined) ?? longLine(line)
}

/** The beginning of the last frame of a raw line, decoded, with its secrets. */
export function plainHead(line: LineRef): string {
  const { section, start, end } = line
  if (end - start > maxLineBytes) {
    const frame = lastFrameOf(line)
    return decode(readBytes(section.source, frame.from, Math.min(frame.to, frame.from + maxLineBytes)))
  }
  // Lines that are judged are far apart; what is read one after the other is in a window already.
  const index = Math.floor(start / windowBytes)
  const bytes = heldOf(section).windows.get(index)
  const from = index * windowBytes
  return decode(bytes && end - from <= bytes.length ? bytes.subarray(start - from, end - from) : readBytes(section.source, start, end))
}

const decode = (bytes: Buffer): string => bytes.toString('utf8')

function indexIn(starts: readonly number[], start: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] as number) <= start) low = middle
    else high = middle - 1
  }
  return low
}

function makeCell(section: LogSection, index: number): Cell {
  const { source, mask } = section
  const from = source.length <= oneCellBytes ? 0 : index * cellBytes
  const to = source.length <= oneCellBytes ? source.length : Math.min(source.length, from + cellBytes)
  const around = mask ? reachAround(section, mask, from, to) : 1
  const readFrom = Math.max(0, from - around)
  const bytes = readBytes(source, readFrom, to + Math.max(around, maxLineBytes))
  // A line begins at `from` where a line feed is before it.
  const first = from === 0 ? 0 : bytes.indexOf(lineFeed, from - 1 - readFrom) + 1
  const begin = readFrom === 0 || first === 0 ? 0 : bytes.indexOf(lineFeed) + 1
  if ((first === 0 && from > 0) || readFrom + first >= to) return { starts: [], lines: [] }
  const starts: number[] = []
  let end = first
  for (let at = first; at < to - readFrom && at < bytes.length; at = end + 1) {
    starts.push(readFrom + at)
    end = endIn(bytes, at)
  }
  const isCut = end === bytes.length && readFrom + bytes.length < source.length
  // What stands behind the last line, up to the end of one.
  const wanted = Math.min(bytes.length, Math.max(end, to + around - readFrom))
  const until = isCut ? bytes.length : endIn(bytes, wanted)
  const text = decode(bytes.subarray(begin, until))
  const lines = (mask ? mask.mask(text) : text).split('\n')
  const skipped = countFeeds(bytes, begin, first)
  const own: (string | undefined)[] = lines.slice(skipped, skipped + starts.length)
  if (isCut) own[starts.length - 1] = undefined
  return { starts, lines: own }
}

function endIn(bytes: Buffer, from: number): number {
  const found = bytes.indexOf(lineFeed, from)
  return found < 0 ? bytes.length : found
}

function countFeeds(bytes: Buffer, from: number, to: number): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed, from); at >= 0 && at < to; at = bytes.indexOf(lineFeed, at + 1)) count += 1
  return count
}

/** How many bytes around these have to be looked at to know what is secret in them. */
function reachAround(section: LogSection, mask: Mask, from: number, to: number): number {
  const last = Math.floor(to / keyBytes) + 1
  for (let index = Math.max(0, Math.floor(from / keyBytes) - 1); index <= last; index += 1) {
    if (hasKey(section, index)) return Math.max(keyBytes, mask.reach)
  }
  return Math.max(aroundBytes, mask.reach)
}

const keyScratch = Buffer.alloc(keyBytes + keyWords.length)

function hasKey(section: LogSection, index: number): boolean {
  return remembered(heldOf(section).keys, index, maxKeys, () => {
    const size = section.source.read(keyScratch, index * keyBytes)
    return keyScratch.subarray(0, size).includes(keyWords)
  })
}

function longLine(line: LineRef): string | LongLine {
  const { section } = line
  return remembered(heldOf(section).long, line.start, maxLong, () => {
    const { from, to } = lastFrameOf(line)
    const masked = (start: number, end: number): string => {
      const text = decode(readBytes(section.source, start, end))
      return section.mask ? section.mask.mask(text) : text
    }
    if (to - from <= maxLineBytes) return masked(from, to)
    return { head: masked(from, from + maxLineBytes), tail: masked(to - maxLineBytes, to), bytes: to - from }
  })
}

/** The last frame with something in it of a line that is too long to be held; an empty one where there is none among the last thousand. */
function lastFrameOf({ section, start, end }: LineRef): Frame {
  return remembered(heldOf(section).frames, start, maxLong, () => {
    let to = end
    for (let i = 0; i < maxFrames && to > start; i += 1) {
      const from = Math.max(start, lastBefore(section, carriageReturn, to, start) + 1)
      if (to > from && cleanLine(decode(readBytes(section.source, from, Math.min(to, from + maxBlankBytes)))) !== '') return { from, to }
      to = from - 1
    }
    return { from: start, to: start }
  })
}
