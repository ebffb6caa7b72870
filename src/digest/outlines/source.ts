import type { LineRef, LogStream } from '../log.ts'
import { lineAfter, lineFrom, lineHead } from '../log.ts'
import { lineFeedAfter, sectionText } from '../log-text.ts'

/** What one kind of text has to say about itself. */
export interface Found {
  readonly kind: string
  /** Most telling first. */
  readonly facts: readonly string[]
  /** Lines worth showing, most telling first. */
  readonly rows: readonly LineRef[]
  /** Lines that tell something only together, such as the name of each entry: shown if there is room for all of them. */
  readonly all?: readonly LineRef[] | undefined
}

/** A line as outlines look at it: clean, at most 4,096 characters. */
export interface SourceLine {
  readonly number: number
  readonly text: string
  readonly ref: LineRef
}

/** A stream as outlines read it. */
export interface Source {
  readonly stream: LogStream
  /** The first lines that are not blank, at most `probeLines`. */
  readonly probe: readonly SourceLine[]
  /** Lines from the first on, at most `maxLines`, up to what is missing. */
  lines(): Iterable<SourceLine>
  /** How many lines of the stream `lines` leaves out. */
  readonly unread: number
  /** The last lines that are not blank, at most `count`, in order. */
  last(count: number): SourceLine[]
  /** All of the text; undefined where some is missing or it is longer than `maxWholeBytes`. */
  whole(): string | undefined
  /** The beginning of the text, long lines and all. */
  head(chars: number): string
  /** Takes secrets out of what is made of the text: decoded, it may show one that no line does. */
  mask(text: string): string
}

const probeLines = 60
const maxLines = 50_000
const maxWholeBytes = 16 * 1024 * 1024
const maxTailBytes = 64 * 1024

/** Undefined where the beginning, which says what a text is, is not at hand. */
export function sourceOf(stream: LogStream): Source | undefined {
  const [first] = stream.sections
  const last = stream.sections.at(-1)
  if (first?.firstLine !== 1 || !last) return undefined
  const beginning = first
  function* lines(): Generator<SourceLine> {
    let read = 0
    for (let ref = lineFrom(beginning, 0, 1); ref && read < maxLines; ref = lineAfter(ref), read += 1) yield toLine(ref)
  }
  const probe: SourceLine[] = []
  for (const line of lines()) if (line.text.trim() !== '' && probe.push(line) >= probeLines) break
  const complete = stream.sections.length === 1 && stream.droppedBytes === 0
  let read: number | undefined
  return {
    stream,
    probe,
    lines,
    get unread() {
      read ??= complete && stream.lines <= maxLines ? stream.lines : countOf(lines())
      return Math.max(0, stream.lines - read)
    },
    last(count) {
      const start = Math.max(0, last.source.length - maxTailBytes)
      const from = start === 0 ? 0 : lineFeedAfter(last, start) + 1
      const found: SourceLine[] = []
      for (let ref = lineFrom(last, from, 1); ref; ref = lineAfter(ref)) found.push(toLine(ref))
      const end = found.length
      return found
        .map((line, i): SourceLine => {
          const number = stream.lines - (end - 1 - i)
          return { ...line, number, ref: { ...line.ref, number } }
        })
        .filter(({ text }) => text.trim() !== '')
        .slice(-count)
    },
    whole: () => (complete && first.source.length <= maxWholeBytes ? sectionText(first, first.source.length) : undefined),
    head: (chars) => sectionText(first, chars * 4).slice(0, chars),
    mask: (text) => (first.mask ? first.mask.mask(text) : text),
  }
}

const toLine = (ref: LineRef): SourceLine => ({ number: ref.number, text: lineHead(ref), ref })

function countOf(lines: Iterable<unknown>): number {
  let count = 0
  for (const _ of lines) count += 1
  return count
}

/** The first and the last of rows that are shown: the very first, the very last, then inwards. */
export function edges<T>(first: readonly T[], last: readonly T[]): T[] {
  const inwards = [...last].reverse()
  return Array.from({ length: Math.max(first.length, last.length) }, (_, i) => [first[i], inwards[i]])
    .flat()
    .filter((row): row is T => row !== undefined)
}

export const refsOf = (lines: readonly SourceLine[]): LineRef[] => lines.map(({ ref }) => ref)
