import { type Facts, type Reason, reason, shown } from './reason.ts'
import { remoteReasons } from './remote-reasons.ts'
import { workspaceReasons } from './workspace-reasons.ts'

/**
 * Every error that Holdfast raises on purpose. The code is closed and is what programs act on; the message is composed
 * here alone, from facts, so that each sentence names the field, the value and what is accepted.
 */
export const errorCodes = [
  'invalid_argument',
  'not_found',
  'already_exists',
  'failed_precondition',
  'permission_denied',
  'unauthenticated',
  'unavailable',
  'resource_exhausted',
  'unsupported',
  'conflict',
  'internal',
] as const
export type ErrorCode = (typeof errorCodes)[number]

/** Nothing was given. An empty text is a value: some fields take one. */
const isMissing = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.length === 0)

const isShellLine = (program: string): boolean => /[\s|&;<>$]/.test(program)
const shellLineHint = '; a shell command line goes into a script (-c)'

/** One row per situation: its code and its sentence. `details.reason` carries the key. */
const reasons = {
  invalid: reason<{ field: string; value: unknown; accepted: string }>(
    'invalid_argument',
    (f) => `${f.field} is ${isMissing(f.value) ? 'missing' : shown(f.value)}; accepted: ${f.accepted}`,
  ),
  unknown_option: reason<{ option: string; command: string; suggestion?: string | undefined; help?: string | undefined }>(
    'invalid_argument',
    (f) => `${f.command} has no option ${f.option}${f.suggestion ? `; did you mean ${f.suggestion}?` : ''}${f.help ? ` (see ${f.help})` : ''}`,
  ),
  unknown_command: reason<{ command: string; suggestion?: string | undefined }>(
    'invalid_argument',
    (f) => `there is no command ${shown(f.command)}${f.suggestion ? `; did you mean ${f.suggestion}?` : ''} (see holdfast --help)`,
  ),
  invalid_config: reason<{ problems: readonly string[] }>(
    'invalid_argument',
    (f) => `the configuration cannot be used:\n${f.problems.map((p) => `  ${p}`).join('\n')}`,
  ),
  disabled: reason<{ where: string }>('failed_precondition', (f) => `Holdfast is turned off here by "enabled": false in ${f.where}`),
  cwd_missing: reason<{ cwd: string }>('not_found', (f) => `the working directory ${f.cwd} does not exist; nothing was started`),
  cwd_not_directory: reason<{ cwd: string }>('failed_precondition', (f) => `the working directory ${f.cwd} is not a directory; nothing was started`),
  cwd_forbidden: reason<{ cwd: string }>('permission_denied', (f) => `the working directory ${f.cwd} cannot be entered; nothing was started`),
  cwd_outside: reason<{ cwd: string; root: string; workspace?: string | undefined }>(
    'invalid_argument',
    (f) =>
      `cwd ${f.cwd} leads outside the workspace; accepted: a path inside ${f.root}${f.workspace ? `, or workspace ${f.workspace}, which it belongs to` : ''}`,
  ),
  root_missing: reason<{ root: string }>('not_found', (f) => `the folder ${f.root} does not exist; accepted: an existing folder`),
  program_missing: reason<{ program: string }>(
    'not_found',
    (f) => `there is no program ${shown(f.program)} on the PATH of the command; nothing was started${isShellLine(f.program) ? shellLineHint : ''}`,
  ),
  program_not_executable: reason<{ program: string }>('permission_denied', (f) => `the program ${shown(f.program)} cannot be executed; nothing was started`),
  runtime_missing: reason<{ runtime: string; program: string; target?: string | undefined }>(
    'not_found',
    (f) =>
      `the runtime ${shown(f.runtime)} needs the program ${shown(f.program)}, which is not installed ${f.target ? `at ${f.target}` : 'here'}; nothing was started`,
  ),
  runtime_unknown: reason<{ runtime: string; known: readonly string[] }>(
    'invalid_argument',
    (f) => `runtime is ${shown(f.runtime)}; accepted: ${f.known.join(', ')}, or a name under "runtimes" in holdfast.json`,
  ),
  command_too_large: reason<{ field: string; bytes: number; maxBytes: number }>(
    'resource_exhausted',
    (f) => `${f.field} has ${f.bytes} bytes, more than the ${f.maxBytes} that this system hands to a program; nothing was started`,
  ),
  start_failed: reason<{ program: string; errno: string }>('unavailable', (f) => `${shown(f.program)} could not be started (${f.errno}); nothing ran`),
  canceled_before_start: reason<Record<never, never>>('failed_precondition', () => 'canceled before the command was started; nothing ran'),
  run_not_found: reason<{ run: string }>('not_found', (f) => `there is no run ${shown(f.run)}; accepted: a run id, a unique prefix of one, or "last"`),
  run_ambiguous: reason<{ run: string; matches: readonly string[] }>(
    'conflict',
    (f) => `${shown(f.run)} is the beginning of several runs: ${f.matches.join(', ')}`,
  ),
  run_ended: reason<{ run: string }>('failed_precondition', (f) => `run ${f.run} has ended; there is nothing to stop`),
  input_over: reason<{ run: string }>('failed_precondition', (f) => `run ${f.run} has ended; nothing reads its standard input`),
  input_closed: reason<{ run: string }>(
    'failed_precondition',
    (f) => `the standard input of run ${f.run} is not open; a run takes input when it is started as interactive, until its input is ended`,
  ),
  input_full: reason<{ run: string }>('unavailable', (f) => `run ${f.run} has not read yet what was written to it before; nothing was added`),
  input_elsewhere: reason<{ run: string; pid: number }>(
    'unsupported',
    (f) => `run ${f.run} is held by process ${f.pid} without a supervisor; only that process can write to its standard input`,
  ),
  supervisor_needed: reason<{ what: string; why: string }>(
    'unsupported',
    (f) => `${f.what} needs the supervisor, and ${f.why}; nothing was started (see holdfast doctor)`,
  ),
  supervisor_unavailable: reason<{ why: string }>('unavailable', (f) => `the supervisor cannot be used: ${f.why}`),
  supervisor_lost: reason<{ why: string; unsent?: boolean }>(
    'unavailable',
    (f) => `contact with the supervisor was lost: ${f.why}; ${f.unsent ? 'nothing was asked of it' : 'what it started may still run'}`,
  ),
  supervisor_refused: reason<{ request: string; answer: string; why: string }>(
    'unavailable',
    (f) => `the supervisor refused ${f.request}: ${f.answer}${f.why ? ` (${f.why})` : ''}`,
  ),
  output_missing: reason<{ run: string; stream: string }>('not_found', (f) => `the ${f.stream} of run ${f.run} is no longer on disk`),
  note_not_found: reason<{ note: string }>('not_found', (f) => `there is no note ${shown(f.note)}`),
  note_exists: reason<{ note: string; retired: boolean }>(
    'already_exists',
    (f) => `note ${f.note} says the same already${f.retired ? ', and is retired: it can be restored' : ''}; nothing was changed`,
  ),
  store_unusable: reason<{ path: string; why: string }>('unavailable', (f) => `the store ${f.path} cannot be used: ${f.why}`),
  store_newer: reason<{ path: string; version: number; known: number }>(
    'failed_precondition',
    (f) => `the store ${f.path} was written by a newer Holdfast (version ${f.version}, this one knows ${f.known}); it is left untouched`,
  ),
  home_unusable: reason<{ path: string; why: string }>('unavailable', (f) => `the folder ${f.path} cannot be used: ${f.why}`),
  file_unreadable: reason<{ path: string; why: string }>('not_found', (f) => `the file ${f.path} cannot be read: ${f.why}`),
  cannot_listen: reason<{ address: string; why: string }>('unavailable', (f) => `cannot listen at ${f.address}: ${f.why}`),
  host_config_broken: reason<{ path: string; line: number; column: number; problem: string }>(
    'failed_precondition',
    (f) => `${f.path} cannot be used as it is (line ${f.line}, column ${f.column}: ${f.problem}); nothing was changed`,
  ),
  host_config_unusual: reason<{ path: string }>(
    'failed_precondition',
    (f) => `${f.path} is written in a way that cannot be changed safely from here; nothing was changed`,
  ),
  host_config_foreign: reason<{ path: string; entry: string }>(
    'already_exists',
    (f) => `${f.entry} in ${f.path} is there already and is none of Holdfast's; nothing was changed`,
  ),
  host_config_changed: reason<{ path: string }>('unavailable', (f) => `${f.path} was changed by another program at the same time; nothing was changed`, {
    retryable: true,
  }),
  unsupported_platform: reason<{ platform: string }>(
    'unsupported',
    (f) => `Holdfast runs on Linux and macOS; on ${f.platform === 'win32' ? 'Windows' : f.platform}, use it inside WSL (Windows Subsystem for Linux)`,
  ),
  closed: reason<Record<never, never>>('failed_precondition', () => 'this Holdfast has been closed'),
  internal: reason<{ what: string }>('internal', (f) => `internal error: ${f.what}`),
  ...workspaceReasons,
  ...remoteReasons,
} as const

export type ErrorReason = keyof typeof reasons
type FactsOf<K extends ErrorReason> = (typeof reasons)[K] extends Reason<infer F> ? F : never

/**
 * A refusal or failure with a code to act on. How a command ended is never an error: see Outcome.
 * `details` holds `reason` and the facts of the sentence; `operation` is what was asked for, once that is known.
 */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  operation: string | undefined
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Facts & { readonly reason: ErrorReason },
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }

  /** The shape of an error on every surface. */
  toJSON(): { code: ErrorCode; message: string; details: Facts } {
    return { code: this.code, message: this.message, details: this.details }
  }
}

/** Makes the error for one situation; `facts` fill its sentence and become its details. */
export function failure<K extends ErrorReason>(key: K, facts: FactsOf<K>, cause?: unknown): HoldfastError {
  const { code, message, retryable, remedy } = reasons[key] as Reason<FactsOf<K>>
  const help = remedy ? { retryable: retryable === true, remedy: remedy(facts) } : retryable ? { retryable } : {}
  return new HoldfastError(code, message(facts), { reason: key, ...facts, ...help }, cause)
}

/** The error with every text among its facts changed, and its sentence composed of these anew. Itself where none changes. */
export function withFacts(error: HoldfastError, change: (text: string) => string): HoldfastError {
  const { reason: key, ...facts } = error.details
  let isChanged = false
  const told = changeTexts(facts, (text) => {
    const other = change(text)
    isChanged ||= other !== text
    return other
  })
  if (!isChanged) return error
  const changed = failure(key, told as FactsOf<ErrorReason>, error.cause)
  changed.operation = error.operation
  return changed
}

function changeTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((each) => changeTexts(each, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, changeTexts(each, change)]))
}

/** Any thrown value as a HoldfastError; what is not one already becomes `internal`. */
export function toHoldfastError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error
  return failure('internal', { what: messageOf(error) }, error)
}

/** Whether it is an error of ours with this reason. */
export function hasReason(error: unknown, reason: ErrorReason): error is HoldfastError {
  return error instanceof HoldfastError && error.details.reason === reason
}

/** What a thrown value says of itself. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The errno name of a system error (`ENOENT`), or undefined. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}
