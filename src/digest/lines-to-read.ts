import { readBytes } from '../core/byte-source.ts'
import type { LineRef, LogSection, LogStream } from './log.ts'
import { lineAfter, lineBefore, lineFrom } from './log.ts'
import { lineFeedBefore } from './log-text.ts'
import { survey } from './survey.ts'
import { lineFeedsOf } from './suspects.ts'

/** Up to this size every line of a stream is read. */
const wholeBytes = 2 * 1024 * 1024
/** Of a longer one its beginning and its end, and the neighbourhoods of what looks like trouble, the gravest first. */
const edgeBytes = 256 * 1024
const linesBefore = 8
const linesAfter = 24
const maxNeighbours = 1024

/** The lines that whoever reads lines one by one gets of a stream, in order: all of them, or of a long one those that may matter. */
export function linesToRead(stream: LogStream): LineRef[] {
  const bytes = stream.sections.reduce((sum, { source }) => sum + source.length, 0)
  const first = stream.sections[0]
  const last = stream.sections.at(-1)
  if (!first || !last) return []
  if (bytes <= wholeBytes) return stream.sections.flatMap((section) => [...linesFrom(lineFrom(section, 0, section.firstLine), section.source.length)])
  const wanted = new Map<number, LineRef>()
  const add = (line: LineRef): boolean => wanted.size < wanted.set(line.number, line).size
  for (const line of linesFrom(lineFrom(first, 0, first.firstLine), edgeBytes)) add(line)
  for (const line of linesFrom(endOf(last), last.source.length)) add(line)
  addNeighbours(stream, add)
  return [...wanted.values()].sort((a, b) => a.number - b.number)
}

function* linesFrom(start: LineRef | undefined, until: number): Generator<LineRef> {
  for (let line = start; line && line.start < until; line = lineAfter(line)) yield line
}

/** The first line of the end of a section. */
function endOf(section: LogSection): LineRef | undefined {
  const { source, firstLine } = section
  const start = lineFeedBefore(section, Math.max(0, source.length - edgeBytes)) + 1
  const feeds = readBytes(source, start, source.length).reduce((count, byte) => (byte === 10 ? count + 1 : count), 0)
  return lineFrom(section, start, firstLine + lineFeedsOf(section) - feeds)
}

function addNeighbours(stream: LogStream, add: (line: LineRef) => boolean): void {
  let left = maxNeighbours
  const take = (line: LineRef): void => {
    if (add(line)) left -= 1
  }
  for (const { members } of [...survey(stream).findings].sort((a, b) => b.weight - a.weight)) {
    for (const member of members) {
      if (left <= 0) return
      take(member)
      let line = lineBefore(member)
      for (let i = 0; line && i < linesBefore; i += 1, line = lineBefore(line)) take(line)
      line = lineAfter(member)
      for (let i = 0; line && i < linesAfter; i += 1, line = lineAfter(line)) take(line)
    }
  }
}
