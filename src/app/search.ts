import { performance } from 'node:perf_hooks'
import { streamNames } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import { compileRegex, excerpt, excerptAt, matchLine, parseQuery, type Query, queryTokens, tokensOf } from '../core/query.ts'
import { isFailing, logTotals, type RunRecord } from '../core/run.ts'
import { cleanLine, formatCount, stripControls } from '../core/text.ts'
import { boundRegex } from '../engine/bounded-regex.ts'
import { readBlocks, sectionsOf } from '../engine/log-reader.ts'
import type { SearchHit, SearchInput, SearchResult } from './api.ts'
import { checkLimit } from './check-limit.ts'
import type { AppContext } from './context.ts'
import { slowRegex } from './reading.ts'
import { readRecord } from './run-folder.ts'
import { prepareText, textOf } from './screen-text.ts'

const defaultHits = 20
const maxHits = 200
const maxHitBytes = 300
/** Runs that are looked into, newest first, and what may be read of their logs: a search answers in seconds. */
const maxRuns = 5_000
const maxReadBytes = 2 * 1024 ** 3
const maxReadMs = 8_000
const maxRegexMs = 8_000
/** How much of each stream goes to the index; longer logs are read when somebody searches. */
const indexBytes = { whole: 256 * 1024, ofLonger: 256 * 1024 }

/** Finds the lines that answer, and tells how well. */
interface Matcher {
  /** The answers among the texts: where they stand in the list, their score, and the part of the text that is worth showing. */
  find(texts: readonly string[]): { at: number; score: number; text: string }[]
  /** False where no line of this text can match. */
  mayBeIn(text: string): boolean
}
/** From here on a line has everything that was asked for. */
const full = 1_000

type Found = SearchHit & { readonly score: number; readonly order: number }

export async function searchRuns(context: AppContext, input: SearchInput): Promise<SearchResult> {
  const limit = checkLimit(input.limit, defaultHits, maxHits)
  const query = parseQuery(input.query)
  const matcher = input.regex ? regexMatcher(input.query) : wordMatcher(query)
  if (input.regex ? input.query === '' : query.terms.length === 0) return { hits: [], more: false, warnings: [] }
  const tokens = input.regex ? [] : queryTokens(query)
  const candidates = await context.records.candidates(tokens, { failing: input.failing, sinceMs: input.sinceMs, limit: maxRuns })
  const { found, read, answer } = openSearch(context, matcher)
  const warnings: string[] = []
  const startedAt = performance.now()
  let bytes = 0
  let looked = 0
  for (const candidate of candidates) {
    const done = performance.now() - startedAt > maxReadMs || bytes > maxReadBytes
    if (done || (looked >= 50 && found.filter(({ score }) => score >= full).length >= limit * 5)) break
    // A long search lets others of this process have their turn.
    if (looked % 8 === 7) await new Promise((resolve) => setImmediate(resolve))
    const folder = context.records.folder(candidate.id)
    // What a run left behind may have printed more since the index was told of its end.
    const record = candidate.leftovers.length === 0 ? candidate : (readRecord(folder, candidate.id) ?? candidate)
    await prepareText(folder, record)
    bytes += read(record, looked)
    looked += 1
  }
  answer()
  if (looked < candidates.length) warnings.push(`the newest ${formatCount(looked)} of ${formatCount(candidates.length)} runs that may match were read`)
  if (candidates.length === maxRuns) warnings.push(`only the newest ${formatCount(maxRuns)} runs that may match were looked at`)
  found.sort((a, b) => b.score - a.score || a.order - b.order || lineOf(a) - lineOf(b))
  return { hits: found.slice(0, limit).map(toHit), more: found.length > limit || looked < candidates.length, warnings }
}

/** What a run printed says more than the command that printed it. */
const lineOf = ({ line }: Found): number => line ?? Number.POSITIVE_INFINITY

function toHit({ score: _score, order: _order, ...hit }: Found): SearchHit {
  return hit
}

/** How many hits of one run are kept while others are still to come. */
const hitsPerRun = 40

/** A part of what a run has, that waits to be looked at. */
interface Waiting {
  readonly texts: readonly string[]
  /** Where the hits of its run are collected. */
  readonly hits: Found[]
  hit(at: number): Omit<Found, 'score' | 'text'>
}
const maxWaitingTexts = 2_000
const maxWaitingChars = 1024 * 1024

/** Looks at the texts of several runs together: under a time limit each look has a price of its own. */
function openSearch(context: AppContext, matcher: Matcher) {
  const found: Found[] = []
  let waiting: Waiting[] = []
  let texts = 0
  let chars = 0

  function look(part: Waiting): void {
    waiting.push(part)
    texts += part.texts.length
    for (const text of part.texts) chars += text.length
    if (texts > maxWaitingTexts || chars > maxWaitingChars) match()
  }

  /** Moves the answers among the waiting texts to the hits of their runs. */
  function match(): void {
    const parts = waiting
    waiting = []
    texts = 0
    chars = 0
    let first = 0
    let i = 0
    for (const { at, score, text } of matcher.find(parts.flatMap((part) => part.texts))) {
      for (let part = parts[i]; part && at >= first + part.texts.length; part = parts[i]) {
        first += part.texts.length
        i += 1
      }
      const { hits, hit } = parts[i] as Waiting
      hits.push({ ...hit(at - first), score, text })
      if (hits.length > 4 * hitsPerRun) keepBest(hits)
    }
  }

  let runs: Found[][] = []
  /** Looks at all that waits, and chooses among the hits of each run. */
  function answer(): void {
    match()
    for (const hits of runs) {
      keepBest(hits)
      // Lines with a part of the query are worth showing only where no line of the run has all of it. A command or a purpose
      // that has all of it says nothing about the lines.
      const best = Math.max(0, ...hits.filter(({ line }) => line !== null).map(({ score }) => score))
      found.push(...hits.filter(({ score, line }) => score >= full || (line !== null && best < full)))
    }
    runs = []
  }

  return {
    found,
    answer,
    /** Reads a run and has its texts looked at, soon; returns how many bytes of logs were read. */
    read(record: RunRecord, order: number): number {
      const hits: Found[] = []
      runs.push(hits)
      const bytes = readRun(context, record, matcher, (part, hit) => {
        look({ texts: part, hits, hit: (at) => ({ run: record.id, command: record.command, failing: isFailing(record), order, ...hit(at) }) })
      })
      if (runs.length >= runsAtOnce) answer()
      return bytes
    },
  }
}
const runsAtOnce = 32

const describing = ['purpose', 'command'] as const

/** Hands over the texts of a run in which an answer may be, as they are shown. */
function readRun(
  context: AppContext,
  record: RunRecord,
  matcher: Matcher,
  take: (texts: readonly string[], hit: (at: number) => Pick<Found, 'ref' | 'stream' | 'line'>) => void,
): number {
  const folder = context.records.folder(record.id)
  const masker = context.masking.forRun(folder)
  const described = describing.map((field) => (record[field] ?? '').replace(/\s+/g, ' ').trim())
  take(described, (at) => ({ ref: record.id, stream: describing[at] as (typeof describing)[number], line: null }))
  let bytes = 0
  for (const stream of streamNames) {
    if (record[stream].bytes === 0 && record.state !== 'running') continue
    for (const block of readBlocks(textOf(folder, record, stream).pieces)) {
      bytes += block.text.length
      if (!matcher.mayBeIn(block.text)) continue
      const lines = masker
        .mask(block.text)
        .split('\n')
        .map((raw) => (matcher.mayBeIn(raw) ? cleanLine(raw) : ''))
      take(lines, (at) => {
        const line = block.firstLine + at
        return { ref: `${record.id}:${stream === 'stderr' ? 'stderr:' : ''}${line}`, stream, line }
      })
    }
  }
  return bytes
}

function keepBest(hits: Found[]): void {
  if (hits.length <= hitsPerRun) return
  hits.sort((a, b) => b.score - a.score || lineOf(a) - lineOf(b))
  hits.length = hitsPerRun
}

function wordMatcher(query: Query): Matcher {
  const parts = query.terms.map(({ chunks }) => chunks[0] as string)
  // Folding what is ASCII on both sides is lower-casing; anything else goes the long way.
  const plain = parts.every(isAscii)
  return {
    find: (texts) =>
      texts.flatMap((line, at) => {
        const score = line === '' ? 0 : matchLine(query, line)
        return score > 0 ? [{ at, score, text: excerpt(query, line, maxHitBytes) }] : []
      }),
    mayBeIn(text) {
      // Between the letters of a word there may be escape sequences, which are not shown and not searched.
      if (!plain || !isPlain(text)) return true
      const lower = text.toLowerCase()
      return parts.some((part) => lower.includes(part))
    },
  }
}

function regexMatcher(query: string): Matcher {
  const regex = boundRegex(compileRegex(query, 'query'), maxRegexMs)
  return {
    find(texts) {
      const matches = regex.find(texts)
      if (!matches) throw failure('invalid', { field: 'query', value: query, accepted: slowRegex })
      return matches.flatMap((match, at) => {
        const line = texts[at] as string
        return match && line !== '' ? [{ at, score: full, text: excerptAt(line, match.index, match.length, maxHitBytes) }] : []
      })
    },
    mayBeIn: () => true,
  }
}

const isPlain = (text: string): boolean => !/[^\t\n\r -~]/.test(text)
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with the control characters
const isAscii = (text: string): boolean => !/[^\u0000-\u007f]/.test(text)

/** What indexing may keep this process from anything else for, about. */
const indexTurnMs = 10

/** Makes the output of ended runs findable. Those of one turn go to the store together. */
export async function indexRuns(context: AppContext, records: readonly RunRecord[]): Promise<void> {
  for (let at = 0; at < records.length; ) {
    const until = performance.now() + indexTurnMs
    const writes: Promise<void>[] = []
    do writes.push(indexRun(context, records[at++] as RunRecord))
    while (at < records.length && performance.now() < until)
    await Promise.all(writes)
    if (at < records.length) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Its purpose, its command, and both streams, of long ones their beginning and end. */
async function indexRun(context: AppContext, record: RunRecord): Promise<void> {
  const folder = context.records.folder(record.id)
  const masker = context.masking.forRun(folder)
  const texts = [record.command, record.purpose ?? '']
  let whole = true
  await prepareText(folder, record)
  for (const stream of streamNames) {
    const totals = record[stream]
    if (totals.bytes === 0) continue
    if (totals.bytes > indexBytes.whole) whole = false
    const known = record.pty ? undefined : logTotals(record, stream)
    for (const { text } of sectionsOf(textOf(folder, record, stream).pieces, indexBytes, known)) texts.push(stripControls(masker.mask(text)))
  }
  await context.records.index(record.id, tokensOf(texts.join('\n')), whole)
}

/** Indexes what a Holdfast that ended early has left, newest first. */
export async function indexPending(context: AppContext, limit: number): Promise<void> {
  const ids = await context.records.listUnindexed(limit)
  const records = await Promise.all(ids.map((id) => context.records.require(id).catch(() => undefined)))
  await indexRuns(
    context,
    records.flatMap((record) => (record && record.state !== 'running' ? [record] : [])),
  )
}
