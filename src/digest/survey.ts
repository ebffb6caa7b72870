import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineFrom, lineHead } from './log.ts'
import type { Judgement, Severity } from './severity.ts'
import { judge, severities, shapeOf } from './severity.ts'

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

/** Neighbouring lines that differ at most in their numbers. */
export interface LineGroup {
  readonly first: LineRef
  readonly last: LineRef
  readonly count: number
}

export interface Survey {
  readonly stream: LogStream
  readonly findings: readonly Finding[]
  /** The last groups that are not blank, in order. */
  readonly tail: readonly LineGroup[]
  /** Lines judged by severity, whether or not a finding was kept for them. */
  readonly counts: { readonly errors: number; readonly warnings: number }
}

// Bounds of what is remembered, however long the log is. The first and the latest shapes of a weight are kept, so that no flood of lesser ones pushes them out: causes
// stand early, and what ended a run stands late.
const maxMembers = 12
const maxShapes = 150
const tailGroups = 40

/** Reads a stream once, line by line. Time is linear in its length, memory bounded. */
export function survey(stream: LogStream): Survey {
  const shelves = new Map<number, Shelf>()
  const tail = tailRing()
  let errors = 0
  let warnings = 0
  for (const section of stream.sections) {
    for (let line = lineFrom(section, 0, section.firstLine); line; line = lineAfter(line)) {
      if (!tail.add(line)) continue
      const judgement = judge(lineHead(line))
      const { severity, weight } = judgement
      if (severity === severities.none) continue
      if (severity === severities.warning) warnings += 1
      else errors += 1
      const shelf = shelves.get(weight) ?? emptyShelf()
      shelves.set(weight, shelf)
      keep(shelf, stream, judgement, line)
    }
  }
  const findings = [...shelves.values()].flatMap((shelf) => [...shelf.early.values(), ...shelf.late.values()].map((entry) => entry.finding))
  return { stream, findings, tail: tail.groups(), counts: { errors, warnings } }
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

function keep(shelf: Shelf, stream: LogStream, { severity, weight, message }: Judgement, line: LineRef): void {
  const shape = shapeOf(message)
  const known = shelf.early.get(shape) ?? shelf.late.get(shape)
  if (known) {
    known.finding.count += 1
    known.finding.lastNumber = line.number
    if (known.finding.members.length < maxMembers && !known.texts.has(message)) {
      known.finding.members.push(line)
      known.texts.add(message)
    }
    return
  }
  const entry: Entry = { finding: { stream, severity, weight, members: [line], count: 1, lastNumber: line.number }, texts: new Set([message]) }
  if (shelf.early.size < maxShapes) {
    shelf.early.set(shape, entry)
    return
  }
  if (shelf.late.size >= maxShapes) shelf.late.delete(shelf.late.keys().next().value as string)
  shelf.late.set(shape, entry)
}

interface TailRing {
  /** False for a blank line, which is not kept. */
  add(line: LineRef): boolean
  groups(): LineGroup[]
}

function tailRing(): TailRing {
  const ring: { first: LineRef; last: LineRef; count: number; hash: number }[] = []
  return {
    add(line) {
      const hash = shapeHash(line)
      if (hash === 0) return false
      const previous = ring.at(-1)
      if (previous && previous.hash === hash && previous.last.number + 1 >= line.number) {
        previous.last = line
        previous.count += 1
        return true
      }
      ring.push({ first: line, last: line, count: 1, hash })
      if (ring.length > 2 * tailGroups) ring.splice(0, tailGroups)
      return true
    },
    groups: () => ring.slice(-tailGroups),
  }
}

const hashedChars = 400

/** A number for the line apart from its digits and spaces; 0 for a blank line. Reads characters one by one because it sees every line. */
function shapeHash(line: LineRef): number {
  const { text } = line.section
  const end = Math.min(line.end, line.start + hashedChars)
  let hash = 17
  let last = 0
  let seen = false
  for (let i = line.start; i < end; i += 1) {
    let code = text.charCodeAt(i)
    if (code <= 32) continue
    seen = true
    if (code >= 48 && code <= 57) code = 48
    if (code === 48 && last === 48) continue
    last = code
    hash = (Math.imul(hash, 31) + code) | 0
  }
  if (!seen && line.end > end) seen = lineHead(line) !== ''
  return seen ? hash || 1 : 0
}
