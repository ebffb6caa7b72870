import type { ErrorCode } from './errors.ts'

export type Facts = Readonly<Record<string, unknown>>

/** One situation in which something is refused or fails: its code and its sentence. */
export interface Reason<F extends Facts> {
  readonly code: ErrorCode
  readonly message: (facts: F) => string
  /** Whether the same request may succeed a little later, without anything being changed. Default: false. */
  readonly retryable?: true | undefined
  /** What helps, as one thing to do. */
  readonly remedy?: ((facts: F) => string) | undefined
}

type Help<F extends Facts> = Pick<Reason<F>, 'retryable' | 'remedy'>

export const reason = <F extends Facts>(code: ErrorCode, message: (facts: F) => string, help: Help<F> = {}): Reason<F> => ({ code, message, ...help })

/** A value as it may be shown in a sentence: short, on one line, quoted when it is text. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : typeof value === 'object' ? JSON.stringify(value) : String(value)
  return (text ?? 'nothing').length > 80 ? `${[...(text ?? '')].slice(0, 77).join('')}...` : (text ?? 'nothing')
}
