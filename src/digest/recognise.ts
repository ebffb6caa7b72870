import { byteLength, formatCount, oneLine, plural } from '../core/text.ts'
import { carriersIn, withoutCarriers } from './carrier.ts'
import { lanesOf, type SourcedLine } from './lanes.ts'
import { linesToRead } from './lines-to-read.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineHead, lineToJudge } from './log.ts'
import { merge } from './merged.ts'
import { recognisers } from './recognisers/all.ts'
import type { Counts, LogLine, Part, Recognised, Recogniser } from './recognisers/recogniser.ts'
import { sourceOf, unwrap } from './wrapper.ts'

/** What the tools that a log is of said in it; empty where none is known. */
export function recognise(streams: readonly LogStream[], known: readonly Recogniser[] = recognisers): Recognised[] {
  const refs = streams.flatMap((stream) => linesToRead(stream).map((ref) => ({ stream, ref })))
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

/** `vitest: 3 failed, 20 passed (23 tests)`. Only what is known is said, and never that nothing failed unless the log states it. */
export function describeRecognised({ tool, noun, counts, parts = [] }: Recognised): string {
  const words = countWords(counts, noun)
  const counted = parts.filter((part) => countWords(part.counts, '') !== '')
  const [only] = counted
  if (words === '') return tool
  if (counted.length > 1) return `${tool}: ${words}${partWords(counted)}`
  return `${tool}${only && only.name !== '' ? ` in ${oneLine(only.name)}` : ''}: ${words}`
}

function countWords({ failed, passed, skipped, total, errors, warnings }: Counts, noun: string): string {
  // Where no total says what is counted, the first count does.
  let what = total === undefined && noun !== ''
  const counted = (count: number, word: string): string => {
    const said = what ? `${plural(count, noun)} ${word}` : `${formatCount(count)} ${word}`
    what = false
    return said
  }
  const parts = [
    failed === undefined ? '' : counted(failed, 'failed'),
    passed === undefined ? '' : counted(passed, 'passed'),
    skipped ? counted(skipped, 'skipped') : '',
    errors === undefined ? '' : plural(errors, 'error'),
    warnings ? plural(warnings, 'warning') : '',
  ].filter((part) => part !== '')
  return `${parts.join(', ')}${total === undefined ? '' : `${parts.length === 0 ? '' : ' '}(${plural(total, noun)})`}`
}

const maxParts = 6
const maxPartBytes = 160

/** `; web 2 failed, 3 passed; api 4 passed`: those with failures first. */
function partWords(parts: readonly Part[]): string {
  const bad = ({ counts }: Part): number => (counts.failed ?? 0) + (counts.errors ?? 0)
  const sorted = [...parts].sort((a, b) => bad(b) - bad(a))
  let text = ''
  let said = 0
  for (const { name, counts } of sorted) {
    const own = `; ${name === '' ? 'elsewhere' : oneLine(name)}: ${countWords({ ...counts, total: undefined }, '')}`
    if (said >= maxParts || byteLength(text) + byteLength(own) > maxPartBytes) break
    text += own
    said += 1
  }
  return said < parts.length ? `${text}; in ${formatCount(parts.length - said)} ${said === 0 ? '' : 'more '}packages` : text
}
