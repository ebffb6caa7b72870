import type { RunRecord } from '../core/run.ts'
import type { Candidate, RunFilter } from '../core/store.ts'
import { formatCount, plural } from '../core/text.ts'
import type { SearchInput } from './api.ts'
import type { AppContext } from './context.ts'
import type { Matcher } from './search-matcher.ts'

/** Runs that may match come in batches, newest first; the first is small, since it often answers. */
const batchSizes = [100, 1_000, 8_000] as const

/**
 * What a search still scans where the index has answered: within some hundredths of a second. A longer scan finds more, but has to be
 * asked for: what matters in a long log, its ends and its errors, the index has anyway.
 */
const alongside = { runs: 40, bytes: 64 * 1024 ** 2 }

/** Runs of which the index has everything that is asked for; all of them where it can tell nothing. */
export async function* knownRuns(context: AppContext, input: SearchInput, matcher: Matcher): AsyncGenerator<readonly Candidate[]> {
  if (input.run !== undefined) yield [await context.records.require(input.run)]
  else yield* batchesOf(context, input, matcher, 'known')
}

/** The others that may have it: those with long logs, of which the index has a part. */
export async function* otherRuns(context: AppContext, input: SearchInput, matcher: Matcher): AsyncGenerator<readonly Candidate[]> {
  if (input.run === undefined) yield* batchesOf(context, input, matcher, 'rest')
}

/** What is to be said where scanning the others takes longer than what the index had; undefined where it does not. */
export async function whyNotOthers(context: AppContext, input: SearchInput, matcher: Matcher): Promise<string | undefined> {
  // Those of one workspace are told from others only after they were read.
  if (input.run !== undefined || input.workspace !== undefined || matcher.tokens.length === 0) return undefined
  const others = await context.records.candidates(matcher.tokens, { ...filterOf(input), limit: alongside.runs + 1 }, 'rest')
  const newest = others[0]
  const bytes = others.reduce((sum, { stdout, stderr }) => sum + stdout.bytes + stderr.bytes, 0)
  const many = others.length > alongside.runs
  if (!newest || (!many && bytes <= alongside.bytes)) return undefined
  const what = many ? `more than ${formatCount(alongside.runs)} long logs` : `${plural(others.length, 'long log')} of ${formatCount(bytes)} bytes`
  return `not looked through: ${what}, the newest ${newest.id} of ${newest.startedAt}; of these the index has the ends and the lines that matter; all looks through everything`
}

const filterOf = ({ failing, sinceMs }: SearchInput): Omit<RunFilter, 'limit'> => ({ failing, sinceMs })

async function* batchesOf(context: AppContext, input: SearchInput, matcher: Matcher, part: 'known' | 'rest'): AsyncGenerator<readonly Candidate[]> {
  let before: string | undefined
  for (let k = 0; ; k += 1) {
    const limit = batchSizes[Math.min(k, batchSizes.length - 1)] as number
    const batch = await context.records.candidates(matcher.tokens, { ...filterOf(input), before, limit }, part)
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
