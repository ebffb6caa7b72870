import type { Readable, Writable } from 'node:stream'
import type { BackendName } from './backend.ts'
import type { ExitStatus } from './outcome.ts'
import type { Target } from './target.ts'

/*
 * What a backend that is somewhere else has to give: a way to start a program there and to carry its bytes. All that is promised of
 * commands and files is built on that once, in src/remote.
 */

/** One program at a site, over one connection. */
export interface Channel {
  /** With back-pressure; the bytes of a write are needed until it is done, and not after that. What goes wrong with it is told by `ended`. */
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Whether `stdin.end()` is end-of-file for the program and ends nothing else. Where it is false, `end()` ends the channel. */
  readonly canEndInput: boolean
  /**
   * The status of the program, once both streams have ended or were given up. Rejects with `contact_lost` where the connection ended
   * without one: then the program may still run. A status is never invented.
   */
  readonly ended: Promise<ExitStatus>
  /** Whether the connection is to keep this process alive; absent: it always does. */
  hold?(isNeeded: boolean): void
  /** Lets go of the connection, at once. The program may live on. Harmless when called twice. */
  close(): void
}

export interface ChannelRequest {
  /** Found on the PATH of the site. No secret is ever in it. */
  readonly argv: readonly [string, ...string[]]
  /** Gives up while the channel is being opened. */
  readonly signal?: AbortSignal | undefined
}

/** A path of this machine at which a Unix socket of a site can be connected to. Whoever answers there has to be asked who it is. */
export interface Door {
  readonly path: string
  /** What is connected stays so. Harmless when called twice. */
  close(): void
}

/** What the workspace is at a site: the files of this machine themselves, a copy of them, or files that only the site has. */
export type SiteWorkspace = 'mounted' | 'copied' | 'own'

/** Whether a site is still there. `gone`: for good, with what it said of its end. */
export type SiteState =
  | { readonly kind: 'up' }
  | { readonly kind: 'gone'; readonly why: string; readonly outOfMemory?: boolean | undefined }
  | { readonly kind: 'unknown'; readonly why: string }

/** One place of a backend: a container, an account on another machine, a pod. */
export interface Site {
  readonly backend: BackendName
  /** What opens the same site again: the target with the very container or pod in it. Has no secret and is stored with runs. */
  readonly handle: Target
  /** For people: `container 3f2a… of busybox`, `ssh box`. */
  readonly title: string
  /** Absolute: where the workspace is at the site. */
  readonly root: string
  readonly workspace: SiteWorkspace
  /** Absolute, in the order of preference: folders of the site where files of ours may be kept; empty: wherever there is one. */
  readonly privateFolders: readonly string[]
  /** Resolves once the program was started there, as far as that can be known. Rejects with a HoldfastError where it surely was not. */
  open(request: ChannelRequest): Promise<Channel>
  /** A shorter way to a Unix socket of the site than a program that is started there; undefined, or absent: there is none. Never rejects. */
  door?(socket: string): Promise<Door | undefined>
  /** Asks the backend whether the site lives. Bounded in time. */
  examine(): Promise<SiteState>
  /** The site is in use: whoever reaps leaves it alone for its lease. Called while it is open; never rejects. */
  keep?(): Promise<void>
  /** Whether the exec channel can end the input alone; absent: it can. */
  readonly halfClose?: boolean | undefined
  /** Lets go of all connections; the site lives on. Harmless when called twice; bounded in time. */
  close(): Promise<void>
  /** Ends the site where Holdfast made it; of an adopted one, only lets go. */
  destroy(): Promise<void>
}
