import { existsSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { toHoldfastError } from '../core/errors.ts'
import type { RunRecord, StreamTotals } from '../core/run.ts'
import type { GcResult } from './api.ts'
import type { AppContext } from './context.ts'
import { holderLives } from './far.ts'
import { isKnownSite } from './known-sites.ts'
import { collectSessions } from './session-facts.ts'

/** Without being asked, old runs are removed once a day. */
const everyMs = 24 * 60 * 60_000
const overheadBytes = 4_096
const batchSize = 500
/** The newest runs tell which places were in use. */
const maxLooked = 2_000

/**
 * Removes what is older, more or larger than the configuration keeps; never a run that goes on or is pinned. What is kept of sessions of
 * agents has bounds of its own. The folder
 * of a run goes as a whole: it is renamed first, so that no half of it is ever seen.
 */
export async function collectGarbage(context: AppContext, dryRun: boolean): Promise<GcResult> {
  const { retention } = context.settings
  const records = await context.records.list({ limit: Number.MAX_SAFE_INTEGER })
  const now = context.now().getTime()
  const removed: { id: string; bytes: number; why: 'age' | 'count' | 'bytes' }[] = []
  let keptBytes = 0
  let kept = 0
  // Newest first: what is kept is always the newest.
  for (const record of records) {
    const bytes = sizeOf(record)
    const why =
      now - Date.parse(record.startedAt) > retention.maxAgeMs
        ? 'age'
        : kept >= retention.maxRuns
          ? 'count'
          : keptBytes + bytes > retention.maxBytes
            ? 'bytes'
            : undefined
    const held = record.pinned || (record.state === 'running' && holderLives(context.machine, record.holder))
    if (why && !held) {
      removed.push({ id: record.id, bytes, why })
      continue
    }
    kept += 1
    keptBytes += bytes
  }
  if (!dryRun) collectSessions(context.home.path, context.now())
  const warnings = dryRun
    ? []
    : await removeRuns(
        context,
        removed.map(({ id }) => id),
      )
  return { dryRun, removed, sites: [], freedBytes: removed.reduce((sum, { bytes }) => sum + bytes, 0), kept, warnings }
}

/** The same, and what is left of containers and pods that Holdfast made for this project. */
export async function collectAll(context: AppContext, dryRun: boolean): Promise<GcResult> {
  const records = await context.records.list({ limit: maxLooked })
  const targets = [
    ...Object.values(context.settings.targets),
    ...records.flatMap(({ holder }) => (holder.site && isKnownSite(context.homePlace.state, holder.site) ? holder.site : [])),
  ]
  const [result, reaped] = await Promise.all([collectGarbage(context, dryRun), context.reapSites(targets, dryRun)])
  return { ...result, sites: reaped.removed, warnings: [...result.warnings, ...reaped.problems] }
}

async function removeRuns(context: AppContext, ids: readonly string[]): Promise<string[]> {
  const warnings: string[] = []
  for (let at = 0; at < ids.length; at += batchSize) {
    const batch = ids.slice(at, at + batchSize)
    await context.records.remove(batch)
    for (const id of batch) {
      const { path } = context.records.folder(id)
      const trash = join(dirname(path), `.removed-${id}`)
      try {
        if (existsSync(path)) renameSync(path, trash)
        await rm(trash, { recursive: true, force: true })
      } catch (error) {
        warnings.push(`${path} could not be removed: ${toHoldfastError(error).message}`)
      }
    }
  }
  return warnings
}

const keptOf = (totals: StreamTotals): number => totals.bytes - totals.droppedBytes
/** Beside the log of a run on a terminal is the text on it, which is about as large. */
const sizeOf = (record: RunRecord): number => keptOf(record.stdout) * (record.pty ? 2 : 1) + keptOf(record.stderr) + overheadBytes

/** Collects when that was not done for a day; failures wait for the next time. */
export async function collectWhenDue(context: AppContext): Promise<void> {
  const stamp = join(context.home.path, 'collected')
  const last = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs
  const now = context.now()
  if (last !== undefined && now.getTime() - last < everyMs && last <= now.getTime()) return
  try {
    writeFileSync(stamp, '', { mode: 0o600 })
    utimesSync(stamp, now, now)
    if (last !== undefined) await collectGarbage(context, false)
  } catch {
    // A home that cannot be written to has other messages to give.
  }
}
