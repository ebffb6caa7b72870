import { carriedText } from './carrier.ts'
import type { LineRef, LogStream } from './log.ts'
import type { Judgement, Severity } from './severity.ts'
import { judge, messageOf, severities, shapeOf } from './severity.ts'
import type { Suspect } from './suspects.ts'
import { maxMembers, suspectsIn } from './suspects.ts'
import type { LineGroup } from './tail-groups.ts'
import { tailGroups } from './tail-groups.ts'

export type { LineGroup } from './tail-groups.ts'

/** Lines of one shape: the same message apart from numbers, times and hashes. */
export interface Finding {
  readonly stream: LogStream
  readonly severity: Severity
  /** Higher deserves room earlier. */
  readonly weight: number
  /** The first of them with different texts, at most `maxMembers`. */
  readonly members: LineRef[]
  /** Lines of this shape in all. */
  count: number
  lastNumber: number
}

export interface Survey {
  readonly stream: LogStream
  readonly findings: readonly Finding[]
  /** The last groups that are not blank, in order. */
  readonly tail: readonly LineGroup[]
  /**
   * Lines judged by severity, whether or not a finding was kept for them. Of lines that are alike one stands for all; those that were passed
   * over, in a log that has too many different ones, may be either.
   */
  readonly counts: { readonly errors: number; readonly warnings: number; readonly passedOver: number }
}

// Bounds of what is remembered, however long the log is. The first and the latest shapes of a weight are kept, so that no flood of
// lesser ones pushes them out: causes stand early, and what ended a run stands late.
const maxShapes = 150

const known = new WeakMap<LogStream, Survey>()

/** Passes over a stream once, however often it is asked for. Only lines with a word of trouble are decoded, and of those that are alike only the first few. */
export function survey(stream: LogStream): Survey {
  const found = known.get(stream) ?? look(stream)
  known.set(stream, found)
  return found
}

function look(stream: LogStream): Survey {
  const shelves = new Map<number, Shelf>()
  let errors = 0
  let warnings = 0
  let passedOver = 0
  for (const section of stream.sections) {
    const found = suspectsIn(section)
    passedOver += found.passedOver
    for (const suspect of found.suspects) {
      const judgement = judge(carriedText(suspect.members[0] as LineRef))
      const { severity, weight } = judgement
      if (severity === severities.none) continue
      if (severity === severities.warning) warnings += suspect.count
      else errors += suspect.count
      const shelf = shelves.get(weight) ?? emptyShelf()
      shelves.set(weight, shelf)
      keep(shelf, stream, judgement, suspect)
    }
  }
  const findings = [...shelves.values()].flatMap((shelf) => [...shelf.early.values(), ...shelf.late.values()].map((entry) => entry.finding))
  return { stream, findings, tail: tailGroups(stream), counts: { errors, warnings, passedOver } }
}

interface Entry {
  readonly finding: Finding
  readonly texts: Set<string>
}

interface Shelf {
  readonly early: Map<string, Entry>
  readonly late: Map<string, Entry>
}

const emptyShelf = (): Shelf => ({ early: new Map(), late: new Map() })

function keep(shelf: Shelf, stream: LogStream, { severity, weight, message }: Judgement, { members, count, lastNumber }: Suspect): void {
  const shape = shapeOf(message)
  const entry = shelf.early.get(shape) ??
    shelf.late.get(shape) ?? { finding: { stream, severity, weight, members: [], count: 0, lastNumber }, texts: new Set() }
  const { finding, texts } = entry
  finding.count += count
  finding.lastNumber = Math.max(finding.lastNumber, lastNumber)
  for (const [i, member] of members.entries()) {
    if (finding.members.length >= maxMembers) break
    const text = i === 0 ? message : messageOf(carriedText(member))
    if (texts.has(text)) continue
    texts.add(text)
    finding.members.push(member)
  }
  if (finding.count > count) return
  if (shelf.early.size < maxShapes) {
    shelf.early.set(shape, entry)
    return
  }
  if (shelf.late.size >= maxShapes) shelf.late.delete(shelf.late.keys().next().value as string)
  shelf.late.set(shape, entry)
}
