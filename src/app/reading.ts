import { existsSync } from 'node:fs'
import { type StreamName, streamNames } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import { compileRegex } from '../core/query.ts'
import { logTotals, type RunRecord } from '../core/run.ts'
import { byteLength, clampLine, cleanLine, splitLines } from '../core/text.ts'
import { boundRegex } from '../engine/bounded-regex.ts'
import { findPieces, type LogPiece, measureLog, readBlocks, readRange } from '../engine/log-reader.ts'
import type { Masker } from '../engine/redact.ts'
import type { OutputInput, OutputLine, OutputResult } from './api.ts'
import { mergeByArrival, type PlacedLine } from './arrival.ts'
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

/** What is asked for of each stream; nothing of one that is not named. */
type Spans = Readonly<Partial<Record<StreamName, Span>>>

/** Reads the lines of each of these streams, `100-150`, or for each its own, `stdout:100-,stderr:7-20`. */
export function parseLines(lines: string | undefined, streams: readonly StreamName[], totalOf: (stream: StreamName) => number): Spans {
  const own = (lines ?? '').split(',').map((part) => /^\s*(stdout|stderr):(.*)$/.exec(part))
  const isOwn = own.every((part) => part !== null)
  const spans = streams.flatMap((stream): [StreamName, Span][] => {
    const text = isOwn ? own.find((part) => part[1] === stream)?.[2] : lines
    if (text === undefined) return lines === undefined ? [[stream, everything]] : []
    return [[stream, parseSpan('lines', text, text.trim().startsWith('-') ? totalOf(stream) : 0, 1)]]
  })
  return Object.fromEntries(spans)
}

const everything: Span = { from: 1, to: Number.POSITIVE_INFINITY }

/** The part of a run's output that was asked for, as it may be shown. */
export async function readOutput(context: AppContext, record: RunRecord, input: OutputInput): Promise<OutputResult> {
  const streams = input.stream === undefined || input.stream === 'all' ? streamNames : [input.stream]
  for (const stream of streams)
    if (!streamNames.includes(stream)) throw failure('invalid', { field: 'stream', value: input.stream, accepted: 'stdout, stderr or all' })
  if (input.bytes !== undefined && input.lines !== undefined)
    throw failure('invalid', { field: 'bytes', value: input.bytes, accepted: 'lines or bytes, not both' })
  for (const stream of streams) {
    const isThere = record[stream].bytes === 0 || record.state === 'running' || existsSync(context.records.folder(record.id)[stream])
    if (!isThere) throw failure('output_missing', { run: record.id, stream })
  }
  const matching = input.grep === undefined ? undefined : matchingLines(input.grep)
  const part = input.bytes === undefined ? await partByLines(context, record, streams, input.lines) : partByBytes(context, record, streams, input.bytes)
  const maxBytes = input.maxBytes ?? defaultAnswerBytes
  const lines: OutputLine[] = []
  let bytes = 0
  let { truncated } = part
  let next: string | null = null
  for (const line of matching ? matching(part.lines) : part.lines) {
    const text = clampLine(line.text, maxLineBytes)
    const size = byteLength(text) + 1
    if (bytes + size > maxBytes) {
      next = part.spans ? continuation(streams, part.spans, lines, line) : null
      truncated = true
      break
    }
    bytes += size
    lines.push({ ...line, text })
  }
  return { id: record.id, state: record.state, lines, text: lines.map(({ text }) => `${text}\n`).join(''), truncated, next }
}

/** What was asked for, before it is searched and cut. */
interface Part {
  readonly lines: Iterable<OutputLine>
  /** Absent where bytes were asked for. */
  readonly spans?: Spans
  readonly truncated: boolean
}

async function partByLines(context: AppContext, record: RunRecord, streams: readonly StreamName[], lines: string | undefined): Promise<Part> {
  const folder = context.records.folder(record.id)
  await prepareText(folder, record)
  const masker = context.masking.forRun(folder)
  // What a run left behind may have gone on printing since its totals were recorded.
  const totalOf = (stream: StreamName): number => {
    const { pieces, lines: total } = textOf(folder, record, stream)
    return !record.pty && endOf(pieces) > record[stream].bytes ? measureLog(folder[stream]).lines : total
  }
  const spans = parseLines(lines, streams, totalOf)
  const [stdout = [], stderr = []] = streams.map((stream) => {
    const span = spans[stream]
    return span ? selectLines(stream, textOf(folder, record, stream), span, masker) : []
  })
  const only = streams.length === 1
  return { lines: only ? withoutPlaces(stdout) : mergeByArrival(folder.order, stdout, stderr), spans, truncated: false }
}

function* withoutPlaces(lines: Iterable<PlacedLine>): Generator<OutputLine> {
  for (const { line } of lines) yield line
}

function partByBytes(context: AppContext, record: RunRecord, streams: readonly StreamName[], bytes: string): Part {
  const masker = context.masking.forRun(context.records.folder(record.id))
  const ranges = streams.map((stream) => {
    const pieces = piecesOf(context, record, stream)
    const total = Math.max(record[stream].bytes, endOf(pieces))
    const span = parseSpan('bytes', bytes, total, 0)
    return { stream, pieces, from: span.from, to: Math.min(span.to + 1, total) }
  })
  function* lines(): Generator<OutputLine> {
    for (const { stream, pieces, from, to } of ranges) {
      const text = masker.mask(readRange(pieces, from, to, maxRangeBytes).toString('utf8'))
      for (const line of splitLines(text)) yield { stream, line: 0, text: cleanLine(line) }
    }
  }
  // A range is read in one piece, so a very long one is cut.
  return { lines: lines(), truncated: ranges.some(({ from, to }) => to - from > maxRangeBytes) }
}

const endOf = (pieces: readonly LogPiece[]): number => pieces.reduce((end, piece) => Math.max(end, piece.offset + piece.length), 0)

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

/**
 * The lines to ask for next, within those that were asked for; of both streams each its own. A note of ours has no number, so
 * the line before it says where to go on.
 */
function continuation(streams: readonly StreamName[], spans: Spans, shown: readonly OutputLine[], cut: OutputLine): string | null {
  if (cut.line === 0 && shown.length === 0) return null
  const rests = streams.flatMap((stream) => {
    const span = spans[stream]
    if (!span) return []
    const last = shown.findLast((line) => line.stream === stream && line.line > 0)
    const from = cut.stream === stream && cut.line > 0 ? cut.line : last ? last.line + 1 : span.from
    return from > span.to ? [] : [{ stream, range: `${from}-${Number.isFinite(span.to) ? span.to : ''}` }]
  })
  return streams.length === 1 ? (rests[0]?.range ?? null) : rests.map(({ stream, range }) => `${stream}:${range}`).join(',')
}

export function piecesOf(context: AppContext, record: RunRecord, stream: StreamName): LogPiece[] {
  return findPieces(context.records.folder(record.id)[stream], logTotals(record, stream))
}

function* selectLines(stream: StreamName, { pieces, note }: StreamText, span: Span, masker: Masker): Generator<PlacedLine> {
  if (note !== null) yield { line: { stream, line: 0, text: `[holdfast: ${note}]` }, last: 0 }
  let expected = 1
  let number = 0
  // The last line of a block may go on in the next one, and stands where that ends.
  let waiting: PlacedLine | undefined
  for (const block of readBlocks(pieces, span.from)) {
    const goesOn = block.startsInside && block.firstLine === number
    if (waiting && !goesOn) yield waiting
    if (!goesOn) waiting = undefined
    number = block.firstLine
    const wanted = Math.max(expected, span.from)
    if (number > wanted && wanted <= span.to) yield { line: missing(stream, wanted, Math.min(number, span.to + 1)), last: Math.max(0, block.offset - 1) }
    if (number > span.to) break
    let at = 0
    for (const raw of masker.mask(block.text).split('\n')) {
      const feed = block.bytes.indexOf(10, at)
      const last = feed === -1 ? block.end - 1 : block.offset + feed
      if (at > 0) number += 1
      if (at === 0 && goesOn) {
        if (waiting) waiting = { ...waiting, last }
      } else {
        if (waiting) yield waiting
        waiting = number >= span.from && number <= span.to ? { line: { stream, line: number, text: cleanLine(raw) }, last } : undefined
      }
      at = feed + 1
    }
    expected = number + 1
  }
  if (waiting) yield waiting
}

function missing(stream: StreamName, from: number, to: number): OutputLine {
  return { stream, line: 0, text: `[lines ${from} to ${to - 1} were left out: the log reached its limit]` }
}
