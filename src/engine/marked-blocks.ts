import type { Mark } from '../core/scan.ts'
import { type LineBlock, type LogPiece, readChunks } from './log-reader.ts'
import { countLineFeeds } from './output.ts'

/** As `readBlocks` cuts a log. */
const chunkBytes = 256 * 1024

export interface MarkedBlock extends LineBlock {
  /** The numbers of the lines in it that were marked, in order. */
  readonly marked: readonly number[]
}

/**
 * The blocks of a log in which something was marked, cut where `readBlocks` cuts them, without reading the others; with `beside`,
 * so many blocks before and after each, too. Marks are places in the file of the log, in order. Undefined where that cannot be told: the log is
 * in several files, or has lines longer than a block.
 */
export function readMarked(pieces: readonly LogPiece[], marks: readonly Mark[], beside = 0): MarkedBlock[] | undefined {
  const [head, tail, ...more] = pieces
  if (!head || more.length > 0 || (tail && tail.path !== head.path)) return undefined
  const found: MarkedBlock[] = []
  for (const piece of tail ? [head, tail] : [head]) {
    const inside = marks.filter(({ offset }) => offset >= piece.position && offset < piece.position + piece.length)
    const blocks = inside.length === 0 ? [] : blocksOf(piece, inside, { shift: lineBefore(piece, head), endsInGap: piece !== (tail ?? head), beside })
    if (!blocks) return undefined
    found.push(...blocks)
  }
  return found
}

/** What is added to the number of a line of the file to have its number in the stream: behind a gap, the lines left out, less those of the note. */
function lineBefore(piece: LogPiece, head: LogPiece): number {
  if (piece === head) return 0
  const note = { ...head, position: head.position + head.length, length: piece.position - head.position - head.length }
  let noted = 0
  for (const bytes of readChunks(note)) noted += countLineFeeds(bytes)
  let before = 0
  for (const bytes of readChunks(head)) before += countLineFeeds(bytes)
  return piece.linesBefore - before - noted
}

interface Cut {
  /** From a line of the file to that of the stream. */
  readonly shift: number
  readonly endsInGap: boolean
  readonly beside: number
}

function blocksOf(piece: LogPiece, marks: readonly Mark[], { shift, endsInGap, beside }: Cut): MarkedBlock[] | undefined {
  const last = Math.floor((piece.length - 1) / chunkBytes)
  const lineEnds = new Map<number, number | undefined>()
  /** Where the last line that ends in this chunk ends, counted within the piece. */
  const lineEnd = (chunk: number): number | undefined => {
    if (chunk < 0) return 0
    if (!lineEnds.has(chunk)) {
      const from = chunk * chunkBytes
      const bytes = readPart(piece, from, Math.min(piece.length, from + chunkBytes))
      const at = bytes.lastIndexOf(10)
      lineEnds.set(chunk, at < 0 ? undefined : from + at + 1)
    }
    return lineEnds.get(chunk)
  }
  /** Of each block that is wanted, a mark from which its lines can be counted. Block `last + 1` is the unfinished last line. */
  const wanted = new Map<number, Mark>()
  for (const mark of marks) {
    const at = mark.offset - piece.position
    let chunk = Math.floor(at / chunkBytes)
    const end = lineEnd(chunk)
    if (end === undefined && chunk < last) return undefined
    if (end === undefined || at >= end) chunk += 1
    for (let near = Math.max(0, chunk - beside); near <= Math.min(last + 1, chunk + beside); near += 1) if (!wanted.has(near)) wanted.set(near, mark)
  }
  const blocks: MarkedBlock[] = []
  for (const [chunk, mark] of [...wanted].sort(([a], [b]) => a - b)) {
    const from = lineEnd(chunk - 1)
    const to = chunk > last ? piece.length : (lineEnd(chunk) ?? from)
    if (from === undefined || to === undefined) return undefined
    if (from >= to) continue
    const bytes = readPart(piece, from, chunk > last ? to : to - 1)
    // A gap may cut a line, and a character of it.
    if ((piece.offset > 0 && from === 0) || (endsInGap && chunk > last)) return undefined
    const at = mark.offset - piece.position
    const between = countFeeds(piece, Math.min(from, at), Math.max(from, at))
    const firstLine = mark.line + shift + (from <= at ? -between : between)
    const own = marks.filter(({ offset }) => offset >= piece.position + from && offset < piece.position + to)
    const marked = own.map(({ line }) => line + shift)
    blocks.push({ firstLine, text: bytes.toString('utf8'), startsInside: false, bytes, offset: piece.offset + from, end: piece.offset + to, marked })
  }
  return blocks
}

function readPart(piece: LogPiece, from: number, to: number): Buffer {
  const parts = []
  for (const bytes of readChunks(piece, from, to)) parts.push(Buffer.from(bytes))
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

function countFeeds(piece: LogPiece, from: number, to: number): number {
  let count = 0
  for (const bytes of readChunks(piece, from, to)) count += countLineFeeds(bytes)
  return count
}
