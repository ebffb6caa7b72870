import type { Limits } from './limits.ts'

export type StreamName = 'stdout' | 'stderr'
export const streamNames = ['stdout', 'stderr'] as const

/** A command that has been checked: a backend starts it as it stands. */
export interface ResolvedCommand {
  /** The program and its arguments. A script is in a file by now, never an argument. */
  readonly argv: readonly [string, ...string[]]
  /** Absolute, confined to the workspace, on the machine where the command runs. */
  readonly cwd: string
  /** The whole environment, built from empty. */
  readonly env: Readonly<Record<string, string>>
  /**
   * `none`: the command reads end-of-file at once. `fed`: whoever starts it writes it and ends it. `open`: anybody may write until
   * somebody ends it; only where there is a supervisor.
   */
  readonly stdin: 'none' | 'fed' | 'open'
  /** A pseudo-terminal of this size; all that is printed is stdout then. Only where there is a supervisor. */
  readonly pty?: { readonly rows: number; readonly columns: number } | undefined
  /** Where it runs somewhere else: files that are put into the folder of the run there before it starts, such as its script. */
  readonly files?: readonly { readonly name: string; readonly bytes: Uint8Array }[] | undefined
  /** Text that every process of the run has in its environment as the last part of HOLDFAST_RUN. */
  readonly mark: string
}

/** What a command reads: all of it, or as it comes. */
export type Input = Uint8Array | AsyncIterable<Uint8Array>

/** The variable that marks every process of a run; nested runs append their id: `outer/inner`. */
export const markVariable = 'HOLDFAST_RUN'

export interface ExecutionPlan {
  readonly command: ResolvedCommand
  readonly limits: Limits
  readonly stdin: Input | undefined
  readonly leftovers: 'report' | 'kill'
}

/** Shows argv as a person would type it in a POSIX shell. */
export function displayArgv(argv: readonly string[]): string {
  return argv.map(quote).join(' ')
}

function quote(word: string): string {
  if (word !== '' && /^[\w@%+=:,./^-]+$/.test(word)) return word
  return shellQuoted(word)
}

/** A word of a POSIX shell that means exactly this text. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
