import { formatCount } from '../core/text.ts'
import { maxCommonness } from './commonness.ts'
import type { Incident, Sighting } from './incidents.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineHead } from './log.ts'
import type { Page } from './page.ts'
import type { Failure, Recognised } from './recognisers/recogniser.ts'
import { maxFailures } from './recognisers/recogniser.ts'
import { isFiller, judge, severities } from './severity.ts'
import { isOwnFrame, isStackFrame } from './stack.ts'

/** A failure that a tool told in its own format, with the lines that tell it in few words and in many. */
export interface ReportedFailure {
  readonly stream: LogStream
  readonly failure: Failure
  readonly of: Recognised
  /** The line that names it, why, and where, as far as each adds something. */
  readonly brief: readonly LineRef[]
  /** Where it is, if no line of the log says so. */
  readonly place: string | undefined
  /** All of what explains it, the most telling first. */
  readonly full: readonly LineRef[]
}

/** A line that names it, two that say why, one that says where. */
const maxBrief = 4

/** What weighs so much less than the gravest failure stands in a passing run, too, or was borne with. */
const maxBehind = 20

/** The failures that the incidents hold, in the order of the log; those last that are hardly the reason. */
export function reportedFailures(incidents: readonly Incident[], recognised: readonly Recognised[]): ReportedFailure[] {
  const tools = new Map(recognised.flatMap((of) => of.failures.map((failure) => [failure, of] as const)))
  const found = incidents.flatMap(({ stream, weight, strongest, sightings }) =>
    sightings.flatMap((sighting) => {
      const of = sighting.failure && tools.get(sighting.failure)
      return of && sighting.failure
        ? [{ weight: weight + Math.max(0, ownWeight(sighting) - strongest.weight), reported: reported(stream, sighting.failure, of) }]
        : []
    }),
  )
  const top = Math.max(...found.map(({ weight }) => weight))
  const isLesser = ({ weight }: { readonly weight: number }): number => (weight < top - maxBehind ? 1 : 0)
  return found.sort((a, b) => isLesser(a) - isLesser(b) || a.reported.failure.line.number - b.reported.failure.line.number).map((entry) => entry.reported)
}

/** What a claim of a tool adds to the weight of a line, and what a line weighs with it of which nothing else is known. */
const claimBonus = 12
const claimedWeight = 52

/**
 * A failure in a format of its own is one, whatever its words are and however many say the same. Of those that lost more than that takes, as lines do
 * that a passing run has, too, the weight stays.
 */
function ownWeight({ weight, finding }: Sighting): number {
  return finding.weight + claimBonus - weight > maxCommonness ? weight : Math.max(weight, claimedWeight)
}

function reported(stream: LogStream, failure: Failure, of: Recognised): ReportedFailure {
  const { line, place } = failure
  const own = failure.details.map(({ ref }) => ref)
  const hasFrames = own.some((ref) => isOwnFrame(lineHead(ref)))
  const details = own.filter((ref) => !isFiller(lineHead(ref)) && !(hasFrames && isStackFrame(lineHead(ref)) && !isOwnFrame(lineHead(ref))))
  const at = place === undefined ? undefined : placeParts(place)
  const says = (ref: LineRef): boolean => at?.every((part) => part.test(lineHead(ref))) === true
  // A diagnosis names its place and says what is wrong; a test has its reason in other lines.
  const reason = says(line.ref) ? [] : reasonAmong(details)
  const named = [line.ref, ...reason]
  const placeLine = at === undefined || named.some(says) ? undefined : details.find(says)
  const file = at?.[0] as RegExp
  const isLacking = at !== undefined && placeLine === undefined && !named.some(says) && !named.some((ref) => file.test(lineHead(ref)))
  return { stream, failure, of, brief: placeLine ? [...named, placeLine] : named, place: isLacking ? place : undefined, full: [line.ref, ...details] }
}

/** Patterns of the name of a file and of the number of a line in it. */
function placeParts(place: string): RegExp[] {
  const [, path = place, row] = /^(.*?):(\d{1,7})(?::\d{1,7})?$/.exec(place) ?? []
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return [new RegExp(`(?<![\\w.-])${name}(?![\\w-])`), ...(row === undefined ? [] : [new RegExp(`(?<![\\w.])${row}(?!\\w)`)])]
}

// What was expected is half of a reason, and so is a sentence that ends in a colon.
const half = /:$|^\W{0,12}(?:expected|left|actual|got)\b/i

const aside = /^\s*(?:note|help|hint|Caused by):/

function reasonAmong(details: readonly LineRef[]): readonly LineRef[] {
  const [first] = details
  if (!first) return []
  const grave = aside.test(lineHead(first)) ? details.find((line) => judge(lineHead(line)).severity === severities.cause) : undefined
  return grave ? [grave] : details.slice(0, half.test(lineHead(first)) ? 2 : 1)
}

/** Of failures that cannot all be named, the lines that name them take so much of the room, and the reasons of those the rest. */
const namesShare = 0.75

/**
 * Names every failure, says why and where, within so many bytes. Where that is too much, no places are shown, then no reasons but of the
 * first ones; of more than can be named, it says how many there are. Gives the named ones.
 */
export function showBriefly(page: Page, all: readonly ReportedFailure[], bytes: number): readonly ReportedFailure[] {
  const start = page.room()
  const fits = (stream: LogStream, lines: readonly LineRef[], share = 1): boolean => page.cost(stream, lines) <= bytes * share - (start - page.room())
  const isRoomFor = (lines: number): boolean => all.reduce((sum, { stream, brief }) => sum + page.cost(stream, brief.slice(0, lines)), 0) <= bytes
  const most = [maxBrief, 2, 1].find(isRoomFor)
  const shown: ReportedFailure[] = []
  for (const reported of all) {
    const lines = reported.brief.slice(0, most ?? 1)
    if (most === undefined && shown.length > 0 && !fits(reported.stream, lines, namesShare)) break
    if (!lines.every((line) => page.show(reported.stream, line))) break
    shown.push(reported)
  }
  sayHidden(page, all, shown)
  for (const { stream, brief, place, failure } of shown) {
    if (place !== undefined) page.remark(stream, failure.line.ref, `  at ${place}`)
    if (fits(stream, brief)) for (const line of brief) page.show(stream, line)
  }
  return shown
}

function sayHidden(page: Page, all: readonly ReportedFailure[], shown: readonly ReportedFailure[]): void {
  const hidden = all.filter(({ stream, failure }) => page.cost(stream, [failure.line.ref]) > 0)
  for (const of of new Set(hidden.map((reported) => reported.of))) {
    const own = hidden.filter((reported) => reported.of === of)
    const last = shown.findLast((reported) => reported.of === of) ?? shown.at(-1)
    const [next] = own
    const count = own.length + failuresBeyond(of)
    if (last && next)
      page.remark(last.stream, last.failure.line.ref, `  … ${formatCount(count)} more of ${of.tool}, the first in line ${next.failure.line.number}`)
  }
}

/** Of more failures than are kept, how many there are besides. */
const failuresBeyond = ({ failures, counts }: Recognised): number =>
  failures.length < maxFailures ? 0 : Math.max(0, (counts.failed ?? 0) + (counts.errors ?? 0) - failures.length)
