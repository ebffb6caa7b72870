import { type ByteSource, type CutSource, readBytes, sourceOf } from '../core/byte-source.ts'
import { streamNames } from '../core/command.ts'
import { logTotals, type RunRecord, type StreamTotals } from '../core/run.ts'
import { splitLines } from '../core/text.ts'
import type { LogSection, LogStream } from '../digest/log.ts'
import { lineFeedsOf } from '../digest/suspects.ts'
import { findPieces, type LogPiece, type LogStretch, openStretches } from '../engine/log-reader.ts'
import type { Masker } from '../engine/redact.ts'
import type { ActiveRun, EndedRun } from './context.ts'
import type { RunFolder } from './run-folder.ts'
import { textOf } from './screen-text.ts'

/** What the process that holds a run, or held it a moment ago, knows besides its record. */
export type Held = Pick<ActiveRun, 'masker'> & Pick<EndedRun, 'unsaved'>

/** The streams of a run as digests read them: every byte that is kept, where it is wanted. */
export function logStreams(folder: RunFolder, record: RunRecord, { masker, unsaved }: Held): LogStream[] {
  if (record.pty) return [terminalStream(folder, record, masker)]
  return streamNames.map((name): LogStream => {
    const totals = record[name]
    const known = logTotals(record, name)
    const pieces = known?.bytes === 0 ? [] : findPieces(folder[name], known)
    const ends = known ? endsOf(pieces, masker, known) : undefined
    const sections = ends?.sections ?? [...sectionsOf(pieces, masker, known), ...endOf(totals, masker, unsaved?.[name])]
    return { name, sections, bytes: totals.bytes, lines: totals.lines, droppedBytes: totals.droppedBytes, unreadBytes: ends?.unreadBytes }
  })
}

/** A log that is given to be digested. */
export function streamOf(log: string | Uint8Array | CutSource, mask: Masker): LogStream {
  const source: CutSource = typeof log === 'string' ? sourceOf(Buffer.from(log)) : log instanceof Uint8Array ? sourceOf(log) : log
  const { length, gap } = source
  const head: LogSection = { firstLine: 1, source: gap ? partOf(source, 0, gap.offset) : source, mask }
  const tail: LogSection | undefined = gap && {
    get firstLine() {
      return lineFeedsOf(head) + gap.lines + 1
    },
    source: partOf(source, gap.offset, length),
    mask,
  }
  return {
    name: 'stdout',
    sections: length === 0 ? [] : [head, ...(tail ? [tail] : [])],
    bytes: length + (gap?.bytes ?? 0),
    // Not counted where nobody asks.
    get lines() {
      const isUnfinished = length > 0 && readBytes(source, length - 1, length)[0] !== 10
      return (tail ?? head).firstLine - 1 + lineFeedsOf(tail ?? head) + (isUnfinished ? 1 : 0)
    },
    droppedBytes: gap?.bytes ?? 0,
  }
}

/** All that is printed on a pseudo-terminal is one stream. */
function terminalStream(folder: RunFolder, record: RunRecord, masker: Masker): LogStream {
  const { bytes, droppedBytes } = record.stdout
  const { pieces, lines } = textOf(folder, record, 'stdout')
  return { name: 'stdout', onTerminal: true, sections: sectionsOf(pieces, masker), bytes, lines, droppedBytes }
}

/** Both ends of a log that is longer than this, which is more than is kept unless somebody asks for more, are all that is looked through. */
const maxReadBytes = 128 * 1024 ** 2

/** The ends of a log that was kept whole and is too long; undefined for any other. */
export function endsOf(pieces: readonly LogPiece[], mask: Masker, { lines }: StreamTotals, maxBytes = maxReadBytes) {
  const [whole, ...more] = openStretches(pieces)
  if (!whole || more.length > 0 || whole.length <= maxBytes) return undefined
  const half = Math.floor(maxBytes / 2)
  const head = partOf(whole, 0, half)
  const tail = partOf(whole, whole.length - half, whole.length)
  const last = { firstLine: 1, source: tail, mask }
  const isFinished = readBytes(tail, tail.length - 1, tail.length)[0] === 10
  const sections: LogSection[] = [
    { firstLine: 1, source: head, mask },
    { ...last, firstLine: lines - (isFinished ? 0 : 1) - lineFeedsOf(last) + 1 },
  ]
  return { sections, unreadBytes: whole.length - head.length - tail.length }
}

const partOf = (whole: ByteSource, from: number, to: number): ByteSource => ({
  length: to - from,
  read: (target, at) => whole.read(target.subarray(0, Math.max(0, to - from - at)), from + at),
})

/** What is no longer than this is read at once. */
const smallBytes = 256 * 1024

function sectionsOf(pieces: readonly LogPiece[], mask: Masker, totals?: StreamTotals): LogSection[] {
  const sections: LogSection[] = []
  for (const stretch of openStretches(pieces)) {
    const before = sections.at(-1)
    const { gap } = totals ?? {}
    sections.push({
      source: stretch.length <= smallBytes ? sourceOf(readAll(stretch)) : stretch,
      mask,
      // Where there is one gap its lines are known, and those before it are counted when they are looked through.
      get firstLine() {
        if (!before) return stretch.offset === 0 ? 1 : stretch.linesBefore() + 1
        return gap && sections.length === 2 ? lineFeedsOf(before) + gap.lines + 1 : stretch.linesBefore() + 1
      },
    })
  }
  return sections
}

function readAll(stretch: LogStretch): Uint8Array {
  const bytes = Buffer.allocUnsafe(stretch.length)
  return bytes.subarray(0, stretch.read(bytes, 0))
}

/** The end of a stream that is not in its log, where what is missing reaches to that end. */
function endOf({ bytes, lines, gap }: StreamTotals, mask: Masker, recent: Uint8Array | undefined): LogSection[] {
  if (!recent || !gap || gap.offset + gap.bytes < bytes) return []
  const kept = recent.subarray(Math.max(0, recent.length - gap.bytes))
  return [{ firstLine: lines - splitLines(Buffer.from(kept).toString('utf8')).length + 1, source: sourceOf(kept), mask }]
}
