import { byteLength, oneLine } from '../core/text.ts'
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
import { sourceOf } from './outlines/source.ts'
import { table } from './outlines/table.ts'
import { accessibilityTree } from './outlines/tree.ts'
import { shorten } from './shorten.ts'

/** The shape of a structured text, in lines that may be shown, within a budget. */
export interface Outline {
  /** `JSON`, `CSV`, `HTML`, `diff`, ... */
  readonly kind: string
  /** Facts about the whole, and lines of the text as `N | text`. */
  readonly lines: readonly string[]
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

/** The shape of a stream that is data rather than a log, in at most `bytes` bytes; undefined where it is none. */
export function outlineOf(stream: LogStream, bytes: number): Outline | undefined {
  const source = sourceOf(stream)
  if (!source || source.probe.length === 0) return undefined
  for (const kind of kinds) {
    const found = kind(source)
    if (found) return layOut(found, bytes)
  }
  return undefined
}

const maxFactBytes = 200
const maxRowBytes = 160

/** Indented, so that no name in the data reads like a numbered line or a heading. */
const factLine = (fact = ''): string => shorten(`  ${oneLine(fact)}`, maxFactBytes)

/** Facts take half of the room, rows the rest, and facts what rows leave. */
function layOut({ kind, facts, rows }: Found, bytes: number): Outline | undefined {
  const [headline = '', ...others] = facts
  const first = shorten(oneLine(`${kind}: ${headline}`), Math.min(maxFactBytes, bytes))
  let room = bytes - byteLength(first)
  const shown: string[] = []
  const take = (line: string): boolean => {
    if (byteLength(line) + 1 > room) return false
    room -= byteLength(line) + 1
    return true
  }
  const reserved = rows.length === 0 ? 0 : room / 2
  let at = 0
  for (; at < others.length && room > reserved; at += 1) {
    const line = factLine(others[at])
    if (!take(line)) break
    shown.push(line)
  }
  const chosen = new Map<number, LineRef>()
  const texts = new Map<number, string>()
  for (const row of rows) {
    if (chosen.has(row.number)) continue
    const text = `${row.number} | ${shownLine(row, maxRowBytes)}`
    if (!take(text)) break
    chosen.set(row.number, row)
    texts.set(row.number, text)
  }
  for (; at < others.length; at += 1) {
    const line = factLine(others[at])
    if (!take(line)) break
    shown.push(line)
  }
  const left = others.length - at
  const note = left > 0 ? `  … ${left} more` : ''
  if (note !== '' && take(note)) shown.push(note)
  if (byteLength(first) > bytes) return undefined
  return { kind, lines: [first, ...shown, ...[...texts].sort((a, b) => a[0] - b[0]).map(([, text]) => text)] }
}
