import type { BackendName } from './backend.ts'
import type { ErrorCode } from './errors.ts'
import { isSuccess, type Outcome } from './outcome.ts'
import type { Target } from './target.ts'

/**
 * `running`: begun, and its holder is alive. `ended`: see outcome. `failed`: it never started, see error.
 * `interrupted`: the process that held it died; the output so far is kept and what the command did next is unknown.
 */
export const runStates = ['running', 'ended', 'failed', 'interrupted'] as const
export type RunState = (typeof runStates)[number]

/** Where the middle of an output is missing because the log reached its limit. */
export interface Gap {
  /** Offset in the stream of the first byte left out. */
  readonly offset: number
  readonly bytes: number
  /** Line feeds among the bytes left out. */
  readonly lines: number
  /** Length of the line in the log file that states the gap; it stands at `offset`. */
  readonly markerBytes: number
}

/** The exact totals of one stream of a run. */
export interface StreamTotals {
  /** Bytes that the command printed, kept or not. */
  readonly bytes: number
  /** Line feeds, plus one where the last line is unfinished. */
  readonly lines: number
  readonly droppedBytes: number
  readonly gap: Gap | null
}

/** A process by what cannot be reused: its pid and its start time (clock ticks since boot on Linux, text elsewhere). */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTime: string
}

/** The process that holds a run: writes its logs, judges its limits, records its end. */
export interface Holder extends ProcessIdentity {
  /** Of a supervisor: the socket where it is reached. Absent where the process itself started the command. */
  readonly socket?: string | undefined
  /** Of a supervisor that is somewhere else: what opens its site again. Its pid is one of that site. */
  readonly site?: Target | undefined
  /** Of a supervisor: the process that asked it for the run. Its death ends nothing; but without it no run is started any more. */
  readonly starter?: ProcessIdentity | undefined
}

/** What a run took of the machine: its first process, and what that waited for. */
export interface Usage {
  readonly userMs: number
  readonly systemMs: number
  readonly peakMemoryBytes: number
  /** Processes that were killed for lack of memory, where that is known. */
  readonly oomKills?: number | undefined
}

/** A process that a run left behind. */
export interface Leftover {
  readonly pid: number
  readonly name: string
}

/** What is stored of a run. Everything in it may be shown: secrets are masked before it is made. */
export interface RunRecord {
  readonly id: string
  readonly state: RunState
  /** The command as a person would type it; of a script, its text. At most 4,096 bytes. */
  readonly command: string
  /** `null` for argv, else the name of the runtime of the script. */
  readonly runtime: string | null
  readonly purpose: string | null
  /** Absolute, on the machine where the command ran. */
  readonly cwd: string
  readonly branch: string | null
  /** ISO 8601, UTC. For people; order and durations never depend on them. */
  readonly startedAt: string
  readonly endedAt: string | null
  /** Monotonic. */
  readonly durationMs: number | null
  readonly outcome: Outcome | null
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details: Readonly<Record<string, unknown>> } | null
  readonly stdout: StreamTotals
  readonly stderr: StreamTotals
  readonly leftovers: readonly Leftover[]
  readonly warnings: readonly string[]
  /** The process that holds the run, and the first process of the command once it runs. */
  readonly holder: Holder
  readonly process: ProcessIdentity | null
  readonly pinned: boolean
  /** Known of an ended run that a supervisor held. */
  readonly usage?: Usage | undefined
  /** What the run was allowed; absent in records that do not say. */
  readonly limits?: { readonly timeoutMs: number; readonly idleTimeoutMs: number | null } | undefined
  /** The pseudo-terminal that it ran on: the lines of its output are those of the text on it. Absent where there was none. */
  readonly pty?: { readonly rows: number; readonly columns: number } | undefined
  /** Where it ran, if not on this machine: the name of the target in holdfast.json, or what it was told in its place. */
  readonly target?: { readonly backend: BackendName; readonly name: string } | undefined
  /** The id of the workspace that it ran in; absent where that was none. */
  readonly workspace?: string | undefined
  /** The same for all runs of one command at one place of the project, whichever copy of it; absent in records that do not say. */
  readonly commandKey?: string | undefined
}

/** Failing means: not a clean end with exit code 0, and not still running. */
export function isFailing(record: Pick<RunRecord, 'state' | 'outcome'>): boolean {
  if (record.state === 'running') return false
  return !(record.state === 'ended' && isSuccess(record.outcome))
}

export type Verdict = 'passed' | 'failed'

/** What a run says of its command: null where it did not come to its end by itself or by a limit. */
export function verdictOf({ state, outcome }: Pick<RunRecord, 'state' | 'outcome'>): Verdict | null {
  if (state !== 'ended' || outcome === null || outcome.kind === 'canceled' || outcome.kind === 'lost') return null
  return isSuccess(outcome) ? 'passed' : 'failed'
}

/**
 * The totals by which a log is read. Undefined while they are behind the log or its tail stands in files of its own (the run
 * goes on, or its holder died): then the files themselves tell.
 */
export function logTotals(record: RunRecord, stream: 'stdout' | 'stderr'): StreamTotals | undefined {
  return record.state === 'ended' || record.state === 'failed' ? record[stream] : undefined
}

export const emptyTotals: StreamTotals = { bytes: 0, lines: 0, droppedBytes: 0, gap: null }
