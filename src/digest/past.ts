import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineFrom, lineHead, lineToJudge } from './log.ts'
import { lineShape } from './noise.ts'
import { judge, severities } from './severity.ts'
import type { ShapeSet } from './shape-set.ts'
import { shapeSet } from './shape-set.ts'

/** An earlier run of the same command. */
export interface PastLog {
  /** How the digest calls it: a run id, or the name of a file. */
  readonly name: string
  readonly outcome: 'passed' | 'failed'
  /** How long it began before the present one, in milliseconds; null where that is not known. */
  readonly earlierMs: number | null
  readonly streams: readonly LogStream[]
  /** Where it ran, and where the present run did, if those are two copies of one project: below them the same paths are meant. */
  readonly moved?: { readonly from: string; readonly to: string } | undefined
}

/** A line with the stream that it stands in. */
export interface PlacedLine {
  readonly stream: LogStream
  readonly line: LineRef
}

/**
 * What an output says that an earlier one did not, and the other way around, apart from times, hashes, ports and the like (see
 * lineShape). Lines are compared as a set: neither their order counts nor how often one is there.
 */
export interface Difference {
  readonly past: PastLog
  /** True for a line whose like is not in the earlier output. */
  isNew(line: LineRef): boolean
  /** Lines that are new, each counted once with all that are like it. */
  readonly added: number
  /** The first and the last of them, in order, at most `maxNewLines`. */
  readonly newLines: readonly PlacedLine[]
  /** Lines of the earlier output whose like is gone, counted the same way. */
  readonly gone: number
  /** Of those of a failed run the ones that named an error, in order, at most `maxMended`: clean texts. */
  readonly mended: readonly string[]
  /** How many they are in all. */
  readonly mendedCount: number
}

export interface Comparison {
  /** Against the last run that passed, and the last that failed; null where there is none. */
  readonly passing: Difference | null
  readonly failing: Difference | null
}

export const maxNewLines = 400
export const maxMended = 20
const maxMendedChars = 400
/** So many lines that are gone are judged. */
const maxJudged = 20_000

/**
 * Compares an output with earlier ones of the same command: the first that passed and the first that failed of those given. Linear;
 * memory is bounded, and outputs with more different lines than are kept are not compared.
 */
export function compare(streams: readonly LogStream[], past: readonly PastLog[]): Comparison {
  const sides = (['passed', 'failed'] as const).flatMap((outcome) => {
    const log = past.find((entry) => entry.outcome === outcome)
    const before = log && shapesOf(log)
    return before ? [sideOf(log, before)] : []
  })
  const differences = new Map<PastLog['outcome'], Difference>()
  for (const place of new Set(sides.map(({ past: { moved } }) => moved?.to))) {
    const here = sides.filter(({ past: { moved } }) => moved?.to === place)
    const now = readNow(streams, place, here)
    if (now) for (const side of here) differences.set(side.past.outcome, differenceOf(side, now))
  }
  return { passing: differences.get('passed') ?? null, failing: differences.get('failed') ?? null }
}

interface Side {
  readonly past: PastLog
  readonly before: ShapeSet
  added: number
  readonly first: PlacedLine[]
  readonly last: PlacedLine[]
}

const sideOf = (past: PastLog, before: ShapeSet): Side => ({ past, before, added: 0, first: [], last: [] })

function shapesOf({ streams, moved }: PastLog): ShapeSet | undefined {
  const set = shapeSet()
  for (const { line } of linesOf(streams)) {
    const shape = shapeWithin(lineToJudge(line), moved?.from)
    if (shape !== 0 && !set.add(shape)) return undefined
  }
  return set
}

/** Reads the present output once, and tells each side what is new to it. */
function readNow(streams: readonly LogStream[], place: string | undefined, sides: readonly Side[]): ShapeSet | undefined {
  const now = shapeSet()
  for (const placed of linesOf(streams)) {
    const shape = shapeWithin(lineToJudge(placed.line), place)
    if (shape === 0 || now.has(shape)) continue
    if (!now.add(shape)) return undefined
    for (const side of sides) if (!side.before.has(shape)) addNew(side, placed)
  }
  return now
}

function addNew(side: Side, placed: PlacedLine): void {
  side.added += 1
  if (side.first.length < maxNewLines / 2) side.first.push(placed)
  else if (side.last.push(placed) >= maxNewLines) side.last.splice(0, maxNewLines / 2)
}

function differenceOf({ past, before, added, first, last }: Side, now: ShapeSet): Difference {
  const { moved } = past
  let gone = 0
  for (const shape of before.values()) if (!now.has(shape)) gone += 1
  return {
    past,
    isNew(line) {
      const shape = shapeWithin(lineToJudge(line), moved?.to)
      return shape !== 0 && !before.has(shape)
    },
    added,
    newLines: [...first, ...last.slice(-maxNewLines / 2)],
    gone,
    ...(gone > 0 && past.outcome === 'failed' ? mendedOf(past, now) : { mended: [], mendedCount: 0 }),
  }
}

/** The lines of the earlier output that named an error and whose like is gone, each once. */
function mendedOf({ streams, moved }: PastLog, now: ShapeSet): Pick<Difference, 'mended' | 'mendedCount'> {
  const seen = new Set<number>()
  const mended: string[] = []
  let mendedCount = 0
  for (const { line } of linesOf(streams)) {
    const text = lineToJudge(line)
    const shape = shapeWithin(text, moved?.from)
    if (shape === 0 || now.has(shape) || seen.has(shape)) continue
    seen.add(shape)
    if (judge(text).severity >= severities.failure) {
      mendedCount += 1
      if (mended.length < maxMended) mended.push(lineHead(line).trim().slice(0, maxMendedChars))
    }
    if (seen.size >= maxJudged) break
  }
  return { mended, mendedCount }
}

const shapeWithin = (text: string, place: string | undefined): number =>
  lineShape(place !== undefined && text.includes(place) ? text.replaceAll(place, '') : text)

function* linesOf(streams: readonly LogStream[]): Generator<PlacedLine> {
  for (const stream of streams) {
    for (const section of stream.sections) {
      for (let line = lineFrom(section, 0, section.firstLine); line; line = lineAfter(line)) yield { stream, line }
    }
  }
}
