import type { ExecutionPlan, ResolvedCommand } from '../core/command.ts'
import { toHoldfastError } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { Executed, Progress } from '../engine/execute.ts'
import type { Masker } from '../engine/redact.ts'
import type { ExecCall } from './api.ts'
import type { Program } from './command.ts'
import type { AppContext } from './context.ts'
import type { FarPlace, NamedTarget } from './far.ts'
import { keepPrintedSecrets } from './masking.ts'
import type { RunFolder } from './run-folder.ts'
import type { RunWorkspace } from './run-workspace.ts'

/** What both ways to hold a run have in common. */

/** A request, checked and resolved. */
export interface Prepared {
  readonly program: Program
  readonly cwd: string
  readonly env: Record<string, string>
  readonly plan: Omit<ExecutionPlan, 'command'>
  readonly pty: ResolvedCommand['pty']
  /** Whether the standard input stays open. */
  readonly interactive: boolean
  /** Whether the run ends with this process. */
  readonly ephemeral: boolean
  readonly notes: readonly string[]
  readonly secrets: readonly string[]
  readonly masker: Masker
  /** Where it runs; undefined in a tree that is no workspace. */
  readonly workspace: RunWorkspace | undefined
  /** Where it runs, if that is not this machine. */
  readonly far: FarRun | undefined
}

export interface FarRun {
  readonly named: NamedTarget
  readonly at: FarPlace
}

/** A run whose record is written and whose command has not been started. */
export interface Beginning {
  readonly first: RunRecord
  readonly folder: RunFolder
  readonly prepared: Prepared
  readonly command: Omit<ResolvedCommand, 'stdin'>
  readonly call: ExecCall
  readonly warnings: readonly string[]
}

/** What of a request only a supervisor can give, in words; undefined where that is nothing. */
export function supervisorNeeded(pty: unknown, othersWrite: boolean | undefined): string | undefined {
  return pty ? 'a pseudo-terminal' : othersWrite ? 'input from another process' : undefined
}

export interface Canceling {
  readonly signal: AbortSignal
  /** No grace is waited for any longer once it is aborted. */
  readonly hurry: AbortSignal
  cancel(signal?: NodeJS.Signals): void
  /** The caller is not listened to any more. */
  forget(): void
}

export function createCancel(caller: AbortSignal | undefined): Canceling {
  const controller = new AbortController()
  const hurry = new AbortController()
  const abort = (): void => controller.abort()
  caller?.addEventListener('abort', abort, { once: true })
  if (caller?.aborted) abort()
  return {
    signal: controller.signal,
    hurry: hurry.signal,
    cancel(signal) {
      // Whoever says KILL while the grace of an earlier request goes on does not want to wait for its end.
      if (controller.signal.aborted && signal === 'SIGKILL') hurry.abort()
      controller.abort({ signal })
    },
    forget: () => caller?.removeEventListener('abort', abort),
  }
}

/** Looks which secrets the logs hold; what goes wrong is said. */
export function noteEnd(
  context: AppContext,
  folder: RunFolder,
  { secrets }: Prepared,
  { stdout, stderr, leftovers }: Pick<Executed, 'stdout' | 'stderr' | 'leftovers'>,
): string[] {
  // As a rule a command that printed nothing has nothing to hide.
  if (stdout.bytes === 0 && stderr.bytes === 0 && secrets.length === 0) return []
  try {
    // What was left behind knows them, and may print them into the logs of a supervisor later.
    keepPrintedSecrets(folder, [...context.masking.secrets, ...secrets], leftovers.length > 0 ? secrets : [])
    return []
  } catch (error) {
    return [`secrets in the output could not be noted: ${toHoldfastError(error).message}`]
  }
}

/** The record of a run that goes on, with how far it is. */
export function withProgress(record: RunRecord, { elapsedMs, stdout, stderr }: Progress): RunRecord {
  return { ...record, durationMs: Math.round(elapsedMs), stdout, stderr }
}

/** The record of an end, without its time and its pin. */
export function endedRecord(begun: RunRecord, end: Executed, masker: Masker, notes: readonly string[]): RunRecord {
  return {
    ...begun,
    state: end.state,
    outcome: end.outcome,
    durationMs: Math.round(end.durationMs),
    stdout: end.stdout,
    stderr: end.stderr,
    leftovers: end.leftovers.map(({ pid, name }) => ({ pid, name: masker.mask(name) })),
    warnings: [...begun.warnings, ...end.notes.map((note) => masker.mask(note)), ...notes],
    ...(end.usage ? { usage: end.usage } : {}),
  }
}
