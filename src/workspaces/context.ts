import type { Machine } from '../core/machine.ts'
import type { LockFile, WorkspaceOptions, WorkspaceRecord } from '../core/workspace.ts'
import type { Git } from '../git/git.ts'

/** Bounds that the configuration sets; null: none. */
export interface WorkspaceLimits {
  /** Of one repository. */
  readonly maxWorkspaces: number | null
  /** Of all workspaces of this user. */
  readonly maxBytes: number | null
  /** With less free space nothing is made. */
  readonly minFreeBytes: number
  /** Not used for so long, a workspace is offered for release by gc. */
  readonly idleMs: number
  /** How long a rescue is kept at least. */
  readonly rescueMs: number
}

export interface WorkspaceSettings {
  readonly limits: WorkspaceLimits
  /** Where the caller says nothing. */
  readonly options: WorkspaceOptions
  /** The remote that bases are fetched from; null: `origin`, or the only one. */
  readonly remote: string | null
  readonly remotePolicy: 'prefer-remote' | 'require-remote' | 'local'
  /** Repositories of other users that the person trusts. */
  readonly trusted: readonly string[]
}

/** What knows of the commands that run in workspaces; they are run and kept by the app. */
export interface WorkspaceCommands {
  /** Those that go on in it, whichever home their runs are kept in. */
  running(record: WorkspaceRecord): Promise<readonly { readonly run: string; readonly command: string }[]>
  /** Ends them, and waits until they are over. Resolves to their runs. */
  stop(record: WorkspaceRecord): Promise<readonly string[]>
  /** Runs a script in it as a run like any other, without credentials. Resolves when it is over. */
  setup(
    record: WorkspaceRecord,
    script: string,
    options: { readonly onBegin: (run: string) => void; readonly signal?: AbortSignal | undefined },
  ): Promise<{ readonly run: string; readonly ok: boolean; readonly ended: string }>
}

/** What everything in this room works with. */
export interface WorkspaceContext {
  readonly git: Git
  /** Runs other programs of the machine: mount, cp. */
  readonly runProgram: import('../core/program.ts').RunProgram
  /** The environment of Holdfast. */
  readonly ownEnv: Readonly<Record<string, string | undefined>>
  /** The folder of all workspaces of this user; it need not exist. */
  readonly root: string
  /** Where a request without `repo` looks. */
  readonly base: string
  readonly settings: WorkspaceSettings
  readonly lock: LockFile
  readonly machine: Pick<Machine, 'self' | 'isAlive'>
  readonly commands: WorkspaceCommands
  readonly now: () => Date
  /**
   * Starts a program that goes on alone when this process ends, with the lowest priority; nothing is known of its end. Absent: what would be
   * done so is done in this process, which then ends later.
   */
  readonly background?: ((argv: readonly [string, ...string[]]) => void) | undefined
  /** A name that no other has: 12 letters and digits. */
  readonly newName: () => string
}
