import type { ResolvedCommand, StreamName } from './command.ts'
import type { ErrorCode } from './errors.ts'
import type { ExitStatus } from './outcome.ts'
import type { Leftover, ProcessIdentity } from './run.ts'

export const backendNames = ['host', 'docker', 'ssh', 'kubernetes'] as const
export type BackendName = (typeof backendNames)[number]

/** What a backend can do. Each claim is tried by the conformance suite. */
export interface Capabilities {
  /**
   * How commands are kept apart from the machine that Holdfast runs on. `container`: they share its kernel, or that of another one, and see
   * what is mounted. `machine`: they run on another one.
   */
  readonly isolation: 'none' | 'container' | 'machine'
  /**
   * How far a kill reaches. `group`: the process group. `marked`: also what left it, by a mark in its environment. `tagged`: also what
   * cleared its environment, by what it cannot help inheriting.
   */
  readonly killTree: 'tagged' | 'marked' | 'group'
  readonly stdin: boolean
  /** Whether the end of the input can be told while output still comes. */
  readonly endOfInput: boolean
  /** Whether stdout and stderr are pipes, so that `> /dev/stderr` works; a socket refuses that. */
  readonly pipes: boolean
  readonly pty: boolean
  /** Whether a run lives on when the process that started it dies, or contact to it is cut, and can be attached to again. */
  readonly reattach: boolean
  /** Whether commands are in the process table of the machine that Holdfast runs on. */
  readonly sharesProcessTable: boolean
  /** What does the work with files: Holdfast itself, the supervisor that is there, or a POSIX shell. */
  readonly files: 'direct' | 'supervisor' | 'shell'
  /** Whether a path is confined by whoever uses it, with no gap between look and use. */
  readonly confinedFiles: boolean
  /** Whether its place can be parked and restored with all that is in it. */
  readonly suspendable: boolean
  /** Whether a command that ended for lack of memory is told apart. */
  readonly tellsOutOfMemory: boolean
}

/** What decides what a backend can do. `supervised`: a supervisor starts the commands. */
export type BackendConfiguration =
  /** `platform` is where the commands run, `pipes` whether named pipes can be made there. */
  | { readonly backend: 'host'; readonly platform: NodeJS.Platform; readonly pipes: boolean; readonly supervised: boolean }
  | { readonly backend: 'docker'; readonly supervised: boolean }
  | { readonly backend: 'ssh'; readonly supervised: boolean }
  /** `halfClose`: the exec channel can end the input alone (v5.channel.k8s.io). */
  | { readonly backend: 'kubernetes'; readonly supervised: boolean; readonly halfClose: boolean }

/** The only author of capability records. A backend without a row does not compile. */
export function capabilitiesOf(configuration: BackendConfiguration): Capabilities {
  const { supervised } = configuration
  switch (configuration.backend) {
    case 'host':
      return {
        isolation: 'none',
        killTree: supervised ? 'tagged' : configuration.platform === 'linux' ? 'marked' : 'group',
        stdin: true,
        endOfInput: true,
        pipes: configuration.pipes || supervised,
        pty: supervised,
        reattach: supervised,
        sharesProcessTable: true,
        files: 'direct',
        confinedFiles: true,
        suspendable: false,
        tellsOutOfMemory: supervised,
      }
    case 'docker':
      // What runs in a container gets pipes of the engine, whoever starts it.
      return { ...far(supervised), isolation: 'container', endOfInput: true, pipes: true }
    case 'ssh':
      return { ...far(supervised), isolation: 'machine', endOfInput: true }
    case 'kubernetes':
      return { ...far(supervised), isolation: 'container', endOfInput: supervised || configuration.halfClose }
    default:
      return configuration satisfies never
  }
}

/** What is the same of every backend that is reached over a channel. */
function far(supervised: boolean): Omit<Capabilities, 'isolation' | 'endOfInput'> {
  return {
    killTree: supervised ? 'tagged' : 'group',
    stdin: true,
    pipes: supervised,
    pty: supervised,
    reattach: supervised,
    sharesProcessTable: false,
    files: supervised ? 'supervisor' : 'shell',
    confinedFiles: supervised,
    suspendable: false,
    tellsOutOfMemory: supervised,
  }
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
