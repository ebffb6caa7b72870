import { type StreamName, streamNames } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import { compileRegex } from '../core/query.ts'
import { logTotals, type RunRecord } from '../core/run.ts'
import { byteLength, clampLine, cleanLine, splitLines } from '../core/text.ts'
import { boundRegex } from '../engine/bounded-regex.ts'
import { findPieces, type LogPiece, readBlocks, readRange } from '../engine/log-reader.ts'
import type { Masker } from '../engine/redact.ts'
import type { OutputInput, OutputLine, OutputResult } from './api.ts'
import type { AppContext } from './context.ts'
import { prepareText, type StreamText, textOf } from './screen-text.ts'

const defaultAnswerBytes = 32 * 1024
/** A longer line is shown with its middle left out. */
const maxLineBytes = 4 * 1024
const maxRangeBytes = 16 * 1024 * 1024

/** From and to, both included, from 1; `to` may be infinite. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Reads `120`, `100-150`, `100-` and `-20` (the last 20 of `total`). `first` is the number of the first one: 1 for lines, 0 for bytes. */
export function parseSpan(field: string, text: string, total: number, first: 0 | 1): Span {
  const match = /^(\d{1,15})?(?:(-)(\d{1,15})?)?$/.exec(text.trim())
  const [, from, dash, to] = match ?? []
  const accepted =
    first === 1 ? 'a line like 120, a range like 100-150 or 100-, or -20 for the last 20' : 'a range of offsets like 0-1023 or 4096-, or -512 for the last 512'
  if (!match || (from === undefined && to === undefined)) throw failure('invalid', { field, value: text, accepted })
  if (from === undefined) return { from: Math.max(first, total - Number(to) + first), to: total }
  const start = Number(from)
  const end = dash === undefined ? start : to === undefined ? Number.POSITIVE_INFINITY : Number(to)
  if (start < first || end < start) throw failure('invalid', { field, value: text, accepted })
  return { from: start, to: end }
}

/** The part of a run's output that was asked for, as it may be shown. */
export async function readOutput(context: AppContext, record: RunRecord, input: OutputInput): Promise<OutputResult> {
  const folder = context.records.folder(record.id)
  if (input.bytes === undefined) await prepareText(folder, record)
  const masker = context.masking.forRun(folder)
  const streams = input.stream === undefined || input.stream === 'all' ? streamNames : [input.stream]
  for (const stream of streams)
    if (!streamNames.includes(stream)) throw failure('invalid', { field: 'stream', value: input.stream, accepted: 'stdout, stderr or all' })
  if (input.bytes !== undefined && input.lines !== undefined)
    throw failure('invalid', { field: 'bytes', value: input.bytes, accepted: 'lines or bytes, not both' })
  const maxBytes = input.maxBytes ?? defaultAnswerBytes
  const matching = input.grep === undefined ? undefined : matchingLines(input.grep)
  const lines: OutputLine[] = []
  let bytes = 0
  let next: string | null = null
  let truncated = false
  for (const stream of streams) {
    const pieces = piecesOf(context, record, stream)
    if (record[stream].bytes > 0 && pieces.length === 0 && record.state !== 'running') throw failure('output_missing', { run: record.id, stream })
    const source =
      input.bytes === undefined
        ? selectLines(stream, textOf(folder, record, stream), input.lines, masker)
        : selectBytes(record, stream, pieces, input.bytes, masker)
    for (const line of matching ? matching(source) : source) {
      const text = clampLine(line.text, maxLineBytes)
      const size = byteLength(text) + 1
      if (bytes + size > maxBytes) {
        next = continuation(line, input.bytes === undefined ? lines.at(-1) : undefined)
        truncated = true
        break
      }
      bytes += size
      lines.push({ ...line, text })
    }
    if (truncated) break
    // A range is read in one piece, so a very long one is cut.
    truncated = input.bytes !== undefined && rangeBytes(record, stream, input.bytes) > maxRangeBytes
  }
  return { id: record.id, state: record.state, lines, text: lines.map(({ text }) => `${text}\n`).join(''), truncated, next }
}

const maxRegexMs = 5_000
const linesAtOnce = 2_000
export const slowRegex = 'a regular expression that is quick to test; this one takes too long'

/** Leaves only the lines in which the expression is found, and notes of ours. */
function matchingLines(grep: string): (source: Iterable<OutputLine>) => Generator<OutputLine> {
  const regex = boundRegex(compileRegex(grep, 'grep'), maxRegexMs)
  function* select(lines: readonly OutputLine[]): Generator<OutputLine> {
    const matches = regex.find(lines.map(({ text }) => text))
    if (!matches) throw failure('invalid', { field: 'grep', value: grep, accepted: slowRegex })
    for (const [i, line] of lines.entries()) if (matches[i] || line.line === 0) yield line
  }
  return function* (source) {
    let waiting: OutputLine[] = []
    for (const line of source) {
      if (waiting.push(line) < linesAtOnce) continue
      yield* select(waiting)
      waiting = []
    }
    yield* select(waiting)
  }
}

/** The lines to ask for next. A note of ours has no number, so the line before it says where to go on. A byte range is asked for anew. */
function continuation(line: OutputLine, before: OutputLine | undefined): string | null {
  if (line.line > 0) return `${line.line}-`
  return before && before.line > 0 && before.stream === line.stream ? `${before.line + 1}-` : null
}

export function piecesOf(context: AppContext, record: RunRecord, stream: StreamName): LogPiece[] {
  return findPieces(context.records.folder(record.id)[stream], logTotals(record, stream))
}

function* selectLines(stream: StreamName, { pieces, lines: total, note }: StreamText, lines: string | undefined, masker: Masker): Generator<OutputLine> {
  const span = lines === undefined ? { from: 1, to: Number.POSITIVE_INFINITY } : parseSpan('lines', lines, total, 1)
  if (note !== null) yield { stream, line: 0, text: `[holdfast: ${note}]` }
  let expected = 1
  let last = 0
  for (const block of readBlocks(pieces, span.from)) {
    let number = block.firstLine
    const wanted = Math.max(expected, span.from)
    if (number > wanted && wanted <= span.to) yield missing(stream, wanted, Math.min(number, span.to + 1))
    if (number > span.to) return
    for (const raw of masker.mask(block.text).split('\n')) {
      // The rest of a line whose beginning was in the block before.
      const continues = block.startsInside && number === last
      if (number >= span.from && number <= span.to && !continues) yield { stream, line: number, text: cleanLine(raw) }
      last = number
      number += 1
    }
    expected = number
  }
}

function missing(stream: StreamName, from: number, to: number): OutputLine {
  return { stream, line: 0, text: `[lines ${from} to ${to - 1} were left out: the log reached its limit]` }
}

function rangeBytes(record: RunRecord, stream: StreamName, bytes: string): number {
  const span = parseSpan('bytes', bytes, record[stream].bytes, 0)
  return Math.min(span.to + 1, record[stream].bytes) - span.from
}

function* selectBytes(record: RunRecord, stream: StreamName, pieces: readonly LogPiece[], bytes: string, masker: Masker): Generator<OutputLine> {
  const span = parseSpan('bytes', bytes, record[stream].bytes, 0)
  const text = masker.mask(readRange(pieces, span.from, span.to + 1, maxRangeBytes).toString('utf8'))
  for (const line of splitLines(text)) yield { stream, line: 0, text: cleanLine(line) }
}
