import type { ErrorCode, ErrorReason, HoldfastError } from './errors.ts'
import type { OutcomeKind } from './outcome.ts'

/** Whether the same request may be made again unchanged: `unknown-if-ran` where a command may have started, or may still run. */
export type Retryable = 'yes' | 'no' | 'unknown-if-ran'

/** Who has to change something: who asked, the command, the way to where it runs, or the machine. */
export type Fault = 'caller' | 'command' | 'lane' | 'host'

export interface ErrorGuidance {
  readonly retryable: Retryable
  readonly fault: Fault
  /** What to do, as a sentence without a subject. */
  readonly next: string
}

/** What follows from each code. docs/errors.md has the same table. */
export const codeGuidance = {
  invalid_argument: { retryable: 'no', fault: 'caller', next: 'correct the request as the message says' },
  not_found: { retryable: 'no', fault: 'caller', next: 'look up the name, or install what is missing' },
  already_exists: { retryable: 'no', fault: 'caller', next: 'choose another name, or remove the old one on purpose' },
  failed_precondition: { retryable: 'no', fault: 'caller', next: 'change the state that the message names, then ask again' },
  permission_denied: { retryable: 'no', fault: 'host', next: 'ask a person for the permission' },
  unauthenticated: { retryable: 'no', fault: 'caller', next: 'ask a person for credentials' },
  unavailable: { retryable: 'yes', fault: 'lane', next: 'ask again a moment later' },
  resource_exhausted: { retryable: 'no', fault: 'host', next: 'ask for less, or raise the limit that the message names' },
  unsupported: { retryable: 'no', fault: 'lane', next: 'use what the message names instead' },
  conflict: { retryable: 'no', fault: 'caller', next: 'say it more exactly' },
  internal: { retryable: 'unknown-if-ran', fault: 'host', next: 'look with holdfast runs whether it ran, and report the fault' },
} as const satisfies Record<ErrorCode, ErrorGuidance>

/** Where a reason says more than its code. */
const reasonGuidance: Partial<Record<ErrorReason, Partial<ErrorGuidance>>> = {
  supervisor_lost: { retryable: 'unknown-if-ran', next: 'look with holdfast runs whether it ran before asking again' },
  git_missing: { retryable: 'no', fault: 'host', next: 'install git' },
  lfs_unavailable: { retryable: 'no', fault: 'host', next: 'install git-lfs' },
  file_failed: { retryable: 'no', fault: 'host', next: 'look at the disk' },
  cannot_listen: { retryable: 'no', fault: 'host', next: 'take another port, or end what listens there' },
  home_unusable: { retryable: 'no', fault: 'host', next: 'make the folder usable, or name another with HOLDFAST_HOME' },
  git_failed: { retryable: 'no', fault: 'host', next: 'read what git answered' },
}

/** What follows from how a command ended; the command has run, so asking again is never without effect. */
export const outcomeGuidance = {
  exited: { retryable: 'no', fault: 'command', next: 'read its output' },
  signaled: { retryable: 'no', fault: 'command', next: 'read its output, and who sent the signal' },
  timed_out: { retryable: 'no', fault: 'command', next: 'read its output; give it more time, or less to do' },
  canceled: { retryable: 'no', fault: 'caller', next: 'start it again if it is still wanted' },
  lost: { retryable: 'unknown-if-ran', fault: 'lane', next: 'look with holdfast runs whether it still runs' },
} as const satisfies Record<OutcomeKind, ErrorGuidance>

/** What follows from an error: its code, its reason, and what its details say of asking again. */
export function guidanceOf(error: HoldfastError): ErrorGuidance {
  const { reason, retryable, unsent } = error.details
  const known: ErrorGuidance = { ...codeGuidance[error.code], ...reasonGuidance[reason] }
  if (reason === 'supervisor_lost' && unsent === true) return codeGuidance.unavailable
  return typeof retryable === 'boolean' ? { ...known, retryable: retryable ? 'yes' : 'no' } : known
}
