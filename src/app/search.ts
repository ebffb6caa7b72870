import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { RunFilter } from '../core/store.ts'
import type { SearchInput, SearchResult } from './api.ts'
import { checkLimit } from './check-limit.ts'
import type { AppContext } from './context.ts'
import { readRecord } from './run-folder.ts'
import { prepareText } from './screen-text.ts'
import { openBounds } from './search-bounds.ts'
import { maxContext, withContext } from './search-context.ts'
import { bestFirst, choose, type Found, groupsOf, toHit } from './search-hits.ts'
import { fullScore, type Matcher, matcherOf } from './search-matcher.ts'
import { openReader } from './search-read.ts'
import { scanRuns, scanTermOf } from './search-scan.ts'
import { suggest, weightsOf } from './search-words.ts'

const defaultHits = 20
const maxHits = 200
/** Runs that may match come in batches, newest first; the first is small, since it often answers. */
const batchSizes = [100, 1_000, 8_000] as const
/** So many runs are looked at, or so much of their logs, before a search is content with what it has found. */
const enoughRuns = 50
const enoughBytes = 8 * 1024 ** 2

/** Finds lines, commands and purposes: in the runs whose words the index has, and in those of which it has a part, in their logs. */
export async function searchRuns(context: AppContext, input: SearchInput): Promise<SearchResult> {
  const limit = checkLimit(input.limit, defaultHits, maxHits)
  const around = contextOf(input.context)
  if (input.regex && input.literal) throw failure('invalid', { field: 'literal', value: true, accepted: 'regex or literal, not both' })
  const matcher = matcherOf(input)
  if (!matcher) return { hits: [], groups: [], more: false, suggestions: [], warnings: [] }
  const weights = await weightsOf(context, input)
  matcher.weigh(weights)
  const scanned = scanTermOf(matcher, weights)
  const bounds = openBounds()
  const reader = openReader(context, matcher, input.stream, bounds)
  const found: Found[] = []
  let looked = 0
  let stopped = false
  const isEnough = (): boolean =>
    (looked >= enoughRuns || bounds.readBytes > enoughBytes) && found.filter(({ score }) => score >= fullScore).length >= limit * 5
  for await (const batch of batchesOf(context, input, matcher)) {
    const scan = scanned && (await scanRuns(context, batch, scanned, bounds))
    for (const record of batch) {
      if (bounds.reached || isEnough()) {
        stopped = true
        if (!bounds.reached) break
        bounds.leaveOut(record)
        continue
      }
      // A long search lets others of this process have their turn.
      if (looked % 8 === 7) await new Promise((resolve) => setImmediate(resolve))
      for (const hits of reader.read(await latest(context, record), looked, scan)) found.push(...choose(hits, matcher.terms))
      looked += 1
    }
    if (stopped) {
      if (bounds.reached) bounds.leaveOutOlder()
      break
    }
  }
  for (const hits of reader.rest()) found.push(...choose(hits, matcher.terms))
  found.sort(bestFirst)
  const best = found.slice(0, limit)
  return {
    hits: around > 0 ? withContext(context, best, around) : best.map(toHit),
    groups: groupsOf(best),
    more: found.length > limit || stopped,
    suggestions: found.some(({ score }) => score >= fullScore) ? [] : await suggest(context, input),
    warnings: bounds.warnings(),
  }
}

function contextOf(lines: number | undefined): number {
  if (lines === undefined) return 0
  if (!Number.isInteger(lines) || lines < 0 || lines > maxContext)
    throw failure('invalid', { field: 'context', value: lines, accepted: `a whole number of lines from 0 to ${maxContext}` })
  return lines
}

/** The runs that may hold everything that is asked for, newest first. */
async function* batchesOf(context: AppContext, input: SearchInput, matcher: Matcher): AsyncGenerator<readonly RunRecord[]> {
  if (input.run !== undefined) {
    yield [await context.records.require(input.run)]
    return
  }
  const filter: Omit<RunFilter, 'limit'> = { failing: input.failing, sinceMs: input.sinceMs }
  let before: string | undefined
  for (let k = 0; ; k += 1) {
    const limit = batchSizes[Math.min(k, batchSizes.length - 1)] as number
    const batch = await context.records.candidates(matcher.tokens, { ...filter, before, limit })
    const last = batch.at(-1)
    if (!last) return
    yield input.workspace === undefined ? batch : batch.filter((record) => isIn(record, input.workspace as string))
    // One that is far from full was the last; a nearly full one may lack records that are damaged.
    if (batch.length < limit / 2) return
    before = last.id
  }
}

const isIn = (record: RunRecord, workspace: string): boolean =>
  record.workspace !== undefined && (record.workspace === workspace || record.branch === workspace)

/** The run as it is now: what it left behind may have printed more since the index was told of its end. */
async function latest(context: AppContext, candidate: RunRecord): Promise<RunRecord> {
  if (candidate.leftovers.length === 0 && !candidate.pty) return candidate
  const folder = context.records.folder(candidate.id)
  const record = candidate.leftovers.length === 0 ? candidate : (readRecord(folder, candidate.id) ?? candidate)
  await prepareText(folder, record)
  return record
}
