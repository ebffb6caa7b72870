import type { Counts, LogLine, Part, Recognised } from './recognisers/recogniser.ts'
import { maxFailures } from './recognisers/recogniser.ts'

/** What a tool said in one lane of a log. */
export interface InLane {
  readonly name: string
  readonly recognised: Recognised
}

const keys = ['failed', 'passed', 'skipped', 'total', 'errors', 'warnings'] as const

/** A sum of what is known; what no part knows stays unknown. */
export function sum(all: readonly Counts[]): Counts {
  const known = keys.map((key) => [key, all.map((counts) => counts[key]).filter((count) => count !== undefined)] as const)
  return Object.fromEntries(known.filter(([, counts]) => counts.length > 0).map(([key, counts]) => [key, counts.reduce((total, count) => total + count, 0)]))
}

/** What each tool said in all lanes, with the counts of each. */
export function merge(all: readonly InLane[]): Recognised[] {
  return [...new Set(all.map(({ recognised }) => recognised.tool))].map((tool) => {
    const own = all.filter(({ recognised }) => recognised.tool === tool)
    const names = [...new Set(own.map(({ name }) => name))]
    const parts = names.map((name): Part => ({ name, counts: sum(own.filter((entry) => entry.name === name).map(({ recognised }) => recognised.counts)) }))
    return { ...joined(own.map(({ recognised }) => recognised)), parts }
  })
}

/** Several things that one tool said, as one. */
export function joined(all: readonly Recognised[]): Recognised {
  const [first] = all as [Recognised, ...Recognised[]]
  if (all.length === 1) return first
  return {
    tool: first.tool,
    noun: first.noun,
    counts: sum(all.map(({ counts }) => counts)),
    failures: inOrder(
      all.flatMap(({ failures }) => failures),
      ({ line }) => line,
    ).slice(0, maxFailures),
    warnings: inOrder(
      all.flatMap(({ warnings }) => warnings),
      (line) => line,
    ).slice(0, maxFailures),
    totals: inOrder(
      all.flatMap(({ totals }) => totals),
      (line) => line,
    ),
  }
}

const inOrder = <T>(entries: readonly T[], lineOf: (entry: T) => LogLine): T[] =>
  [...entries].sort((a, b) => {
    const [left, right] = [lineOf(a), lineOf(b)]
    return left.stream === right.stream ? left.number - right.number : left.stream < right.stream ? 1 : -1
  })
