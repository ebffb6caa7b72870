import { buildSnapshot, type SnapshotSession } from '../context/snapshot.ts'
import type { RunRecord } from '../core/run.ts'
import type { AppContext } from './context.ts'
import { holderLives } from './far.ts'
import { notesInForce } from './notes.ts'
import { readRecord } from './run-folder.ts'

export const maxSnapshotBytes = 2048
const listedRuns = 12
const listedFailing = 6

/** What a page is made of besides the history. */
export interface PageSource {
  readonly at: string
  /** Masked. */
  readonly context: string | null
  readonly limit: number
  readonly session?: SnapshotSession | null
}

/**
 * Makes the page, with what is known of runs and notes now. `withinMs`: what cannot be had by then is left out, as is what cannot be
 * read at all: the rest is worth more than an error.
 */
export async function composePage(context: AppContext, source: PageSource, withinMs?: number): Promise<string> {
  const { records } = context
  const { mask } = context.masking.general
  const branch = context.branchOf(context.root)
  const or = <T>(promise: Promise<readonly T[]>): Promise<readonly T[]> => inTime(promise, withinMs).catch(() => [])
  const [notes, runs, failing, running] = await Promise.all([
    or(notesInForce(context)),
    or(records.list({ limit: listedRuns })),
    or(records.list({ limit: listedFailing, failing: true })),
    or(records.list({ limit: listedRuns, running: true })),
  ])
  const recent = [...runs, ...failing.filter(({ id }) => !runs.some((run) => run.id === id))].filter(({ state }) => state !== 'running')
  return buildSnapshot(
    {
      now: new Date(source.at),
      root: mask(context.root),
      branch: branch === null ? null : mask(branch),
      context: source.context,
      notes: [...notes],
      runs: recent,
      running: running.filter((record) => goesOn(context, record)),
      session: source.session ?? null,
    },
    source.limit,
  )
}

/** A run may have ended without anybody having told the index. */
function goesOn(context: AppContext, record: RunRecord): boolean {
  const latest = readRecord(context.records.folder(record.id), record.id) ?? record
  return latest.state === 'running' && holderLives(context.machine, latest.holder)
}

function inTime<T>(promise: Promise<T>, withinMs: number | undefined): Promise<T> {
  if (withinMs === undefined) return promise
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('too late')), Math.max(0, withinMs))
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
