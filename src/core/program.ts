import type { Outcome } from './outcome.ts'

/** A program of ours that is run to its end, with its output in memory: git, mount, cp. No shell, no terminal. */
export interface ProgramRequest {
  readonly argv: readonly [string, ...string[]]
  /** Absolute; it must exist. */
  readonly cwd: string
  /** The whole environment, built from empty. */
  readonly env: Readonly<Record<string, string>>
  /** What it reads; absent: end-of-file at once. */
  readonly stdin?: string | Uint8Array | undefined
  /** After this time its whole tree is ended. */
  readonly timeoutMs: number
  /** Of each stream, its beginning; the rest is read and counted out. */
  readonly maxOutputBytes: number
  readonly signal?: AbortSignal | undefined
}

export interface ProgramResult {
  readonly outcome: Outcome
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** Whether either stream had more than `maxOutputBytes`. */
  readonly truncated: boolean
}

/**
 * Runs a program to its end. However it ends is a value. Rejects with a HoldfastError where it never ran (`program_missing`,
 * `cwd_missing` …). Leaves no process behind: what it started and left is ended with it.
 */
export type RunProgram = (request: ProgramRequest) => Promise<ProgramResult>
