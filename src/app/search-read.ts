import { type StreamName, streamNames } from '../core/command.ts'
import { errnoOf, HoldfastError } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { Candidate } from '../core/store.ts'
import { cleanLine } from '../core/text.ts'
import { type LineBlock, type LogPiece, readBlocks } from '../engine/log-reader.ts'
import { type MarkedBlock, readMarked } from '../engine/marked-blocks.ts'
import type { Masker } from '../engine/redact.ts'
import type { AppContext } from './context.ts'
import { textOf } from './screen-text.ts'
import type { SearchBounds } from './search-bounds.ts'
import { type Found, hitsPerRun, keepBest, type RunHits } from './search-hits.ts'
import { fullScore, type Matcher } from './search-matcher.ts'
import type { Scan, Scanned } from './search-scan.ts'

/** Finds the answers in runs, of which it may hold some back to look at several together. */
export interface Reader {
  /** Reads a run; gives the answers of runs that are done with. */
  read(record: Candidate, order: number, scan: Scan | undefined): readonly RunHits[]
  /** Those of all runs that were held back. */
  rest(): readonly RunHits[]
}

/** A part of what a run has, that waits to be looked at. */
interface Waiting {
  readonly texts: readonly string[]
  readonly run: RunHits
  /** Whether it is what a run is for and does, which many runs share. */
  readonly isDescription?: boolean
  hit(at: number): Pick<Found, 'ref' | 'stream' | 'line' | 'order' | 'from'>
}

interface ShownLine {
  readonly line: number
  readonly text: string
}

const maxWaitingTexts = 2_000
const maxWaitingChars = 1024 * 1024
/** Runs of whose logs something is looked at, and any runs. */
const maxHeld = { read: 32, all: 500 }

const describing = ['purpose', 'command'] as const
const maxDull = 10_000

export function openReader(context: AppContext, matcher: Matcher, only: StreamName | undefined, bounds: SearchBounds): Reader {
  const streams = only === undefined ? streamNames : [only]
  let waiting: Waiting[] = []
  let texts = 0
  let chars = 0
  let runs: RunHits[] = []
  let read = 0
  /** Purposes and commands in which nothing was found: they come again and again. */
  const dull = new Set<string>()

  /** Under a time limit each look has a price of its own, so several runs are looked at together. */
  function look(part: Waiting): void {
    waiting.push(part)
    texts += part.texts.length
    for (const text of part.texts) chars += text.length
    if (texts > maxWaitingTexts || chars > maxWaitingChars) match()
  }

  /** Moves the answers among the waiting texts to the hits of their runs. */
  function match(): void {
    if (texts === 0) return
    const parts = waiting
    waiting = []
    texts = 0
    chars = 0
    let first = 0
    let i = 0
    const found = matcher.find(parts.flatMap((part) => part.texts))
    noteDull(parts, new Set(found.map(({ at }) => at)))
    for (const { at, score, text, terms } of found) {
      for (let part = parts[i]; part && at >= first + part.texts.length; part = parts[i]) {
        first += part.texts.length
        i += 1
      }
      const { run, hit } = parts[i] as Waiting
      for (const term of terms) run.terms.add(term)
      run.hits.push({ ...hit(at - first), record: run.record, score, text })
      if (run.hits.length > 4 * hitsPerRun) keepBest(run.hits)
    }
  }

  function noteDull(parts: readonly Waiting[], found: ReadonlySet<number>): void {
    let at = 0
    for (const part of parts) {
      for (const text of part.texts) {
        if (part.isDescription && !found.has(at) && dull.size < maxDull) dull.add(text)
        at += 1
      }
    }
  }

  function done(): RunHits[] {
    match()
    const those = runs
    runs = []
    read = 0
    return those
  }

  /** Has the texts of a run looked at in which an answer may be, as they are shown. */
  function readTexts(run: RunHits, isPlain: boolean, order: number, blocksOf: (stream: StreamName) => Iterable<LineBlock | MarkedBlock>): void {
    const { record } = run
    if (only === undefined) {
      const described = describing
        .map((field) => ({ stream: field, text: (record[field] ?? '').replace(/\s+/g, ' ').trim() }))
        .filter(({ text }) => text !== '' && !dull.has(text))
      const hit = (at: number) => ({ ref: record.id, stream: (described[at] as (typeof described)[number]).stream, line: null, order, from: undefined })
      if (described.length > 0) look({ texts: described.map(({ text }) => text), isDescription: true, run, hit })
    }
    // Of most runs nothing is read: then their secrets are not needed either.
    let masker: Masker | undefined
    for (const stream of streams) {
      for (const block of blocksOf(stream)) {
        bounds.count(block.text.length)
        if (!matcher.mayBeIn(block.text, isPlain)) continue
        if (!masker) read += 1
        masker ??= context.masking.forRun(context.records.folder(record.id))
        const lines = shownLines(block, masker, isPlain)
        const from = { offset: block.offset, line: block.firstLine }
        const refTo = (line: number): string => `${record.id}:${stream === 'stderr' ? 'stderr:' : ''}${line}`
        const hit = (at: number) => {
          const { line } = lines[at] as ShownLine
          return { ref: refTo(line), stream, line, order, from }
        }
        look({ texts: lines.map(({ text }) => text), run, hit })
      }
    }
  }

  /** The lines of a block in which an answer may be: of one that was scanned, those that were marked. */
  function shownLines(block: LineBlock | MarkedBlock, masker: Masker, isPlain: boolean): ShownLine[] {
    const marked = 'marked' in block ? new Set(block.marked) : undefined
    return masker
      .mask(block.text)
      .split('\n')
      .flatMap((raw, i) => {
        const line = block.firstLine + i
        if ((marked && !marked.has(line)) || !matcher.mayBeIn(raw, isPlain)) return []
        const text = cleanLine(raw)
        return text === '' ? [] : [{ line, text }]
      })
  }

  const piecesOf = (record: RunRecord, stream: StreamName) => textOf(context.records.folder(record.id), record, stream).pieces
  const hasLog = (record: RunRecord, stream: StreamName): boolean => record[stream].bytes > 0 || record.state === 'running'
  const everything =
    (record: RunRecord) =>
    (stream: StreamName): Iterable<LineBlock> =>
      hasLog(record, stream) ? readBlocks(present(record, stream)) : []

  /** The log, where it is there: somebody may have removed it. */
  function present(record: RunRecord, stream: StreamName): readonly LogPiece[] {
    const pieces = piecesOf(record, stream)
    if (pieces.length === 0 && record[stream].bytes > record[stream].droppedBytes && record.state !== 'running') bounds.missing(record)
    return pieces
  }

  /** What a scan left of the log. */
  function part(record: RunRecord, stream: StreamName, scanned: Scanned): Iterable<LineBlock | MarkedBlock> {
    if (scanned === 'left-out' || scanned.length === 0) return []
    const pieces = piecesOf(record, stream)
    return (scanned !== 'unknown' && readMarked(pieces, scanned)) || readBlocks(pieces)
  }

  function readRun(record: Candidate, order: number, scan: Scan | undefined): readonly RunHits[] {
    try {
      return readWhole(record, order, scan)
    } catch (error) {
      // A log that is no file, a disk that fails.
      if (error instanceof HoldfastError || errnoOf(error) === undefined) throw error
      bounds.missing(record)
      return []
    }
  }

  function readWhole(record: Candidate, order: number, scan: Scan | undefined): readonly RunHits[] {
    const run: RunHits = { record, hits: [], terms: new Set() }
    const isPlain = record.traits === 0
    runs.push(run)
    const scanned = scan && streams.filter((stream) => hasLog(record, stream)).map((stream) => scan.of(record, stream))
    if (scanned?.includes('left-out')) bounds.leaveOut(record)
    if (!scan || !scanned || scanned.every((known) => known === 'unknown')) readTexts(run, isPlain, order, everything(record))
    else {
      readTexts(run, isPlain, order, (stream) => (hasLog(record, stream) ? part(record, stream, scan.of(record, stream)) : []))
      // A line with all terms has the one that was scanned for. Where there is none, those with some of them answer, if all are there.
      if (matcher.terms > 1) {
        match()
        if (run.terms.has(scan.term) && !run.hits.some(({ score, line }) => line !== null && score >= fullScore)) {
          run.hits.length = 0
          run.terms.clear()
          readTexts(run, isPlain, order, everything(record))
        }
      }
    }
    return !matcher.costly || read >= maxHeld.read || runs.length >= maxHeld.all ? done() : []
  }

  return { read: readRun, rest: done }
}
