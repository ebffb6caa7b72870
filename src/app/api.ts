import type { BackendName } from '../core/backend.ts'
import type { ByteSource } from '../core/byte-source.ts'
import type { Input, StreamName } from '../core/command.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Gap, Leftover, RunRecord, RunState, Usage } from '../core/run.ts'
import type { Stats } from '../core/stats.ts'
import type { Target } from '../core/target.ts'
import type { Rescue, WorkspaceSetup } from '../core/workspace.ts'
import type {
  ListWorkspacesRequest,
  OpenedWorkspace,
  OpenWorkspaceRequest,
  ReleasedWorkspace,
  ReleaseWorkspaceRequest,
  ShownWorkspace,
  WorkspaceDiff,
  WorkspaceSummary,
} from '../core/workspace-provider.ts'
import type { DeletedBranch } from '../workspaces/delete-branch.ts'
import type { CollectedWorkspaces } from '../workspaces/gc.ts'
import type { DroppedRescues, ExportedRescue, RestoredRescue } from '../workspaces/rescues.ts'
import type { BackendsResult } from './backends.ts'
import type { ReapedSite } from './far.ts'
import type { FileUseCases } from './files.ts'
import type { InstallationUseCases } from './installation.ts'
import type { NoteUseCases } from './notes.ts'
import type { Answered } from './shown.ts'

export type { DeletedBranch } from '../workspaces/delete-branch.ts'
export type { CollectedWorkspaces } from '../workspaces/gc.ts'
export type { DroppedRescues, ExportedRescue, RestoredRescue } from '../workspaces/rescues.ts'
export type { HostOnMachine, InstalledFile, InstallInput, InstallResult } from './installation.ts'
export type { AddNoteInput, ExportedNotes, FoundNotes, NotePlaceInput, NoteSelection, UpdateNoteInput } from './notes.ts'

/** What Holdfast does, as every surface sees it: the library, the command line and MCP hand in and give out these values. */
export interface App extends FileUseCases, NoteUseCases, Pick<InstallationUseCases, 'install' | 'uninstall'> {
  exec(input: ExecInput, call?: ExecCall): Promise<RunResult>
  /** Waits until the run ends, at most `waitMs` (undefined: as long as it takes). */
  wait(input: DigestSize & { run: string; waitMs?: number | undefined }, call?: Call): Promise<RunResult>
  /** Ends a run with its whole tree, whoever holds it, and waits until it is over. */
  stop(input: { run: string; signal?: StopSignal | undefined }, call?: Call): Promise<RunResult>
  /** Writes to the standard input of a run that goes on, whoever holds it; resolves once the command took it, or reads no more. */
  input(input: InputRequest, call?: Call): Promise<InputResult>
  runs(input: RunsInput): Promise<RunsResult>
  show(input: DigestSize & { run: string }): Promise<RunResult>
  output(input: OutputInput): Promise<OutputResult>
  /** New output as it comes, until the run ends; raw bytes. */
  follow(input: { run: string; streams: readonly StreamName[] }, call: Call & { onOutput(chunk: LiveOutput): void }): Promise<void>
  search(input: SearchInput): Promise<SearchResult>
  /** `previous`: the log of an earlier run of the same that passed. */
  digest(
    input: DigestSize & {
      text: string | Uint8Array | ByteSource
      previous?: string | Uint8Array | ByteSource | undefined
    },
  ): Promise<{ digest: string }>
  snapshot(input: { context?: string | undefined; limit?: number | undefined }): Promise<SnapshotResult>
  /** Where the last session of an agent, or the one that is named, stood; else the stored context snapshot, or one made now. */
  resume(input?: { session?: string | undefined }): Promise<SnapshotResult>
  pin(input: { run: string; pinned: boolean }): Promise<RunResult>
  /** What runs printed and what was shown of them. */
  stats(input: { sinceMs?: number | undefined; limit?: number | undefined }): Promise<StatsResult>
  /** Counts an answer that a surface gave. */
  countShown(answered: Answered): Promise<void>
  gc(input: { dryRun?: boolean | undefined }): Promise<GcResult>
  /** `targets`: also whether each target can be opened. `host`: instead of everything else, whether Holdfast works in this coding agent. */
  doctor(input?: { fix?: string | undefined; host?: string | undefined; targets?: boolean | undefined }): Promise<DoctorResult>
  /** What each backend can do, and what is missing for it here. */
  backends(): Promise<BackendsResult>
  config(): Promise<ConfigResult>

  /** Makes a workspace, or gives back the one that is there. */
  openWorkspace(input: OpenWorkspaceRequest, call?: WorkspaceCall): Promise<OpenedWorkspace>
  /** Removes the tree of a workspace, never its branch, and saves first what is nowhere else. Twice is no failure. */
  releaseWorkspace(input: ReleaseWorkspaceRequest, call?: WorkspaceCall): Promise<ReleasedWorkspace>
  listWorkspaces(input: ListWorkspacesRequest): Promise<readonly WorkspaceSummary[]>
  /** Everything about one, with its history and its rescues. */
  showWorkspace(input: WorkspaceReference): Promise<ShownWorkspace>
  /** The same as in the list, with all that takes a look at its files. */
  workspaceStatus(input: WorkspaceReference): Promise<WorkspaceSummary>
  /** What its files differ in from a commit, those included that git does not know yet. */
  diffWorkspace(input: WorkspaceReference & { from?: string | undefined; maxBytes?: number | undefined }): Promise<WorkspaceDiff>
  /** Runs its setup again, whole. Rejects with `setup_failed` where that fails. */
  setupWorkspace(input: WorkspaceReference, call?: WorkspaceCall): Promise<SetUpWorkspace>
  listRescues(input: { repo?: string | undefined; workspace?: string | undefined }): Promise<readonly Rescue[]>
  showRescue(input: RescueReference): Promise<ShownRescue>
  /** Puts saved work back into a workspace, as it was. */
  restoreRescue(input: RescueReference & { workspace?: string | undefined }, call?: WorkspaceCall): Promise<RestoredRescue>
  /** Saved work as a patch that `git apply` takes. */
  exportRescue(input: RescueReference): Promise<ExportedRescue>
  dropRescues(input: {
    repo?: string | undefined
    rescue?: string | undefined
    /** All that are older. */
    olderThanMs?: number | undefined
    /** Also those whose branch does not hold their work. */
    force?: boolean | undefined
  }): Promise<DroppedRescues>
  /** Says which workspaces may go, and, where it is no dry run, releases them. */
  collectWorkspaces(
    input: { repo?: string | undefined; all?: boolean | undefined; artifacts?: boolean | undefined; dryRun?: boolean | undefined },
    call?: WorkspaceCall,
  ): Promise<CollectedWorkspaces>
  /** Deletes a branch that no worktree has, and keeps its tip under a private ref for a while. */
  deleteBranch(input: { branch: string; repo?: string | undefined }): Promise<DeletedBranch>

  /** Cancels what this process holds, waits for it (bounded), writes what is pending. Harmless when called twice. */
  close(): Promise<void>
}

export interface Call {
  readonly signal?: AbortSignal | undefined
}

export interface WorkspaceCall extends Call {
  /** What is being done right now, in a few words. It may throw without harm. */
  readonly onStep?: ((what: string) => void) | undefined
}

export interface WorkspaceReference {
  /** Id, branch or folder, or `operator:NAME`. */
  readonly workspace: string
  /** A folder inside its repository; default: where Holdfast works, then all repositories of this user. */
  readonly repo?: string | undefined
}

export interface RescueReference {
  /** Its id, or its ref. */
  readonly rescue: string
  readonly repo?: string | undefined
}

/** A rescue with what is in it. */
export interface ShownRescue extends Rescue {
  readonly files: readonly { readonly path: string; readonly status: string }[]
}

export interface SetUpWorkspace {
  readonly id: string
  readonly setup: WorkspaceSetup
}

export interface LiveOutput {
  readonly stream: StreamName
  readonly bytes: Uint8Array
  /** The bytes as text; a character that is split across chunks arrives whole, with the later one. */
  readonly text: string
}

export interface RunProgress {
  /** What both streams have had by now. */
  readonly bytes: number
  /** The stream that printed last. */
  readonly stream: StreamName
  /** The newest that it printed, raw, at most 64 KiB; may begin inside a line. */
  readonly text: string
}

export interface ExecCall extends Call {
  /** Called with everything the command prints while it runs. It may be slow or throw without harm. */
  readonly onOutput?: ((chunk: LiveOutput) => void) | undefined
  /** Called now and then while it runs: for whoever only shows how it goes, which is far cheaper than all of the output. */
  readonly onProgress?: ((progress: RunProgress) => void) | undefined
  /** Called when the run has begun, with the result so far. */
  readonly onBegin?: ((run: RunResult) => void) | undefined
  /** Nobody here writes to an interactive command: that is left to other processes. */
  readonly othersWrite?: boolean | undefined
  /** Told what is done before the command runs: an image is fetched, a tree is copied. It may throw without harm. */
  readonly onStep?: ((what: string) => void) | undefined
}

/** The most that a digest may take: bytes, or tokens by an estimate; not both. Default: the configured number of bytes. */
export interface DigestSize {
  /** Bytes of UTF-8, from 0. */
  readonly budget?: number | undefined
  /** Tokens by the estimate of core/tokens.ts, from 0. */
  readonly tokens?: number | undefined
}

export interface ExecInput extends DigestSize {
  /** The program and its arguments; or `script`. */
  readonly argv?: readonly string[] | undefined
  readonly script?: string | undefined
  /** `bash` (default), `node`, `python`, or a name under "runtimes" in the configuration. */
  readonly runtime?: string | undefined
  /** Relative to the root, or absolute inside it. Default: the root. */
  readonly cwd?: string | undefined
  /** Where it runs: the id, the branch or the folder of a workspace, or `operator:NAME`. `cwd` then is inside of that; default: its top. */
  readonly workspace?: string | undefined
  /** Where it runs: the name of a target in holdfast.json, `host` for this machine, or a target itself. Default: `defaultTarget`. */
  readonly target?: string | Target | undefined
  readonly timeoutMs?: number | undefined
  readonly idleTimeoutMs?: number | undefined
  readonly graceMs?: number | undefined
  readonly maxOutputBytes?: number | undefined
  readonly purpose?: string | undefined
  /** Values for the command's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Names to pass on from the environment of Holdfast. */
  readonly passEnv?: readonly string[] | undefined
  /** What the command reads, also as it comes; absent: end-of-file at once. */
  readonly stdin?: string | Input | undefined
  /** What becomes of processes that outlive a normal end. Default: `report`. */
  readonly leftovers?: 'report' | 'kill' | undefined
  /** Answer after this time also when the command still runs. Default: wait until it ends. */
  readonly waitMs?: number | undefined
  /** Let the run outlive this process: a supervisor holds it, or, where there is none, a process of its own. */
  readonly detach?: boolean | undefined
  /** Run it on a pseudo-terminal, of 24 rows and 80 columns unless said otherwise; all that it prints is stdout then. */
  readonly pty?: boolean | { readonly rows: number; readonly columns: number } | undefined
  /** Keep the standard input open for `input`; what `stdin` gives is written first. */
  readonly interactive?: boolean | undefined
  /** End the run with this process also where it would live on. */
  readonly ephemeral?: boolean | undefined
}

export interface InputRequest {
  readonly run: string
  /** Empty: see whether it may be written to. */
  readonly text?: string | Uint8Array | undefined
  /** Put a line feed behind the text. */
  readonly enter?: boolean | undefined
  /** Nothing comes after this: the command reads end-of-file then. */
  readonly end?: boolean | undefined
  /** A new size of its pseudo-terminal, and nothing else; without effect where it has none. */
  readonly size?: { readonly rows: number; readonly columns: number } | undefined
}

export interface InputResult {
  readonly id: string
  readonly state: RunState
  /** How many were written. */
  readonly bytes: number
  /** Whether more may be written. */
  readonly open: boolean
}

export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL'] as const
export type StopSignal = (typeof stopSignals)[number]

export interface StreamResult {
  readonly bytes: number
  readonly lines: number
  readonly droppedBytes: number
  readonly gap: Gap | null
  /** The log on disk. */
  readonly path: string
}

/** What an output says that one of an earlier run did not, each line counted once with all that are like it. */
export interface RunDifference {
  /** The earlier run. */
  readonly run: string
  /** Lines that are new. */
  readonly added: number
  /** Lines that are gone. */
  readonly gone: number
  /** Of these, lines of a failed run that looked like errors. */
  readonly mended: number
}

/** With the last runs of the same command that passed and that failed; null where there is none, or nothing to learn from it. */
export interface RunComparison {
  readonly passing: RunDifference | null
  readonly failing: RunDifference | null
}

/** The answer of exec, wait, show and stop; the same object on every surface. */
export interface RunResult {
  readonly id: string
  readonly state: RunState
  readonly outcome: Outcome | null
  readonly durationMs: number | null
  readonly stdout: StreamResult
  readonly stderr: StreamResult
  readonly digest: string
  /** With earlier runs of the same command; null where there was nothing to compare. */
  readonly comparison: RunComparison | null
  readonly leftovers: readonly Leftover[]
  /** null where it is not known: while it runs, and without a supervisor. */
  readonly usage: Usage | null
  readonly command: string
  readonly runtime: string | null
  readonly cwd: string
  readonly branch: string | null
  /** Where it ran; null on this machine. */
  readonly target: { readonly backend: BackendName; readonly name: string } | null
  /** The id of the workspace that it ran in; null where that was none. */
  readonly workspace: string | null
  readonly purpose: string | null
  readonly startedAt: string
  readonly endedAt: string | null
  readonly pinned: boolean
  /** The pseudo-terminal that it ran on: lines are counted as they stand there. null where there was none. */
  readonly pty: { readonly rows: number; readonly columns: number } | null
  /** Why a run of state `failed` never started. */
  readonly error: RunRecord['error']
  /** What the caller should know besides: a clamped limit, a store that could not be written. */
  readonly warnings: readonly string[]
}

export interface RunsInput {
  readonly query?: string | undefined
  readonly failing?: boolean | undefined
  readonly runtime?: string | undefined
  readonly limit?: number | undefined
}

export type RunSummary = Pick<RunResult, 'target'> &
  Pick<RunRecord, 'id' | 'state' | 'outcome' | 'durationMs' | 'command' | 'runtime' | 'purpose' | 'cwd' | 'branch' | 'startedAt' | 'pinned'> & {
    readonly workspace: string | null
    readonly failing: boolean
    readonly outputBytes: number
  }

export interface RunsResult {
  readonly runs: readonly RunSummary[]
  /** Runs in the store in all. */
  readonly total: number
  readonly warnings: readonly string[]
}

export interface OutputInput {
  readonly run: string
  /** Default: `all`: lines in their order of arrival, bytes of stdout before those of stderr. */
  readonly stream?: StreamName | 'all' | undefined
  /** `120`, `100-150`, `100-`, `-20` (the last 20): of each stream; or of each its own, `stdout:100-,stderr:7-20`, nothing of one that is not named. */
  readonly lines?: string | undefined
  /** Offsets in the stream: `0-1023`, `4096-`, `-512`. */
  readonly bytes?: string | undefined
  /** Only lines in which this regular expression is found. */
  readonly grep?: string | undefined
  /** At most this much text comes back; absent: 32 KiB. */
  readonly maxBytes?: number | undefined
}

export interface OutputLine {
  readonly stream: StreamName
  /** From 1, in its stream. 0 marks a line of ours that states what is missing. */
  readonly line: number
  readonly text: string
}

export interface OutputResult {
  readonly id: string
  readonly state: RunState
  readonly lines: readonly OutputLine[]
  /** The lines as text, without numbers, masked, without escape sequences. */
  readonly text: string
  /** True when `maxBytes` cut the answer; `next` then is what to pass as `lines` to go on. */
  readonly truncated: boolean
  readonly next: string | null
}

export interface SearchInput {
  readonly query: string
  /** Read the query as a regular expression. */
  readonly regex?: boolean | undefined
  /** Look for the query as it is written. */
  readonly literal?: boolean | undefined
  /** Only in this run: its id, a unique beginning of it, or `last`. */
  readonly run?: string | undefined
  readonly failing?: boolean | undefined
  /** ISO date or time, or a duration back from now like `2h`, in milliseconds since the epoch by the time it gets here. */
  readonly sinceMs?: number | undefined
  /** Only in runs of the workspace with this id or on this branch. */
  readonly workspace?: string | undefined
  /** Only in this stream, and not in commands and purposes. */
  readonly stream?: StreamName | undefined
  /** So many lines before and after each hit. */
  readonly context?: number | undefined
  readonly limit?: number | undefined
  /** Look through all runs, also where what the index has answers already, or is more than enough. */
  readonly all?: boolean | undefined
}

export interface SearchHit {
  /** `run:line` of stdout, `run:stderr:line` of stderr: what `output` accepts; `run` alone where the command or purpose matched. */
  readonly ref: string
  readonly run: string
  readonly stream: StreamName | 'command' | 'purpose'
  readonly line: number | null
  /** The line, or the part of it around the match, masked. */
  readonly text: string
  /** The lines before and after it, where they were asked for: fewer at an end of the log. */
  readonly before?: readonly string[] | undefined
  readonly after?: readonly string[] | undefined
  readonly command: string
  readonly failing: boolean
}

/** A run with hits. */
export interface SearchGroup extends RunSummary {
  /** Its hits in `hits`, by their references. */
  readonly refs: readonly string[]
}

/** A word that no run has, and one that is much like it and that some have. */
export interface SearchSuggestion {
  readonly word: string
  readonly instead: string
}

export interface SearchResult {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** The runs of the hits, in the order of their best ones. */
  readonly groups: readonly SearchGroup[]
  /** True when there may be more than `limit` hits. */
  readonly more: boolean
  readonly suggestions: readonly SearchSuggestion[]
  /** What was not read: for a bound, or because it is not there any more; and why ripgrep could not be used. */
  readonly warnings: readonly string[]
}

export interface StatsResult extends Stats {
  /** Commands that are not listed. */
  readonly more: number
  readonly warnings: readonly string[]
}

export interface SnapshotResult {
  readonly text: string
  readonly bytes: number
  /** Where it is stored; null where nothing was. */
  readonly path: string | null
  readonly warnings: readonly string[]
  /** The session of an agent that it tells of, where it is one. */
  readonly session?: { readonly host: string; readonly id: string; readonly at: string; readonly ageMs: number }
}

export interface GcResult {
  readonly dryRun: boolean
  readonly removed: readonly { readonly id: string; readonly bytes: number; readonly why: 'age' | 'count' | 'bytes' }[]
  /** Containers and pods that Holdfast made and that nobody uses. */
  readonly sites: readonly ReapedSite[]
  readonly freedBytes: number
  readonly kept: number
  readonly warnings: readonly string[]
}

export interface DoctorResult {
  readonly ok: boolean
  readonly checks: readonly {
    readonly name: string
    readonly status: 'ok' | 'warning' | 'failed'
    readonly detail: string
    /** What `fix` of this name would do; absent where nothing is mended from here. */
    readonly fix?: string | undefined
  }[]
  /** What was mended, where that was asked for. */
  readonly fixed?: string | undefined
}

export interface ConfigResult {
  /** Every setting in force and the file, or `default`, that it came from. */
  readonly settings: readonly { readonly key: string; readonly value: unknown; readonly source: string }[]
  readonly files: readonly { readonly path: string; readonly found: boolean }[]
}
