import type { LineRef } from './log.ts'
import { lineAfter, lineHead } from './log.ts'
import { continues, isFiller, isStackFrame, judge, severities } from './severity.ts'

/** How far the lines that go with a headline are followed. */
const maxContext = 80

/** Number of the last line that goes on with a headline: its stack, what was expected and received, an excerpt of the source. */
export function endOf(headline: LineRef): number {
  const text = lineHead(headline)
  let end = headline.number
  let blanks = 0
  for (let line = lineAfter(headline); line && line.number <= headline.number + maxContext; line = lineAfter(line)) {
    const next = lineHead(line)
    if (next.trim() === '') {
      blanks += 1
      if (blanks > 1) break
      continue
    }
    if (!continues(text, next) || (blanks > 0 && judge(next).severity >= severities.failure)) break
    blanks = 0
    end = line.number
  }
  return end
}

/** So many frames of a stack are worth their room; deeper ones belong to whatever called the program. */
const maxFrames = 8
const maxLines = 60

/** The lines from one to the line numbered `end` that say something. */
export function linesBetween(from: LineRef, end: number): LineRef[] {
  const found: LineRef[] = []
  let frames = 0
  for (let line: LineRef | undefined = from; line && line.number <= end && found.length < maxLines; line = lineAfter(line)) {
    const text = lineHead(line)
    if (text.trim() === '' || (isFiller(text) && line !== from)) continue
    frames = isStackFrame(text) ? frames + 1 : 0
    if (frames <= maxFrames) found.push(line)
  }
  return found
}

/** A few lines after a number that have no visible tie to what stands before them. */
export function linesAfter(from: LineRef, end: number, most: number): LineRef[] {
  const found: LineRef[] = []
  for (let line = lineAfter(from); line && found.length < most && line.number <= end + most; line = lineAfter(line))
    if (line.number > end && !isFiller(lineHead(line))) found.push(line)
  return found
}
