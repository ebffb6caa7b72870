import { reason, shown } from './reason.ts'

/** Who says no: each is a part of the table in errors.ts. `target` is how people know the place: `docker image busybox`, `ssh box`. */
export const remoteReasons = {
  target_unknown: reason<{ target: string; known: readonly string[] }>(
    'not_found',
    (f) =>
      `there is no target ${shown(f.target)}; accepted: ${f.known.length > 0 ? f.known.join(', ') : 'a name under "targets" in holdfast.json, which has none'}`,
  ),
  target_invalid: reason<{ problems: readonly string[] }>('invalid_argument', (f) => `the target cannot be used: ${f.problems.join('; ')}`),
  /** A permanent refusal: the same for commands and files, until the target itself is changed. */
  target_mismatch: reason<{ target: string; field: string; declared: string; found: string }>(
    'failed_precondition',
    (f) => `${f.target} cannot be used: ${f.field} is declared as ${f.declared}, and is ${f.found} there`,
    { remedy: (f) => `correct ${f.field} of the target, or leave it out` },
  ),
  /** The service behind a backend cannot be reached, or refuses. `remedy` is what to do. */
  backend_unavailable: reason<{ target: string; why: string; help?: string | undefined }>('unavailable', (f) => `${f.target} cannot be reached: ${f.why}`, {
    remedy: (f) => f.help ?? 'see holdfast doctor',
  }),
  backend_denied: reason<{ target: string; why: string; help?: string | undefined }>('permission_denied', (f) => `${f.target} refuses: ${f.why}`, {
    remedy: (f) => f.help ?? 'ask for the right, or use another target',
  }),
  backend_unauthenticated: reason<{ target: string; why: string; help?: string | undefined }>(
    'unauthenticated',
    (f) => `${f.target} does not know who asks: ${f.why}`,
    { remedy: (f) => f.help ?? 'log in there first' },
  ),
  /** `of` is how known_hosts names the server, `key` what it showed. */
  host_key_unknown: reason<{ target: string; of: string; key?: string | undefined; connect: string }>(
    'failed_precondition',
    (f) => `${f.target} is not trusted: the host key of ${f.of}${f.key ? ` (${f.key})` : ''} is not among those that are known here`,
    {
      remedy: (f) =>
        `compare the key with what the owner of the server says, then connect once by hand (${f.connect}), or add what ssh-keyscan prints to known_hosts`,
    },
  ),
  host_key_changed: reason<{ target: string; key?: string | undefined; known?: string | undefined; forget: string }>(
    'permission_denied',
    (f) =>
      `${f.target} is refused: its host key${f.key ? ` (${f.key})` : ''} is another one than the one that is known${f.known ? ` (${f.known})` : ''}; somebody may stand in between`,
    { remedy: (f) => `ask the owner of the server whether its key was changed; only then forget the old one: ${f.forget}` },
  ),
  /** Something that the target names is not there: an image, a container, a namespace, a pod. */
  backend_missing: reason<{ target: string; what: string; why?: string | undefined; help?: string | undefined }>(
    'not_found',
    (f) => `${f.target}: there is no ${f.what}${f.why ? ` (${f.why})` : ''}`,
    { remedy: (f) => f.help ?? `create ${f.what}, or name another one` },
  ),
  /** What was asked for is wrong in itself, said by the other side. */
  backend_refused: reason<{ target: string; what: string; why: string; help?: string | undefined }>(
    'failed_precondition',
    (f) => `${f.target} does not take ${f.what}: ${f.why}`,
    { remedy: (f) => f.help ?? 'see holdfast doctor --targets' },
  ),
  backend_exhausted: reason<{ target: string; why: string }>('resource_exhausted', (f) => `${f.target} has no room: ${f.why}`, { retryable: true }),
  /** The connection ended without a status: what was started may still run, and how it ends is not known. */
  contact_lost: reason<{ target: string; why: string }>(
    'unavailable',
    (f) => `contact with ${f.target} was lost: ${f.why}; what was started there may still run`,
  ),
  /** The place itself is gone, for good. */
  site_gone: reason<{ target: string; why: string }>('failed_precondition', (f) => `${f.target} is gone: ${f.why}`),
} as const
