/**
 * What an error of a model provider means, as far as what to do next depends on it. Of two classes that an error speaks
 * for equally, the one that stands earlier here is taken: what nobody can wait out comes before what may pass.
 */
export const providerErrorClasses = [
  'certificate',
  'context-overflow',
  'affordability',
  'permanent-billing',
  'bad-request',
  'unsupported-model',
  'permanent-auth',
  'rate-limit',
  'model-error',
  'server',
  'stream',
  'network',
  'connection',
  'unknown',
] as const
export type ProviderErrorClass = (typeof providerErrorClasses)[number]

/** What helps: wait the stated time, ask again soon, send less, ask another model, or tell a person. */
export type NextStep = 'wait' | 'retry' | 'shrink-context' | 'another-model' | 'ask-person'

interface Guidance {
  /** Whether the same request may succeed later without anybody changing anything. */
  readonly waitingHelps: boolean
  readonly next: NextStep
  /** A wait that is usual where the provider states none; null where waiting does not help. */
  readonly usualDelayMs: number | null
}

/** What follows from each class. docs/provider-errors.md says the same in words. */
export const guidance = {
  network: { waitingHelps: true, next: 'retry', usualDelayMs: 3_000 },
  connection: { waitingHelps: true, next: 'retry', usualDelayMs: 15_000 },
  stream: { waitingHelps: true, next: 'retry', usualDelayMs: 15_000 },
  server: { waitingHelps: true, next: 'wait', usualDelayMs: 30_000 },
  'rate-limit': { waitingHelps: true, next: 'wait', usualDelayMs: 60_000 },
  'context-overflow': { waitingHelps: false, next: 'shrink-context', usualDelayMs: null },
  affordability: { waitingHelps: false, next: 'shrink-context', usualDelayMs: null },
  'model-error': { waitingHelps: false, next: 'another-model', usualDelayMs: null },
  'unsupported-model': { waitingHelps: false, next: 'another-model', usualDelayMs: null },
  'permanent-auth': { waitingHelps: false, next: 'ask-person', usualDelayMs: null },
  'permanent-billing': { waitingHelps: false, next: 'ask-person', usualDelayMs: null },
  certificate: { waitingHelps: false, next: 'ask-person', usualDelayMs: null },
  'bad-request': { waitingHelps: false, next: 'ask-person', usualDelayMs: null },
  unknown: { waitingHelps: false, next: 'ask-person', usualDelayMs: null },
} as const satisfies Record<ProviderErrorClass, Guidance>

/** What spoke for the class that was chosen. */
export interface ProviderErrorEvidence {
  readonly kind: 'code' | 'text' | 'status'
  /** The code, the words or the status as they were found. */
  readonly found: string
  /** The table that knows it: `openai`, `transport`. */
  readonly table: string
}

export interface ProviderErrorClassification extends Guidance {
  readonly class: ProviderErrorClass
  /** What the provider said to wait, from 0 to `maxRetryAfterMs`; null where it said nothing that can be believed. */
  readonly retryAfterMs: number | null
  /** The HTTP status, where one was told. */
  readonly status: number | null
  /** Null for `unknown`. */
  readonly evidence: ProviderErrorEvidence | null
}

/** 31 days. A longer stated wait is cut to it: quotas are renewed monthly at the latest. */
export const maxRetryAfterMs = 31 * 86_400_000
