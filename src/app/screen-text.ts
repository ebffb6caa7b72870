import { closeSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { StreamName } from '../core/command.ts'
import { logTotals, type RunRecord } from '../core/run.ts'
import { findPieces, type LogPiece, readChunks } from '../engine/log-reader.ts'
import type { RunFolder } from './run-folder.ts'

/**
 * The text of a run on a pseudo-terminal. Its log holds what was written to the terminal; what is read, searched and digested
 * is what stands on it, and the numbers of lines are those of that text. It is kept in a file beside the log, made anew
 * when the log has grown. Where it would take too much, the lines are those of the log, cleaned one by one.
 */

const maxLogBytes = 16 * 1024 * 1024
/** On a slow machine; the emulator reads some 20 MB a second. */
const limits = { maxMs: 8_000, maxChars: 2 * maxLogBytes }

/** A stream as its lines are counted. */
export interface StreamText {
  readonly pieces: readonly LogPiece[]
  readonly lines: number
  /** That the lines are not those on the terminal, and why; null where there is nothing to say. */
  readonly note: string | null
}

/** The first line of the file: of which log the rest is the text. Without `lines` there is no text, because it takes too much. */
interface Header {
  /** Where that log ended in its stream, and how many of its bytes were there. */
  readonly end: number
  readonly kept: number
  readonly lines: number | null
}

/** Makes the text of a run on a pseudo-terminal where it is not there yet. Never rejects; a run without one needs nothing. */
export async function prepareText(folder: RunFolder, record: RunRecord): Promise<void> {
  if (!record.pty) return
  const pieces = findPieces(folder.stdout, logTotals(record, 'stdout'))
  const log = extentOf(pieces)
  if (log.kept === 0 || log.kept > maxLogBytes) return
  const made = readHeader(folder)?.header
  if (made?.end === log.end && made.kept === log.kept) return
  const { renderScreen } = await import('../engine/screen.ts')
  const text = await renderScreen(partsOf(pieces), record.pty, limits)
  const header: Header = { ...log, lines: text === undefined ? null : text.split('\n').length - 1 }
  const temporary = `${folder.screen}.${process.pid}`
  try {
    writeFileSync(temporary, `${JSON.stringify(header)}\n${text ?? ''}`, { mode: 0o600 })
    renameSync(temporary, folder.screen)
  } catch {
    // A full disk: the lines of the log serve.
    rmSync(temporary, { force: true })
  }
}

/** The text of a stream; of a pseudo-terminal what `prepareText` made. */
export function textOf(folder: RunFolder, record: RunRecord, stream: StreamName): StreamText {
  const pieces = findPieces(folder[stream], logTotals(record, stream))
  const ofLog: StreamText = { pieces, lines: record[stream].lines, note: null }
  if (!record.pty || stream !== 'stdout') return ofLog
  const log = extentOf(pieces)
  if (log.kept === 0) return ofLog
  const found = log.kept > maxLogBytes ? undefined : readHeader(folder)
  if (log.kept > maxLogBytes || found?.header.lines === null) return { ...ofLog, note: notRendered }
  // A log that grows may have grown since the text was made.
  if (!found || (record.state !== 'running' && !(found.header.end === log.end && found.header.kept === log.kept))) return ofLog
  const { header, position, length } = found
  return { pieces: [{ path: folder.screen, position, length, offset: 0, linesBefore: 0 }], lines: header.lines ?? 0, note: null }
}

const notRendered = 'what this run wrote to its terminal is too much to be drawn: its lines are those of the log, without escape sequences'

const extentOf = (pieces: readonly LogPiece[]): { end: number; kept: number } => ({
  end: pieces.reduce((end, piece) => Math.max(end, piece.offset + piece.length), 0),
  kept: pieces.reduce((sum, piece) => sum + piece.length, 0),
})

function* partsOf(pieces: readonly LogPiece[]): Generator<Buffer | number> {
  let expected = 0
  for (const piece of pieces) {
    if (piece.offset > expected) yield piece.offset - expected
    yield* readChunks(piece)
    expected = piece.offset + piece.length
  }
}

const maxHeaderBytes = 200

function readHeader(folder: RunFolder): { header: Header; position: number; length: number } | undefined {
  try {
    const size = statSync(folder.screen).size
    const first = Buffer.alloc(Math.min(maxHeaderBytes, size))
    const file = openSync(folder.screen, 'r')
    try {
      readSync(file, first, 0, first.length, 0)
    } finally {
      closeSync(file)
    }
    const position = first.indexOf(10) + 1
    return { header: JSON.parse(first.toString('utf8', 0, position)) as Header, position, length: size - position }
  } catch {
    return undefined
  }
}
