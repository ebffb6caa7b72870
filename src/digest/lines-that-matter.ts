import { carriedText, jobOf } from './carrier.ts'
import type { LineRef } from './log.ts'
import { lineAfter, lineBefore } from './log.ts'
import { continues, isFiller, isHeading, isTitle, judge, severities } from './severity.ts'
import { isInnermostLast, isOwnFrame, isStackFrame } from './stack.ts'
import { verdictOf } from './verdict.ts'
import { unwrap } from './wrapper.ts'

/** A line as its tool printed it, as far as it is judged. */
export const toolText = (line: LineRef): string => unwrap(carriedText(line)).replace(process, '')

// What checkers of memory put before what they say.
const process = /^={2}\d{1,8}={2} ?/

/** The next line of the same container, process or step: others may have printed in between. */
export function nextOf(line: LineRef): LineRef | undefined {
  return neighbour(line, lineAfter)
}

function neighbour(line: LineRef, step: (line: LineRef) => LineRef | undefined): LineRef | undefined {
  let next = step(line)
  const source = next && jobOf(line)
  if (!source) return next
  for (let i = 0; next && i < maxBetween && jobOf(next) !== source; i += 1) next = step(next)
  return next
}

const maxBetween = 40

/** How far the lines that go with a headline are followed. */
const maxContext = 80

/** The last line that goes on with a headline: its stack, what was expected and received, an excerpt of the source. */
export function endOf(headline: LineRef): LineRef {
  const text = toolText(headline)
  let end = headline
  let blanks = 0
  for (let line = nextOf(headline), i = 0; line && i < maxContext; line = nextOf(line), i += 1) {
    const next = toolText(line)
    if (next.trim() === '') {
      blanks += 1
      if (blanks > 1) break
      continue
    }
    const grave = judge(next).severity >= severities.failure
    if (blanks > 0 ? grave || !continues(text, next) : !grave && !continues(text, next)) break
    blanks = 0
    end = line
  }
  return end
}

/** How far above a headline its title is looked for. */
const maxAbove = 12
const maxPreface = 3

/**
 * The lines right above a headline that say what it is about, in order: the file or the step that it is indented under, a
 * heading, and what a test printed before the word that it failed.
 */
export function prefaceOf(headline: LineRef): LineRef[] {
  const text = toolText(headline)
  const depth = indentOf(text)
  const found: LineRef[] = []
  const before = (line: LineRef): LineRef | undefined => neighbour(line, lineBefore)
  let above = before(headline)
  if (verdictOf(carriedText(headline)) === 'failed') {
    for (; above && found.length < maxPreface && isMessageOfTest(toolText(above)); above = before(above)) found.unshift(above)
    if (found.length > 0) return found
  }
  if (text.startsWith('@@ -')) {
    for (; above && found.length < maxPreface && isHeadOfDiff(toolText(above)); above = before(above)) found.unshift(above)
    return found
  }
  const file = placeFile.exec(text)?.[1]
  let nearest: LineRef | undefined = above
  for (let i = 0; nearest && i < maxAbove && toolText(nearest).trim() !== ''; i += 1, nearest = before(nearest)) {
    const title = toolText(nearest)
    if (isTitle(title) || (file && title.startsWith(file) && isHeading(title))) return [nearest]
  }
  for (let i = 0; above && i < maxAbove; i += 1, above = before(above)) {
    const line = toolText(above)
    if (line.trim() === '') {
      if (i > 1) return []
      continue
    }
    if (isFiller(line)) return []
    if (i <= 1 && isHeading(line)) return [above]
    if (indentOf(line) < depth) return [above]
    if (indentOf(line) > depth || depth === 0) return []
  }
  return []
}

// The file of a diagnosis: lines of other diagnoses may stand between it and what is said of the file as a whole.
const placeFile = /^(\S[^:(]{0,200}):\d/

const indentOf = (line: string): number => line.length - line.trimStart().length
const isHeadOfDiff = (line: string): boolean => /^(?:--- |\+\+\+ |diff |index [\da-f]|.*\bdiffers?\b)/.test(line)
const isMessageOfTest = (line: string): boolean => /^\s+\S{1,200}:\d{1,7}: /.test(line)

/** So many frames of a stack are worth their room; deeper ones belong to whatever called the program. */
const maxFrames = 8
/** Beside frames of the program itself, so many of what it was called by. */
const maxForeign = 2
const maxOwnFrames = 3
const maxLines = 60

export interface Excerpt {
  /** The lines that say something, in order. */
  readonly lines: readonly LineRef[]
  /** Those of them that are no frames, or are the outermost one or one of the program's own. */
  readonly telling: readonly LineRef[]
}

/** What stands from one line to another. */
export function excerpt(from: LineRef, end: LineRef): Excerpt {
  const lines: LineRef[] = []
  const telling: LineRef[] = []
  let stack: LineRef[][] = []
  const closeStack = (): void => {
    const own = stack.filter(isOwn)
    const last = stack[0] !== undefined && isInnermostLast(toolText(stack[0][0] as LineRef))
    telling.push(...(own.length === 0 ? stack.slice(0, 2) : last ? own.slice(-maxOwnFrames) : own.slice(0, maxOwnFrames)).flat())
    lines.push(...stack.filter((frame, i) => i < (own.length === 0 ? maxFrames : maxForeign) || isOwn(frame)).flat())
    stack = []
  }
  for (let line: LineRef | undefined = from; line && line.number <= end.number && lines.length + stack.length < maxLines; line = nextOf(line)) {
    const text = toolText(line)
    const frame = stack.at(-1)
    if (text.trim() === '' || (isFiller(text) && line !== from)) continue
    if (isStackFrame(text)) stack.push([line])
    else if (frame && isSourceOf(toolText(frame[0] as LineRef), text)) frame.push(line)
    else {
      closeStack()
      lines.push(line)
      telling.push(line)
    }
  }
  closeStack()
  return { lines: lines.slice(0, maxLines), telling }
}

const isOwn = ([frame]: readonly LineRef[]): boolean => frame !== undefined && isOwnFrame(toolText(frame))

/** Python shows what stands in the source below each frame. */
const isSourceOf = (frame: string, line: string): boolean => isInnermostLast(frame) && indentOf(line) > indentOf(frame)

/** Lines shortly after another that name trouble, too, whoever printed them: what was said of it elsewhere. */
export function troubleAfter(from: LineRef): LineRef[] {
  return following(from, 8, lineAfter).filter((line) => judge(carriedText(line)).severity >= severities.summary)
}

/** A few lines after another that have no visible tie to it. */
export const linesAfter = (from: LineRef, most: number): LineRef[] => following(from, most, nextOf)

function following(from: LineRef, most: number, step: (line: LineRef) => LineRef | undefined): LineRef[] {
  const found: LineRef[] = []
  let line = step(from)
  for (let i = 0; line && i < most; i += 1, line = step(line)) if (!isFiller(carriedText(line))) found.push(line)
  return found
}

/** What stands right above a line, the nearest first: a tool that ends in failure has often just said why. */
export const linesBefore = (from: LineRef, most: number): LineRef[] => following(from, most, lineBefore)
