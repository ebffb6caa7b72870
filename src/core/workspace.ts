import type { ProcessIdentity } from './run.ts'

/**
 * A workspace is a working copy of a repository in a folder of its own. `branch`: a git worktree with a branch checked out.
 * `sandbox`: one of an operator, detached at its base, with an environment without credentials.
 */
export const workspaceKinds = ['branch', 'sandbox'] as const
export type WorkspaceKind = (typeof workspaceKinds)[number]

/** What is written down before anything is done, so that whoever comes next knows how far it came. */
export const workspaceStates = ['creating', 'ready', 'releasing'] as const
export type WorkspaceState = (typeof workspaceStates)[number]

/** Where the first commit of a workspace came from. */
export interface WorkspaceBase {
  /**
   * `remote`: fetched when it was opened. `local`: what this repository had, because nothing could be fetched (`remoteError`) or
   * nothing was to be. `existing`: the branch was there, and nothing was cut.
   */
  readonly source: 'remote' | 'local' | 'existing'
  /** The base as it was found: a full ref, or a commit. */
  readonly ref: string
  /** The whole name of the commit that the workspace begins at, or, of `existing`, is at. */
  readonly sha: string
  /** Commits of the base as it is last known that the workspace does not have; null where that cannot be told. */
  readonly behind: number | null
  /** All that git said when nothing could be fetched. */
  readonly remoteError: string | null
}

/** One thing that was done, or was to be done and was not, while a workspace was opened or released. */
export interface WorkspaceAction {
  /** `created`, `adopted`, `repaired-gitdir`, `fast-forwarded`, `submodules`, `lfs`, `carried-over`, `setup` … */
  readonly name: string
  readonly status: 'done' | 'skipped' | 'failed'
  /** One sentence. */
  readonly detail: string
}

export const setupStates = ['pending', 'running', 'done', 'failed'] as const

/** The setup of one physical tree. `pending` again whenever the tree, the command or what it reads changed. */
export interface WorkspaceSetup {
  readonly command: string
  readonly state: (typeof setupStates)[number]
  /** How often it was begun. */
  readonly attempt: number
  /** The run with its output; null before the first. */
  readonly run: string | null
  /** How its last run ended, in words; null while there is none. */
  readonly ended: string | null
  /** Who runs it. */
  readonly holder: ProcessIdentity | null
  /** A hash over the tree, the command and the files of dependencies that it was run for. */
  readonly inputs?: string | undefined
}

export const featureModes = {
  lfs: ['auto', 'pointers', 'pull'],
  submodules: ['none', 'init-offline', 'init', 'require'],
} as const

/** How a workspace was asked to be made; kept, so that it is made the same way again. */
export interface WorkspaceOptions {
  readonly copyOnWrite: boolean
  readonly setup: string | null
  readonly lfs: (typeof featureModes.lfs)[number]
  readonly submodules: (typeof featureModes.submodules)[number]
  /** `inherit`: as the source has it. `full`: everything. Else the folders of a cone. */
  readonly sparse: 'inherit' | 'full' | readonly string[]
  /** Paths of ignored files to carry over from the source, besides those that `.worktreeinclude` lists. */
  readonly carry: readonly string[]
  /** How many ports are reserved for it. */
  readonly ports: number
  /** Names of variables that commands in a sandbox get from the environment of Holdfast; one that is missing is refused. */
  readonly passEnv: readonly string[]
}

/** What is on record of a workspace, beside the repository and outside of its tree. */
export interface WorkspaceRecord {
  readonly version: 1
  /** 10 hexadecimal digits. */
  readonly id: string
  readonly kind: WorkspaceKind
  /** Without `refs/heads/`; of a sandbox null. */
  readonly branch: string | null
  readonly operator: string | null
  readonly state: WorkspaceState
  /** Absolute, without links. */
  readonly path: string
  /** The repository as it was when this was written; it may have moved since. */
  readonly commonDir: string
  /** Stands in the reason of git's lock on the tree, and in the copy of this record that dies with the tree. */
  readonly nonce: string
  /** As the caller named it. */
  readonly baseName: string
  readonly base: WorkspaceBase
  readonly options: WorkspaceOptions
  readonly createdAt: string
  readonly usedAt: string
  readonly setup: WorkspaceSetup | null
  readonly ports: readonly number[]
  /** Where a copy-on-write tree keeps what was changed; null of an ordinary one. */
  readonly overlay: WorkspaceOverlay | null
  /** Who is at work on it, while the state is not `ready`. */
  readonly holder: ProcessIdentity | null
}

export interface WorkspaceOverlay {
  /** Read-only, uppermost first. */
  readonly lower: readonly string[]
  readonly upper: string
  readonly work: string
}

/** Work that was saved before something was removed. */
export interface Rescue {
  /** The ref: `refs/holdfast/rescue/…`. */
  readonly ref: string
  /** What stands for it on the command line. */
  readonly id: string
  readonly sha: string
  readonly workspace: string
  readonly branch: string | null
  /** ISO 8601, UTC. */
  readonly savedAt: string
  /** What it holds, in words: `3 changed files`, `2 untracked files`, `1 commit on no branch`. */
  readonly holds: readonly string[]
}

/** Something that happened to a workspace; appended to its history and never changed. */
export interface WorkspaceEvent {
  readonly at: string
  readonly workspace: string
  readonly name: string
  readonly durationMs: number | null
  /** Commits and refs that show it, without secrets. */
  readonly facts: Readonly<Record<string, string | number | boolean | null>>
}

/** Ends what was locked. Harmless when called twice. */
export type Unlock = () => void

/**
 * A lock between processes on the path of a file, whose folder exists. The system lets go of it when its holder dies. Rejects with
 * `lock_timeout`, naming the holder where that is known; never goes on without it.
 */
export type LockFile = (
  file: string,
  options: { readonly what: string; readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
) => Promise<Unlock>
