import { closeSync, fstatSync, ftruncateSync, openSync, readSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { errnoOf } from '../core/errors.ts'
import type { Gap, StreamTotals } from '../core/run.ts'
import { formatCount } from '../core/text.ts'

/**
 * The log of one stream, on disk as the bytes come, in the format of docs/log-format.md; native/log.c writes the same. Up
 * to its limit it is the stream, byte for byte. Past half of the limit the tail goes to segments beside it,
 * `LOG.OFFSET.LINES` (offset of its first byte, line feeds before it). There are at most eight, and where that is not
 * enough, the oldest are dropped and seven stay, so that joining them never needs more room than the limit. So what a
 * killed Holdfast leaves can be read too. At the end the segments are put behind the head, with a line of ours in between
 * that states the gap; a file `LOG.joining.OFFSET.BYTES.LINES.MARKER` says so until that is on record. What cannot be joined
 * (a full disk) stays in its segment. No file is made before the first byte comes.
 */
export interface LogWriter {
  write(bytes: Uint8Array): void
  /** Exact at any time; `gap` is the one that an end now would leave. */
  totals(): StreamTotals
  /** The last bytes that came, at most 8 KiB. */
  recent(): Uint8Array
  /** Joins head and tail and closes the file. */
  finish(): StreamTotals
  /** The totals of the end were recorded: what said up to now which part of the file is what is not needed any more. */
  recorded(): void
  /** Why bytes could not be written, as an errno name. */
  failure(): string | undefined
}

interface Segment {
  readonly path: string
  readonly offset: number
  readonly linesBefore: number
  readonly descriptor: number
  bytes: number
}

const segmentCount = 8
const recentBytes = 8 * 1024

const shortLineBytes = 16

export function countLineFeeds(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const part = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
  let count = 0
  let mark = 0
  // A search for the next one is many times quicker than looking at every byte, unless the lines are very short.
  for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) {
    count += 1
    if (count % 256 !== 0) continue
    if (at - mark < 256 * shortLineBytes) return count + countOneByOne(part, at + 1)
    mark = at
  }
  return count
}

function countOneByOne(bytes: Uint8Array, from: number): number {
  let count = 0
  for (let i = from; i < bytes.length; i += 1) if (bytes[i] === 10) count += 1
  return count
}

export function gapMarker(bytes: number, lines: number, offset: number): string {
  return `\n[holdfast: ${formatCount(bytes)} bytes with ${formatCount(lines)} line ends left out from offset ${offset}]\n`
}

export function openLogWriter(path: string, maxBytes: number): LogWriter {
  const segmentBytes = Math.max(1, Math.floor(maxBytes / 2 / segmentCount))
  const headBytes = maxBytes - segmentBytes * segmentCount
  const segments: Segment[] = []
  let bytes = 0
  let lineFeeds = 0
  let lastByte = 10
  let headKept = 0
  let headLines = 0
  let recent: Uint8Array[] = []
  let recentLength = 0
  let failed: string | undefined
  /** Where the first byte stands that could not be written, and the line feeds before it. */
  let lostFrom: { offset: number; lines: number } | undefined
  let finished: StreamTotals | undefined
  let note: string | undefined
  let descriptor = -1

  function open(): void {
    try {
      descriptor = openSync(path, 'w', 0o600)
    } catch (error) {
      // A command runs also where its log cannot be made: the totals and the last bytes are kept, and the failure is told.
      fail(error)
      lostFrom = { offset: 0, lines: 0 }
    }
  }

  function fail(error: unknown): void {
    failed ??= errnoOf(error) ?? 'unknown error'
  }

  function append(target: number, chunk: Uint8Array): number {
    let done = 0
    try {
      while (done < chunk.length) done += writeSync(target, chunk, done, chunk.length - done)
    } catch (error) {
      fail(error)
    }
    return done
  }

  function store(target: number, part: Uint8Array): number {
    const written = append(target, part)
    if (written < part.length) lostFrom = { offset: bytes + written, lines: lineFeeds + countLineFeeds(part, 0, written) }
    return written
  }

  function nextSegment(): Segment | undefined {
    const file = `${path}.${bytes}.${lineFeeds}`
    try {
      const segment = { path: file, offset: bytes, linesBefore: lineFeeds, descriptor: openSync(file, 'w+', 0o600), bytes: 0 }
      segments.push(segment)
      const allowed = hasGap() || segments.length > segmentCount ? segmentCount - 1 : segmentCount
      while (segments.length > allowed) drop(segments.shift() as Segment)
      return segment
    } catch (error) {
      fail(error)
      lostFrom = segments.length > 0 ? { offset: bytes, lines: lineFeeds } : { offset: headKept, lines: headLines }
      return undefined
    }
  }

  function remember(chunk: Uint8Array): void {
    if (chunk.length >= recentBytes) {
      recent = [chunk.subarray(-recentBytes)]
      recentLength = recentBytes
      return
    }
    recent.push(chunk)
    recentLength += chunk.length
    if (recent.length > 64 || recentLength > 4 * recentBytes) {
      recent = [Buffer.concat(recent).subarray(-recentBytes)]
      recentLength = recent[0]?.length ?? 0
    }
  }

  function keep(chunk: Uint8Array): number {
    if (headKept === bytes && headKept < headBytes) {
      const part = chunk.subarray(0, headBytes - headKept)
      const written = store(descriptor, part)
      headKept += written
      return part.length
    }
    const last = segments.at(-1)
    const segment = last && last.bytes < segmentBytes ? last : nextSegment()
    if (!segment) return chunk.length
    const part = chunk.subarray(0, segmentBytes - segment.bytes)
    segment.bytes += store(segment.descriptor, part)
    return part.length
  }

  function hasGap(): boolean {
    return segments.length > 0 && (segments[0] as Segment).offset > headKept
  }

  // Between head and tail; where nothing is missing there, what could not be written at the end.
  // Of a chunk that is larger than the whole tail only the end would stay: the rest is not written first.
  function skip(chunk: Uint8Array): number {
    if (headKept < headBytes || chunk.length <= segmentBytes * segmentCount) return 0
    for (const segment of segments.splice(0)) drop(segment)
    return chunk.length - segmentBytes * (segmentCount - 1)
  }

  function gap(): Gap | null {
    const first = segments[0]
    if (first && hasGap()) return toGap(headKept, first.offset - headKept, first.linesBefore - headLines)
    if (lostFrom && bytes > lostFrom.offset) return toGap(lostFrom.offset, bytes - lostFrom.offset, lineFeeds - lostFrom.lines)
    return null
  }

  function totals(): StreamTotals {
    const first = segments[0]
    const droppedBytes = (first && hasGap() ? first.offset - headKept : 0) + (lostFrom ? bytes - lostFrom.offset : 0)
    return { bytes, lines: lineFeeds + (lastByte === 10 ? 0 : 1), droppedBytes, gap: gap() }
  }

  /** Puts the segments behind the head. False where they could not be, and then those that could not stay as they are. */
  function join(hole: Gap | null): boolean {
    if (!hole) return joinSegments()
    const marker = Buffer.from(gapMarker(hole.bytes, hole.lines, hole.offset))
    const atEnd = !hasGap()
    if (atEnd && !joinSegments()) return false
    const size = sizeOf(descriptor)
    if (append(descriptor, marker) < marker.length) {
      // Of a line that does not fit nothing stays, so that it is not taken for output.
      truncate(descriptor, size)
      return false
    }
    return atEnd || joinSegments()
  }

  function joinSegments(): boolean {
    for (let segment = segments[0]; segment; segment = segments[0]) {
      // A part that was copied before it failed does no harm: whoever reads takes the segment from where it begins.
      if (!copy(segment.descriptor)) return false
      drop(segment)
      segments.shift()
    }
    return true
  }

  function copy(source: number): boolean {
    const buffer = Buffer.allocUnsafe(256 * 1024)
    try {
      for (let at = 0, read = 0; ; at += read) {
        read = readSync(source, buffer, 0, buffer.length, at)
        if (read === 0) return true
        if (append(descriptor, buffer.subarray(0, read)) < read) return false
      }
    } catch (error) {
      fail(error)
      return false
    }
  }

  // Someone removed the log while it was written: nothing of it is left that could be read.
  function isGone(): boolean {
    try {
      return statSync(path).ino !== fstatSync(descriptor).ino
    } catch {
      return true
    }
  }

  function close(): StreamTotals {
    const known = totals()
    if (bytes === 0) return known
    if (descriptor === -1 || isGone()) {
      failed ??= 'ENOENT'
      return { ...known, droppedBytes: bytes, gap: bytes > 0 ? { ...toGap(0, bytes, lineFeeds), markerBytes: 0 } : null }
    }
    if (segments.length === 0 && !known.gap) return known
    note = `${path}.joining.${known.gap ? [known.gap.offset, known.gap.bytes, known.gap.lines, known.gap.markerBytes].join('.') : '0.0.0.0'}`
    writeEmpty(note)
    const joined = join(known.gap)
    if (joined || !known.gap || sizeOf(descriptor) >= known.gap.offset + known.gap.markerBytes) return known
    return { ...known, gap: { ...known.gap, markerBytes: 0 } }
  }

  return {
    write(chunk) {
      if (finished || chunk.length === 0) return
      remember(chunk)
      if (bytes === 0) open()
      for (let rest = chunk; rest.length > 0; ) {
        // A disk that refused once would leave holes in the middle: from then on bytes are counted, not kept.
        const taken = failed ? rest.length : skip(rest) || keep(rest)
        lineFeeds += countLineFeeds(rest, 0, taken)
        bytes += taken
        if (headKept === bytes) headLines = lineFeeds
        rest = rest.subarray(taken)
      }
      lastByte = chunk[chunk.length - 1] as number
    },
    totals: () => finished ?? totals(),
    recent: () => Buffer.concat(recent).subarray(-recentBytes),
    finish() {
      if (finished) return finished
      finished = close()
      for (const segment of segments) closeSync(segment.descriptor)
      if (descriptor !== -1) closeSync(descriptor)
      return finished
    },
    recorded() {
      if (note !== undefined) remove(note)
      note = undefined
    },
    failure: () => failed,
  }
}

function toGap(offset: number, bytes: number, lines: number): Gap {
  return { offset, bytes, lines, markerBytes: Buffer.byteLength(gapMarker(bytes, lines, offset)) }
}

function drop(segment: Segment): void {
  closeSync(segment.descriptor)
  remove(segment.path)
}

function sizeOf(descriptor: number): number {
  return fstatSync(descriptor).size
}

function truncate(descriptor: number, size: number): void {
  try {
    ftruncateSync(descriptor, size)
  } catch {
    // A device has no size.
  }
}

function writeEmpty(path: string): void {
  try {
    closeSync(openSync(path, 'w', 0o600))
  } catch {
    // Then only a kill in this very moment leaves a log that cannot be told apart.
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Somebody was quicker.
  }
}
