import { withoutControls } from '../core/text.ts'
import { findShapes, openShape, type Span } from './redact-rules.ts'

export { looksSecret, secretsOf } from '../core/secret-names.ts'
export type { Span } from './redact-rules.ts'
export { type StreamMasker, streamMasker } from './redact-stream.ts'

/** What stands where a secret was. */
export const maskLabel = '[masked]'

/** Takes secrets out of text that is shown, stored in records or indexed. Files and raw logs are never its business. */
export interface Masker {
  /**
   * The text with each secret replaced by `[masked]`, of a secret of several lines each line: the number of lines stays.
   * Masking what is masked changes nothing. Give it whole lines, and whole output rather than single lines where that
   * can be: a private key is known by the lines around it.
   */
  mask(text: string): string
  /** The parts that `mask` replaces: sorted, apart from each other, never empty. */
  find(text: string): readonly Span[]
  /** The offset from which the end of `text` may be the beginning of a secret; the length of the text where it cannot be. */
  openFrom(text: string): number
  /** How many bytes a known value of several lines has at most: text that is masked in parts must overlap by so much. */
  readonly reach: number
}

export interface MaskerOptions {
  /** Values to mask wherever they stand, also URL-encoded, JSON-escaped, shell-quoted and in base64. Short and everyday ones are passed over. */
  readonly secrets: readonly string[]
  /** What is masked besides; matched within a line. */
  readonly patterns?: readonly RegExp[] | undefined
}

/** A value this short stands in ordinary text by chance. */
export const minSecretLength = 6

const everydayValues = new Set(
  `localhost 127.0.0.1 0.0.0.0 default disabled enabled development production testing staging undefined required optional example changeme password
   secret postgres mariadb mongodb docker github gitlab master string number boolean nothing public private bearer`.split(/\s+/),
)

/** Makes a masker; see MaskerOptions. It holds the secrets and must not outlive the need for them. */
export function createMasker(options: MaskerOptions): Masker {
  const values = valuesToMask(options.secrets)
  const known = values.length > 0 ? new RegExp(values.map(escapePattern).join('|'), 'g') : undefined
  const patterns = (options.patterns ?? []).map((pattern) => new RegExp(pattern.source, [...new Set(`${pattern.flags.replace('y', '')}g`)].join('')))

  const onePass = (text: string, found: (span: Span) => void): void =>
    eachChunk(text, (chunk, offset) => {
      const shifted = (span: Span): void => found({ start: span.start + offset, end: span.end + offset })
      if (known) eachOverlapping(known, chunk, shifted)
      findShapes(chunk, shifted)
      if (patterns.length > 0) eachConfigured(patterns, chunk, shifted)
    })
  // Both as it came and as it is shown: a colour in the middle of a secret (a match of grep) takes nothing from it.
  const find = (text: string): readonly Span[] => {
    const found = findAll(text, onePass)
    const shown = withoutControls(text)
    if (!shown) return found
    const more = findAll(shown.text, onePass).map(({ start, end }) => ({ start: shown.originOf(start), end: shown.originOf(end - 1) + 1 }))
    return more.length === 0 ? found : merge([...found, ...more])
  }
  const openFrom = (text: string): number =>
    wordStartOf(text, Math.min(patterns.length > 0 ? lineStartOf(text) : text.length, openShape(text), openValue(values, text)))
  return {
    reach: Math.max(0, ...values.filter((value) => value.includes('\n')).map((value) => Buffer.byteLength(value))),
    find,
    mask: (text) => maskAll(text, find),
    openFrom(text) {
      const shown = withoutControls(text)
      if (!shown) return openFrom(text)
      const open = openFrom(shown.text)
      return Math.min(openFrom(text), open < shown.text.length ? shown.originOf(open) : text.length)
    },
  }
}

const maxRounds = 4

/** Between two looks at a text the labels of one change what the other sees, so it is looked at until nothing is found. */
function maskAll(text: string, find: (text: string) => readonly Span[]): string {
  let masked = text
  for (let round = 0; round < maxRounds; round += 1) {
    const spans = find(masked)
    if (spans.length === 0) break
    masked = render(masked, spans)
    if (!withoutControls(masked)) break
  }
  return masked
}

function render(text: string, spans: readonly Span[]): string {
  let shown = ''
  let at = 0
  for (const { start, end } of spans) {
    shown += text.slice(at, start) + labelsFor(text.slice(start, end))
    at = end
  }
  return shown + text.slice(at)
}

/** A label for each line of a secret, so that the lines after it keep their numbers. */
export function labelsFor(secret: string): string {
  return secret.includes('\n') ? secret.replace(/[^\n]+/g, maskLabel) : maskLabel
}

const maxPasses = 6

/**
 * Looks again at what lies between the parts that were found, until nothing is: what stands beside a label must not
 * look like a secret only because its neighbour is gone. Labels that are there already separate parts in the same way.
 */
function findAll(text: string, onePass: (text: string, found: (span: Span) => void) => void): readonly Span[] {
  let all: Span[] = []
  let parts = partsBetween(text, labelsIn(text))
  for (let pass = 0; parts.length > 0; pass += 1) {
    const next: Span[] = []
    for (const part of parts) {
      const piece = part.start === 0 && part.end === text.length ? text : text.slice(part.start, part.end)
      let found: Span[] = []
      onePass(piece, (span) => {
        if (span.end > span.start) found.push({ start: span.start + part.start, end: span.end + part.start })
      })
      if (found.length === 0) continue
      if (pass >= maxPasses) found = [part]
      const merged = merge(found)
      all.push(...merged)
      if (pass < maxPasses) for (const rest of partsBetween(text, merged, part)) next.push(...linesAtTheEdges(text, rest, part))
    }
    parts = next
  }
  if (all.length > 1) all = merge(all)
  return all
}

function labelsIn(text: string): Span[] {
  const labels: Span[] = []
  for (let at = text.indexOf(maskLabel); at >= 0; at = text.indexOf(maskLabel, at + maskLabel.length)) labels.push({ start: at, end: at + maskLabel.length })
  return labels
}

/** What of `within` lies between the spans. */
function partsBetween(text: string, spans: readonly Span[], within: Span = { start: 0, end: text.length }): Span[] {
  const parts: Span[] = []
  let at = within.start
  for (const span of spans) {
    if (span.start > at) parts.push({ start: at, end: span.start })
    at = span.end
  }
  if (within.end > at) parts.push({ start: at, end: within.end })
  return parts
}

/** Lines with nothing found in them look the same as before: only those that lost a part are worth another look. */
function linesAtTheEdges(text: string, rest: Span, within: Span): Span[] {
  const firstEnd = text.indexOf('\n', rest.start)
  if (firstEnd < 0 || firstEnd >= rest.end) return [rest]
  const lines: Span[] = []
  if (rest.start > within.start) lines.push({ start: rest.start, end: firstEnd })
  if (rest.end < within.end) lines.push({ start: text.lastIndexOf('\n', rest.end - 1) + 1, end: rest.end })
  return lines.filter(({ start, end }) => end > start)
}

/** Sorted, with what overlaps or touches joined. */
function merge(spans: readonly Span[]): Span[] {
  const merged: { start: number; end: number }[] = []
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1)
    if (last && span.start <= last.end) last.end = Math.max(last.end, span.end)
    else merged.push({ ...span })
  }
  return merged
}

// The engine of regular expressions keeps a stack entry per character of a repetition and throws when that is full.
const chunkLength = 1024 * 1024
const chunkOverlap = 65_536

/** Hands over a long text in parts that overlap by more than any secret is long; each begins with a line where it can. */
function eachChunk(text: string, take: (chunk: string, offset: number) => void): void {
  for (let start = 0; ; ) {
    take(text.slice(start, start + chunkLength), start)
    if (start + chunkLength >= text.length) return
    const next = start + chunkLength - chunkOverlap
    const lineStart = text.lastIndexOf('\n', next) + 1
    start = lineStart > start && next - lineStart < chunkOverlap ? lineStart : next
  }
}

/** Every occurrence, also those that begin inside another one; joined as they come, so that a long run stays one span. */
function eachOverlapping(pattern: RegExp, text: string, found: (span: Span) => void): void {
  let open: { start: number; end: number } | undefined
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const end = match.index + match[0].length
    if (open && match.index <= open.end) open.end = Math.max(open.end, end)
    else {
      if (open) found(open)
      open = { start: match.index, end }
    }
    pattern.lastIndex = match.index + 1
  }
  if (open) found(open)
}

// A configured pattern may be slow on long lines, so it sees them in pieces.
const pieceLength = 4096
const pieceOverlap = 512

function eachConfigured(patterns: readonly RegExp[], text: string, found: (span: Span) => void): void {
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', start)
    const stop = lineEnd < 0 ? text.length : lineEnd
    const end = Math.min(stop, start + pieceLength)
    const piece = text.slice(start, end)
    for (const pattern of patterns) {
      pattern.lastIndex = 0
      for (let match = pattern.exec(piece); match; match = pattern.exec(piece)) {
        if (match[0] === '') pattern.lastIndex += 1
        else found({ start: start + match.index, end: start + match.index + match[0].length })
      }
    }
    start = end < stop ? end - pieceOverlap : stop + 1
  }
}

function lineStartOf(text: string): number {
  return Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
}

/** What becomes of the rest of a word can decide what its beginning is. */
function wordStartOf(text: string, offset: number): number {
  if (offset >= text.length) return offset
  let start = offset
  while (start > 0 && !/\s/.test(text[start - 1] as string)) start -= 1
  return start
}

/** The first offset from which the rest of `text` is the beginning, and not the whole, of a known value. */
function openValue(values: readonly string[], text: string): number {
  const longest = values[0]?.length ?? 0
  const from = Math.max(0, text.length - longest + 1)
  const tail = text.slice(from)
  const initials = new Set(values.map((value) => value[0]))
  for (let at = 0; at < tail.length; at += 1) {
    if (!initials.has(tail[at])) continue
    const rest = tail.slice(at)
    if (values.some((value) => value.length > rest.length && value.startsWith(rest))) return from + at
  }
  return text.length
}

/** Every form in which the secrets may stand in text; longest first, so that of several at one place the longest is taken. */
function valuesToMask(secrets: readonly string[]): string[] {
  const values = new Set<string>()
  const add = (value: string): void => {
    if (value.length < minSecretLength || everydayValues.has(value.toLowerCase())) return
    // What is part of the label, or holds it, could never come to rest.
    if (!maskLabel.includes(value) && !value.includes(maskLabel)) values.add(value)
  }
  for (const secret of secrets) {
    const trimmed = secret.trim()
    if (trimmed.length < minSecretLength || everydayValues.has(trimmed.toLowerCase())) continue
    for (const form of [secret, trimmed]) for (const written of formsOf(form)) add(written)
    // Programs print a value of several lines with something before each of them.
    if (trimmed.includes('\n')) for (const line of trimmed.split('\n')) if (/^[^\s-]\S{15,}$/.test(line.trim())) add(line.trim())
  }
  return [...values].sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
}

function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const forms = [value, json, ...writersOfJson.map((write) => write(json)), value.replaceAll("'", "'\\''"), value.replaceAll('\n', '\r\n')]
  try {
    const encoded = encodeURIComponent(value)
    forms.push(
      encoded,
      encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
      encoded.replaceAll('%20', '+'),
    )
  } catch {
    // A lone surrogate cannot be encoded.
  }
  return [...forms, ...base64Forms(value)]
}

const unicodeEscape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** What writers of JSON escape besides: those of PHP slashes, of Python and PHP all that is not ASCII, of Go what HTML minds. */
const writersOfJson: readonly ((json: string) => string)[] = [
  (json) => json.replaceAll('/', '\\/'),
  (json) => json.replace(/[\u0080-\uffff]/g, unicodeEscape),
  (json) => json.replace(/[\u0080-\uffff]/g, unicodeEscape).replaceAll('/', '\\/'),
  (json) => json.replace(/[<>&]/g, unicodeEscape),
]

/** The characters of base64 that depend on the value alone, for each of the three ways it can fall into groups of three bytes. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value)
  const forms: string[] = []
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const start = Math.ceil((before * 8) / 6)
    const own = encoded.slice(start, Math.floor(((before + bytes.length) * 8) / 6))
    if (own.length >= 10) forms.push(own, own.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return forms
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
