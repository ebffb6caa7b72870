import { failure } from '../core/errors.ts'
import { compileRegex, excerpt, excerptAt, matchLine, parseQuery, type Query, queryTokens, termsIn } from '../core/query.ts'
import { regexScan } from '../core/regex-scan.ts'
import { literalTokens, requiredLiteral } from '../core/required-literal.ts'
import { mayLieAcross, type ScanPatterns, scanPatterns } from '../core/scan-pattern.ts'
import { boundRegex } from '../engine/bounded-regex.ts'
import { maskLabel } from '../engine/redact.ts'
import type { SearchInput } from './api.ts'
import { slowRegex } from './reading.ts'

/** A line with everything that was asked for has this score at least. */
export const fullScore = 1_000
const maxHitBytes = 300
const maxRegexMs = 8_000

export interface Match {
  /** Where it stands in the list. */
  readonly at: number
  readonly score: number
  /** The part that is worth showing. */
  readonly text: string
  /** Which of the terms it has. */
  readonly terms: readonly number[]
}

/** Finds the lines that answer, and tells how well. */
export interface Matcher {
  /** How many things are asked for. */
  readonly terms: number
  /** What the index has of each run that holds all of them. */
  readonly tokens: readonly string[]
  /** What is found in each line with this term, as it was printed; undefined where that cannot be told. */
  scanFor(term: number): ScanPatterns | undefined
  /** The answers among the texts. */
  find(texts: readonly string[]): Match[]
  /** False where no line of this text can match. `plain`: it is known to be printable ASCII. */
  mayBeIn(text: string, plain?: boolean): boolean
  /** Whether each look has a price of its own, so that many texts are looked at together. */
  readonly costly: boolean
  /** How much each term says, from then on. */
  weigh(weights: readonly number[]): void
}

/** What finds the lines of a query; undefined where it asks for nothing. */
export function matcherOf({ query, regex, literal }: Pick<SearchInput, 'query' | 'regex' | 'literal'>): Matcher | undefined {
  if (regex) return query === '' ? undefined : regexMatcher(query)
  if (literal) return query === '' ? undefined : literalMatcher(query)
  const parsed = parseQuery(query)
  return parsed.terms.length === 0 ? undefined : wordMatcher(parsed)
}

function wordMatcher(query: Query): Matcher {
  const parts = query.terms.map(({ chunks }) => chunks[0] as string)
  const every = parts.map((_, k) => k)
  // Folding what is ASCII on both sides is lower-casing; anything else goes the long way.
  const plain = parts.every(isPrinted)
  let weights: readonly number[] | undefined
  return {
    terms: parts.length,
    costly: false,
    tokens: queryTokens(query),
    scanFor: (term) => scanPatterns({ text: parts[term] as string, folded: true }, maskLabel),
    find: (texts) =>
      texts.flatMap((line, at) => {
        const score = line === '' ? 0 : matchLine(query, line, weights)
        if (score === 0) return []
        return [{ at, score, text: excerpt(query, line, maxHitBytes), terms: score >= fullScore ? every : termsIn(query, line) }]
      }),
    mayBeIn(text, isKnown = false) {
      // Between the letters of a word there may be escape sequences, which are not shown and not searched.
      if (!plain || !(isKnown || isPlain(text))) return true
      const lower = text.toLowerCase()
      return parts.some((part) => lower.includes(part))
    },
    weigh(given) {
      weights = given
    },
  }
}

const one = [0]
const oneTerm = { terms: 1, weigh: () => {} }

function regexMatcher(query: string): Matcher {
  const pattern = compileRegex(query, 'query')
  const regex = boundRegex(pattern, maxRegexMs)
  const required = requiredLiteral(query)
  const printed = required !== '' && isPrinted(required)
  return {
    ...oneTerm,
    costly: true,
    tokens: literalTokens(required),
    scanFor: () => regexScan(pattern, required, maskLabel),
    find(texts) {
      const matches = regex.find(texts)
      if (!matches) throw failure('invalid', { field: 'query', value: query, accepted: slowRegex })
      return matches.flatMap((match, at) => {
        const line = texts[at] as string
        return match && line !== '' ? [{ at, score: fullScore, text: excerptAt(line, match.index, match.length, maxHitBytes), terms: one }] : []
      })
    },
    mayBeIn: printed ? (text, isKnown = false) => !(isKnown || isPlain(text)) || text.includes(required) : () => true,
  }
}

function literalMatcher(literal: string): Matcher {
  const printed = isPrinted(literal)
  return {
    ...oneTerm,
    costly: false,
    tokens: literalTokens(literal),
    scanFor: () => scanPatterns({ text: literal, folded: false }, maskLabel),
    find: (texts) =>
      texts.flatMap((line, at) => {
        const index = line.indexOf(literal)
        return index < 0 ? [] : [{ at, score: fullScore, text: excerptAt(line, index, literal.length, maxHitBytes), terms: one }]
      }),
    mayBeIn: printed ? (text, isKnown = false) => !(isKnown || isPlain(text)) || text.includes(literal) : () => true,
  }
}

const isPlain = (text: string): boolean => !/[^\t\n\r -~]/.test(text)
/** Whether a text stands in a plain log as it is shown, not only where a secret was. */
const isPrinted = (text: string): boolean => isPlain(text) && !mayLieAcross(text, maskLabel)
