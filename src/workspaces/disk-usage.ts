import { lstatSync, readdirSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { monotonicMs } from '../core/monotonic.ts'

export interface DiskUsage {
  /** What is occupied on the device, in whole blocks. A file with several names counts once. */
  readonly bytes: number
  /** False where the time was over first: then it is at least so much. */
  readonly isWhole: boolean
}

/** So many entries are looked at before others get their turn. */
const entriesAtOnce = 500

export interface MeasureOptions {
  readonly timeoutMs: number
  /** Default: the one that the folder is on. */
  readonly device?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** What a folder takes. Links are not followed, other devices not entered, and what cannot be read counts as nothing. */
export async function measureUsage(folder: string, options: MeasureOptions): Promise<DiskUsage> {
  const until = monotonicMs() + options.timeoutMs
  const seen = new Set<string>()
  const open = [folder]
  let bytes = 0
  let looked = 0
  let { device } = options
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const found = lstatSync(next, { throwIfNoEntry: false })
    device ??= found?.dev
    if (found !== undefined && found.dev === device) {
      if (!isCounted(seen, found)) bytes += found.blocks * 512
      if (found.isDirectory()) open.push(...namesIn(next))
    }
    looked++
    if (looked % entriesAtOnce === 0) {
      if (monotonicMs() >= until || options.signal?.aborted) return { bytes, isWhole: false }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { bytes, isWhole: true }
}

function isCounted(seen: Set<string>, found: { dev: number; ino: number; nlink: number; isDirectory(): boolean }): boolean {
  if (found.nlink < 2 || found.isDirectory()) return false
  const file = `${found.dev}:${found.ino}`
  const isKnown = seen.has(file)
  seen.add(file)
  return isKnown
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}

/** Bytes that this user may still write where a path is or would be. */
export function freeBytesAt(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch (error) {
    const parent = dirname(path)
    if (parent === path) throw error
    return freeBytesAt(parent)
  }
}
