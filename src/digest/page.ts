import { byteLength, formatCount, plural } from '../core/text.ts'
import type { LineRef, LogStream } from './log.ts'
import { shownLine } from './log.ts'
import type { Finding, LineGroup, Survey } from './survey.ts'

/** Collects lines within a budget; every line that it accepts is paid for, and so is the heading of its part. */
export interface Page {
  room(): number
  /** True if the line is on the page now, or was already. */
  matter(stream: LogStream, line: LineRef): boolean
  tail(stream: LogStream, group: LineGroup): boolean
  /** Pays for a note that is written only if it turns out to be needed. */
  note(finding: Finding): void
  render(): string[]
}

interface Shown {
  readonly text: string
  readonly line: LineRef
}

const maxTailBytes = 200
const noteBytes = 48

export function pageOf(bytes: number, maxLineBytes: number, surveys: readonly Survey[]): Page {
  let room = bytes
  const headings = new Map(surveys.map(({ stream, counts }) => [stream, matterHeading(stream, bytes < minCountingBytes ? { errors: 0, warnings: 0 } : counts)]))
  const matters = new Map<LogStream, Map<number, Shown>>()
  const tails = new Map<LogStream, Map<number, { shown: Shown; after: string[] }>>()
  const notes = new Set<Finding>()
  const shelf = <T>(map: Map<LogStream, Map<number, T>>, stream: LogStream): Map<number, T> => {
    const found = map.get(stream) ?? new Map<number, T>()
    map.set(stream, found)
    return found
  }
  const pay = (cost: number): boolean => {
    if (cost > room) return false
    room -= cost
    return true
  }
  return {
    room: () => room,
    matter(stream, line) {
      const part = shelf(matters, stream)
      if (part.has(line.number) || tails.get(stream)?.has(line.number)) return true
      const text = numbered(line, maxLineBytes)
      if (!pay(byteLength(text) + 1 + (part.size === 0 ? byteLength(headings.get(stream) ?? '') + 1 : 0))) return false
      part.set(line.number, { text, line })
      return true
    },
    tail(stream, group) {
      const part = shelf(tails, stream)
      const { last, first, count } = group
      if (part.has(last.number) || (count === 1 && matters.get(stream)?.has(last.number))) return true
      const limit = Math.min(maxTailBytes, maxLineBytes)
      const text = numbered(last, limit)
      const before: Shown[] = []
      const after: string[] = []
      if (count > 1 && first.number !== last.number) {
        before.push({ text: numbered(first, limit), line: first })
        if (count > 2) after.push(`  … ${plural(count - 2, 'line')} like it`)
      }
      const cost = [text, ...before.map((shown) => shown.text), ...after].reduce((sum, entry) => sum + byteLength(entry) + 1, 0)
      const heading = part.size === 0 ? tailHeading(stream).length + 1 : 0
      if (!pay(cost + heading)) return false
      for (const shown of before) part.set(shown.line.number, { shown, after })
      part.set(last.number, { shown: { text, line: last }, after: [] })
      return true
    },
    note(finding) {
      if (!notes.has(finding) && pay(noteBytes)) notes.add(finding)
    },
    render() {
      const out: string[] = []
      const inTail = (stream: LogStream, number: number): boolean => tails.get(stream)?.has(number) ?? false
      for (const { stream } of surveys) {
        const part = matters.get(stream)
        if (!part || part.size === 0) continue
        out.push(headings.get(stream) ?? '')
        const remarks = remarksOf(notes, stream, (number) => part.has(number) || inTail(stream, number))
        for (const { text, line } of [...part.values()].sort((a, b) => a.line.number - b.line.number)) {
          out.push(text)
          const remark = remarks.get(line.number)
          if (remark) out.push(remark)
        }
      }
      for (const { stream } of surveys) {
        const part = tails.get(stream)
        if (!part || part.size === 0) continue
        out.push(tailHeading(stream))
        for (const { shown, after } of [...part.values()].sort((a, b) => a.shown.line.number - b.shown.line.number)) out.push(shown.text, ...after)
      }
      return out
    },
  }
}

const numbered = (line: LineRef, maxBytes: number): string => {
  const prefix = `${line.number} | `
  return prefix + shownLine(line, maxBytes - prefix.length)
}

const tailHeading = (stream: LogStream): string => `end of ${stream.name}:`

/** In less room, counts of lines would take the place of a line. */
const minCountingBytes = 400

function matterHeading(stream: LogStream, counts: Survey['counts']): string {
  const found = [
    counts.errors > 0 ? `${plural(counts.errors, 'line')} like errors` : '',
    counts.warnings > 0 ? `${plural(counts.warnings, 'line')} like warnings` : '',
  ]
  const count = found.filter(Boolean).join(', ')
  return `what matters in ${stream.name}${count === '' ? '' : ` (${count})`}:`
}

/** Where members of a finding are not shown, a note after the last shown one says how many. */
function remarksOf(notes: ReadonlySet<Finding>, stream: LogStream, isShown: (number: number) => boolean): Map<number, string> {
  const remarks = new Map<number, string>()
  for (const finding of notes) {
    if (finding.stream !== stream) continue
    const shown = finding.members.filter((member) => isShown(member.number))
    const last = shown.at(-1)
    const hidden = finding.count - shown.length
    if (last && hidden > 0) remarks.set(last.number, `  … ${formatCount(hidden)} more like it, the last in line ${finding.lastNumber}`.slice(0, noteBytes))
  }
  return remarks
}
