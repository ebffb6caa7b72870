import type { Counts, Failure, LogLine, Recognised } from './recogniser.ts'
import { maxDetails, maxFailures } from './recogniser.ts'

/** How telling a detail is; lower comes first. */
export const ranks = { message: 0, comparison: 1, place: 2, source: 3, other: 4 } as const
export type Rank = (typeof ranks)[keyof typeof ranks]

/** So that a long comparison leaves room for the place, and a deep stack for the source. */
const mostOfRank: Readonly<Record<Rank, number>> = { 0: 4, 1: 6, 2: 3, 3: 4, 4: maxDetails }

/** A failure whose details are still being read. */
export interface OpenFailure {
  /** The line that names it; a later one may name it better. */
  line: LogLine
  title: string
  place: string | undefined
  /** Remembers a line that explains it, if it is among the most telling `maxDetails`. */
  detail(line: LogLine, rank: Rank): void
}

/** What a reader gathers of its tool, within the bounds of the contract. */
export interface Gathering {
  /** Failures begun so far, those included of which nothing is kept. */
  readonly failures: number
  readonly warnings: number
  /** Begins a failure. Tools that name one twice give a key: then the first has the details of both, and counts once. */
  failure(line: LogLine, title: string, place?: string, key?: string): OpenFailure
  warning(line: LogLine): void
  total(line: LogLine): void
  /** Undefined where nothing was gathered. */
  result(counts: Counts): Recognised | undefined
}

/** Totals lines that one tool may print more than once in a log. */
const maxTotals = 8

export function gathering(tool: string, noun: string): Gathering {
  const kept: { readonly open: OpenFailure; readonly failure: () => Failure }[] = []
  const byKey = new Map<string, OpenFailure>()
  const warnings: LogLine[] = []
  const totals: LogLine[] = []
  let failureCount = 0
  let warningCount = 0
  return {
    get failures() {
      return failureCount
    },
    get warnings() {
      return warningCount
    },
    failure(line, title, place, key) {
      const known = key === undefined ? undefined : byKey.get(key)
      if (known) return known
      failureCount += 1
      const entry = openFailure(line, title, place)
      if (kept.length < maxFailures) {
        kept.push(entry)
        if (key !== undefined) byKey.set(key, entry.open)
      }
      return entry.open
    },
    warning(line) {
      warningCount += 1
      if (warnings.length < maxFailures) warnings.push(line)
    },
    total(line) {
      if (totals.length === maxTotals) totals.shift()
      totals.push(line)
    },
    result: (counts) =>
      kept.length + warnings.length + totals.length === 0
        ? undefined
        : { tool, noun, counts, failures: kept.map(({ failure }) => failure()), warnings, totals },
  }
}

function openFailure(line: LogLine, title: string, place: string | undefined): { readonly open: OpenFailure; readonly failure: () => Failure } {
  const details: { readonly line: LogLine; readonly rank: Rank }[] = []
  const open: OpenFailure = {
    line,
    title,
    place,
    detail(detail, rank) {
      if (detail.text === '' || details.filter((entry) => entry.rank === rank).length >= mostOfRank[rank]) return
      if (details.length === maxDetails) {
        const worst = details.reduce((last, entry, i) => (entry.rank >= (details[last]?.rank ?? 0) ? i : last), 0)
        if ((details[worst]?.rank ?? 0) <= rank) return
        details.splice(worst, 1)
      }
      details.push({ line: detail, rank })
    },
  }
  const failure = (): Failure => ({
    line: open.line,
    title: open.title,
    ...(open.place === undefined ? {} : { place: open.place }),
    details: [...details].sort((a, b) => a.rank - b.rank).map((entry) => entry.line),
  })
  return { open, failure }
}

const position = /:(\d{1,7})(?::(\d{1,7}))?(?![\w/])|\((\d{1,7})[,:](\d{1,7})\)/g
const notInPath = new Set(' \t()\'"`<>|,;=*{}')
const maxPathChars = 300
const maxPositions = 20

/** The first `file:line:column`, `file:line` or `file(line,column)` in a text, written with colons. */
export function placeIn(text: string): string | undefined {
  let tried = 0
  for (const found of text.matchAll(position)) {
    tried += 1
    if (tried > maxPositions) return undefined
    const path = pathBefore(text, found.index)
    if (path === undefined) continue
    const column = found[2] ?? found[4]
    return `${path}:${found[1] ?? found[3]}${column === undefined ? '' : `:${column}`}`
  }
  return undefined
}

function pathBefore(text: string, end: number): string | undefined {
  let start = end
  while (start > 0 && end - start < maxPathChars) {
    const char = text.charAt(start - 1)
    if (notInPath.has(char) || (char === ':' && !/[\\/]/.test(text.charAt(start)))) break
    start -= 1
  }
  const path = text
    .slice(start, end)
    .replace(/^##\[\w{1,20}\]/, '')
    .replace(/^file:\/\//, '')
    .replace(/^\[(?=[^\]]*$)/, '')
  return /^(?!https?:)/.test(path) && /[A-Za-z]/.test(path) && (/[\\/]/.test(path) || /\.[A-Za-z][\w+-]{0,9}$/.test(path)) ? path : undefined
}

/** The numbers of a closing line by the word after each, in lower case: `Tests  3 failed | 20 passed` has `failed` and `passed`. */
export function countsIn(text: string): ReadonlyMap<string, number> {
  return new Map([...text.matchAll(/(?<![\w.])(\d{1,9}) {1,3}([A-Za-z]{1,30})/g)].map(([, count, word]) => [String(word).toLowerCase(), Number(count)]))
}

/** The place in a line of a Python traceback, `File "a.py", line 3, in f`, written with colons. */
export function pythonPlace(text: string): string | undefined {
  const found = /^\s{0,40}File "([^"]{1,400})", line (\d{1,7})/.exec(text)
  return found ? `${found[1]}:${found[2]}` : undefined
}

/** True for a place in a language's own library, in an installed package or in no file. */
export const isForeignPlace = (place: string): boolean =>
  /(?:^|[\\/])(?:site-packages|dist-packages|\.?venv|node_modules|rustc|registry)[\\/]|[\\/]lib[\\/](?:python\d|go)|^<|^node:/.test(place)

/** The title of a line that is ruled on both sides, as in `==== FAILURES ====`. */
export function ruledTitle(text: string, mark: string): string | undefined {
  let start = 0
  let end = text.length
  while (start < end && text.charAt(start) === mark) start += 1
  while (end > start && text.charAt(end - 1) === mark) end -= 1
  const ruled = start > 0 && end < text.length && text.charAt(start) === ' ' && text.charAt(end - 1) === ' '
  return ruled ? text.slice(start, end).trim() || undefined : undefined
}
