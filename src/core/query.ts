import { failure } from './errors.ts'
import { foldText, lowerCase, normalize } from './fold.ts'
import { byteLength, headBytes, stripControls, tailBytes } from './text.ts'

/*
 * The search language. Three functions must agree: what `tokensOf` indexes, what `queryTokens` asks the index for, and
 * what `matchLine` accepts. They share one rule: a term matches where its text stands in the line, folded, beginning at
 * a start. Starts are the beginnings of words and of the parts of an identifier (`myRow2345` has three). The index holds
 * every word from each of its starts to its end, so a term is in a line only if the index has a token that begins with it.
 */

/** One thing to look for: a word, something written together like `a.b.c`, or a quoted phrase. */
export interface Term {
  /** The folded text that must stand in a line, split at white space. */
  readonly chunks: readonly string[]
  /** Whether its last word is a number: that is found whole, while of other words the beginning is enough. */
  readonly endsInNumber: boolean
  /** Punctuation around it in the query: not needed for a match, but a better one. */
  readonly before: string
  readonly after: string
}

export interface Query {
  readonly text: string
  /** Without terms a query finds nothing. */
  readonly terms: readonly Term[]
}

const maxQueryLength = 20_000
const maxTerms = 64
const maxTermLength = 512
/** Longer words are told apart by this many characters in the index; the line itself decides. */
const maxTokenLength = 64
const maxQueryTokens = 32
/** Starts are looked for in this much of a word, and only where they are few: hashes and base64 have no parts. */
const wordReach = 256
const maxDigitStarts = 3
const maxCaseStarts = 8
const maxStarts = 12

// Classes of characters. A word is a run of the classes below `ngram`.
const lower = 1
const upper = 2
const digit = 3
const underscore = 4
const letter = 5
const mark = 6
/** Scripts written without spaces: every character is a start. */
const ngram = 7
const symbol = 8
const other = 9

const ngramPattern =
  /^(?=[\p{L}\p{N}\p{M}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]$/u
const classPatterns: readonly (readonly [RegExp, number])[] = [
  [ngramPattern, ngram],
  [/^\p{Lu}$/u, upper],
  [/^\p{Ll}$/u, lower],
  [/^\p{L}$/u, letter],
  [/^\p{N}$/u, digit],
  [/^\p{M}$/u, mark],
  // What stands for an unreadable byte or a missing object is no symbol that anyone looks for.
  [/^(?![\ufffc\ufffd])\p{S}$/u, symbol],
]

function classify(code: number): number {
  if (code < 0x80) {
    if (code >= 97 && code <= 122) return lower
    if (code >= 65 && code <= 90) return upper
    if (code >= 48 && code <= 57) return digit
    return code === 95 ? underscore : other
  }
  const char = String.fromCodePoint(code)
  return classPatterns.find(([pattern]) => pattern.test(char))?.[1] ?? other
}

const classes = new Uint8Array(0x11_0000)
function classOf(code: number): number {
  const known = classes[code] as number
  if (known !== 0) return known
  const found = classify(code)
  classes[code] = found
  return found
}

const isWord = (kind: number): boolean => kind < ngram

/** Where terms may begin inside the word `text[from, to)`, its first character included. `text` is normalized, with case. */
function startsOf(text: string, from: number, to: number): number[] {
  const end = Math.min(to, from + wordReach)
  let digits = 0
  let cases = 0
  const kinds: number[] = []
  let previous = classOf(text.codePointAt(from) as number)
  for (let i = from + 1; i < end; i += 1) {
    const kind = classAt(text, i)
    if (kind === mark) continue
    if (kind === underscore) {
      previous = underscore
      continue
    }
    let start = 0
    if (previous === underscore) start = underscore
    else if (previous === digit ? kind !== digit : kind === digit) start = digit
    else if (kind === upper && (previous === lower || (previous === upper && i + 1 < to && classAt(text, i + 1) === lower))) start = upper
    if (start === digit) digits += 1
    if (start === upper) cases += 1
    if (start !== 0) kinds.push(i, start)
    previous = kind
  }
  const starts = [from]
  for (let k = 0; k < kinds.length && starts.length < maxStarts; k += 2) {
    const kind = kinds[k + 1] as number
    if ((kind === digit && digits > maxDigitStarts) || (kind === upper && cases > maxCaseStarts)) continue
    starts.push(kinds[k] as number)
  }
  return starts
}

/** The class of the character that holds the code unit at `i`; the second half of a pair counts as a mark. */
function classAt(text: string, i: number): number {
  const unit = text.charCodeAt(i)
  if (unit < 0xd800 || unit > 0xdfff) return classOf(unit)
  if (unit >= 0xdc00) {
    const high = i > 0 ? text.charCodeAt(i - 1) : 0
    return high >= 0xd800 && high <= 0xdbff ? mark : other
  }
  return classOf(text.codePointAt(i) as number)
}

/** Hands over words, and single characters of the scripts and symbols that stand for themselves, in order. */
function scan(text: string, found: (kind: number, from: number, to: number) => void): void {
  let wordFrom = -1
  let i = 0
  while (i < text.length) {
    const unit = text.charCodeAt(i)
    const code = unit >= 0xd800 && unit <= 0xdbff ? (text.codePointAt(i) as number) : unit
    const size = code > 0xffff ? 2 : 1
    const kind = classOf(code)
    if (isWord(kind)) {
      // A mark continues what stands before it and begins nothing.
      if (wordFrom < 0 && kind !== mark) wordFrom = i
    } else {
      if (wordFrom >= 0) found(letter, wordFrom, i)
      wordFrom = -1
      if (kind !== other) found(kind, i, i + size)
    }
    i += size
  }
  if (wordFrom >= 0) found(letter, wordFrom, text.length)
}

function cut(token: string): string {
  if (token.length <= maxTokenLength) return token
  const half = token.charCodeAt(maxTokenLength - 1)
  return token.slice(0, half >= 0xd800 && half <= 0xdbff ? maxTokenLength - 1 : maxTokenLength)
}

function addWord(tokens: Set<string>, text: string, from: number, to: number): void {
  for (const start of startsOf(text, from, to)) tokens.add(cut(lowerCase(text.slice(start, Math.min(to, start + maxTokenLength + 1)))))
}

function addNormalized(tokens: Set<string>, text: string): void {
  let lastTo = -1
  let last = ''
  scan(text, (kind, from, to) => {
    if (kind === letter) return addWord(tokens, text, from, to)
    const char = text.slice(from, to)
    tokens.add(char)
    if (kind !== ngram) return
    if (lastTo === from) tokens.add(last + char)
    last = char
    lastTo = to
  })
}

/** Collects the tokens of a text that comes in pieces; a piece ends at the end of a line. */
export interface TokenCollector {
  add(text: string): void
  /** How many different tokens there are so far. */
  readonly size: number
  /** All of them, separated by spaces. */
  tokens(): string
}

export function tokenCollector(): TokenCollector {
  const tokens = new Set<string>()
  // Runs of characters that were taken apart before. Logs repeat themselves, so most are.
  let seen = new Set<string>()
  return {
    add(text) {
      let from = -1
      let ascii = true
      for (let i = 0; i <= text.length; i += 1) {
        const unit = i < text.length ? text.charCodeAt(i) : 32
        if (unit >= 0x80) ascii = false
        else if (classOf(unit) === other) {
          if (from >= 0) {
            const run = text.slice(from, i)
            if (!seen.has(run)) {
              seen.add(run)
              if (ascii) addWord(tokens, run, 0, run.length)
              else addNormalized(tokens, normalize(run))
            }
            from = -1
          }
          ascii = true
          continue
        }
        if (from < 0) from = i
      }
      if (seen.size > 200_000) seen = new Set()
    },
    get size() {
      return tokens.size
    },
    tokens: () => [...tokens].join(' '),
  }
}

/** The tokens by which a text is found: each once, separated by spaces. The text is cleaned of escape sequences. */
export function tokensOf(text: string): string {
  const collector = tokenCollector()
  collector.add(text)
  return collector.tokens()
}

/** Reads any text as a query. Never throws. */
export function parseQuery(text: string): Query {
  const parts = stripControls(text.slice(0, maxQueryLength)).replace(/[“”]/g, '"').split('"')
  // An odd number of quotes leaves the last one without a partner: it separates words and means nothing.
  const lone = parts.length % 2 === 0 ? parts.length - 1 : -1
  const raw = parts.flatMap((part, i) => (i % 2 === 1 && i !== lone ? [part] : part.split(/\s+/)))
  const terms = new Map<string, Term>()
  for (const piece of raw) {
    if (terms.size >= maxTerms) break
    const term = toTerm(piece)
    if (term && !terms.has(term.chunks.join(' '))) terms.set(term.chunks.join(' '), term)
  }
  return { text, terms: [...terms.values()] }
}

function toTerm(raw: string): Term | undefined {
  const folded = foldText(raw).trim()
  let from = -1
  let to = -1
  scan(folded, (_kind, start, end) => {
    if (from < 0) from = start
    to = end
  })
  if (from < 0) return undefined
  // C++ and C# are names; other punctuation at an end is how people write and copy.
  const sign = /^(?:#|\+\+)/.exec(folded.slice(to))
  if (sign) to += sign[0].length
  const core = folded.slice(from, Math.min(to, from + maxTermLength))
  return { chunks: core.split(/\s+/), endsInNumber: /(?:^|[^\p{L}\p{N}\p{M}_])\p{N}+$/u.test(core), before: folded.slice(0, from), after: folded.slice(to) }
}

/**
 * What a line with all terms has in the index. An entry is a whole token, or ends with `*` and is the beginning of one.
 * Empty for an empty query.
 */
export function queryTokens(query: Query): readonly string[] {
  const tokens = new Set<string>()
  for (const { chunks } of query.terms) {
    const core = chunks.join(' ')
    let lastTo = -1
    let last = ''
    let single = ''
    scan(core, (kind, from, to) => {
      const text = core.slice(from, to)
      if (kind === ngram) {
        // A pair of characters says more than each of them.
        if (lastTo === from) {
          tokens.add(last + text)
          single = ''
        } else {
          if (single !== '') tokens.add(single)
          single = text
        }
        last = text
        lastTo = to
        return
      }
      if (kind === letter) tokens.add(to === core.length ? `${cut(text)}*` : cut(text))
      else tokens.add(text)
    })
    if (single !== '') tokens.add(single)
  }
  if (tokens.size <= maxQueryTokens) return [...tokens]
  return [...tokens].sort((a, b) => b.length - a.length).slice(0, maxQueryTokens)
}

/** Whether an index with these tokens has one that `queryTokens` asks for. */
export function holdsToken(tokens: ReadonlySet<string>, token: string): boolean {
  if (!token.endsWith('*')) return tokens.has(token)
  const beginning = token.slice(0, -1)
  for (const known of tokens) if (known.startsWith(beginning)) return true
  return false
}

interface Line {
  readonly raw: string
  readonly normalized: string
  readonly folded: string
  /** Offsets in `folded` where a term may begin; made when the first term needs them. */
  starts: number[] | undefined
}

let latest: Line = { raw: '', normalized: '', folded: '', starts: [] }

function toLine(raw: string): Line {
  if (latest.raw === raw) return latest
  const normalized = normalize(raw)
  latest = { raw, normalized, folded: lowerCase(normalized), starts: undefined }
  return latest
}

function lineStarts(line: Line): readonly number[] {
  if (line.starts) return line.starts
  const starts: number[] = []
  scan(line.normalized, (kind, from, to) => {
    if (kind === letter) for (const start of startsOf(line.normalized, from, to)) starts.push(start)
    else starts.push(from)
  })
  line.starts = starts
  return starts
}

interface Occurrence {
  readonly from: number
  readonly to: number
  /** 0 to 1. */
  readonly quality: number
}

const maxOccurrences = 32

function occurrences(term: Term, line: Line): readonly Occurrence[] {
  const first = term.chunks[0] as string
  if (!line.folded.includes(first)) return []
  const found: Occurrence[] = []
  for (const from of lineStarts(line)) {
    const to = matchAt(term, line.folded, from)
    if (to < 0) continue
    found.push({ from, to, quality: qualityOf(term, line, from, to) })
    if (found.length >= maxOccurrences) break
  }
  return found
}

/** The end of the term in `folded` when it stands at `from`, else -1. */
function matchAt({ chunks, endsInNumber }: Term, folded: string, from: number): number {
  let at = from
  for (let k = 0; k < chunks.length; k += 1) {
    if (k > 0) {
      const gap = at
      while (at < folded.length && isSpace(folded.charCodeAt(at))) at += 1
      if (at === gap) return -1
    }
    const chunk = chunks[k] as string
    if (!folded.startsWith(chunk, at)) return -1
    at += chunk.length
  }
  return endsInNumber && at < folded.length && classAt(folded, at) === digit ? -1 : at
}

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13) || (code > 127 && /\s/.test(String.fromCharCode(code)))

function qualityOf(term: Term, line: Line, from: number, to: number): number {
  const wordBefore = from > 0 && isWord(classAt(line.folded, from - 1)) && isWord(classAt(line.folded, from))
  const wordAfter = to < line.folded.length && isWord(classAt(line.folded, to)) && isWord(classAt(line.folded, to - 1))
  let quality = 0.2 + (wordBefore ? 0 : 0.3) + (wordAfter ? 0 : 0.3)
  if (term.before === '' || line.folded.endsWith(term.before, from)) quality += 0.1
  if (term.after === '' || line.folded.startsWith(term.after, to)) quality += 0.1
  return quality
}

/**
 * How well a line answers a query. 0: it has none of the terms. From 1,000: it has all of them, more when they stand
 * together in order and as whole words. Below 100: it has some, of which each counts by its weight. The line is cleaned of
 * escape sequences.
 */
export function matchLine(query: Query, text: string, weights?: readonly number[]): number {
  if (query.terms.length === 0) return 0
  const line = toLine(text)
  const all: (readonly Occurrence[])[] = []
  const weightOf = (k: number): number => weights?.[k] ?? 1
  let weight = 0
  for (const [k, term] of query.terms.entries()) {
    const found = occurrences(term, line)
    if (found.length === 0) continue
    all.push(found)
    weight += weightOf(k)
  }
  if (all.length === 0) return 0
  const quality = all.reduce((sum, found) => sum + bestQuality(found), 0) / all.length
  if (all.length < query.terms.length) return 1 + 80 * (weight / query.terms.reduce((sum, _, k) => sum + weightOf(k), 0)) + 10 * quality
  return 1_000 + 300 * togetherness(all, line.folded) + 100 * quality
}

/** Which of the terms a line has, by their places in the query. */
export function termsIn(query: Query, text: string): number[] {
  const line = toLine(text)
  return query.terms.flatMap((term, k) => (occurrences(term, line).length > 0 ? [k] : []))
}

function bestQuality(found: readonly Occurrence[]): number {
  let best = 0
  for (const { quality } of found) if (quality > best) best = quality
  return best
}

/** The share of neighbouring terms that are neighbours in the line too, in order. */
function togetherness(all: readonly (readonly Occurrence[])[], folded: string): number {
  if (all.length === 1) return 1
  let pairs = 0
  for (let k = 1; k < all.length; k += 1) {
    const second = all[k] as readonly Occurrence[]
    if ((all[k - 1] as readonly Occurrence[]).some((a) => second.some((b) => adjacent(folded, a.to, b.from)))) pairs += 1
  }
  return pairs / (all.length - 1)
}

function adjacent(folded: string, to: number, from: number): boolean {
  if (from < to || from - to > 4) return false
  for (let i = to; i < from; i += 1) if (isWord(classAt(folded, i))) return false
  return true
}

/**
 * The part of a line around its best match, at most `maxBytes` bytes, with `…` where something was cut. A line that
 * fits comes back whole; one without a match is cut at its end.
 */
export function excerpt(query: Query, text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text
  const line = toLine(text)
  const all = query.terms.map((term) => occurrences(term, line)).filter((found) => found.length > 0)
  const first = all[0]
  if (!first) return excerptAt(text, 0, 0, maxBytes)
  const next = all[1]
  const start =
    (next && first.find((a) => next.some((b) => adjacent(line.folded, a.to, b.from)))) ?? first.find(({ quality }) => quality === bestQuality(first))
  const { from, to } = start as Occurrence
  const index = originalOffset(line, from)
  return excerptAt(text, index, originalOffset(line, to) - index, maxBytes)
}

/** Where the character at `offset` of the normalized line stands in the raw one. */
function originalOffset(line: Line, offset: number): number {
  if (line.normalized === line.raw) return offset
  let low = 0
  let high = line.raw.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (normalize(line.raw.slice(0, middle)).length < offset) low = middle + 1
    else high = middle
  }
  return low
}

const cutMark = '…'

/** The part of a line around `line.slice(index, index + length)`, at most `maxBytes` bytes, with `…` where something was cut. */
export function excerptAt(line: string, index: number, length: number, maxBytes: number): string {
  if (byteLength(line) <= maxBytes) return line
  const markBytes = byteLength(cutMark)
  const room = Math.floor(maxBytes) - 2 * markBytes
  const from = onBoundary(line, Math.min(Math.max(index, 0), line.length))
  const to = onBoundary(line, Math.min(from + Math.max(length, 0), line.length))
  if (room <= 0) return headBytes(line.slice(from, onBoundary(line, from + 8)), maxBytes)
  const match = headBytes(line.slice(from, to), room)
  const end = from + match.length
  const spare = room - byteLength(match)
  const afterAll = line.slice(end, onBoundary(line, Math.min(line.length, end + spare)))
  const beforeAll = line.slice(onBoundary(line, Math.max(0, from - spare)), from)
  // A third of the context stands before the match; what one side does not need goes to the other.
  const wanted = Math.max(Math.floor(spare / 3), spare - byteLength(afterAll))
  const before = tailBytes(beforeAll, wanted)
  const after = headBytes(afterAll, spare - byteLength(before))
  return (before.length < from ? cutMark : '') + before + match + after + (end + after.length < line.length ? cutMark : '')
}

/** `offset`, or one less where it stands inside a surrogate pair. */
function onBoundary(text: string, offset: number): number {
  if (offset <= 0 || offset >= text.length) return offset
  const low = text.charCodeAt(offset)
  const high = text.charCodeAt(offset - 1)
  return low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff ? offset - 1 : offset
}

/** A regular expression to search with. Throws `invalid`, which names the field that it came in, where it is none. */
export function compileRegex(pattern: string, field: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    // Many patterns that people write by habit (`\-`, `{`) are refused in Unicode mode only.
  }
  try {
    return new RegExp(pattern)
  } catch (error) {
    throw failure('invalid', { field, value: pattern, accepted: 'a JavaScript regular expression' }, error)
  }
}
