import { foldText } from './fold.ts'
import { logTraits } from './log-traits.ts'
import type { Disguise, ScanPattern } from './scan.ts'

/** A text that is looked for in lines as they are shown. */
export interface Needle {
  readonly text: string
  /** Whether case, accents and width are passed over. Then the text is folded. */
  readonly folded: boolean
}

/*
 * Lines are searched as they are shown: without escape sequences and other control characters, and, for words, folded. What scans
 * the logs sees them as they were printed. So it looks for the text itself, and for the places where that may stand in disguise:
 * a character of it beside something that is taken out, or that is folded to a character of it. Which of them is a hit is
 * decided on the line as it is shown. Each pattern is one that is found quickly by itself; together they are not.
 */

/** Outside of these ranges nothing but ASCII is folded to anything but itself. */
export const foldedRanges: readonly (readonly [number, number])[] = [
  [0x80, 0x3400],
  [0xa000, 0xac00],
  [0xf900, 0x10000],
  [0x10000, 0x10e00],
  [0x11000, 0x12000],
  [0x16e00, 0x17000],
  [0x1cc00, 0x1f300],
  [0x1fb00, 0x1fc00],
  [0x2f800, 0x2fa20],
]

/** What of these is folded to something else, by code point. */
let foldings: ReadonlyMap<number, string> | undefined

function foldingsOf(): ReadonlyMap<number, string> {
  if (foldings) return foldings
  const found = new Map<number, string>()
  for (const [from, to] of foldedRanges) {
    for (let code = from; code < to; code += 1) {
      if (code >= 0xd800 && code < 0xe000) continue
      const char = String.fromCodePoint(code)
      const folded = foldText(char)
      if (folded !== char) found.set(code, folded)
    }
  }
  foldings = found
  return found
}

/** Control characters that are taken out without a trace, but escape. */
const removed: readonly (readonly [number, number])[] = [
  [0x01, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1a],
  [0x1c, 0x1f],
  [0x7f, 0x9f],
]

/** Found in what may be shown otherwise than it was printed: whatever is not printable ASCII. */
export const notPlain: ScanPattern = { source: '[^\\t\\r -~]', ignoreCase: false, bytes: true }

/** What is scanned for: the text itself, and its disguises, of which none is found in printable ASCII. */
export interface ScanPatterns {
  readonly pattern: ScanPattern
  readonly disguises: readonly Disguise[]
  /** Logs with one of these traits are not to be scanned: something else than what was printed may be shown. */
  readonly unscanned?: number
}

/**
 * Patterns of which at least one is found in each line, as it was printed, that shows the text outside of `label`, which stands where
 * secrets were. Undefined where none can be named: the text may be part of a label, is too short, or comes of characters that combine.
 */
export function scanPatterns({ text, folded }: Needle, label: string): ScanPatterns | undefined {
  const chars = [...text]
  if (chars.length < 2 || mayLieAcross(text, label) || !chars.every((char) => isPlain(char, folded))) return undefined
  const own = new Set(chars.flatMap((char) => (folded ? [char, char.toUpperCase()] : [char])).flatMap((char) => (char.length > 2 ? [] : [codeOf(char)])))
  const near = new Set<number>()
  const alone = new Set<number>()
  if (folded) {
    for (const [code, shown] of foldingsOf()) {
      if (shown === '' || [...shown].some((char) => own.has(codeOf(char)))) near.add(code)
      if (shown.includes(text)) alone.add(code)
    }
  }
  const unseen = new Set<number>()
  for (const [from, to] of removed) for (let code = from; code <= to; code += 1) unseen.add(code)
  const letters = classBody(own)
  const hidden = classBody(unseen)
  const others = classBody(new Set([...near, ...unseen]))
  // A colour between two words is everywhere; one inside of a word is rare.
  const colour = '[0-9;]{0,20}'
  const inside = `[${letters}${others}]\\u{1b}(?:\\[${colour}[A-Za-z]\\u{1b})*(?:[^\\[]|\\[[0-9;]{21}|\\[${colour}(?:[^0-9;A-Za-z]|[A-Za-z](?:[${letters}]|[^ -~\\t\\r\\u{1b}])))`
  const beside = (those: string): string => `[${letters}${others}][${those}]|[${those}][${letters}]`
  const disguises: Disguise[] = [
    { source: inside, traits: logTraits.escapes, ignoreCase: false },
    { source: beside(hidden), traits: logTraits.controls, ignoreCase: false },
  ]
  if (near.size > 0) {
    const foldings = classBody(near)
    // Quotes and dashes are no part of a word.
    const traits = logTraits.letters | (/^[\w\u0080-\u{10ffff}]*$/u.test(text) ? 0 : logTraits.signs)
    disguises.push({ source: `${beside(foldings)}${alone.size > 0 ? `|[${classBody(alone)}]` : ''}`, traits, ignoreCase: false })
  }
  return { pattern: { source: chars.map((char) => written(codeOf(char))).join(''), ignoreCase: folded }, disguises }
}

/** Whether a text may lie across a label, or in it. */
export function mayLieAcross(text: string, label: string): boolean {
  for (let at = 1 - text.length; at < label.length; at += 1) {
    const from = Math.max(0, at)
    const to = Math.min(label.length, at + text.length)
    if (label.slice(from, to) === text.slice(from - at, to - at)) return true
  }
  return false
}

/** Whether a character comes of none but itself and those that are folded to it one by one. */
function isPlain(char: string, folded: boolean): boolean {
  if (/^[ -~]$/.test(char)) return true
  if (/^\p{C}$/u.test(char)) return false
  return !folded || (foldText(char) === char && char.normalize('NFD') === char)
}

const codeOf = (char: string): number => char.codePointAt(0) as number

const written = (code: number): string => (/^[A-Za-z0-9]$/.test(String.fromCodePoint(code)) ? String.fromCodePoint(code) : `\\u{${code.toString(16)}}`)

/** The inside of a class of characters. */
function classBody(codes: ReadonlySet<number>): string {
  const sorted = [...codes].sort((a, b) => a - b)
  let body = ''
  for (let i = 0; i < sorted.length; ) {
    let last = i
    while (sorted[last + 1] === (sorted[last] as number) + 1) last += 1
    body += written(sorted[i] as number) + (last > i ? `-${written(sorted[last] as number)}` : '')
    i = last + 1
  }
  return body
}
