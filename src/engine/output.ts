import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { errnoOf } from '../core/errors.ts'
import type { Gap, StreamTotals } from '../core/run.ts'
import { formatCount } from '../core/text.ts'

/**
 * The log of one stream, on disk as the bytes come. Up to its limit it is the stream, byte for byte. Past half of the
 * limit the tail goes to segments beside it, `LOG.OFFSET.LINES` (offset of its first byte, line feeds before it), and
 * the oldest segment is dropped whenever there are more than eight; so what a killed Holdfast leaves can be read too.
 * At the end the segments are put behind the head, with a line of ours in between that states the gap.
 */
export interface LogWriter {
  write(bytes: Uint8Array): void
  /** Exact at any time; `gap` is the one that an end now would leave. */
  totals(): StreamTotals
  /** The last bytes that came, at most 8 KiB. */
  recent(): Uint8Array
  /** Joins head and tail and closes the file. */
  finish(): StreamTotals
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

export function countLineFeeds(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let count = 0
  for (let i = start; i < end; i += 1) if (bytes[i] === 10) count += 1
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
  let finished: StreamTotals | undefined
  let descriptor = -1
  try {
    descriptor = openSync(path, 'w', 0o600)
  } catch (error) {
    // A command runs also where its log cannot be made: the totals and the last bytes are kept, and the failure is told.
    failed = errnoOf(error) ?? 'unknown error'
  }

  function append(target: number, chunk: Uint8Array): number {
    let done = 0
    try {
      while (done < chunk.length) done += writeSync(target, chunk, done, chunk.length - done)
    } catch (error) {
      failed = errnoOf(error) ?? 'unknown error'
    }
    return done
  }

  function nextSegment(): Segment | undefined {
    const file = `${path}.${bytes}.${lineFeeds}`
    try {
      const segment = { path: file, offset: bytes, linesBefore: lineFeeds, descriptor: openSync(file, 'w', 0o600), bytes: 0 }
      segments.push(segment)
      if (segments.length > segmentCount) drop(segments.shift() as Segment)
      return segment
    } catch (error) {
      failed = errnoOf(error) ?? 'unknown error'
      return undefined
    }
  }

  function remember(chunk: Uint8Array): void {
    recent.push(chunk.length > recentBytes ? chunk.slice(-recentBytes) : chunk)
    recentLength += recent.at(-1)?.length ?? 0
    if (recent.length > 64 || recentLength > 4 * recentBytes) {
      recent = [Buffer.concat(recent).subarray(-recentBytes)]
      recentLength = recent[0]?.length ?? 0
    }
  }

  function keep(chunk: Uint8Array): number {
    if (headKept === bytes && headKept < headBytes) {
      const part = chunk.subarray(0, headBytes - headKept)
      const written = append(descriptor, part)
      headKept += written
      headLines += countLineFeeds(part, 0, written)
      return part.length
    }
    const last = segments.at(-1)
    const segment = last && last.bytes < segmentBytes ? last : nextSegment()
    if (!segment) return chunk.length
    const part = chunk.subarray(0, segmentBytes - segment.bytes)
    segment.bytes += append(segment.descriptor, part)
    return part.length
  }

  function gap(): Gap | null {
    const first = segments[0]
    const end = first ? first.offset : bytes
    if (end === headKept) return null
    const lines = (first ? first.linesBefore : lineFeeds) - headLines
    const size = end - headKept
    return { offset: headKept, bytes: size, lines, markerBytes: Buffer.byteLength(gapMarker(size, lines, headKept)) }
  }

  function totals(): StreamTotals {
    const hole = gap()
    return { bytes, lines: lineFeeds + (lastByte === 10 ? 0 : 1), droppedBytes: hole?.bytes ?? 0, gap: hole }
  }

  return {
    write(chunk) {
      if (finished || chunk.length === 0) return
      remember(chunk)
      for (let rest = chunk; rest.length > 0; ) {
        // A disk that refused once would leave holes in the middle: from then on bytes are counted, not kept.
        const taken = failed ? rest.length : keep(rest)
        lineFeeds += countLineFeeds(rest, 0, taken)
        bytes += taken
        rest = rest.subarray(taken)
      }
      lastByte = chunk[chunk.length - 1] as number
    },
    totals: () => finished ?? totals(),
    recent: () => Buffer.concat(recent).subarray(-recentBytes),
    finish() {
      if (finished) return finished
      const result = totals()
      finished = result
      if (result.gap) {
        const marker = Buffer.from(gapMarker(result.gap.bytes, result.gap.lines, result.gap.offset))
        if (append(descriptor, marker) < marker.length) finished = { ...result, gap: { ...result.gap, markerBytes: 0 } }
      }
      for (const segment of segments.splice(0)) joinSegment(segment, descriptor, append)
      if (descriptor !== -1) closeSync(descriptor)
      return finished
    },
    failure: () => failed,
  }
}

function drop(segment: Segment): void {
  closeSync(segment.descriptor)
  unlinkSync(segment.path)
}

function joinSegment(segment: Segment, target: number, append: (target: number, chunk: Uint8Array) => number): void {
  closeSync(segment.descriptor)
  appendFile(segment.path, target, append)
  unlinkSync(segment.path)
}

function appendFile(path: string, target: number, append: (target: number, chunk: Uint8Array) => number): void {
  const source = openSync(path, 'r')
  const buffer = Buffer.allocUnsafe(256 * 1024)
  try {
    for (let read = readSync(source, buffer); read > 0; read = readSync(source, buffer)) append(target, buffer.subarray(0, read))
  } finally {
    closeSync(source)
  }
}
