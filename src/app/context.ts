import type { BackendName, Session } from '../core/backend.ts'
import type { StreamName } from '../core/command.ts'
import type { Machine } from '../core/machine.ts'
import type { RunRecord } from '../core/run.ts'
import type { ScanFiles, Unusable } from '../core/scan.ts'
import type { SupervisedSession } from '../core/supervised.ts'
import type { Target } from '../core/target.ts'
import type { LockFile } from '../core/workspace.ts'
import type { Inlet } from '../engine/feed.ts'
import type { Masker } from '../engine/redact.ts'
import type { Repository } from '../git/repository.ts'
import type { WorkspaceContext, WorkspaceSettings } from '../workspaces/context.ts'
import type { ConfigResult } from './api.ts'
import type { FarPlace, OpenTargetRequest, ReapedSites } from './far.ts'
import type { Home, HomePlace } from './home.ts'
import type { Masking } from './masking.ts'
import type { Records } from './records.ts'
import type { AppSettings } from './settings.ts'

/** Where commands run. */
export type Place =
  | { readonly kind: 'supervised'; readonly session: SupervisedSession }
  /** `why` there is no supervisor; `warnings` where there should be one. */
  | { readonly kind: 'plain'; readonly session: Session; readonly why: string; readonly warnings: readonly string[] }

/** What workspaces are made with; read and loaded when the first one is asked for. */
export interface WorkspaceBasis {
  /** The folder of all workspaces of this user, without links; it need not exist. */
  root(): string
  /** What the person, and the project that holds a folder, set. */
  settingsOf(folder: string): Promise<WorkspaceSettings>
  openTools(): Promise<Required<Pick<WorkspaceContext, 'runProgram' | 'lock' | 'background'>>>
  /** The home at this path, of whichever project, and its records. */
  openHome(path: string): { readonly home: Home; readonly records: Records }
}

/** What is at hand from the beginning. */
export interface AppBasis {
  readonly root: string
  /** Where a relative or absent cwd begins: the root, or the folder below it that the caller stands in. */
  readonly base: string
  /** The environment of Holdfast itself. */
  readonly ownEnv: Readonly<Record<string, string | undefined>>
  readonly home: Home
  readonly homePlace: HomePlace
  readonly settings: AppSettings
  readonly records: Records
  readonly version: string
  /** The built program that runs now. */
  readonly program: string
  /** Whether every run ends with this process. */
  readonly ephemeral: boolean
  /** Whether processes that runs of this process left behind end with it, where nothing else holds them. */
  readonly endLeftoversOnClose: boolean
  /** Where commands run: under the supervisor of the home, or, where there is none, as children of this process. */
  openPlace(): Promise<Place>
  /** As children of this process. */
  openPlainSession(): Promise<Session>
  /** Opens what a target names: a container, an account, a pod. Rejects with what is wrong and what to do. */
  openTarget(request: OpenTargetRequest): Promise<FarPlace>
  /** Whether a backend can be used from here, as far as that is told without opening a target of it. Bounded in time; never rejects. */
  examineBackend(backend: Exclude<BackendName, 'host'>): Promise<{ readonly usable: boolean; readonly detail: string }>
  /** Ends what Holdfast made at these targets and nobody uses any more, or only says what that is. Bounded in time; never rejects. */
  reapSites(targets: readonly Target[], dryRun: boolean): Promise<ReapedSites>
  /** The supervisor that serves at a socket, of this or another version; undefined where none does. */
  reachSupervisor(socket: string): Promise<SupervisedSession | undefined>
  /** Looks through logs with a program of its own; undefined where that is not wanted, and why where there is none. */
  openScan(): Promise<ScanFiles | Unusable | undefined>
  /** What makes locks between processes; rejects where there is nothing that does. */
  openLock(): Promise<LockFile>
  /** The repository that holds the folder. */
  repositoryOf(folder: string): Repository | undefined
  /** The branch of it, or null. */
  branchOf(folder: string): string | null
  readonly workspaces: WorkspaceBasis
  explainConfig(): ConfigResult
  /** Values of variables that look secret. */
  secretsOf(env: Readonly<Record<string, string | undefined>>): readonly string[]
  now(): Date
}

/** What is loaded when the first use case needs it. */
export interface AppEquipment {
  readonly masking: Masking
  readonly machine: Machine
}

/** What every use case works with. */
export interface AppContext extends AppBasis, AppEquipment {}

export interface EndedRun {
  readonly record: RunRecord
  readonly warnings: readonly string[]
  /** The last bytes of streams whose logs could not be written to their end. */
  readonly unsaved?: Partial<Record<StreamName, Uint8Array>>
}

/** A run that this process began and follows. */
export interface ActiveRun {
  readonly id: string
  /** Monotonic: when the command was asked to be started. */
  readonly askedAt: number
  /** The record as it was when the run had begun. */
  readonly begun: RunRecord
  /** The record as it is now, with totals up to now. */
  current(): Promise<RunRecord>
  /** Knows the secrets of this run, written down or not. */
  readonly masker: Masker
  /** Resolves to the record of the end, or, of a run that was let go of, as it was. Never rejects. */
  readonly finished: Promise<EndedRun>
  cancel(signal?: NodeJS.Signals): void
  /** Where more may be written to its standard input. */
  readonly inlet: OpenInlet | undefined
  /** Lets it live on without this process; absent where it cannot. */
  readonly release: (() => void) | undefined
}

export interface OpenInlet extends Inlet {
  /** Whether the command may be written to now. */
  isOpen(): Promise<boolean>
}
