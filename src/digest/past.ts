import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineFrom, lineHead, lineToJudge } from './log.ts'
import { lineShape } from './noise.ts'
import { judge, severities } from './severity.ts'
import type { ShapeSet } from './shape-set.ts'
import { shapeSet } from './shape-set.ts'
import type { Sifted } from './sieve.ts'
import { siftDistinct } from './sieve.ts'

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
  /** True where the earlier log is not whole: what looks new may have stood in what is missing of it. */
  readonly isAddedAtMost: boolean
  /** The first and the last of them, in order, at most `maxNewLines`. */
  readonly newLines: readonly PlacedLine[]
  /** Lines of the earlier output whose like is gone, counted the same way. */
  readonly gone: number
  /** True where the present log is not whole: what looks gone may stand in what is missing of it. */
  readonly isGoneAtMost: boolean
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
  const known: Known = new Map()
  const sides = (['passed', 'failed'] as const).flatMap((outcome) => {
    const log = past.find((entry) => entry.outcome === outcome)
    const before = log && shapesOf(log, known)
    return before ? [sideOf(log, before)] : []
  })
  const differences = new Map<PastLog['outcome'], Difference>()
  for (const place of new Set(sides.map(({ past: { moved } }) => moved?.to))) {
    const here = sides.filter(({ past: { moved } }) => moved?.to === place)
    const now = readNow(streams, place, here, known)
    if (now) for (const side of here) differences.set(side.past.outcome, differenceOf(side, now, known, isCut(streams)))
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

function shapesOf({ streams, moved }: PastLog, known: Known): ShapeSet | undefined {
  const set = shapeSet()
  return eachShape(streams, moved?.from, known, (shape) => set.add(shape)) ? set : undefined
}

/** Reads the present output once, and tells each side what is new to it. */
function readNow(streams: readonly LogStream[], place: string | undefined, sides: readonly Side[], known: Known): ShapeSet | undefined {
  const now = shapeSet()
  const isWhole = eachShape(streams, place, known, (shape, placed) => {
    if (now.has(shape)) return true
    if (!now.add(shape)) return false
    for (const side of sides) if (!side.before.has(shape)) addNew(side, placed)
    return true
  })
  return isWhole ? now : undefined
}

function addNew(side: Side, placed: PlacedLine): void {
  side.added += 1
  if (side.first.length < maxNewLines / 2) side.first.push(placed)
  else if (side.last.push(placed) >= maxNewLines) side.last.splice(0, maxNewLines / 2)
}

const isCut = (streams: readonly LogStream[]): boolean => streams.some(({ droppedBytes, unreadBytes = 0 }) => droppedBytes > 0 || unreadBytes > 0)

function differenceOf({ past, before, added, first, last }: Side, now: ShapeSet, known: Known, isNowCut: boolean): Difference {
  const { moved } = past
  let gone = 0
  for (const shape of before.values()) if (!now.has(shape)) gone += 1
  return {
    past,
    isNew(line) {
      const shape = shapeOf(line, moved?.to)
      return shape !== 0 && !before.has(shape)
    },
    added,
    isAddedAtMost: added > 0 && isCut(past.streams),
    newLines: [...first, ...last.slice(-maxNewLines / 2)],
    gone,
    isGoneAtMost: gone > 0 && isNowCut,
    ...(gone > 0 && past.outcome === 'failed' ? mendedOf(past, now, known) : { mended: [], mendedCount: 0 }),
  }
}

/** The lines of the earlier output that named an error and whose like is gone, each once. */
function mendedOf({ streams, moved }: PastLog, now: ShapeSet, known: Known): Pick<Difference, 'mended' | 'mendedCount'> {
  const seen = new Set<number>()
  const mended: string[] = []
  let mendedCount = 0
  eachShape(streams, moved?.from, known, (shape, { line }) => {
    if (now.has(shape) || seen.has(shape)) return true
    seen.add(shape)
    if (judge(lineToJudge(line)).severity >= severities.failure) {
      mendedCount += 1
      if (mended.length < maxMended) mended.push(lineHead(line).trim().slice(0, maxMendedChars))
    }
    return seen.size < maxJudged
  })
  return { mended, mendedCount }
}

function shapeOf(line: LineRef, place: string | undefined): number {
  const text = lineToJudge(line)
  return lineShape(place !== undefined && text.includes(place) ? text.replaceAll(place, '') : text)
}

/** Shapes of lines that were read, by what the sieve calls them: most lines of one log stand in the others, too. By place, since that is left out. */
type Known = Map<string | undefined, Map<number, number>>
const maxKnown = 1 << 17

/** Of a longer log so many lines that may differ are compared; with more of them it is not compared at all. */
const maxRead = 1 << 18
const longBytes = 8 * 1024 ** 2
/** A shorter section is read line by line right away. */
const fewBytes = 16 * 1024

/**
 * Tells the shape of each line that has one, until it is told to stop: then, and where a long log has too many lines that differ, it gives
 * false. Most lines that are like an earlier one are left out.
 */
function eachShape(streams: readonly LogStream[], place: string | undefined, known: Known, take: (shape: number, placed: PlacedLine) => boolean): boolean {
  const shapes = known.get(place) ?? new Map<number, number>()
  known.set(place, shapes)
  // A number may be part of the name of a place.
  const withNumbers = place !== undefined && /\d/.test(place)
  return streams.every((stream) => {
    let left = stream.sections.reduce((sum, { source }) => sum + source.length, 0) > longBytes ? maxRead : Number.POSITIVE_INFINITY
    const tell = (shape: number, line: LineRef): boolean => shape === 0 || take(shape, { stream, line })
    return stream.sections.every((section) => {
      let goesOn = true
      const look = (sifted: Sifted): void => {
        if (!goesOn) return
        left -= 1
        const line = { section, number: section.firstLine + sifted.feeds, start: sifted.start, end: sifted.end }
        goesOn = left > 0 && tell(shapes.get(sifted.shape) ?? learn(shapes, sifted.shape, line, place), line)
      }
      if (section.source.length > fewBytes) siftDistinct(section.source, withNumbers, look)
      else for (let line = lineFrom(section, 0, section.firstLine); line && goesOn; line = lineAfter(line)) goesOn = tell(shapeOf(line, place), line)
      return goesOn
    })
  })
}

function learn(shapes: Map<number, number>, key: number, line: LineRef, place: string | undefined): number {
  // Lines are read one after the other, so by what stands around them.
  const shape = shapeOf(lineFrom(line.section, line.start, line.number) ?? line, place)
  if (key !== 0 && shapes.size < maxKnown) shapes.set(key, shape)
  return shape
}
