import { readBytes } from '../core/byte-source.ts'
import type { LineRef, LogSection, LogStream } from './log.ts'
import { lineAfter, lineBefore, lineFrom } from './log.ts'
import { lineFeedBefore } from './log-text.ts'
import { survey } from './survey.ts'
import { lineFeedsOf } from './suspects.ts'

/** Up to this size every line of a stream is read. */
const wholeBytes = 2 * 1024 * 1024
const wholeLines = 50_000
/** Of a longer one its beginning and its end, and the neighbourhoods of what looks like trouble, the gravest first. */
const edgeBytes = 128 * 1024
const edgeLines = 3_000
const linesBefore = 8
const linesAfter = 24
const maxNeighbours = 1024

/** The lines that whoever reads lines one by one gets of a stream, in order: all of them, or of a long one those that may matter. */
export function linesToRead(stream: LogStream): LineRef[] {
  const bytes = stream.sections.reduce((sum, { source }) => sum + source.length, 0)
  const first = stream.sections[0]
  const last = stream.sections.at(-1)
  if (!first || !last) return []
  const lines = stream.sections.reduce((sum, section) => sum + (bytes <= wholeBytes ? lineFeedsOf(section) : 0), 0)
  if (bytes <= wholeBytes && lines <= wholeLines) return stream.sections.flatMap((section) => [...linesFrom(lineFrom(section, 0, section.firstLine))])
  const wanted = new Map<number, LineRef>()
  const add = (line: LineRef): boolean => wanted.size < wanted.set(line.number, line).size
  addEdge(lineFrom(first, 0, first.firstLine), lineAfter, add)
  addEdge(lastOf(last), lineBefore, add)
  addNeighbours(stream, add)
  return [...wanted.values()].sort((a, b) => a.number - b.number)
}

function* linesFrom(start: LineRef | undefined): Generator<LineRef> {
  for (let line = start; line; line = lineAfter(line)) yield line
}

function addEdge(start: LineRef | undefined, next: (line: LineRef) => LineRef | undefined, add: (line: LineRef) => void): void {
  let lines = 0
  for (let line = start; line && lines < edgeLines && Math.abs(line.start - (start?.start ?? 0)) < edgeBytes; line = next(line)) {
    add(line)
    lines += 1
  }
}

function lastOf(section: LogSection): LineRef | undefined {
  const { source, firstLine } = section
  const isFinished = readBytes(source, source.length - 1, source.length)[0] === 10
  const start = lineFeedBefore(section, source.length - (isFinished ? 1 : 0)) + 1
  return lineFrom(section, start, firstLine + lineFeedsOf(section) - (isFinished ? 1 : 0))
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
