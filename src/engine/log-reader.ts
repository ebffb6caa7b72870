import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Gap, StreamTotals } from '../core/run.ts'
import { countLineFeeds } from './output.ts'

/** A stretch of a stream that is on disk. */
export interface LogPiece {
  readonly path: string
  readonly position: number
  readonly length: number
  /** Offset in the stream of its first byte. */
  readonly offset: number
  /** Line feeds in the stream before it. */
  readonly linesBefore: number
}

/**
 * Where the bytes of a log are, in order. `totals` are the ones of the run's record; without them (the run still goes on,
 * or its holder died) the files themselves tell. They may be behind the log, where what a run left behind still prints.
 * Empty when there is no log.
 */
export function findPieces(path: string, totals: StreamTotals | undefined): LogPiece[] {
  const size = sizeOf(path)
  if (size === undefined) return []
  if (totals) {
    const pieces = arrange(path, size, totals.gap, [])
    if (size >= (totals.gap?.offset ?? 0) && end(pieces.at(-1) as LogPiece) === totals.bytes) return pieces
  }
  // Listed before their sizes are asked for, the log's own last: of a log that grows, all but the newest part is whole then.
  const names = namesBeside(path)
  const segments = findSegments(path, names)
  // What was left out since the totals were recorded is known where head and tail are being joined.
  return arrange(path, sizeOf(path) ?? size, joiningGap(names) ?? totals?.gap ?? null, segments)
}

/** The log's own file may hold the beginning of its first segment already, where joining them was interrupted. */
function arrange(path: string, size: number, gap: Gap | null, segments: readonly LogPiece[]): LogPiece[] {
  const next = segments[0]?.offset ?? Number.POSITIVE_INFINITY
  const head: LogPiece = { path, position: 0, length: Math.min(size, gap?.offset ?? size, next), offset: 0, linesBefore: 0 }
  if (!gap) return [head, ...segments]
  const before = [head, ...segments.filter(({ offset }) => offset < gap.offset)]
  const position = gap.offset + gap.markerBytes
  const offset = gap.offset + gap.bytes
  let linesBefore: number | undefined
  const tail: LogPiece = {
    path,
    position,
    length: Math.max(0, Math.min(size - position, next > gap.offset ? next - offset : 0)),
    offset,
    // All of the head is read for that, so not before it is asked for.
    get linesBefore() {
      linesBefore ??= lineFeedsBefore(before, gap.offset) + gap.lines
      return linesBefore
    },
  }
  return [...before, tail, ...segments.slice(before.length - 1)]
}

function sizeOf(path: string): number | undefined {
  try {
    const found = statSync(path)
    return found.isDirectory() ? undefined : found.size
  } catch {
    // Nor is there a log where its folder cannot be read, or is none.
    return undefined
  }
}

/** What stands behind the name of the log in the names of the files beside it. */
function namesBeside(path: string): string[] {
  const start = `${basename(path)}.`
  return readdirSync(dirname(path)).flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : []))
}

function findSegments(path: string, names: readonly string[]): LogPiece[] {
  const pieces: LogPiece[] = []
  for (const name of names) {
    const match = /^(\d+)\.(\d+)$/.exec(name)
    if (!match) continue
    const file = `${path}.${name}`
    const length = sizeOf(file) ?? 0
    if (length > 0) pieces.push({ path: file, position: 0, length, offset: Number(match[1]), linesBefore: Number(match[2]) })
  }
  return pieces.sort((a, b) => a.offset - b.offset)
}

/** The gap of a log whose joining was begun and not finished. */
function joiningGap(names: readonly string[]): Gap | null {
  for (const name of names) {
    const match = /^joining\.(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(name)
    if (!match) continue
    const [offset, bytes, lines, markerBytes] = match.slice(1).map(Number) as [number, number, number, number]
    return bytes > 0 ? { offset, bytes, lines, markerBytes } : null
  }
  return null
}

/** Line feeds in the stream before `offset`, which must lie in one of the pieces or at the end of the last. */
function lineFeedsBefore(pieces: readonly LogPiece[], offset: number): number {
  const piece = pieces.findLast((candidate) => candidate.offset <= offset)
  if (!piece) return 0
  let count = piece.linesBefore
  for (const chunk of readChunks(piece, 0, Math.min(piece.length, offset - piece.offset))) count += countLineFeeds(chunk)
  return count
}

/** The totals of a log as its files tell them: for a run whose holder died. Segments stay where they are. */
export function measureLog(path: string): StreamTotals {
  const pieces = findPieces(path, undefined)
  const last = pieces.at(-1)
  if (!last) return { bytes: 0, lines: 0, droppedBytes: 0, gap: null }
  const bytes = end(last)
  const feeds = lineFeedsBefore(pieces, bytes)
  const unfinished = bytes > 0 && readRange(pieces, bytes - 1, bytes, 1)[0] !== 10
  const gap = joiningGap(namesBeside(path)) ?? missing(pieces)
  return { bytes, lines: feeds + (unfinished ? 1 : 0), droppedBytes: gap?.bytes ?? 0, gap }
}

function missing(pieces: readonly LogPiece[]): Gap | null {
  const [head, first] = pieces
  if (!head || !first || first.offset === end(head)) return null
  return { offset: end(head), bytes: first.offset - end(head), lines: first.linesBefore - lineFeedsBefore([head], end(head)), markerBytes: 0 }
}

const end = (piece: LogPiece): number => piece.offset + piece.length

const chunkBytes = 256 * 1024

/** The bytes of a piece from `from` on (counted within the piece), in chunks that are valid until the next one is asked for. */
export function* readChunks(piece: LogPiece, from = 0, to = piece.length): Generator<Buffer> {
  let descriptor: number
  try {
    descriptor = openSync(piece.path, 'r')
  } catch {
    return
  }
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, to - from)))
  try {
    for (let at = from; at < to; ) {
      const read = readSync(descriptor, buffer, 0, Math.min(buffer.length, to - at), piece.position + at)
      if (read === 0) return
      yield buffer.subarray(0, read)
      at += read
    }
  } finally {
    closeSync(descriptor)
  }
}

/** Whole raw lines of a stream as text. */
export interface LineBlock {
  /** Number of the first line, from 1. */
  readonly firstLine: number
  /** Without the line feed at its end. Bytes that are no UTF-8 are U+FFFD. */
  readonly text: string
  /** True when the first line is the rest of one whose beginning is not here. */
  readonly startsInside: boolean
  /** What the text was made of. */
  readonly bytes: Buffer
  /** Offset in the stream of its first byte, and behind its last one, the line feed included. */
  readonly offset: number
  readonly end: number
}

const maxBlockBytes = 1024 * 1024

/**
 * The lines of a log in blocks of about 256 KiB, from line `fromLine` on. A line of more than 1 MiB comes in several blocks
 * of the same number. Characters that a gap cuts are left out.
 */
export function* readBlocks(pieces: readonly LogPiece[], fromLine = 1): Generator<LineBlock> {
  let rest: Buffer = Buffer.alloc(0)
  let firstLine = 1
  let inside = false
  let expected = 0
  let afterGap = false
  const block = (bytes: Buffer, offset: number, end: number): LineBlock => ({ firstLine, text: decode(bytes), startsInside: inside, bytes, offset, end })
  for (const piece of pieces) {
    if (piece.offset !== expected) {
      const whole = trimEnd(rest)
      if (whole.length > 0 && firstLine >= fromLine) yield block(whole, expected - rest.length, expected)
      rest = Buffer.alloc(0)
      firstLine = piece.linesBefore + 1
      inside = true
      afterGap = true
    }
    // Counted by what is really there: the oldest segment may be dropped while this reads.
    expected = piece.offset
    for (const chunk of readChunks(piece)) {
      expected += chunk.length
      const bytes = Buffer.concat([rest, afterGap ? trimStart(chunk) : chunk])
      const offset = expected - bytes.length
      afterGap = false
      let cut = bytes.lastIndexOf(10) + 1
      const oversized = cut === 0 && bytes.length > maxBlockBytes
      if (oversized) cut = bytes.length - partialTail(bytes)
      rest = Buffer.from(bytes.subarray(cut))
      if (cut === 0) continue
      const lines = countLineFeeds(bytes, 0, cut)
      if (firstLine + Math.max(lines - 1, 0) >= fromLine) yield block(bytes.subarray(0, oversized ? cut : cut - 1), offset, offset + cut)
      firstLine += lines
      inside = oversized
    }
  }
  if (rest.length > 0 && firstLine >= fromLine) yield block(rest, expected - rest.length, expected)
}

const decode = (bytes: Buffer): string => bytes.toString('utf8')

/** Bytes at the end that begin a character without finishing it. */
function partialTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

const trimEnd = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length - partialTail(bytes))

const trimStart = (bytes: Buffer): Buffer => bytes.subarray(continuationsIn(bytes))

/** Bytes at the beginning that go on with a character that began before. */
function continuationsIn(bytes: Uint8Array): number {
  let count = 0
  while (count < 3 && count < bytes.length && ((bytes[count] as number) & 0xc0) === 0x80) count += 1
  return count
}

/** What of a log is there without a gap, read where it is wanted. */
export interface LogStretch {
  /** Offset in the stream of its first byte. */
  readonly offset: number
  readonly length: number
  /** Fills `target` with the bytes from `from` on, counted within the stretch; gives how many there were. */
  read(target: Uint8Array, from: number): number
  /** Line feeds in the stream before it. All that is before it may have to be read for that. */
  linesBefore(): number
}

/** The stretches of a log in order. Characters that a gap cuts are left out. */
export function openStretches(pieces: readonly LogPiece[]): LogStretch[] {
  const found = findStretches(pieces)
  return found.map(({ from, to }, i): LogStretch => {
    const offset = i === 0 ? from : from + continuationsIn(readRange(pieces, from, Math.min(to, from + 3), 3))
    const end = i === found.length - 1 ? to : to - partialTail(readRange(pieces, Math.max(from, to - 3), to, 3))
    return {
      offset,
      length: Math.max(0, end - offset),
      read: (target, at) => readInto(pieces, target.subarray(0, Math.max(0, end - offset - at)), offset + at),
      linesBefore: () => lineFeedsBefore(pieces, from),
    }
  })
}

/** Reads from `from` on until the target is full or something is not there. */
function readInto(pieces: readonly LogPiece[], target: Uint8Array, from: number): number {
  let done = 0
  for (const piece of pieces) {
    if (done === target.length) break
    const at = from + done - piece.offset
    if (at < 0 || at >= piece.length) continue
    done += readPart(piece, target.subarray(done, done + piece.length - at), at)
  }
  return done
}

function readPart(piece: LogPiece, target: Uint8Array, at: number): number {
  let descriptor: number
  try {
    descriptor = openSync(piece.path, 'r')
  } catch {
    return 0
  }
  try {
    let done = 0
    while (done < target.length) {
      const read = readSync(descriptor, target, done, target.length - done, piece.position + at + done)
      if (read === 0) break
      done += read
    }
    return done
  } finally {
    closeSync(descriptor)
  }
}

/** A stretch of a log as text. */
export interface TextSection {
  readonly firstLine: number
  readonly text: string
}

/** How much of a log is read. */
export interface ReadBytes {
  /** Up to this size it is read whole. */
  readonly whole: number
  /** Of a longer one its first and last parts, so much in all. */
  readonly ofLonger: number
}

/**
 * The log as text where it is small, a section for each stretch without a gap; else its first and last parts, cut at line ends
 * where there are any. With the totals of a run that is over, nothing but these parts is read.
 */
export function sectionsOf(pieces: readonly LogPiece[], { whole, ofLonger }: ReadBytes, totals?: StreamTotals | undefined): TextSection[] {
  const stretches = findStretches(pieces)
  const first = stretches[0]
  const last = stretches.at(-1)
  if (!first || !last) return []
  const size = stretches.reduce((sum, stretch) => sum + stretch.to - stretch.from, 0)
  const section = (from: number, bytes: Buffer): TextSection => ({ firstLine: lineFeedsBefore(pieces, from) + 1, text: decode(bytes) })
  if (size <= whole) {
    return stretches.map(({ from, to }) => {
      const bytes = readRange(pieces, from, to, to - from)
      const begun = from === first.from ? bytes : trimStart(bytes)
      return section(from, to === last.to ? begun : trimEnd(begun))
    })
  }
  const headEnd = Math.min(Math.floor(ofLonger / 3), first.to)
  const head = readRange(pieces, 0, headEnd, headEnd)
  const headCut = head.lastIndexOf(10) + 1 || head.length
  const tailStart = Math.max(first === last ? headEnd : last.from, last.to - (ofLonger - headEnd))
  const tail = readRange(pieces, tailStart, last.to, ofLonger)
  const feed = tail.indexOf(10) + 1
  // A last line that is longer than all of the tail is cut, not left out.
  const tailCut = feed === tail.length ? 0 : feed
  const ending = tail.subarray(tailCut)
  const firstLine = totals?.bytes === last.to && tail.length === last.to - tailStart ? firstLineOf(ending, totals.lines) : undefined
  return [
    section(0, trimEnd(head.subarray(0, headCut))),
    firstLine === undefined ? section(tailStart + tailCut, trimStart(ending)) : { firstLine, text: decode(trimStart(ending)) },
  ]
}

/** The number of the first line of what ends a stream of `lines` lines. */
function firstLineOf(end: Buffer, lines: number): number {
  const unfinished = end.length > 0 && end[end.length - 1] !== 10
  return lines - (unfinished ? 1 : 0) - countLineFeeds(end) + 1
}

/** What is there without a gap, from one offset in the stream to another. */
function findStretches(pieces: readonly LogPiece[]): { from: number; to: number }[] {
  const stretches: { from: number; to: number }[] = []
  for (const piece of pieces) {
    if (piece.length === 0) continue
    const before = stretches.at(-1)
    if (before?.to === piece.offset) before.to = end(piece)
    else stretches.push({ from: piece.offset, to: end(piece) })
  }
  return stretches
}

function* copies(piece: LogPiece, from: number, to: number): Generator<Buffer> {
  for (const chunk of readChunks(piece, from, to)) yield Buffer.from(chunk)
}

/** Bytes `from` up to `to` of the stream that are on disk, at most `maxBytes`. */
export function readRange(pieces: readonly LogPiece[], from: number, to: number, maxBytes: number): Buffer {
  const parts: Buffer[] = []
  let left = maxBytes
  for (const piece of pieces) {
    const start = Math.max(0, from - piece.offset)
    const stop = Math.min(piece.length, to - piece.offset, start + left)
    if (stop <= start) continue
    for (const part of copies(piece, start, stop)) {
      parts.push(part)
      left -= part.length
    }
  }
  return Buffer.concat(parts)
}
