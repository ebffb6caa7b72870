import { byteLength, formatCount, plural } from '../core/text.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineHead, shownLine } from './log.ts'
import type { Finding, LineGroup, Survey } from './survey.ts'
import { clockLength, unwrap } from './wrapper.ts'

/**
 * Collects lines within a budget; every line that it accepts is paid for in a short form. What is left in the end
 * lengthens the lines that were cut, the first accepted first.
 */
export interface Page {
  room(): number
  /** True if the line is on the page now, or was already. */
  show(stream: LogStream, line: LineRef): boolean
  /** The same; more of a long line is paid for. */
  showMore(stream: LogStream, line: LineRef): boolean
  /** The same; content also with another line of the same text. */
  showUnlessTold(stream: LogStream, line: LineRef): boolean
  /** What showing these lines takes. */
  cost(stream: LogStream, lines: readonly LineRef[]): number
  /** A line of ours below one that is shown, unless it has one. */
  remark(stream: LogStream, line: LineRef, text: string): boolean
  /** The same for the first and the last line of a group, with a count of those between them. */
  showGroup(stream: LogStream, group: LineGroup): boolean
  /** Pays for a note that is written only if it turns out to be needed. */
  note(finding: Finding): void
  /** A line of ours above the part of a stream, or of all where none is named. */
  say(text: string, stream?: LogStream): boolean
  render(): string[]
}

export interface PageOptions {
  readonly bytes: number
  readonly streams: readonly LogStream[]
  readonly surveys: readonly Survey[]
  readonly describe: (stream: LogStream) => string
}

interface Shown {
  readonly line: LineRef
  text: string
  bytes: number
  /** Written below it. */
  remark: string
}

const noteBytes = 48
const longestLine = 300

// The first hundred bytes of a line name its trouble; where there is less room, a line gives way so that each stream has one.
const shortLine = (bytes: number): number => Math.floor(Math.min(112, Math.max(72, bytes / 5.5), Math.max(16, bytes / 4)))

export function pageOf({ bytes, streams, surveys, describe }: PageOptions): Page {
  const counts = new Map(surveys.map((survey) => [survey.stream, survey.counts]))
  const headings = new Map(streams.map((stream) => [stream, describe(stream) + (bytes < minCountingBytes ? '' : countWords(counts.get(stream)))]))
  const parts = new Map<LogStream, Map<number, Shown>>(streams.map((stream) => [stream, new Map()]))
  const said = new Map<LogStream | undefined, string[]>()
  const notes = new Set<Finding>()
  const short = shortLine(bytes)
  let room = bytes - [...headings.values()].reduce((sum, heading) => sum + byteLength(heading) + 2, 0)
  const pay = (cost: number): boolean => {
    if (cost > room) return false
    room -= cost
    return true
  }
  const partOf = (stream: LogStream): Map<number, Shown> => parts.get(stream) ?? new Map()
  const texts = new Set<string>()
  const accept = (stream: LogStream, line: LineRef, remark: string, most = short): boolean => {
    const part = partOf(stream)
    if (part.has(line.number)) return true
    const text = numbered(line, most)
    const size = byteLength(text)
    if (!pay(size + 1 + (remark === '' ? 0 : byteLength(remark) + 1))) return false
    part.set(line.number, { line, text, bytes: size, remark })
    const own = toldIn(line)
    if (own !== undefined) texts.add(own)
    return true
  }
  return {
    room: () => room,
    show: (stream, line) => accept(stream, line, ''),
    showMore: (stream, line) => accept(stream, line, '', Math.max(short, Math.min(Math.floor(short * 1.7), Math.floor(bytes / 3)))),
    showUnlessTold: (stream, line) => texts.has(toldIn(line) ?? '') || accept(stream, line, ''),
    cost: (stream, lines) => lines.reduce((sum, line) => sum + (partOf(stream).has(line.number) ? 0 : byteLength(numbered(line, short)) + 1), 0),
    remark(stream, line, text) {
      const shown = partOf(stream).get(line.number)
      if (shown?.remark !== '' || !pay(byteLength(text) + 1)) return false
      shown.remark = text
      return true
    },
    showGroup(stream, { first, last, count }) {
      if (!accept(stream, last, '')) return false
      if (count > 1 && first.number !== last.number) accept(stream, first, count > 2 ? `  … ${plural(count - 2, 'line')} like it` : '')
      return true
    },
    note(finding) {
      if (!notes.has(finding) && pay(noteBytes)) notes.add(finding)
    },
    say(text, stream) {
      if (!pay(byteLength(text) + 1)) return false
      said.set(stream, [...(said.get(stream) ?? []), text])
      return true
    },
    render() {
      for (const [stream, part] of parts) {
        for (const finding of notes) {
          if (finding.stream !== stream) continue
          const [line, remark] = remarkOf(finding, part)
          if (line) line.remark ||= remark
          else room += noteBytes
        }
      }
      for (const shown of [...parts.values()].flatMap((part) => [...part.values()])) {
        if (room < minGain) break
        const longer = numbered(shown.line, Math.min(longestLine, shown.bytes + room))
        const gain = byteLength(longer) - shown.bytes
        if (gain <= 0 || gain > room) continue
        room -= gain
        shown.text = longer
      }
      const out = [...(said.get(undefined) ?? [])]
      for (const [stream, part] of parts) {
        const lines = [...part.values()].sort((a, b) => a.line.number - b.line.number).flatMap(({ text, remark }) => (remark === '' ? [text] : [text, remark]))
        const own = [...(said.get(stream) ?? []), ...lines]
        out.push(`${headings.get(stream) ?? ''}${own.length > 0 ? ':' : ''}`, ...own)
      }
      return out
    },
  }
}

/** Less room lengthens no line in a way that tells more. */
const minGain = 8

/** Shorter lines stand in many places, and mean another thing in each. */
const minToldChars = 16

const took = / \(\d[\d.]{0,12} ?m?s\)$/

/** By what a line is known again where a tool tells it a second time, in a list at the end say. */
function toldIn(line: LineRef): string | undefined {
  const text = unwrap(lineHead(line)).replace(took, '').trim()
  return text.length < minToldChars ? undefined : text
}

/** A line as it is shown, with its number and without the time before it, which says little and takes the room of the message. */
const numbered = (line: LineRef, maxBytes: number): string => {
  const prefix = `${line.number} | `
  const clock = clockLength(lineHead(line))
  return prefix + shownLine(line, maxBytes - prefix.length + clock).slice(clock)
}

/** In less room, counts of lines would take the place of a line. */
const minCountingBytes = 640

function countWords(counts: Survey['counts'] | undefined): string {
  const found = [
    counts && counts.errors > 0 ? `${formatCount(counts.errors)} like errors` : '',
    counts && counts.warnings > 0 ? `${formatCount(counts.warnings)} like warnings` : '',
  ]
  const words = found.filter(Boolean).join(', ')
  return words === '' ? '' : ` (${words})`
}

/** Where lines of a finding are not shown, a note after the last shown one says how many. */
function remarkOf(finding: Finding, part: ReadonlyMap<number, Shown>): [Shown | undefined, string] {
  const shown = finding.members.flatMap((member) => part.get(member.number) ?? [])
  const hidden = finding.count - shown.length
  if (hidden <= 0) return [undefined, '']
  return [shown.at(-1), `  … ${formatCount(hidden)} more like it, the last in line ${finding.lastNumber}`.slice(0, noteBytes - 1)]
}
