/// <reference lib="esnext.disposable" preserve="true" />
import type { App } from './app/api.ts'
import { openApp } from './compose.ts'
import { streamNames } from './core/command.ts'
import { failure } from './core/errors.ts'
import * as ops from './operations/index.ts'
import { invoke, type Operation, type OperationCall, parseInput } from './operations/operation.ts'
import { isAboutRuns, runOf } from './operations/run-of.ts'

export type {
  App,
  Call,
  CollectedWorkspaces,
  ConfigResult,
  DeletedBranch,
  DoctorResult,
  DroppedRescues,
  ExecCall,
  ExecInput,
  ExportedRescue,
  GcResult,
  HostOnMachine,
  InputRequest,
  InputResult,
  InstalledFile,
  InstallInput,
  InstallResult,
  LiveOutput,
  OutputInput,
  OutputLine,
  OutputResult,
  RescueReference,
  RestoredRescue,
  RunProgress,
  RunResult,
  RunSummary,
  RunsInput,
  RunsResult,
  SearchGroup,
  SearchHit,
  SearchInput,
  SearchResult,
  SearchSuggestion,
  SetUpWorkspace,
  ShownRescue,
  SnapshotResult,
  StopSignal,
  StreamResult,
  WorkspaceCall,
  WorkspaceReference,
} from './app/api.ts'
export type { BackendFacts, BackendsResult } from './app/backends.ts'
export type { Copied } from './app/copying.ts'
export type { ReapedSite } from './app/far.ts'
export type { FileEncoding, FileReference, ReadFileInput, ReadFileResult } from './app/files.ts'
export type { BackendName, Capabilities } from './core/backend.ts'
export type { StreamName } from './core/command.ts'
export { type ErrorGuidance, type Fault, guidanceOf, type Retryable } from './core/error-guidance.ts'
export { type ErrorCode, HoldfastError } from './core/errors.ts'
export type { FileEntry, FileKind, FileList, FileMoved, FileRemoved, FileStat, FileWritten, WriteRoute } from './core/files.ts'
export type { ImportedNotes, Note, NoteCategory, NoteScope, Retired, SavedNote, SkippedLine } from './core/note.ts'
export type { Outcome, OutcomeKind } from './core/outcome.ts'
export type { Gap, Leftover, RunState, Usage } from './core/run.ts'
export type { DockerTarget, KubernetesTarget, SshTarget, Target } from './core/target.ts'
export { version } from './core/version.ts'
export type {
  Rescue,
  WorkspaceAction,
  WorkspaceBase,
  WorkspaceEvent,
  WorkspaceKind,
  WorkspaceOptions,
  WorkspaceOverlay,
  WorkspaceSetup,
  WorkspaceState,
} from './core/workspace.ts'
export type {
  DescribedWorkspace,
  DirtyCounts,
  ListWorkspacesRequest,
  OpenedWorkspace,
  OpenWorkspaceRequest,
  ProviderCall,
  ReleasedWorkspace,
  ReleaseMode,
  ReleaseWorkspaceRequest,
  ShownWorkspace,
  ShownWorkspaceState,
  WorkspaceDiff,
  WorkspaceProvider,
  WorkspaceSummary,
} from './core/workspace-provider.ts'
export { type ClassifyOptions, classifyProviderError } from './providers/classify.ts'
export {
  maxRetryAfterMs,
  type NextStep,
  type ProviderErrorClass,
  type ProviderErrorClassification,
  type ProviderErrorEvidence,
  providerErrorClasses,
} from './providers/provider-error.ts'
export { type RetryCall, type RetryClock, type RetryPolicy, type RetryState, type RetryWait, retry } from './providers/retry.ts'

export { type AcpHandlers, type AcpMethod, type AcpOptions, acpHandlers, acpMethods } from './surfaces/acp/handlers.ts'

/** What `openHoldfast` gives. Commands run on this machine, as the user of this process. */
export interface Holdfast extends Omit<App, 'exec' | 'countShown'>, AsyncDisposable {
  /**
   * Runs a command and resolves to how it ended; a command that fails is a result, not a rejection. Rejects with a
   * HoldfastError when it could not be started or was asked for wrongly.
   *
   * `timeoutMs` (default 600,000) and the other limits are in milliseconds. `signal` cancels the command; its output so far is kept.
   * `onOutput` gets everything that is printed while it runs.
   */
  exec(input: HoldfastExecInput): Promise<import('./app/api.ts').RunResult>
}

export type HoldfastExecInput = import('./app/api.ts').ExecInput & import('./app/api.ts').ExecCall

export interface HoldfastOptions {
  /** The workspace: commands and their cwd stay inside it. It must exist. */
  readonly root: string
  /** The environment that names passed to commands come from. Default: the one of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Whether every command ends with this process at the latest. Default: what runs in the background lives on. */
  readonly ephemeral?: boolean | undefined
}

/**
 * Opens Holdfast for a folder. Nothing is written before the first command. Close it when done. What is asked for is
 * checked like what comes over the command line or MCP: every operation rejects with a HoldfastError, and with nothing else.
 */
export async function openHoldfast(options: HoldfastOptions): Promise<Holdfast> {
  const { root, env, ephemeral } = asObject('options', options)
  if (typeof root !== 'string') throw failure('invalid', { field: 'root', value: root, accepted: 'the path of an existing folder' })
  if (ephemeral !== undefined && typeof ephemeral !== 'boolean') throw failure('invalid', { field: 'ephemeral', value: ephemeral, accepted: 'true or false' })
  const app = await openApp({ cwd: root, root, env: env as HoldfastOptions['env'], surface: 'library', ephemeral })
  const counted = <Output>(operation: string, result: Output): Output => {
    const { digest, text } = result as { digest?: unknown; text?: unknown }
    const shown = digest ?? text
    if (isAboutRuns(operation) && typeof shown === 'string')
      app.countShown({ surface: 'library', operation, run: runOf(operation, result), bytes: Buffer.byteLength(shown) }).catch(() => {})
    return result
  }
  const checked =
    <Output>(operation: Operation<Operation['input'], Output>) =>
    async (input?: unknown, call?: OperationCall): Promise<Output> =>
      counted(operation.name, await invoke(operation, app, asObject('the input', input), checkCall(call)))
  return {
    async exec(given) {
      const { signal, onOutput, onProgress, onBegin, onStep, ...input } = asObject('the input', given)
      return counted('exec', await invoke(ops.exec, app, input, checkCall({ signal, onOutput, onProgress, onBegin, onStep })))
    },
    wait: checked(ops.wait),
    stop: checked(ops.stop),
    input: checked(ops.input),
    runs: checked(ops.runs),
    show: checked(ops.show),
    output: checked(ops.output),
    async follow(input, call) {
      const { streams, ...run } = asObject('the input', input)
      const known = Array.isArray(streams) && streams.every((stream) => streamNames.includes(stream))
      if (!known) throw failure('invalid', { field: 'streams', value: streams, accepted: `a list of ${streamNames.join(' and ')}` })
      const { onOutput, ...rest } = checkCall(call)
      if (!onOutput) throw failure('invalid', { field: 'onOutput', value: onOutput, accepted: 'a function' })
      return app.follow({ run: parseInput(ops.show, run).run, streams }, { ...rest, onOutput })
    },
    async search(input) {
      const { sinceMs, ...rest } = asObject('the input', input)
      if (sinceMs !== undefined && !Number.isFinite(sinceMs))
        throw failure('invalid', { field: 'sinceMs', value: sinceMs, accepted: 'a time in milliseconds since 1970' })
      return app.search({ ...parseInput(ops.search, rest), ...(sinceMs === undefined ? {} : { sinceMs: sinceMs as number }) })
    },
    digest: checked(ops.digest),
    snapshot: checked(ops.snapshot),
    resume: () => app.resume(),
    addNote: checked(ops.noteAdd),
    listNotes: checked(ops.noteList),
    searchNotes: checked(ops.noteSearch),
    updateNote: checked(ops.noteUpdate),
    removeNote: checked(ops.noteRemove),
    exportNotes: checked(ops.noteExport),
    importNotes: checked(ops.noteImport),
    async pin(input) {
      const { pinned, ...run } = asObject('the input', input)
      if (typeof pinned !== 'boolean') throw failure('invalid', { field: 'pinned', value: pinned, accepted: 'true or false' })
      return invoke(pinned ? ops.pin : ops.unpin, app, run)
    },
    openWorkspace: checked(ops.workspaceOpen),
    releaseWorkspace: checked(ops.workspaceRelease),
    listWorkspaces: checked(ops.workspaceList),
    showWorkspace: async (input) => app.showWorkspace(parseInput(ops.workspaceShow, asObject('the input', input))),
    workspaceStatus: checked(ops.workspaceStatus),
    diffWorkspace: checked(ops.workspaceDiff),
    setupWorkspace: checked(ops.workspaceSetup),
    listRescues: checked(ops.workspaceRescues),
    showRescue: checked(ops.workspaceShowRescue),
    restoreRescue: checked(ops.workspaceRestore),
    exportRescue: checked(ops.workspaceExport),
    dropRescues: checked(ops.workspaceDrop),
    collectWorkspaces: checked(ops.workspaceGc),
    deleteBranch: checked(ops.workspaceDeleteBranch),
    async stats(input) {
      const { sinceMs, ...rest } = asObject('the input', input)
      if (sinceMs !== undefined && !Number.isFinite(sinceMs))
        throw failure('invalid', { field: 'sinceMs', value: sinceMs, accepted: 'a time in milliseconds since 1970' })
      return app.stats({ ...parseInput(ops.stats, rest), ...(sinceMs === undefined ? {} : { sinceMs: sinceMs as number }) })
    },
    gc: checked(ops.gc),
    install: checked(ops.install),
    uninstall: checked(ops.uninstall),
    doctor: checked(ops.doctor),
    config: () => app.config(),
    backends: () => app.backends(),
    readFile: checked(ops.filesRead),
    writeFile: checked(ops.filesWrite),
    appendFile: checked(ops.filesAppend),
    listFiles: checked(ops.filesList),
    statFile: checked(ops.filesStat),
    makeDirectory: checked(ops.filesMkdir),
    removeFile: checked(ops.filesRemove),
    moveFile: checked(ops.filesMove),
    copyFiles: checked(ops.copy),
    close: () => app.close(),
    [Symbol.asyncDispose]: () => app.close(),
  }
}

function asObject(what: string, given: unknown): Record<string, unknown> {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw failure('invalid', { field: what, value: given, accepted: 'an object' })
  return given as Record<string, unknown>
}

function checkCall(given: unknown): OperationCall {
  const call = asObject('the call', given)
  if (call.signal !== undefined && !(call.signal instanceof AbortSignal))
    throw failure('invalid', { field: 'signal', value: call.signal, accepted: 'an AbortSignal' })
  for (const name of ['onOutput', 'onProgress', 'onBegin', 'onStep']) {
    if (call[name] !== undefined && typeof call[name] !== 'function') throw failure('invalid', { field: name, value: call[name], accepted: 'a function' })
  }
  return call as OperationCall
}
