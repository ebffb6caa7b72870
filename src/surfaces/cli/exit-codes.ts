import { constants } from 'node:os'
import type { RunResult } from '../../app/api.ts'
import type { ErrorCode, ErrorReason } from '../../core/errors.ts'
import type { Outcome, OutcomeKind } from '../../core/outcome.ts'

const timedOut = 124
export const holdfastFailed = 125

const ofErrorCode = {
  invalid_argument: holdfastFailed,
  not_found: holdfastFailed,
  already_exists: holdfastFailed,
  failed_precondition: holdfastFailed,
  permission_denied: holdfastFailed,
  unauthenticated: holdfastFailed,
  unavailable: holdfastFailed,
  resource_exhausted: holdfastFailed,
  unsupported: holdfastFailed,
  conflict: holdfastFailed,
  internal: holdfastFailed,
} satisfies Record<ErrorCode, number>

// As shells do: 126 for a program that cannot be executed, 127 for one that is not there.
const ofReason: Partial<Record<ErrorReason, number>> = { program_not_executable: 126, program_missing: 127, runtime_missing: 127 }

/** The exit status for an error of Holdfast. */
export function exitOfError(error: { readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> }): number {
  return ofReason[error.details.reason as ErrorReason] ?? ofErrorCode[error.code]
}

/** The exit status for an end by a signal. */
export function exitOfSignal(name: string): number {
  const number = constants.signals[name as NodeJS.Signals]
  return number === undefined ? holdfastFailed : 128 + number
}

const ofOutcome = {
  exited: (outcome) => outcome.exitCode ?? holdfastFailed,
  signaled: (outcome) => outcome.exitCode ?? exitOfSignal(outcome.signal ?? ''),
  timed_out: () => timedOut,
  // A command that was stopped may still end with 0; it must not look like a success.
  canceled: (outcome) => outcome.exitCode || exitOfSignal('SIGTERM'),
  lost: () => holdfastFailed,
} satisfies Record<OutcomeKind, (outcome: Outcome) => number>

/** The exit status of exec and wait: how the run ended; 0 while it still runs. */
export function exitOfRun(run: Pick<RunResult, 'state' | 'outcome' | 'error'>): number {
  if (run.state === 'running') return 0
  if (run.state === 'failed' && run.error) return exitOfError(run.error)
  if (run.state !== 'ended' || !run.outcome) return holdfastFailed
  return ofOutcome[run.outcome.kind](run.outcome)
}
