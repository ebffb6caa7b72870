import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import { readPlainText, replacePlain } from '../git/plain-file.ts'
import type { WorkspaceContext } from './context.ts'
import { freeBytesAt, measureUsage } from './disk-usage.ts'
import { trashFolder } from './layout.ts'
import { listRecords } from './records.ts'
import { treesBelow } from './repositories.ts'

/** What a folder took when it was last measured. */
interface Measured {
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** A measurement is good for so long: a new workspace is refused by what was true a little before, not after minutes of looking. */
const freshMs = 5 * 60_000
/** All of them together are measured for so long; what is not measured by then counts as it was last known. */
const measureMs = 5_000

/**
 * Refuses a new workspace that a bound of the configuration does not allow, before anything is begun: `quota` for the number in the
 * repository and for the bytes of all, `disk_full` for the space that must stay free.
 */
export async function checkLimits(context: WorkspaceContext, repo: { readonly commonDir: string; readonly mainRoot: string }): Promise<void> {
  const { maxWorkspaces, maxBytes, minFreeBytes } = context.settings.limits
  if (maxWorkspaces !== null) {
    const used = listRecords(repo.commonDir).length
    if (used >= maxWorkspaces) throw failure('quota', { what: `the number of workspaces of ${repo.mainRoot}`, limit: maxWorkspaces, used })
  }
  if (minFreeBytes > 0) {
    const freeBytes = freeBytesAt(context.root)
    if (freeBytes < minFreeBytes) throw failure('disk_full', { path: context.root, freeBytes, neededBytes: minFreeBytes })
  }
  if (maxBytes !== null) {
    const used = await usedBytes(context)
    if (used >= maxBytes) throw failure('quota', { what: `the number of bytes in ${context.root}`, limit: maxBytes, used })
  }
}

/** What is below the root, without what is being deleted. Only what was not measured a short while ago is measured. */
export async function usedBytes(context: Pick<WorkspaceContext, 'root' | 'now'>): Promise<number> {
  const file = join(context.root, '.sizes.json')
  const known = readSizes(file)
  const now = context.now().getTime()
  const until = monotonicMs() + measureMs
  const sizes: Record<string, Measured> = {}
  // Whoever was not measured for the longest time comes first, so that each gets its turn also where time is short.
  const parts = partsOf(context.root).sort((a, b) => (known[a]?.at ?? 0) - (known[b]?.at ?? 0))
  // A copy-on-write tree is a device of its own: what it takes is in the folder of its changes.
  const device = statSync(context.root, { throwIfNoEntry: false })?.dev
  for (const path of parts) {
    const last = known[path]
    const isFresh = last !== undefined && last.at <= now && now - last.at < freshMs
    const timeoutMs = until - monotonicMs()
    if (isFresh || timeoutMs <= 0) {
      if (last !== undefined) sizes[path] = last
      continue
    }
    const { bytes, isWhole } = await measureUsage(path, { timeoutMs, device })
    sizes[path] = { bytes: isWhole ? bytes : Math.max(bytes, last?.bytes ?? 0), at: now }
  }
  writeSizes(file, sizes)
  return Object.values(sizes).reduce((sum, { bytes }) => sum + bytes, 0)
}

/** The trees, and what is kept for them beside: changes of copy-on-write trees, frozen checkouts, homes of sandboxes. */
function partsOf(root: string): string[] {
  let hidden: string[] = []
  try {
    hidden = readdirSync(root).filter((name) => name.startsWith('.') && join(root, name) !== trashFolder(root))
  } catch {
    // The root is not there yet.
  }
  return [...treesBelow(root), ...hidden.map((name) => join(root, name))]
}

function readSizes(file: string): Record<string, Measured> {
  try {
    const sizes = JSON.parse(readPlainText(file)) as Record<string, Partial<Measured>>
    return Object.fromEntries(
      Object.entries(sizes).filter((entry): entry is [string, Measured] => typeof entry[1].bytes === 'number' && typeof entry[1].at === 'number'),
    )
  } catch {
    return {}
  }
}

/** A cache: without it the next one measures anew. */
function writeSizes(file: string, sizes: Record<string, Measured>): void {
  try {
    replacePlain(file, JSON.stringify(sizes), { temporary: `${file}.${process.pid}.new` })
  } catch {
    // The root may not be there yet, or be full.
  }
}
