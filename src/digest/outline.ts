import { byteLength, oneLine, plural } from '../core/text.ts'
import type { LineRef, LogStream } from './log.ts'
import { shownLine } from './log.ts'
import { accessLog } from './outlines/access-log.ts'
import { csv } from './outlines/csv.ts'
import { diff } from './outlines/diff.ts'
import { history, shortHistory } from './outlines/history.ts'
import { json, ndjson } from './outlines/json.ts'
import { markdown } from './outlines/markdown.ts'
import { markup } from './outlines/markup.ts'
import { matches, paths } from './outlines/places.ts'
import type { Found, Source } from './outlines/source.ts'
import { refsOf, sourceOf } from './outlines/source.ts'
import { table } from './outlines/table.ts'
import { accessibilityTree } from './outlines/tree.ts'
import { shorten } from './shorten.ts'

/** The shape of a structured text, in lines that may be shown, within a budget. */
export interface Outline {
  /** `JSON`, `CSV`, `HTML`, `diff`, ... */
  readonly kind: string
  /** Facts about the whole, and lines of the text as `N | text`. */
  readonly lines: readonly string[]
  /** Where lines fill the room, the widest gap between them. */
  readonly gap?: Gap | undefined
}

interface Gap {
  readonly from: number
  readonly to: number
}

/** From the surest sign to the weakest. */
const kinds: readonly ((source: Source) => Found | undefined)[] = [
  ndjson,
  json,
  markup,
  diff,
  history,
  shortHistory,
  accessLog,
  accessibilityTree,
  csv,
  table,
  matches,
  paths,
  markdown,
]

/** Of a stream that passed and is data, as much as fits is shown where that is a fair part of it. */
const fairPart = 1 / 3
/** Of text without a shape, of which nothing else can be told, also where it is a smaller part. */
const textPart = 1 / 16

export interface OutlineOptions {
  /** Whether lines from both ends fill what facts leave of the room, also of a text without a shape. */
  readonly fill?: boolean | undefined
}

/** The shape of a stream that is data rather than a log, in at most `bytes` bytes; undefined where it is none. */
export function outlineOf(stream: LogStream, bytes: number, { fill = false }: OutlineOptions = {}): Outline | undefined {
  const source = sourceOf(stream)
  if (!source || source.probe.length === 0) return undefined
  for (const kind of kinds) {
    const found = kind(source)
    if (found) return layOut(fill && bytes >= stream.bytes * fairPart ? filled(found, source, bytes) : found, bytes)
  }
  return fill && bytes >= stream.bytes * textPart ? layOut(filled({ kind: '', facts: [], rows: [] }, source, bytes), bytes) : undefined
}

/** Less room holds no more than some lines. */
const bytesOfLine = 8

/** A text with lines from both ends behind those that are worth most: two of the beginning for each of the end. */
function filled(found: Found, source: Source, bytes: number): Found & { readonly isFilled: true } {
  const most = Math.ceil(bytes / bytesOfLine)
  const first: LineRef[] = []
  for (const { text, ref } of source.lines()) if (text.trim() !== '' && first.push(ref) >= most) break
  const last = refsOf(source.last(most)).reverse()
  const rows = [...found.rows]
  for (let i = 0; i < most; i += 1) rows.push(...first.slice(2 * i, 2 * i + 2), ...last.slice(i, i + 1))
  return { ...found, rows, isFilled: true }
}

const maxFactBytes = 200
/** The first rows say what the others are like. */
const fewRows = 14
const maxRowBytes = 160
/** Room for what says how many lines are not there. */
const gapBytes = 28

/** Indented, so that no name in the data reads like a numbered line or a heading. */
const factLine = (fact = ''): string => shorten(`  ${oneLine(fact)}`, maxFactBytes)

/** Facts take half of the room, or a quarter where lines fill it, rows the rest, and facts what rows leave. */
function layOut({ kind, facts, rows, all = [], isFilled = false }: Found & { readonly isFilled?: boolean }, bytes: number): Outline | undefined {
  const [headline, ...others] = facts
  const first = headline === undefined ? [] : [shorten(oneLine(`${kind}: ${headline}`), Math.min(maxFactBytes, bytes))]
  let room = bytes - byteLength(first.join('')) - (isFilled ? gapBytes : 0)
  const shown: string[] = []
  const take = (line: string): boolean => {
    if (byteLength(line) + 1 > room) return false
    room -= byteLength(line) + 1
    return true
  }
  const reserved = rows.length === 0 ? 0 : room * (isFilled ? 0.75 : 0.5)
  let at = 0
  for (; at < others.length && room > reserved; at += 1) {
    const line = factLine(others[at])
    if (!take(line)) break
    shown.push(line)
  }
  const texts = new Map<number, string>()
  const rowText = (row: LineRef): string => `${row.number} | ${shownLine(row, maxRowBytes)}`
  const takeRows = (wanted: readonly LineRef[]): void => {
    for (const row of wanted) {
      if (texts.has(row.number)) continue
      const text = rowText(row)
      if (!take(text)) break
      texts.set(row.number, text)
    }
  }
  takeRows(rows.slice(0, fewRows))
  const missing = all.filter(({ number }) => !texts.has(number))
  if (missing.length <= bytes / bytesOfLine && missing.reduce((sum, row) => sum + byteLength(rowText(row)) + 1, 0) <= room) takeRows(missing)
  takeRows(rows)
  for (; at < others.length; at += 1) {
    const line = factLine(others[at])
    if (!take(line)) break
    shown.push(line)
  }
  const left = others.length - at
  const note = left > 0 ? `  … ${left} more` : ''
  if (note !== '' && take(note)) shown.push(note)
  if (byteLength(first.join('')) > bytes) return undefined
  const numbered = [...texts].sort((a, b) => a[0] - b[0])
  const gap = isFilled ? widestGap(numbered.map(([number]) => number)) : undefined
  const lines = numbered.flatMap(([number, text]) => (number === (gap?.to ?? 0) + 1 && gap ? [gapLine(gap), text] : [text]))
  return { kind, lines: [...first, ...shown, ...lines], gap }
}

const gapLine = ({ from, to }: Gap): string => `  … ${plural(to - from + 1, 'line')}`

/** The widest place between numbers that are in order, if more than one is missing there. */
function widestGap(numbers: readonly number[]): Gap | undefined {
  const gaps = numbers.slice(1).map((number, i): Gap => ({ from: (numbers[i] as number) + 1, to: number - 1 }))
  const size = ({ from, to }: Gap): number => to - from
  return gaps.filter((gap) => size(gap) > 0).sort((a, b) => size(b) - size(a))[0]
}
