import type { ResolvedCommand, StreamName } from './command.ts'
import type { ErrorCode } from './errors.ts'
import type { ExitStatus } from './outcome.ts'
import type { Leftover, ProcessIdentity } from './run.ts'

export type BackendName = 'host'

/** What a backend can do. Each claim is tried by the conformance suite. */
export interface Capabilities {
  /** Whether commands are kept apart from the machine that Holdfast runs on. */
  readonly isolation: 'none'
  /**
   * How far a kill reaches. `group`: the process group. `marked`: also what left it, by a mark in its environment. `tagged`: also what
   * cleared its environment, by what it cannot help inheriting.
   */
  readonly killTree: 'tagged' | 'marked' | 'group'
  readonly stdin: boolean
  /** Whether stdout and stderr are pipes, so that `> /dev/stderr` works; a socket refuses that. */
  readonly pipes: boolean
  readonly pty: boolean
  /** Whether a run lives on when the process that started it dies, and can be attached to again. */
  readonly reattach: boolean
  readonly sharesProcessTable: boolean
}

/**
 * The only author of capability records. `platform` is where the commands run, `pipes` whether named pipes can be made there,
 * `supervised` whether a supervisor starts them.
 */
export function capabilitiesOf(backend: BackendName, facts: { platform: NodeJS.Platform; pipes: boolean; supervised: boolean }): Capabilities {
  const { platform, pipes, supervised } = facts
  const records: Record<BackendName, Capabilities> = {
    host: {
      isolation: 'none',
      killTree: supervised ? 'tagged' : platform === 'linux' ? 'marked' : 'group',
      stdin: true,
      pipes: pipes || supervised,
      pty: supervised,
      reattach: supervised,
      sharesProcessTable: true,
    },
  }
  return records[backend]
}

/** A way to run commands somewhere. It has no timeout, cap, text or message, so it cannot settle a run wrongly. */
export interface Backend<Spec> {
  readonly name: BackendName
  capabilities(spec: Spec): Capabilities
  open(spec: Spec, signal: AbortSignal): Promise<Session>
  /** The code of an error of this backend's own, or undefined. */
  classify(error: unknown): ErrorCode | undefined
}

export interface LogPlan {
  /** Absolute paths, in a folder that exists. */
  readonly stdout: string
  readonly stderr: string
  /** Where the order of arrival of both streams goes; absent: nowhere. */
  readonly order?: string | undefined
  readonly maxBytes: number
}

/** An open connection to one place of a backend. */
export interface Session {
  /**
   * Resolves once the program runs; rejects with a HoldfastError if it never did. Never waits for its end.
   * May be called concurrently. Calling it after close() rejects.
   */
  start(command: ResolvedCommand, logs: LogPlan): Promise<Running>
  /** 'written': what starts the command writes the logs itself. 'streamed': the engine writes what it receives. */
  readonly logs: 'written' | 'streamed'
  /** Enough to open the same place again. */
  readonly handle: string
  /** Harmless when called twice; bounded in time. */
  close(): Promise<void>
}

export interface OutputChunk {
  readonly stream: StreamName
  /** Offset of the first byte in its stream. */
  readonly offset: number
  readonly bytes: Uint8Array
}

export interface Confirmed {
  /** Whether the signal is known to have reached at least one process. False also where nothing was left. */
  readonly delivered: boolean
}

/** One started program. */
export interface Running {
  readonly id: string
  readonly process: ProcessIdentity | null
  /** Raw bytes in order of arrival, per stream without loss; ends when no process holds either stream. Iterated once. */
  readonly output: AsyncIterable<OutputChunk>
  /** The status of the first process; rejects when contact is lost. Does not wait for the output to end. */
  readonly ended: Promise<ExitStatus>
  /** Resolves when the bytes were taken; resolves too, without effect, when the program no longer reads. */
  write(bytes: Uint8Array): Promise<void>
  endInput(): Promise<void>
  /** Sends a signal to the whole tree, what escaped the process group included where that can be found. */
  signal(name: NodeJS.Signals): Promise<Confirmed>
  /** The processes of the tree that are alive, without the first one; undefined where that cannot be known. */
  tree(): Promise<readonly Leftover[] | undefined>
  /** Whether any of these is about to go on by itself (runs, or waits for a processor or a disk); absent where that cannot be known. */
  busy?(): Promise<boolean>
  /** Stops reading: the iteration of `output` ends. The program may live on. */
  release(): void
}
