/**
 * How a run ended. An end is a value, never an error, and every field is always there, so that a reader never asks
 * which shape came back.
 */
export const outcomeKinds = ['exited', 'signaled', 'timed_out', 'canceled', 'lost'] as const
export type OutcomeKind = (typeof outcomeKinds)[number]

export interface Outcome {
  /** `lost`: contact with the command was lost; it may still run. */
  readonly kind: OutcomeKind
  /** The command's own exit code; 128 + n where signal n ended it; null where none is known. Never invented. */
  readonly exitCode: number | null
  /** The signal that ended the command's first process, or null. */
  readonly signal: string | null
  /** Which limit cut a `timed_out` run: total time, or time without output. */
  readonly limit: 'wall' | 'idle' | null
}

/** What a backend knows of the end of a program. */
export type ExitStatus = { readonly exitCode: number } | { readonly signal: string; readonly number: number | undefined }

/** What can end a run besides its own exit. */
export type Cut = { readonly kind: 'timed_out'; readonly limit: 'wall' | 'idle'; readonly afterMs: number } | { readonly kind: 'canceled' }

/** Joins the cause of an end and the status of the program (undefined: contact lost) into an outcome. */
export function toOutcome(cut: Cut | undefined, status: ExitStatus | undefined): Outcome {
  const exitCode = status === undefined ? null : 'exitCode' in status ? status.exitCode : status.number === undefined ? null : 128 + status.number
  const signal = status !== undefined && 'signal' in status ? status.signal : null
  const limit = cut?.kind === 'timed_out' ? cut.limit : null
  if (cut) return { kind: cut.kind, exitCode, signal, limit }
  return { kind: status === undefined ? 'lost' : signal ? 'signaled' : 'exited', exitCode, signal, limit }
}

/** True only for a command that ended by itself with exit code 0. */
export function isSuccess(outcome: Outcome | null): boolean {
  return outcome?.kind === 'exited' && outcome.exitCode === 0
}
