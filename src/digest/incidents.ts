import { carriedText } from './carrier.ts'
import { commonness, maxCommonness, usesOf } from './commonness.ts'
import { endOf, excerpt, nextOf, prefaceOf, toolText, troubleAfter } from './lines-that-matter.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineBefore } from './log.ts'
import type { Failure } from './recognisers/recogniser.ts'
import { isConclusive, isFiller, isProbe, isTitle, judge, severities } from './severity.ts'
import { isOwnFrame, isStackFrame } from './stack.ts'
import type { Surroundings } from './surroundings.ts'
import type { Finding, Survey } from './survey.ts'
import { isGivenUp, isResolution, verdictOf } from './verdict.ts'

/** One line that was found, with what it weighs in its log. */
export interface Sighting {
  readonly line: LineRef
  readonly finding: Finding
  readonly weight: number
  /** What a recogniser knows of it. */
  readonly failure?: Failure | undefined
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

/** What is known of a log besides its words. */
export interface Knowledge {
  /** What the tools that are known reported as failed. */
  readonly failures?: readonly Failure[] | undefined
  /** True for a line whose like stands in an output of the same command that passed. */
  readonly isOld?: ((line: LineRef) => boolean) | undefined
}

/** So many findings are looked at in their places, the heaviest first. */
const maxFindings = 96
/** So many incidents are judged by what follows them, the heaviest first. */
const maxJudged = 48
/** Lines after which trouble begins anew. */
const maxGap = 3

/** The incidents of an output, the likeliest cause first. */
export function incidentsOf(surveys: readonly Survey[], { failures = [], isOld = () => false }: Knowledge = {}): Incident[] {
  const real = failures.filter(({ line }) => !isProbe(carriedText(line.ref)))
  const causes = real.filter(({ line }) => judge(carriedText(line.ref)).severity !== severities.summary)
  const seen = new Map(surveys.map((survey) => [survey, heaviest(survey, isOld)]))
  // A tool that only says that a step of it failed says less than what anything says of its own.
  const told = causes.length > 0 ? causes : real.filter(({ line }) => !ladder.test(line.text))
  const isKnown = causes.length > 0 || [...seen.values()].flat().some(({ weight }) => weight >= knownWeight)
  const found = [...seen].flatMap(([survey, sightings]) => {
    const anchors = anchorsOf(survey)
    return clusters(survey.stream, withFew(withClaims(survey, sightings, isKnown ? told : real, isOld))).map((incident) =>
      weighed(incident, placeBonus(incident, anchors)),
    )
  })
  const ordered = found.sort(byWeight)
  const judged = ordered.map((incident, i) => (i < maxJudged ? weighed(incident, aftermath(incident)) : incident)).sort(byWeight)
  return withOutermost(judged)
}

// Each of the targets above the one that failed says so.
const ladder = /\*\*\* \[.{1,200}\] Error \d/
const knownWeight = severities.failure * 10 - 6

// Small differences say less than the order of the log: the first of equals is the likeliest cause.
const rank = ({ weight }: Incident): number => Math.round(weight / 4)
const byWeight = (a: Incident, b: Incident): number => rank(b) - rank(a) || a.head.line.number - b.head.line.number
const weighed = (incident: Incident, bonus: number): Incident => (bonus === 0 ? incident : { ...incident, weight: incident.weight + bonus })

/**
 * A log may hold errors that were expected, and one failure may cause hundreds that say more: so the last and the first grave one
 * have their turn right after the likeliest.
 */
function withOutermost(ordered: readonly Incident[]): Incident[] {
  const [top] = ordered
  if (!top) return []
  const grave = ordered.filter(({ weight }) => weight >= Math.max(severities.failure * 10, top.weight - 20))
  const number = ({ head }: Incident): number => head.line.number
  const last = grave.reduce((best, incident) => (number(incident) > number(best) ? incident : best), top)
  const first = grave.reduce((best, incident) => (number(incident) < number(best) ? incident : best), top)
  return [...new Set([top, last, first, ...ordered])]
}

type IsOld = (line: LineRef) => boolean

const firstOf = (finding: Finding): LineRef => finding.members[0] as LineRef

// Where a tool says so, its warnings are what it failed for.
const strict =
  /\bwarnings? (?:are |is |were |was |being )?(?:treated|considered|handled) as (?:an )?errors?\b|\bwarnings being treated as errors\b|\bwarnings? in strict mode\b|\b(?:aborted|failed) (?:with|due to|because of) (?:\d+ )?warnings?\b|\btoo many warnings\b|\[-Werror[\]=]/i
const strictBonus = (severities.failure - severities.warning) * 10

function heaviest({ stream, findings }: Survey, isOld: IsOld): Sighting[] {
  const named = findings.filter((finding) => finding.severity !== severities.summary && !isStackFrame(carriedText(firstOf(finding))))
  const errors = named.filter(({ severity }) => severity !== severities.warning)
  // Where nothing is called an error, what a tool warned of may be why it failed.
  const isStrict = findings.some(({ members }) => members.some((line) => strict.test(carriedText(line))))
  const candidates = errors.some(({ severity }) => severity >= severities.failure) && !isStrict ? errors : named
  const uses = usesOf(candidates)
  return candidates
    .map((finding) => ({
      finding,
      weight:
        finding.weight +
        (isStrict && finding.severity === severities.warning ? strictBonus : 0) -
        Math.min(commonness(finding, uses, stream), isConclusive(carriedText(firstOf(finding))) ? maxCommonnessOfEnds : maxCommonness),
    }))
    .sort((a, b) => b.weight - a.weight || firstOf(a.finding).number - firstOf(b.finding).number)
    .slice(0, maxFindings)
    .flatMap(({ finding, weight }) => finding.members.map((line) => ({ line, finding, weight: weight - (isOld(line) ? oldPenalty : 0) })))
    .sort((a, b) => a.line.number - b.line.number)
}

/** What no program goes on after says that each time. */
const maxCommonnessOfEnds = 6

/** Of what is said so often, a few lines stand for all. */
const maxAlike = 12
const maxShown = 2
const alikePenalty = 16

const withFew = (sightings: readonly Sighting[]): Sighting[] =>
  sightings.map((sighting) => {
    const { finding, failure, line, weight } = sighting
    const isRepeated = failure === undefined && finding.count > maxAlike && finding.members.indexOf(line) >= maxShown
    return isRepeated ? { ...sighting, weight: weight - alikePenalty } : sighting
  })

/** A failure that a tool's own format tells is surer than one that its words tell; what only follows from others stays that. */
const claimBonus = 12
const claimWeight = severities.failure * 10

function withClaims({ stream, findings }: Survey, sightings: readonly Sighting[], failures: readonly Failure[], isOld: IsOld): Sighting[] {
  const own = failures.filter(({ line }) => line.stream === stream.name)
  if (own.length === 0) return [...sightings]
  const known = new Map(sightings.map((sighting) => [sighting.line.number, sighting]))
  for (const failure of own) {
    const line = failure.line.ref
    const found = known.get(line.number)
    const finding = found?.finding ?? findings.find(({ members }) => members.some(({ number }) => number === line.number)) ?? lone(stream, line)
    const weight = found ? found.weight : Math.max(claimWeight, finding.weight) - (isOld(line) ? oldPenalty : 0)
    known.set(line.number, { line, finding, weight: weight + claimBonus, failure })
  }
  return [...known.values()].sort((a, b) => a.line.number - b.line.number)
}

const lone = (stream: LogStream, line: LineRef): Finding => ({
  stream,
  severity: severities.failure,
  weight: claimWeight,
  members: [line],
  count: 1,
  lastNumber: line.number,
})

/** What a passing run printed, too, is hardly why this one failed. */
const oldPenalty = 25

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

// A verdict on a test begins an incident of its own, unless it goes on from the line before it; so does what follows a title, or a line by which
// the trouble before it was borne with.
function begins({ line, failure }: Sighting, open: readonly Sighting[]): boolean {
  if ((open.at(-1) as Sighting).line.number === line.number - 1) return false
  if (failure !== undefined || verdictOf(carriedText(line)) === 'failed') return true
  const above = lineBefore(line)
  return above !== undefined && (isTitle(toolText(above)) || isResolution(carriedText(above)))
}

function incidentOf(stream: LogStream, sightings: Sighting[], end: LineRef): Incident {
  const strongest = sightings.reduce((best, sighting) => (sighting.weight > best.weight ? sighting : best))
  const head = sightings.find((sighting) => sighting.weight >= strongest.weight - headSlack) as Sighting
  return { stream, sightings, strongest, head, end, weight: strongest.weight }
}

const headSlack = 14

/** What a test runner kept of what a test printed says what happened in it, and seldom why it failed. */
const isCaptured = (line: string): boolean => /^\s*(?:(?:stderr|stdout) \| \S|console\.(?:error|warn|log)\b)/.test(line)
const capturedPenalty = -28

/** How far what follows an incident is read for whether things went on well. */
const maxAftermath = 160

/** What was retried with success, or stands in what then passed, was expected. What a failure was declared after weighs more. */
function aftermath(incident: Incident): number {
  const { sightings, strongest } = incident
  const own = carriedText(strongest.line)
  if (isConclusive(own)) return 0
  const above = lineBefore(strongest.line)
  if (above && isCaptured(toolText(above))) return capturedPenalty
  if (isGivenUp(own)) return 4
  let bonus = isResolution(own) ? -18 : 0
  if (sightings.some(({ line }) => verdictOf(carriedText(line)) === 'failed')) return bonus
  let line = nextOf((sightings.at(-1) as Sighting).line)
  for (let i = 0; line && i < maxAftermath; i += 1, line = nextOf(line)) {
    const text = carriedText(line)
    if (i < 6 && isGivenUp(text)) return bonus + 2
    if (i < 3 && bonus === 0 && isResolution(text)) bonus = i === 0 ? -14 : -5
    const verdict = verdictOf(text)
    if (verdict === 'begun') return bonus
    if (verdict === 'passed') return bonus - 12
    if (verdict === 'failed') return bonus + 4
  }
  return bonus
}

/** Its lines in the order in which they deserve room; with what stands around it and is about nothing else, if that is known. */
export function linesOf({ strongest, head, end, sightings }: Incident, around: Surroundings = alone): LineRef[] {
  const all = excerpt(head.line, end)
  const near = strongest.line.number - head.line.number <= farLines ? [] : excerpt(strongest.line, end).telling
  const details = sightings.flatMap(
    ({ failure }) => failure?.details.map(({ ref }) => ref).filter((line) => !isFiller(carriedText(line)) && !isForeignFrame(carriedText(line))) ?? [],
  )
  const lines = [
    head.line,
    strongest.line,
    ...gravest(sightings, strongest.weight),
    ...details,
    ...(head.failure ? [] : prefaceOf(head.line)),
    ...around.above.slice(0, 2),
    ...near,
    ...all.telling,
    ...new Map(sightings.map(({ finding, line }) => [finding, line])).values(),
    ...around.below,
    ...around.above,
    ...troubleAfter(end),
    ...all.lines,
  ]
  return [...new Map(lines.map((line) => [line.number, line])).values()]
}

/** Of what is nearly as grave as the gravest, so many lines come before details of a failure. */
const maxGravest = 2
const graveSlack = 16

function gravest(sightings: readonly Sighting[], top: number): LineRef[] {
  const causes = sightings.filter(({ finding, weight }) => finding.severity >= severities.failure && weight >= top - graveSlack)
  return causes
    .sort((a, b) => b.finding.severity - a.finding.severity || a.line.number - b.line.number)
    .slice(0, maxGravest)
    .map(({ line }) => line)
}

const isForeignFrame = (line: string): boolean => isStackFrame(line) && !isOwnFrame(line)

const alone: Surroundings = { above: [], below: [] }

/** What stands so far below the head is told with the lines around it first. */
const farLines = 12
