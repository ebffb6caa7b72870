import { readFileSync } from 'node:fs'
import { buildSnapshot } from '../context/snapshot.ts'
import { readSnapshot, writeSnapshot } from '../context/snapshot-file.ts'
import { failure, toHoldfastError } from '../core/errors.ts'
import type { SnapshotResult } from './api.ts'
import type { AppContext } from './context.ts'
import { tryHome } from './home.ts'
import { countNotesOn, notesInForce } from './notes.ts'

const maxSnapshotBytes = 2048
const listedRuns = 12
const listedFailing = 6

/** What a stored snapshot was made of, besides the history: it can be made again when that has gone on. */
interface Source {
  readonly at: string
  /** Masked. */
  readonly context: string | null
  readonly limit: number
}

/** Makes the page and stores it. Without a context, the one of the last snapshot stays; an empty one clears it. */
export async function takeSnapshot(context: AppContext, input: { context?: string | undefined; limit?: number | undefined }): Promise<SnapshotResult> {
  const asked = input.limit ?? maxSnapshotBytes
  if (!Number.isInteger(asked) || asked < 0) throw failure('invalid', { field: 'limit', value: asked, accepted: 'a whole number of bytes from 0' })
  const warnings = asked > maxSnapshotBytes ? [`limit ${asked} is above ${maxSnapshotBytes} bytes and was set to it`] : []
  const active =
    input.context === undefined ? (readSource(context)?.context ?? null) : input.context === '' ? null : context.masking.general.mask(input.context)
  const source: Source = { at: context.now().toISOString(), context: active, limit: Math.min(asked, maxSnapshotBytes) }
  const text = await compose(context, source)
  tryHome(context.home, context.homePlace)
  let path: string | null = context.home.snapshot
  try {
    writeSnapshot(sourcePath(context), `${JSON.stringify(source)}\n`)
    writeSnapshot(path, text)
  } catch (error) {
    warnings.push(`the snapshot could not be stored: ${toHoldfastError(error).message}`)
    path = null
  }
  return told(context, { text, bytes: Buffer.byteLength(text), path, warnings })
}

/** What stands on the page counts as used. */
async function told(context: AppContext, page: SnapshotResult): Promise<SnapshotResult> {
  await countNotesOn(context, page.text).catch(() => {})
  return page
}

/**
 * The stored page as long as it is still true. When runs or notes have come since, the same context with what is known
 * now; without a stored page, one made now.
 */
export async function resumeFrom(context: AppContext): Promise<SnapshotResult> {
  const stored = readSnapshot(context.home.snapshot)
  const source = readSource(context)
  if (stored !== undefined && (!source || (await compose(context, source)) === stored)) {
    return told(context, { text: stored, bytes: Buffer.byteLength(stored), path: context.home.snapshot, warnings: [] })
  }
  const text = await compose(context, { context: null, limit: maxSnapshotBytes, ...source, at: context.now().toISOString() })
  return told(context, { text, bytes: Buffer.byteLength(text), path: null, warnings: [] })
}

async function compose(context: AppContext, source: Source): Promise<string> {
  const { records } = context
  const { mask } = context.masking.general
  const branch = context.branchOf(context.root)
  // A part of the history that cannot be read is left out: the rest is worth more than an error.
  const or = <T>(promise: Promise<readonly T[]>): Promise<readonly T[]> => promise.catch(() => [])
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
      running: [...running],
    },
    source.limit,
  )
}

const sourcePath = (context: AppContext): string => `${context.home.snapshot}.json`

function readSource(context: AppContext): Source | undefined {
  try {
    const found = JSON.parse(readFileSync(sourcePath(context), 'utf8')) as Partial<Source>
    if (typeof found.at !== 'string' || Number.isNaN(Date.parse(found.at)) || typeof found.limit !== 'number') return undefined
    return { at: found.at, limit: found.limit, context: typeof found.context === 'string' ? found.context : null }
  } catch {
    return undefined
  }
}
