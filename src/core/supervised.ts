import type { Confirmed, OutputChunk } from './backend.ts'
import type { ResolvedCommand } from './command.ts'
import type { EndRecord } from './end-record.ts'
import type { Limits } from './limits.ts'
import type { Leftover, ProcessIdentity } from './run.ts'

/** What a listener gets; see docs/supervisor-protocol.md, "Listening". */
export type Listening =
  | { readonly kind: 'nothing' }
  /** Each byte once; `from` are offsets to begin at, default where the run stands (its beginning, with a start). */
  | { readonly kind: 'everything'; readonly from?: { readonly stdout: number; readonly stderr: number } | undefined }
  /** The newest bytes, not more often than `everyMs`. */
  | { readonly kind: 'tail'; readonly everyMs: number }

/** What a supervisor has to know besides the command. */
export interface SupervisionTerms {
  /** The id of the run. */
  readonly id: string
  /** The absolute folder of the run, there already: logs and records are written into it. */
  readonly folder: string
  readonly limits: Limits
  readonly leftovers: 'report' | 'kill'
  /** Bytes of the standard input that are there from the beginning, at most 64 KiB. */
  readonly input: Uint8Array | undefined
  /** Whether these are all. */
  readonly inputEnds: boolean
  /** Whether the run ends with whoever started it. */
  readonly bound: boolean
  readonly listen: Listening
  /** The supervisor makes the folder, and puts these files into it; absent: it is there. */
  readonly making?: { readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[] } | undefined
}

/** An open connection to a supervisor: it starts commands, writes their logs, judges their ends and records them. */
export interface SupervisedSession {
  readonly logs: 'written'
  /** The path of its socket: enough to reach the same supervisor again. */
  readonly handle: string
  readonly supervisor: ProcessIdentity
  /** What tells its program from every other version of it. */
  readonly build: string
  /** The ids of all runs that it holds, whoever started them. */
  runs(): Promise<readonly string[]>
  /**
   * Resolves once the program runs; rejects with a HoldfastError if it never did. Never waits for its end. May be called
   * concurrently. Calling it after close() rejects.
   */
  start(command: ResolvedCommand, terms: SupervisionTerms): Promise<SupervisedRun>
  /** The run as it goes on; undefined where this supervisor does not hold it: then its folder tells its end. */
  attach(run: string, listen: Listening): Promise<SupervisedRun | undefined>
  /** False once contact was lost: then a new session has to be opened. */
  readonly open: boolean
  /** Lets go of the connection; runs go on, except those that are bound to it. Harmless when called twice; bounded in time. */
  close(): Promise<void>
}

export interface RunStatus {
  readonly state: 'running' | 'ending' | 'ended'
  readonly elapsedMs: number
  readonly stdout: { readonly bytes: number; readonly lines: number }
  readonly stderr: { readonly bytes: number; readonly lines: number }
  /** Since the last byte of either stream. */
  readonly silentMs: number
  /** Whether the standard input may be written to. */
  readonly takesInput: boolean
}

/** One run of a supervisor, as a controller sees it. */
export interface SupervisedRun {
  readonly id: string
  readonly process: ProcessIdentity
  /** What was asked to be listened to, raw, in order within a stream; a jump in the offsets is what was left out. Ends with the run or with contact. Iterated once. */
  readonly output: AsyncIterable<OutputChunk>
  /** Rejects when contact is lost: the run may go on. */
  readonly ended: Promise<EndRecord>
  /** Whether contact was lost on the way and found again, which ends input that was being fed; absent: it was not. */
  readonly wasCut?: boolean | undefined
  /** Resolves when the bytes were taken, or when the command no longer reads. */
  write(bytes: Uint8Array): Promise<void>
  endInput(): Promise<void>
  resize(rows: number, columns: number): Promise<void>
  signal(name: NodeJS.Signals): Promise<Confirmed>
  /** Ends the whole tree; resolves to the number of processes that are left when the ladder is over. */
  stop(request: { readonly signal?: NodeJS.Signals | undefined; readonly graceMs?: number | undefined }): Promise<{ readonly left: number }>
  tree(): Promise<readonly Leftover[]>
  status(): Promise<RunStatus>
  /** Stops listening and waiting: `output` ends. The run lives on. */
  release(): void
}
