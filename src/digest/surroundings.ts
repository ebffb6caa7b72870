import type { Incident } from './incidents.ts'
import { nextOf, toolText } from './lines-that-matter.ts'
import type { LineRef } from './log.ts'
import { lineBefore } from './log.ts'
import { ordinaryAround } from './ordinary.ts'
import { isFiller } from './severity.ts'
import { verdictOf } from './verdict.ts'

/** What stands right above and right below an incident and is about nothing else, the nearest first. */
export interface Surroundings {
  readonly above: readonly LineRef[]
  readonly below: readonly LineRef[]
}

const maxAbove = 5
const maxBelow = 10
/** So many incidents are the likeliest ones. */
const maxLikely = 3
/** Lines that near to an incident may be about it, so they do not say what is ordinary. */
const margin = 8
/** What weighs that much less is no incident to keep away from. */
const maxBehind = 30

/** Finds what stands around the likeliest of the incidents. */
export function surroundingsIn(incidents: readonly Incident[]): (incident: Incident) => Surroundings {
  const likely = new Set(incidents.slice(0, maxLikely))
  return (incident) => {
    if (!likely.has(incident)) return { above: [], below: [] }
    const others = incidents.filter((other) => other !== incident && other.stream === incident.stream && other.weight >= incident.weight - maxBehind)
    const within = (number: number, slack: number): boolean =>
      others.some(({ head, end }) => number >= head.line.number - slack && number <= end.number + slack)
    const { head, end } = incident
    const isOwn = (number: number): boolean => number >= head.line.number - margin && number <= end.number + 2 * margin
    const isOrdinary = ordinaryAround(head.line, (number) => isOwn(number) || within(number, margin))
    const isOther = (line: LineRef): boolean => within(line.number, 0) || isOrdinary(line) || verdictOf(toolText(line)) === 'passed'
    return { above: walk(head.line, lineBefore, maxAbove, isOther), below: walk(end, nextOf, maxBelow, isOther) }
  }
}

function walk(from: LineRef, step: (line: LineRef) => LineRef | undefined, most: number, isOther: (line: LineRef) => boolean): LineRef[] {
  const found: LineRef[] = []
  let blanks = 0
  for (let line = step(from); line && found.length < most; line = step(line)) {
    const text = toolText(line)
    if (text.trim() === '') {
      blanks += 1
      if (blanks > 1) break
      continue
    }
    blanks = 0
    if (isOther(line)) break
    if (!isFiller(text)) found.push(line)
  }
  return found
}
