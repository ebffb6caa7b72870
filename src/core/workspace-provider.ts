import type {
  Rescue,
  WorkspaceAction,
  WorkspaceBase,
  WorkspaceEvent,
  WorkspaceKind,
  WorkspaceOptions,
  WorkspaceOverlay,
  WorkspaceSetup,
  WorkspaceState,
} from './workspace.ts'

/** What can be asked of an open call. */
export interface ProviderCall {
  readonly signal?: AbortSignal | undefined
  /** What is being done right now, in a few words: for whoever waits. It may throw without harm. */
  readonly onProgress?: ((what: string) => void) | undefined
}

export const remotePolicies = ['prefer-remote', 'require-remote', 'local'] as const

export interface OpenWorkspaceRequest extends Partial<Omit<WorkspaceOptions, 'setup'>> {
  /** A folder inside the repository; default: where Holdfast works. */
  readonly repo?: string | undefined
  /** A branch, a tag, a commit, or `origin/x`. Default: the default branch of the remote, else the branch that is checked out. */
  readonly base?: string | undefined
  /** The branch of the workspace, made where it is not there; or `operator`. */
  readonly branch?: string | undefined
  /** Whose sandbox it is; it has no branch. */
  readonly operator?: string | undefined
  /** A command for bash, run once in each physical tree. Undefined: the one of the configuration, if any; null: none. */
  readonly setup?: string | null | undefined
  /** Which remote; default: `origin`, or the only one. */
  readonly remote?: string | undefined
  readonly remotePolicy?: (typeof remotePolicies)[number] | undefined
}

export interface OpenedWorkspace {
  readonly id: string
  readonly kind: WorkspaceKind
  readonly path: string
  readonly branch: string | null
  readonly operator: string | null
  /** False where it was there already, and of a branch that was. */
  readonly created: boolean
  readonly base: WorkspaceBase
  readonly setup: WorkspaceSetup | null
  readonly ports: readonly number[]
  /** How it is kept apart: `worktree` shares the object store and the configuration of the repository. */
  readonly isolation: 'worktree' | 'env-only'
  readonly copyOnWrite: boolean
  /** What was done, in order. Of a workspace that was there and healthy: empty. */
  readonly actions: readonly WorkspaceAction[]
  readonly warnings: readonly string[]
}

export const releaseModes = ['rescue', 'refuse', 'discard'] as const
export type ReleaseMode = (typeof releaseModes)[number]

export interface ReleaseWorkspaceRequest {
  /** Id, branch or folder. */
  readonly workspace: string
  readonly repo?: string | undefined
  /**
   * `rescue`: what is nowhere else is saved under a ref first. `refuse`: then nothing is removed. `discard`: it is thrown away, which is
   * recorded. Default: `rescue`.
   */
  readonly mode?: ReleaseMode | undefined
  /** Stop the commands that run in it; without it a workspace in use is refused. */
  readonly stop?: boolean | undefined
}

export interface ReleasedWorkspace {
  readonly id: string
  /** False where there was nothing to release any more. */
  readonly released: boolean
  /** The ref that holds what was saved, or null. */
  readonly rescue: string | null
  readonly branch: string | null
  /** Runs that were stopped for it. */
  readonly stopped: readonly string[]
  readonly actions: readonly WorkspaceAction[]
  readonly warnings: readonly string[]
}

/** What differs from the last commit, in numbers of paths. */
export interface DirtyCounts {
  readonly staged: number
  readonly changed: number
  readonly untracked: number
  readonly conflicted: number
}

/** `missing`: its folder is gone. `unregistered`: git does not know it any more. Both are mended by opening it again. */
export type ShownWorkspaceState = WorkspaceState | 'missing' | 'unregistered'

export interface WorkspaceSummary {
  readonly id: string
  readonly kind: WorkspaceKind
  readonly path: string
  /** The common git folder of its repository. */
  readonly repository: string
  readonly branch: string | null
  readonly operator: string | null
  readonly state: ShownWorkspaceState
  readonly base: WorkspaceBase
  /** The commit that is checked out; null where that cannot be read. */
  readonly head: string | null
  /** What is checked out, where that is not the branch of the workspace: another branch, or null for a detached HEAD. */
  readonly headBranch: string | null
  /** Against its base as it is last known here; null where nobody asked or that cannot be told. */
  readonly ahead: number | null
  readonly behind: number | null
  /** null where nobody asked: it takes a look at every file. */
  readonly dirty: DirtyCounts | null
  /** `rebase`, `merge`, `cherry-pick`, `revert`, `bisect`, or null. */
  readonly operation: string | null
  readonly locked: string | null
  readonly setup: WorkspaceSetup | null
  /** Commands that go on in it. */
  readonly running: readonly { readonly run: string; readonly command: string }[]
  /** What its tree takes on disk; null where nobody asked. */
  readonly bytes: number | null
  readonly ports: readonly number[]
  readonly overlay: WorkspaceOverlay | null
  readonly createdAt: string
  readonly usedAt: string
  readonly warnings: readonly string[]
}

export interface ListWorkspacesRequest {
  readonly repo?: string | undefined
  /** Of every repository of this user. */
  readonly all?: boolean | undefined
  /** With `ahead`, `behind` and `dirty`. */
  readonly status?: boolean | undefined
  /** With `bytes`. */
  readonly bytes?: boolean | undefined
}

export interface DescribedWorkspace {
  readonly id: string
  readonly path: string
  readonly exists: boolean
}

export interface ShownWorkspace extends WorkspaceSummary {
  readonly options: WorkspaceOptions
  readonly rescues: readonly Rescue[]
  /** Newest last. */
  readonly events: readonly WorkspaceEvent[]
}

export interface WorkspaceDiff {
  readonly id: string
  /** The commit that it is compared with. */
  readonly from: string
  readonly files: readonly { readonly path: string; readonly status: string; readonly added: number | null; readonly removed: number | null }[]
  /** A patch that `git apply` takes; cut at `maxBytes`. */
  readonly patch: string
  readonly truncated: boolean
}

/** What gives out workspaces. Every method may be called by any number of processes at once. */
export interface WorkspaceProvider {
  readonly name: string
  /** Which workspace a request means, without making it. */
  describe(request: Pick<OpenWorkspaceRequest, 'repo' | 'branch' | 'operator'>): Promise<DescribedWorkspace>
  /**
   * Makes the workspace, or gives back the one that is there: its uncommitted work is never touched. Opened again after a crash at
   * any point, it is healthy.
   */
  open(request: OpenWorkspaceRequest, call?: ProviderCall): Promise<OpenedWorkspace>
  /** Removes the tree, never the branch. Twice is no failure. */
  release(request: ReleaseWorkspaceRequest, call?: ProviderCall): Promise<ReleasedWorkspace>
  list(request: ListWorkspacesRequest): Promise<readonly WorkspaceSummary[]>
}
