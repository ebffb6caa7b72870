import type { Cut } from './outcome.ts'
import type { StreamTotals } from './run.ts'

/** What a supervisor records of the end of a run; the JSON of `end.json` (docs/supervisor-protocol.md). */
export interface EndRecord {
  readonly version: 1
  readonly run: string
  readonly cut: Cut | null
  /** Of the first process; both null where its end could not be confirmed. */
  readonly exitCode: number | null
  readonly signal: number | null
  readonly durationMs: number
  readonly userMs: number
  readonly systemMs: number
  readonly peakMemoryBytes: number
  /** ISO 8601, UTC. */
  readonly endedAt: string
  readonly stdout: StreamTotals
  readonly stderr: StreamTotals
  readonly leftovers: readonly { readonly pid: number; readonly startTime: string; readonly name: string; readonly ageMs: number }[]
  /** Processes of its control group that were killed for lack of memory while it ran; absent where that is not known. */
  readonly oomKills?: number | undefined
  /** False where processes outlived KILL. */
  readonly confirmed: boolean
  /** Logs that could not be written to their end. */
  readonly failures: readonly { readonly stream: 'stdout' | 'stderr'; readonly errno: string }[]
  /** Of those logs the last bytes, base64. */
  readonly unsaved?: { readonly stdout?: string; readonly stderr?: string } | undefined
  /** True when the totals were brought up to date after what was left behind let go of the pipes. */
  readonly late: boolean
}

/** Undefined where the text is no end record of this run. */
export function parseEndRecord(text: string, run: string): EndRecord | undefined {
  let found: Partial<EndRecord> | null
  try {
    found = JSON.parse(text) as Partial<EndRecord> | null
  } catch {
    return undefined
  }
  if (typeof found !== 'object' || found?.version !== 1 || found.run !== run || !found.stdout || !found.stderr) return undefined
  if (!Array.isArray(found.leftovers) || !Array.isArray(found.failures) || typeof found.endedAt !== 'string') return undefined
  return found as EndRecord
}
