import type { ProviderErrorClass } from './provider-error.ts'

/**
 * What one kind of sender says, as data. Names of codes are compared without regard to case, `_`, `-`, `.` and a trailing
 * `Error` or `Exception`: `rate_limit_error` and `RateLimitError` are one.
 */
export interface Table {
  readonly name: string
  /** Codes that mean one thing, whatever else is said. */
  readonly codes?: CodesByClass
  /** Codes that mean this where no sentence says it more exactly. */
  readonly generalCodes?: CodesByClass
  /** Sentences, by what is constant in them. */
  readonly says?: readonly Sentence[]
  /** Sentences that count where nothing else is known. */
  readonly hints?: readonly Sentence[]
}

type CodesByClass = Readonly<Partial<Record<ProviderErrorClass, readonly string[]>>>

/** Sentences of one meaning. A pattern is linear: gaps are bounded, no repetition holds another. */
export interface Sentence {
  readonly class: ProviderErrorClass
  readonly says: readonly RegExp[]
  /** They do not count where the error says this, too. */
  readonly unless?: RegExp
}

const affix = /(?:error|exception|fault)$/

/** A code in the form in which codes are compared. */
export function toCodeKey(code: string): string {
  const plain = code.toLowerCase().replace(/[^a-z0-9]/g, '')
  return plain.replace(affix, '') || plain
}
