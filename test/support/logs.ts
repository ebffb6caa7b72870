import { expect } from 'vitest'
import type { StreamTotals } from '../../src/core/run.ts'
import { findPieces, readRange } from '../../src/engine/log-reader.ts'
import { countLineFeeds } from '../../src/engine/output.ts'
import type { Random } from './random.ts'

const alphabets = ['a\n', 'abcdefgh\n', 'xyz', '\n', 'é€🔥a\n', '你好\n', '\0\r\t\n'] as const

export function someText(draw: Random, length: number): Buffer {
  const letters = [...draw.pick(alphabets)].map((letter) => Buffer.from(letter))
  const text = Buffer.alloc(length)
  for (let at = 0; at < text.length; ) at += draw.pick(letters).copy(text, at)
  return text
}

/** The stream in pieces, as it might come. */
export function* chunksOf(draw: Random, stream: Buffer, largest: number): Generator<Buffer> {
  for (let at = 0; at < stream.length; ) {
    const size = draw.int(1, Math.ceil(largest))
    yield stream.subarray(at, at + size)
    at += size
  }
}

export const lineCount = (bytes: Uint8Array): number => countLineFeeds(bytes) + (bytes.length > 0 && bytes.at(-1) !== 10 ? 1 : 0)

/** What can be read must be exactly what was printed, at its place, and what is missing must be exactly what is stated. */
export function expectExact(stream: Buffer, totals: StreamTotals, path: string): void {
  expect(totals.bytes).toBe(stream.length)
  expect(totals.lines).toBe(lineCount(stream))
  const at = expectPieces(stream, totals, path)
  expect(totals.droppedBytes).toBe(at.missing + stream.length - at.end)
  if (totals.droppedBytes === 0) expect(totals.gap).toBeNull()
  else {
    const { offset, bytes, lines } = totals.gap as NonNullable<StreamTotals['gap']>
    expect(countLineFeeds(stream, offset, offset + bytes)).toBe(lines)
  }
}

/** The same of what is there, for totals that are behind the log, or none. */
export function expectPieces(stream: Buffer, totals: StreamTotals | undefined, path: string): { missing: number; end: number } {
  let end = 0
  let missing = 0
  for (const piece of findPieces(path, totals)) {
    expect(piece.offset).toBeGreaterThanOrEqual(end)
    missing += piece.offset - end
    end = piece.offset + piece.length
    if (piece.length === 0) continue
    const kept = readRange([piece], piece.offset, end, piece.length)
    expect(kept.equals(stream.subarray(piece.offset, end))).toBe(true)
    expect(piece.linesBefore).toBe(countLineFeeds(stream, 0, piece.offset))
  }
  return { missing, end }
}
