import { collectEvidence, type Evidence } from './evidence.ts'
import { guidance, type ProviderErrorClass, type ProviderErrorClassification, type ProviderErrorEvidence, providerErrorClasses } from './provider-error.ts'
import { findStatedDelayMs } from './stated-delay.ts'
import { toCodeKey } from './table.ts'
import { tables } from './tables/all.ts'

export interface ClassifyOptions {
  /** The present time in milliseconds since 1970, for delays that are told as a moment. Default: the clock of this machine. */
  readonly now?: number | undefined
}

/**
 * Says what an error of a model provider means, how long it asks to wait, and what helps. Takes what there is: an Error as SDKs throw
 * it (with `status`, `headers`, `code`, causes), a Response, an object of status, headers and body, or a text: a message, JSON, a page of a
 * proxy. Codes count more than sentences, these more than an HTTP status. Never throws; what nothing is known about is `unknown`.
 */
export function classifyProviderError(error: unknown, options: ClassifyOptions = {}): ProviderErrorClassification {
  const now = Number.isFinite(options.now) ? (options.now as number) : Date.now()
  const evidence = collectEvidence(error)
  const best = findBest(evidence)
  const kind = best?.class ?? 'unknown'
  return {
    class: kind,
    ...guidance[kind],
    retryAfterMs: findStatedDelayMs(evidence, kind === 'rate-limit' || evidence.statuses.includes(429), now) ?? null,
    status: evidence.statuses[0] ?? null,
    evidence: best?.evidence ?? null,
  }
}

/** How much a piece of evidence counts. */
const strength = { code: 40, sentence: 30, generalCode: 22, status: 20, hint: 10, badRequestCode: 9, plainStatus: 8 } as const

interface Candidate {
  readonly class: ProviderErrorClass
  readonly strength: number
  readonly evidence: ProviderErrorEvidence
}

function findBest(evidence: Evidence): Candidate | undefined {
  const candidates = [...byCode(evidence), ...bySentence(evidence), ...byStatus(evidence)]
  // Whoever got an answer had a way to the provider: what is said of ways then concerns those behind it.
  const isAnswered = evidence.statuses.length > 0
  const counted = isAnswered ? candidates.filter(({ class: kind, evidence: { kind: how } }) => how === 'status' || !isTransport(kind)) : candidates
  return counted.sort((a, b) => b.strength - a.strength || rank(a.class) - rank(b.class))[0]
}

const rank = (kind: ProviderErrorClass): number => providerErrorClasses.indexOf(kind)
const isTransport = (kind: ProviderErrorClass): boolean => kind === 'network' || kind === 'connection' || kind === 'stream'

interface KnownCode {
  readonly class: ProviderErrorClass
  readonly strength: number
  readonly table: string
}

const knownCodes = indexCodes()

function indexCodes(): ReadonlyMap<string, readonly KnownCode[]> {
  const index = new Map<string, KnownCode[]>()
  const add = (code: string, known: KnownCode): void => {
    const key = toCodeKey(code)
    index.set(key, [...(index.get(key) ?? []), known])
  }
  for (const { name: table, codes = {}, generalCodes = {} } of tables) {
    for (const [kind, list] of Object.entries(codes) as [ProviderErrorClass, readonly string[]][]) {
      for (const code of list) add(code, { class: kind, strength: strength.code, table })
    }
    for (const [kind, list] of Object.entries(generalCodes) as [ProviderErrorClass, readonly string[]][]) {
      for (const code of list) add(code, { class: kind, strength: kind === 'bad-request' ? strength.badRequestCode : strength.generalCode, table })
    }
  }
  return index
}

function byCode({ codes }: Evidence): Candidate[] {
  return [...new Set(codes)].flatMap((code) =>
    (knownCodes.get(toCodeKey(code.replace(/^AI_/, ''))) ?? []).map(({ table, ...known }) => ({
      ...known,
      evidence: { kind: 'code' as const, found: code, table },
    })),
  )
}

function bySentence({ text }: Evidence): Candidate[] {
  const found: Candidate[] = []
  for (const { name: table, says = [], hints = [] } of tables) {
    for (const [sentences, weight] of [
      [says, strength.sentence],
      [hints, strength.hint],
    ] as const) {
      for (const sentence of sentences) {
        const match = findFirst(sentence.says, text)
        if (match && !sentence.unless?.test(text))
          found.push({ class: sentence.class, strength: weight, evidence: { kind: 'text', found: match[0].slice(0, 120), table } })
      }
    }
  }
  return found
}

function findFirst(patterns: readonly RegExp[], text: string): RegExpExecArray | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match) return match
  }
  return undefined
}

const statusClasses: Readonly<Record<number, ProviderErrorClass>> = {
  401: 'permanent-auth',
  402: 'permanent-billing',
  403: 'permanent-auth',
  407: 'permanent-auth',
  408: 'network',
  413: 'context-overflow',
  429: 'rate-limit',
  499: 'connection',
}

// The outermost status is the one that the provider, or what stands in front of it, has answered with.
function byStatus({ statuses }: Evidence): Candidate[] {
  const [status] = statuses
  if (status === undefined) return []
  const known = statusClasses[status] ?? (status >= 500 ? 'server' : undefined)
  return [
    {
      class: known ?? 'bad-request',
      strength: known ? strength.status : strength.plainStatus,
      evidence: { kind: 'status', found: String(status), table: 'http' },
    },
  ]
}
