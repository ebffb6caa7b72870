/// <reference lib="esnext.disposable" preserve="true" />
import type { App } from './app/api.ts'
import { openApp } from './compose.ts'

export type {
  App,
  Call,
  ConfigResult,
  DoctorResult,
  ExecCall,
  ExecInput,
  GcResult,
  LiveOutput,
  OutputInput,
  OutputLine,
  OutputResult,
  RunResult,
  RunSummary,
  RunsInput,
  RunsResult,
  SearchHit,
  SearchInput,
  SearchResult,
  SnapshotResult,
  StopSignal,
  StreamResult,
} from './app/api.ts'
export type { StreamName } from './core/command.ts'
export { type ErrorCode, HoldfastError } from './core/errors.ts'
export type { Outcome, OutcomeKind } from './core/outcome.ts'
export type { Gap, Leftover, RunState } from './core/run.ts'
export type { Note, NoteCategory } from './core/store.ts'
export { version } from './core/version.ts'

/** What `openHoldfast` gives. Commands run on this machine, as the user of this process. */
export interface Holdfast extends Omit<App, 'exec'>, AsyncDisposable {
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
}

/** Opens Holdfast for a folder. Nothing is written before the first command. Close it when done. */
export async function openHoldfast(options: HoldfastOptions): Promise<Holdfast> {
  const app = await openApp({ cwd: options.root, root: options.root, env: options.env, surface: 'library' })
  return {
    ...app,
    exec: ({ signal, onOutput, onBegin, ...input }) => app.exec(input, { signal, onOutput, onBegin }),
    [Symbol.asyncDispose]: () => app.close(),
  }
}
