import { failure } from '../core/errors.ts'
import type { Candidate } from '../core/store.ts'
import type { SearchInput, SearchResult } from './api.ts'
import { checkLimit } from './check-limit.ts'
import type { AppContext } from './context.ts'
import { readRecord } from './run-folder.ts'
import { prepareText } from './screen-text.ts'
import { openBounds } from './search-bounds.ts'
import { knownRuns, otherRuns, whyNotOthers } from './search-candidates.ts'
import { maxContext, withContext } from './search-context.ts'
import { bestFirst, choose, type Found, groupsOf, type RunHits, toHit } from './search-hits.ts'
import { fullScore, matcherOf } from './search-matcher.ts'
import { openReader } from './search-read.ts'
import { scannerOf } from './search-scan.ts'
import { suggest, weightsOf } from './search-words.ts'

const defaultHits = 20
const maxHits = 200
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
  const bounds = openBounds()
  const reader = openReader(context, matcher, input.stream, bounds)
  const scan = scannerOf(context, matcher, weights, bounds)
  const found: Found[] = []
  let looked = 0
  let more = false

  const keep = (runs: readonly RunHits[]): void => {
    for (const hits of runs) found.push(...choose(hits, matcher.terms))
  }
  const countFull = (): number => found.filter(({ score, line }) => score >= fullScore && line !== null).length

  /** Looks through runs until there are none, a bound is reached or, unless `all` are wanted, what was found is more than enough. */
  async function look(batches: AsyncIterable<readonly Candidate[]>, all: boolean): Promise<void> {
    const isEnough = (): boolean => !all && (looked >= enoughRuns || bounds.readBytes > enoughBytes) && countFull() >= limit * 5
    for await (const batch of batches) {
      const scanned = await scan(batch)
      for (const [i, record] of batch.entries()) {
        if (bounds.reached) {
          more = true
          for (const left of batch.slice(i)) bounds.leaveOut(left)
          bounds.leaveOutOlder()
          return
        }
        if (isEnough()) {
          more = true
          return
        }
        // A long search lets others of this process have their turn.
        if (looked % 8 === 7) await new Promise((resolve) => setImmediate(resolve))
        keep(reader.read(isSettled(record) ? record : await latest(context, record), looked, scanned))
        looked += 1
      }
    }
  }

  const all = input.all === true
  await look(knownRuns(context, input, matcher), all)
  keep(reader.rest())
  const isAnswered = countFull() > 0
  const others = isAnswered && !all ? await whyNotOthers(context, input, matcher) : undefined
  if (others === undefined) {
    await look(otherRuns(context, input, matcher), all || isAnswered)
    keep(reader.rest())
  }
  found.sort(bestFirst)
  const best = found.slice(0, limit)
  return {
    hits: around > 0 ? withContext(context, best, around) : best.map(toHit),
    groups: groupsOf(best),
    more: more || others !== undefined || found.length > limit,
    suggestions: found.some(({ score }) => score >= fullScore) ? [] : await suggest(context, input),
    warnings: [...bounds.warnings(), ...(others === undefined ? [] : [others])],
  }
}

function contextOf(lines: number | undefined): number {
  if (lines === undefined) return 0
  if (!Number.isInteger(lines) || lines < 0 || lines > maxContext)
    throw failure('invalid', { field: 'context', value: lines, accepted: `a whole number of lines from 0 to ${maxContext}` })
  return lines
}

/** Whether the run is as the index was told. */
const isSettled = ({ leftovers, pty }: Candidate): boolean => leftovers.length === 0 && !pty

/** The run as it is now: what it left behind may have printed more since the index was told of its end. */
async function latest(context: AppContext, candidate: Candidate): Promise<Candidate> {
  const folder = context.records.folder(candidate.id)
  const record = candidate.leftovers.length === 0 ? candidate : (readRecord(folder, candidate.id) ?? candidate)
  await prepareText(folder, record)
  return record
}
