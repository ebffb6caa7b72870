import { carriersIn, withoutCarriers } from './carrier.ts'
import { lanesOf, type SourcedLine } from './lanes.ts'
import { linesToRead } from './lines-to-read.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineHead, lineToJudge } from './log.ts'
import { merge } from './merged.ts'
import { recognisers } from './recognisers/all.ts'
import type { LogLine, Recognised, Recogniser } from './recognisers/recogniser.ts'
import { sourceOf, unwrap } from './wrapper.ts'

export { describeRecognised } from './recognised-words.ts'

/** What the tools that a log is of said in it; empty where none is known. */
export function recognise(streams: readonly LogStream[], known: readonly Recogniser[] = recognisers): Recognised[] {
  const refs = streams.flatMap((stream) => linesToRead(stream).map((ref) => ({ stream, ref })))
  const found = recogniseIn(streams, refs, known)
  return hasGaps(refs) ? found.map((recognised) => ({ ...recognised, isPartial: true })) : found
}

/** True where lines are missing in front of the first one or between two of them. */
const hasGaps = (refs: readonly PlacedRef[]): boolean =>
  refs.some(({ stream, ref }, i) => ref.number !== (refs[i - 1]?.stream === stream ? (refs[i - 1] as PlacedRef).ref.number : 0) + 1)

function recogniseIn(streams: readonly LogStream[], refs: readonly PlacedRef[], known: readonly Recogniser[]): Recognised[] {
  const carriers = Math.max(0, ...streams.flatMap(({ sections }) => sections.map(carriersIn)))
  const raw = linesOf(refs, lineToJudge, 0)
  const apart = lanesOf(raw) && recogniseApart(linesOf(refs, lineHead, 0), known)
  if (apart && apart.length > 0) return apart
  // What is the same before each line may be a tool's own, so it is taken away only where no tool is known with it.
  for (let taken = 0; taken <= carriers; taken += 1) {
    const present = presentIn(taken === 0 ? raw : linesOf(refs, lineToJudge, taken), known)
    const found = present.length === 0 ? [] : readAll(present, linesOf(refs, lineHead, taken))
    if (found.length > 0) return found
  }
  return []
}

interface PlacedRef {
  readonly stream: LogStream
  readonly ref: LineRef
}

const linesOf = (refs: readonly PlacedRef[], textOf: (ref: LineRef) => string, taken: number): SourcedLine[] =>
  refs.map(({ stream, ref }) => {
    const whole = textOf(ref)
    const text = unwrap(taken > 0 ? withoutCarriers(whole, ref.section, taken) : whole)
    return { stream: stream.name, number: ref.number, text, ref, source: text.length < whole.length ? sourceOf(whole) : '' }
  })

/** What the tools of each lane said, those of one kind as one; and what is known only where all lines are read together. */
function recogniseApart(lines: readonly SourcedLine[], known: readonly Recogniser[]): Recognised[] {
  const found = lanesOf(lines)
  if (!found) return []
  const own = found.lanes.flatMap(({ name, lines: of }) => readAll(presentIn(of, known), of).map((recognised) => ({ name, recognised })))
  if (own.length === 0) return []
  const others = readAll(presentIn(found.others, known), found.others).map((recognised) => ({ name: '', recognised }))
  const tools = new Set([...own, ...others].map(({ recognised }) => recognised.tool))
  const rest = known.filter(({ name }) => !tools.has(name))
  const merged = merge([...own, ...others])
  return known.flatMap(({ name }) => merged.filter(({ tool }) => tool === name)).concat(readAll(presentIn(lines, rest), lines))
}

const readAll = (present: readonly Recogniser[], lines: readonly LogLine[]): Recognised[] =>
  present.flatMap((recogniser) => {
    const reader = recogniser.open()
    for (const line of lines) reader.line(line)
    return reader.end() ?? []
  })

const maxKinds = 4096

/** Those of whose tool a line has a sign. */
function presentIn(lines: readonly LogLine[], known: readonly Recogniser[]): Recogniser[] {
  let absent = [...known]
  const seen = new Set<string>()
  for (const { text } of lines) {
    if (absent.length === 0) break
    // Many lines of a log differ in their numbers only, and which numbers those are is no sign of a tool.
    const kind = text.replace(/[2-9]/g, '1')
    if (seen.has(kind)) continue
    if (seen.size < maxKinds) seen.add(kind)
    if (absent.some(({ signs }) => signs.test(text))) absent = absent.filter(({ signs }) => !signs.test(text))
  }
  return known.filter((recogniser) => !absent.includes(recogniser))
}
