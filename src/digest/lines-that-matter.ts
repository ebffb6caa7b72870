import type { LineRef } from './log.ts'
import { lineAfter, lineHead } from './log.ts'
import { continues, isFiller, isStackFrame, judge, severities } from './severity.ts'
import type { Finding } from './survey.ts'

/**
 * The lines that go with a headline: those that continue it (stack, expected and received, source excerpt), up to `most`.
 * Stops at what begins something new; blank lines are passed over.
 */
export function contextOf(headline: LineRef, most: number): LineRef[] {
  const text = lineHead(headline)
  const found: LineRef[] = []
  let blanks = 0
  for (let line = lineAfter(headline); line && found.length < most && line.number <= headline.number + 4 * most + 4; line = lineAfter(line)) {
    const next = lineHead(line)
    if (next.trim() === '') {
      blanks += 1
      if (blanks > 1) break
      continue
    }
    if (!continues(text, next) || (blanks > 0 && judge(next).severity >= severities.failure)) break
    if (!isFiller(next)) found.push(line)
    blanks = 0
  }
  return found
}

/** A few lines after a headline that have no visible tie to it. */
export function linesAfter(headline: LineRef, most: number): LineRef[] {
  const found: LineRef[] = []
  let line = lineAfter(headline)
  for (let i = 0; line && i < most; i += 1, line = lineAfter(line)) if (!isFiller(lineHead(line))) found.push(line)
  return found
}

/**
 * In which order findings deserve room. The first of equals is the likeliest cause, since later ones follow from it. But
 * a log may also hold errors that were expected, so what stands near the end weighs more, and the last grave one has its
 * turn right after the first.
 */
export function byWeight(findings: readonly Finding[]): Finding[] {
  const ordered = findings
    .filter((finding) => !isEcho(finding))
    .map((finding) => ({ finding, weight: finding.weight + (isLate(finding) ? lateBonus : 0), number: numberOf(finding) }))
    .sort((a, b) => b.weight - a.weight || a.number - b.number)
    .map((entry) => entry.finding)
  const last = ordered.reduce(
    (latest, finding, i) => (finding.severity >= severities.failure && numberOf(finding) > numberOf(ordered[latest] as Finding) ? i : latest),
    0,
  )
  if (last > 1) ordered.splice(1, 0, ...ordered.splice(last, 1))
  return ordered
}

const lateBonus = 5
const lateLines = 150

const isLate = (finding: Finding): boolean => finding.lastNumber > Math.min(finding.stream.lines * 0.8, finding.stream.lines - lateLines)

const numberOf = (finding: Finding): number => (finding.members[0] as LineRef).number

// "Caused by:" in the middle of a stack belongs to the headline above it.
const isEcho = (finding: Finding): boolean => isStackFrame(lineHead(finding.members[0] as LineRef))
