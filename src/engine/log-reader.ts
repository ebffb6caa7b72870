import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { StreamTotals } from '../core/run.ts'
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
 * Where the bytes of a log are. `totals` are the ones of the run's record; without them (the run still goes on, or its
 * holder died) the files themselves tell. Empty when there is no log.
 */
export function findPieces(path: string, totals: StreamTotals | undefined): LogPiece[] {
  const size = sizeOf(path)
  if (size === undefined) return []
  const gap = totals?.gap
  if (!gap) {
    const head: LogPiece = { path, position: 0, length: size, offset: 0, linesBefore: 0 }
    return totals && totals.bytes === size ? [head] : [head, ...findSegments(path)]
  }
  const tailAt = gap.offset + gap.markerBytes
  return [
    { path, position: 0, length: Math.min(gap.offset, size), offset: 0, linesBefore: 0 },
    {
      path,
      position: tailAt,
      length: Math.max(0, size - tailAt),
      offset: gap.offset + gap.bytes,
      linesBefore: countLines(path, gap.offset) + gap.lines,
    },
  ]
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}

function findSegments(path: string): LogPiece[] {
  const start = `${basename(path)}.`
  const pieces: LogPiece[] = []
  for (const name of readdirSync(dirname(path))) {
    const match = name.startsWith(start) && /^(\d+)\.(\d+)$/.exec(name.slice(start.length))
    if (!match) continue
    const file = join(dirname(path), name)
    pieces.push({ path: file, position: 0, length: sizeOf(file) ?? 0, offset: Number(match[1]), linesBefore: Number(match[2]) })
  }
  return pieces.sort((a, b) => a.offset - b.offset)
}

function countLines(path: string, end: number): number {
  let count = 0
  for (const chunk of readChunks({ path, position: 0, length: end, offset: 0, linesBefore: 0 })) count += countLineFeeds(chunk)
  return count
}

/** The totals of a log as its files tell them: for a run whose holder died. Segments stay where they are. */
export function measureLog(path: string): StreamTotals {
  const pieces = findPieces(path, undefined)
  const last = pieces.at(-1)
  if (!last) return { bytes: 0, lines: 0, droppedBytes: 0, gap: null }
  let lines = last.linesBefore
  let lastByte = 10
  for (const chunk of readChunks(last)) {
    lines += countLineFeeds(chunk)
    lastByte = chunk[chunk.length - 1] as number
  }
  const hole = pieces.slice(1).find((piece, i) => piece.offset !== end(pieces[i] as LogPiece))
  const bytes = end(last)
  return { bytes, lines: lines + (lastByte === 10 ? 0 : 1), droppedBytes: hole ? hole.offset - end(pieces[0] as LogPiece) : 0, gap: null }
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
  for (const piece of pieces) {
    if (piece.offset !== expected) {
      if (rest.length > 0 && firstLine >= fromLine) yield { firstLine, text: decode(trimEnd(rest)), startsInside: inside }
      rest = Buffer.alloc(0)
      firstLine = piece.linesBefore + 1
      inside = true
    }
    expected = end(piece)
    let first = inside && rest.length === 0 && piece.offset > 0
    for (const chunk of readChunks(piece)) {
      const bytes = Buffer.concat([rest, first ? trimStart(chunk) : chunk])
      first = false
      let cut = bytes.lastIndexOf(10) + 1
      const oversized = cut === 0 && bytes.length > maxBlockBytes
      if (oversized) cut = bytes.length - partialTail(bytes)
      rest = Buffer.from(bytes.subarray(cut))
      if (cut === 0) continue
      const lines = countLineFeeds(bytes, 0, cut)
      if (firstLine + Math.max(lines - 1, 0) >= fromLine) {
        yield { firstLine, text: decode(bytes.subarray(0, oversized ? cut : cut - 1)), startsInside: inside }
      }
      firstLine += lines
      inside = oversized
    }
  }
  if (rest.length > 0) yield { firstLine, text: decode(rest), startsInside: inside }
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

function trimStart(bytes: Buffer): Buffer {
  let skip = 0
  while (skip < 3 && skip < bytes.length && ((bytes[skip] as number) & 0xc0) === 0x80) skip += 1
  return bytes.subarray(skip)
}

/** A stretch of a log as text, for a digest. */
export interface TextSection {
  readonly firstLine: number
  readonly text: string
}

/**
 * The log as text where it is small; else its first and last parts, about `maxBytes` in all, cut at line ends where there are any.
 */
export function readSections(path: string, totals: StreamTotals | undefined, maxBytes: number): TextSection[] {
  const pieces = findPieces(path, totals)
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (size <= maxBytes) return pieces.map((piece) => wholePiece(piece, pieces)).filter(({ text }) => text !== '')
  const sections: TextSection[] = []
  const first = pieces[0] as LogPiece
  const last = pieces.at(-1) as LogPiece
  const headBytes = Math.min(Math.floor(maxBytes / 3), first.length)
  const head = Buffer.concat([...copies(first, 0, headBytes)])
  const headEnd = head.lastIndexOf(10) + 1 || head.length
  sections.push({ firstLine: first.linesBefore + 1, text: decode(trimEnd(head.subarray(0, headEnd))) })
  const from = Math.max(first === last ? headEnd : 0, last.length - (maxBytes - headBytes))
  const tail = Buffer.concat([...copies(last, from, last.length)])
  const start = tail.indexOf(10) + 1
  let before = last.linesBefore
  for (const chunk of readChunks(last, 0, from + start)) before += countLineFeeds(chunk)
  sections.push({ firstLine: before + 1, text: decode(trimStart(tail.subarray(start))) })
  return sections
}

function* copies(piece: LogPiece, from: number, to: number): Generator<Buffer> {
  for (const chunk of readChunks(piece, from, to)) yield Buffer.from(chunk)
}

function wholePiece(piece: LogPiece, pieces: readonly LogPiece[]): TextSection {
  let bytes = Buffer.concat([...copies(piece, 0, piece.length)])
  if (piece !== pieces[0]) bytes = trimStart(bytes) as typeof bytes
  if (piece !== pieces.at(-1)) bytes = trimEnd(bytes) as typeof bytes
  return { firstLine: piece.linesBefore + 1, text: decode(bytes) }
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

/** The size of a file that is still being written, or 0. */
export function currentSize(path: string): number {
  try {
    const descriptor = openSync(path, 'r')
    try {
      return fstatSync(descriptor).size
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return 0
  }
}
