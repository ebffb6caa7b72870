import { endOf, excerpt, prefaceOf, troubleAfter } from './lines-that-matter.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineHead } from './log.ts'
import { judge, severities } from './severity.ts'
import { isStackFrame } from './stack.ts'
import type { Finding, Survey } from './survey.ts'
import { isGivenUp, isResolution, verdictOf } from './verdict.ts'

/** One line that was found, with what it weighs in its log. */
export interface Sighting {
  readonly line: LineRef
  readonly finding: Finding
  readonly weight: number
}

/** Lines of trouble that stand together: a diagnosis with its notes, a stack trace with its causes, a test with its message. */
export interface Incident {
  readonly stream: LogStream
  /** Higher deserves room earlier. */
  readonly weight: number
  /** In the order of the log. */
  readonly sightings: readonly Sighting[]
  readonly strongest: Sighting
  /** The first of its lines that is nearly as strong as the strongest: what followed from it comes later. */
  readonly head: Sighting
  /** Its last line. */
  readonly end: LineRef
}

/** So many findings are looked at in their places, the heaviest first. */
const maxFindings = 96
/** So many incidents are judged by what follows them, the heaviest first. */
const maxJudged = 48
/** Lines after which trouble begins anew. */
const maxGap = 3

/** The incidents of an output, the likeliest cause first. */
export function incidentsOf(surveys: readonly Survey[], isOld: (line: LineRef, stream: LogStream) => boolean = () => false): Incident[] {
  const found = surveys.flatMap((survey) => {
    const anchors = anchorsOf(survey)
    return clusters(survey.stream, heaviest(survey, isOld)).map((incident) => weighed(incident, placeBonus(incident, anchors)))
  })
  const ordered = found.sort(byWeight)
  const judged = ordered.map((incident, i) => (i < maxJudged ? weighed(incident, aftermath(incident)) : incident)).sort(byWeight)
  return withLastGrave(judged)
}

// Small differences say less than the order of the log: the first of equals is the likeliest cause.
const rank = ({ weight }: Incident): number => Math.round(weight / 4)
const byWeight = (a: Incident, b: Incident): number => rank(b) - rank(a) || a.head.line.number - b.head.line.number
const weighed = (incident: Incident, bonus: number): Incident => (bonus === 0 ? incident : { ...incident, weight: incident.weight + bonus })

/** The first of equals is the likeliest cause, but a log may hold errors that were expected: so the last grave one has its turn right after the first. */
function withLastGrave(ordered: readonly Incident[]): Incident[] {
  const floor = Math.max(severities.failure * 10, (ordered[0]?.weight ?? 0) - 20)
  let last = 0
  for (const [i, incident] of ordered.entries())
    if (incident.weight >= floor && incident.head.line.number > (ordered[last] as Incident).head.line.number) last = i
  return last > 1 ? [...ordered.slice(0, 1), ordered[last] as Incident, ...ordered.slice(1, last), ...ordered.slice(last + 1)] : [...ordered]
}

const firstOf = (finding: Finding): LineRef => finding.members[0] as LineRef

function heaviest({ stream, findings }: Survey, isOld: (line: LineRef, stream: LogStream) => boolean): Sighting[] {
  const candidates = findings.filter((finding) => finding.severity >= severities.trouble && !isStackFrame(lineHead(firstOf(finding))))
  const uses = usesOf(candidates)
  return candidates
    .map((finding) => ({ finding, weight: finding.weight - commonness(finding, uses, stream) }))
    .sort((a, b) => b.weight - a.weight || firstOf(a.finding).number - firstOf(b.finding).number)
    .slice(0, maxFindings)
    .flatMap(({ finding, weight }) => finding.members.map((line) => ({ line, finding, weight: weight - (isOld(line, stream) ? oldPenalty : 0) })))
    .sort((a, b) => a.line.number - b.line.number)
}

/** What a passing run printed, too, is hardly why this one failed. */
const oldPenalty = 25

interface Use {
  count: number
  first: number
  last: number
}

const usedChars = 240
const maxWords = 24
const wordsOf = (finding: Finding): string[] =>
  [
    ...new Set(
      judge(lineHead(firstOf(finding)))
        .message.slice(0, usedChars)
        .toLowerCase()
        .match(/\p{L}{3,}/gu) ?? [],
    ),
  ].slice(0, maxWords)

/** How often, and from where to where, each word stands in what was found. */
function usesOf(findings: readonly Finding[]): Map<string, Use> {
  const uses = new Map<string, Use>()
  for (const finding of findings) {
    for (const word of wordsOf(finding)) {
      const use = uses.get(word) ?? { count: 0, first: firstOf(finding).number, last: 0 }
      use.count += finding.count
      use.first = Math.min(use.first, firstOf(finding).number)
      use.last = Math.max(use.last, finding.lastNumber)
      uses.set(word, use)
    }
  }
  return uses
}

/**
 * What is said again and again all over a log, be it with other names, is how things are there; what stands in one place may
 * well be repeated by a failure. A line is as common as the rarer half of its words allows.
 */
function commonness(finding: Finding, uses: ReadonlyMap<string, Use>, stream: LogStream): number {
  const own = spread(finding.count, firstOf(finding).number, finding.lastNumber, stream)
  const words = wordsOf(finding)
    .map((word) => uses.get(word) as Use)
    .map(({ count, first, last }) => spread(count, first, last, stream))
    .sort((a, b) => a - b)
  return Math.min(maxCommonness, Math.max(own * 1.5, words[Math.floor(words.length * 0.4)] ?? 0))
}

const maxCommonness = 20

function spread(count: number, first: number, last: number, stream: LogStream): number {
  if (count < 4) return 0
  const share = (last - first) / Math.max(60, stream.lines)
  return 2 * Math.log2(count) * Math.min(1, share * 2)
}

/** Lines by which a tool ends its work in failure; what caused that stands shortly before. */
function anchorsOf({ findings }: Survey): number[] {
  return findings.filter(({ severity, count }) => severity === severities.summary && count <= 6).flatMap(({ members }) => members.map(({ number }) => number))
}

const lateLines = 150
const nearLines = 40

function placeBonus({ stream, sightings, end, head }: Incident, anchors: readonly number[]): number {
  const last = (sightings.at(-1) as Sighting).finding.lastNumber
  const late = last > Math.min(stream.lines * 0.8, stream.lines - lateLines) ? 5 : 0
  const near = anchors.some((number) => number >= head.line.number && number - end.number <= nearLines) ? 5 : 0
  return Math.max(late, near) + Math.min(late, near) / 2
}

/** Lines of trouble that stand close together or belong to each other. */
function clusters(stream: LogStream, sightings: readonly Sighting[]): Incident[] {
  const found: Incident[] = []
  let open: Sighting[] = []
  let end: LineRef | undefined
  for (const sighting of sightings) {
    if (end && (sighting.line.number > end.number + maxGap || begins(sighting, open))) {
      found.push(incidentOf(stream, open, end))
      open = []
      end = undefined
    }
    open.push(sighting)
    if (!end || sighting.line.number >= end.number) end = endOf(sighting.line)
  }
  if (end) found.push(incidentOf(stream, open, end))
  return found
}

// A verdict on a test begins an incident of its own, unless it goes on from the line before it.
const begins = ({ line }: Sighting, open: readonly Sighting[]): boolean =>
  (open.at(-1) as Sighting).line.number < line.number - 1 && verdictOf(lineHead(line)) === 'failed'

function incidentOf(stream: LogStream, sightings: Sighting[], end: LineRef): Incident {
  const strongest = sightings.reduce((best, sighting) => (sighting.weight > best.weight ? sighting : best))
  const head = sightings.find((sighting) => sighting.weight >= strongest.weight - headSlack) as Sighting
  return { stream, sightings, strongest, head, end, weight: strongest.weight }
}

const headSlack = 14

/** How far what follows an incident is read for whether things went on well. */
const maxAftermath = 160

/** What was retried with success, or stands in what then passed, was expected. What a failure was declared after weighs more. */
function aftermath(incident: Incident): number {
  const { sightings, strongest } = incident
  const own = lineHead(strongest.line)
  if (isGivenUp(own)) return 4
  let bonus = isResolution(own) ? -12 : 0
  if (sightings.some(({ line }) => verdictOf(lineHead(line)) === 'failed')) return bonus
  let line = lineAfter((sightings.at(-1) as Sighting).line)
  for (let i = 0; line && i < maxAftermath; i += 1, line = lineAfter(line)) {
    const text = lineHead(line)
    if (i < 6 && isGivenUp(text)) return bonus + 2
    if (i < 4 && bonus === 0 && isResolution(text)) bonus = i === 0 ? -14 : -8
    const verdict = verdictOf(text)
    if (verdict === 'begun') return bonus
    if (verdict === 'passed') return bonus - 12
    if (verdict === 'failed') return bonus + 4
  }
  return bonus
}

/** Its lines in the order in which they deserve room. */
export function linesOf({ strongest, head, end }: Incident): LineRef[] {
  const all = excerpt(head.line, end)
  const near = strongest.line.number - head.line.number <= farLines ? [] : excerpt(strongest.line, end).telling
  const lines = [head.line, strongest.line, ...prefaceOf(head.line), ...near, ...all.telling, ...troubleAfter(end), ...all.lines]
  return [...new Map(lines.map((line) => [line.number, line])).values()]
}

/** What stands so far below the head is told with the lines around it first. */
const farLines = 12
