/** What the status frames of an exec come to. */
export type ExecStatus =
  | { readonly kind: 'none' }
  | { readonly kind: 'exited'; readonly exitCode: number }
  /** The other side says that something went wrong, and no exit code. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Text that is no status, or one of a kind that is not known. */
  | { readonly kind: 'unreadable'; readonly text: string }

interface Said {
  readonly status?: unknown
  readonly message?: unknown
  readonly reason?: unknown
  readonly details?: { readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[] }
}

/** A status may come in several frames. A number is taken only from the cause that is called ExitCode. */
export function readExecStatus(bytes: Buffer): ExecStatus {
  if (bytes.length === 0) return { kind: 'none' }
  const text = bytes.toString('utf8')
  let said: Said
  try {
    said = JSON.parse(text) as Said
  } catch {
    return { kind: 'unreadable', text }
  }
  if (said?.status === 'Success') return { kind: 'exited', exitCode: 0 }
  if (said?.status !== 'Failure') return { kind: 'unreadable', text }
  const code = said.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (typeof code === 'string' && /^\d{1,5}$/.test(code)) return { kind: 'exited', exitCode: Number(code) }
  return { kind: 'failed', message: typeof said.message === 'string' && said.message !== '' ? said.message : String(said.reason ?? text) }
}
