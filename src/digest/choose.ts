import { unrepeated } from './copies.ts'
import { reportedFailures, showBriefly } from './failures.ts'
import type { Incident } from './incidents.ts'
import { linesOf as linesOfIncident } from './incidents.ts'
import { linesAfter, linesBefore } from './lines-that-matter.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineHead } from './log.ts'
import { oddLines } from './odd-lines.ts'
import { ordinaryAround } from './ordinary.ts'
import type { Page } from './page.ts'
import type { PlacedLine } from './past.ts'
import { describeRecognised } from './recognise.ts'
import type { LogLine, Recognised } from './recognisers/recogniser.ts'
import { isFiller, judge, severities } from './severity.ts'
import { isOwnFrame, isStackFrame } from './stack.ts'
import { surroundingsIn } from './surroundings.ts'
import type { Finding, Survey } from './survey.ts'
import { verdictOf } from './verdict.ts'

/** What there is to choose from. */
export interface Choice {
  readonly surveys: readonly Survey[]
  readonly incidents: readonly Incident[]
  readonly recognised: readonly Recognised[]
  /** Lines that an earlier output which passed does not have. */
  readonly newLines: readonly PlacedLine[]
}

/** Below it, a failed run shows one last line rather than three. */
const roomyBytes = 900
/** From it on, there is room for several lines that say what nothing else says. */
const wideBytes = 1_500
/** Below it, no line says how many there are like another. */
const leastNotedBytes = 640

/** Fills the page of a failed run: what failed comes first, and nothing that is known takes all of the room. */
export function chooseFailed(page: Page, choice: Choice, bytes: number): void {
  const { surveys, incidents, recognised, newLines } = choice
  const roomy = bytes >= roomyBytes
  const cause = likeliestCause(incidents)
  const linesOf = linesIn(incidents)
  sayRecognised(page, choice, bytes)
  showLastLines(page, choice, cause, roomy)
  const start = page.room()
  const within = (share: number): boolean => start - page.room() <= start * share
  const reported = reportedFailures(incidents, recognised)
  // What weighs more than all that was reported is said to be there before that.
  if (reported.length > 0 && cause && !isReported(cause))
    roundsOf({ page, incidents: [cause], linesOf, within, noted: roomy ? 1 : 0 })(roomy ? 0.3 : 0.5, () => (roomy ? 4 : 3))
  const named = showBriefly(page, reported, start * briefShare - (start - page.room()))
  for (const most of [3, 6])
    for (const { stream, full } of named) for (const line of full.slice(0, most)) if (!within(detailsShare) || !page.show(stream, line)) break
  const hidden = new Set(reported.filter((entry) => !named.includes(entry)).map(({ failure }) => failure))
  const { incidents: told, isRepeated } = unrepeated(incidents)
  const open = told.filter(({ sightings }) => !sightings.some(({ failure }) => failure && hidden.has(failure)))
  const likely = open.filter(({ weight }) => weight >= (open[0] as Incident).weight - (roomy ? maxLess : maxLessBriefly))
  const round = roundsOf({ page, incidents: likely, linesOf, within, noted: roomy ? likely.length : bytes < leastNotedBytes ? 0 : 1 })
  round(roomy ? 0.5 : 0.75, (i) => (i === 0 ? (roomy ? 6 : 2) : i < 4 && roomy ? 3 : 1))
  for (const { stream, line } of summariesOf(choice)) if (within(roomy ? 0.6 : 0.85)) page.show(stream, line)
  for (const { stream, line } of (incidents[0]?.weight ?? 0) < graveWeight ? summariesOf(choice) : [])
    for (const above of reasonAbove(line, roomy ? 12 : 6)) if (within(0.75)) page.show(stream, above)
  // To look for them takes a look at every line.
  if (roomy && within(0.9))
    for (const { stream } of surveys)
      for (const line of oddLines(stream).slice(0, bytes < wideBytes ? 1 : 3)) if (within(0.9) && !isFiller(lineHead(line))) page.showUnlessTold(stream, line)
  round(0.9, (i) => (i === 0 ? 12 : i < 3 ? 5 : 2))
  for (const { stream, line } of likeliest(newLines, incidents)) if (within(0.94) && !isFiller(lineHead(line))) page.show(stream, line)
  const isRoutine = incidents.length + summariesOf(choice).length > 0 ? routineIn(surveys) : () => false
  if (roomy) {
    for (const { stream, tail } of [...surveys].reverse())
      for (const group of tail.slice(-4).reverse())
        if (!isFiller(lineHead(group.last)) && !isRepeated(stream, group) && !isRoutine(group.last) && within(0.97)) page.showGroup(stream, group)
  }
  round(1, () => 30)
  roundsOf({ page, incidents: open, linesOf, within, noted: 0 })(1, (i) => (i === 0 ? 40 : i < 4 ? 12 : 4))
  for (const { stream, end } of incidents.slice(0, 1)) for (const line of linesAfter(end, 4)) page.show(stream, line)
  for (const { stream, tail } of [...surveys].reverse()) {
    for (const group of [...tail].reverse())
      if (
        saysSomething(lineHead(group.last)) &&
        !isRepeated(stream, group) &&
        (page.room() > bytes / 2 || !isRoutine(group.last)) &&
        !page.showGroup(stream, group)
      )
        break
  }
}

/** What stands right above a line and is not what goes on there anyway, the nearest first. */
function reasonAbove(line: LineRef, most: number): LineRef[] {
  const above = linesBefore(line, reach)
  const isOrdinary = ordinaryAround(line, (number) => number > line.number - reach && number <= line.number)
  const end = above.findIndex((other, i) => i > 1 && isOrdinary(other))
  return (end < 0 ? above : above.slice(0, end)).slice(0, most)
}

const reach = 24

/** What weighs so much less than the likeliest cause has no room before all of that. */
const maxLess = 28
const maxLessBriefly = 20

/** Tells which of the last lines are like those before them. */
function routineIn(surveys: readonly Survey[]): (line: LineRef) => boolean {
  const measures = new Map<LineRef['section'], (line: LineRef) => boolean>()
  for (const { tail } of surveys) {
    const last = tail.at(-1)?.last
    if (last)
      measures.set(
        last.section,
        ordinaryAround(last, () => false),
      )
  }
  return (line) => measures.get(line.section)?.(line) === true
}

/** Neither a rule, nor a count of nothing, nor a frame of others, nor the name of a test that passed. */
const saysSomething = (line: string): boolean =>
  /\p{L}/u.test(line) && !isFiller(line) && verdictOf(line) !== 'passed' && (!isStackFrame(line) || isOwnFrame(line))

/** What of the room goes to naming all that a tool reported as failed, before details of any. */
const briefShare = 0.85
const detailsShare = 0.85

const isReported = ({ sightings }: Incident): boolean => sightings.some(({ failure }) => failure !== undefined)

/** What a tool reported as failed is as likely as what only looks a little worse. */
const reportedSlack = 12

function likeliestCause(incidents: readonly Incident[]): Incident | undefined {
  const [top] = incidents
  const reported = incidents.find(isReported)
  const slack = reported && reported.strongest.finding.severity >= severities.failure ? reportedSlack : 0
  return top && reported && reported.weight >= top.weight - slack ? reported : top
}

/** Lines before and behind an incident that may belong to it. */
const nearBefore = 3
const nearBehind = 11

/** Of the new lines those at the first incidents: elsewhere there are new ones in any two runs. Where nothing looks like trouble, all of them. */
function likeliest(newLines: readonly PlacedLine[], incidents: readonly Incident[]): readonly PlacedLine[] {
  if (incidents.length === 0) return newLines
  const isAt = ({ stream, line }: PlacedLine, incident: Incident): boolean =>
    stream === incident.stream && line.number >= incident.head.line.number - nearBefore && line.number <= incident.end.number + nearBehind
  return newLines.filter((placed) => incidents.slice(0, 2).some((incident) => isAt(placed, incident)))
}

/**
 * The last lines come first in the accounts, so that no flood of errors can push them out; between those of stderr and
 * those of stdout stands the likeliest cause, which a small budget must not lose to them.
 */
function showLastLines(page: Page, { surveys }: Choice, cause: Incident | undefined, isRoomy: boolean): void {
  for (const { stream, tail } of [...surveys].reverse()) {
    if (stream.name === 'stdout' && cause) page.showMore(cause.stream, isRoomy || cause.strongest.failure ? cause.head.line : cause.strongest.line)
    const group = tail.findLast(({ last }) => !isFiller(lineHead(last))) ?? tail.at(-1)
    if (group && isRoomy) page.showGroup(stream, group)
    else if (group) page.show(stream, group.last)
  }
}

/** The lines of each incident in the order in which they deserve room, found once. */
function linesIn(incidents: readonly Incident[]): (incident: Incident) => readonly LineRef[] {
  const known = new Map<Incident, readonly LineRef[]>()
  const around = surroundingsIn(incidents)
  return (incident) => {
    const lines = known.get(incident) ?? linesOfIncident(incident, around(incident))
    known.set(incident, lines)
    return lines
  }
}

interface Rounds {
  readonly page: Page
  readonly incidents: readonly Incident[]
  readonly linesOf: (incident: Incident) => readonly LineRef[]
  readonly within: (share: number) => boolean
  /** Of how many incidents it is said how many lines there are like theirs. */
  readonly noted: number
}

/** Shows so many lines of each incident as the round allows it, until a share of the room is used. */
function roundsOf({ page, incidents, linesOf, within, noted }: Rounds): (share: number, most: (i: number) => number) => void {
  return (share, most) => {
    for (const [i, incident] of incidents.entries()) {
      if (!within(share)) return
      const lines = most(i) === 1 ? [incident.head.line] : linesOf(incident).slice(0, most(i))
      for (const line of lines) if (!within(share) || !page.showUnlessTold(incident.stream, line)) break
      if (i < noted && incident.strongest.finding.count > 1 && !incident.strongest.failure) page.note(incident.strongest.finding)
    }
  }
}

/** Where nothing weighs so much, what stands above the word that it failed may be why. */
const graveWeight = severities.failure * 10 + 4

/** Small budgets have room for the words of one tool, and more for none. */
const maxTools = 4
const toolsBytes = 300

function sayRecognised(page: Page, { recognised }: Choice, bytes: number): void {
  const words = recognised.filter(hasCounts).map(describeRecognised)
  for (const text of [...new Set(words)].slice(0, bytes < roomyBytes ? 1 : maxTools)) if (bytes >= toolsBytes) page.say(text)
}

/** The name of a tool alone says nothing. */
const hasCounts = ({ counts }: Recognised): boolean => Object.values(counts).some((count) => count !== undefined)

/** What a tool that is known closed with, what summed up right after the cause, and what did so last. */
function summariesOf({ surveys, incidents: [cause], recognised }: Choice): PlacedLine[] {
  const found = surveys
    .flatMap(({ findings }) => findings.filter(({ severity }) => severity === severities.summary))
    .sort((a, b) => b.lastNumber - a.lastNumber)
  const next = found.findLast(({ stream, lastNumber }) => stream === cause?.stream && lastNumber > cause.end.number)
  const chosen = [...new Set([...(next ? [next] : []), ...found.slice(0, 1)])]
  const totals = recognised
    .flatMap(({ totals: own }) => own.filter(({ text }) => judge(text).severity >= severities.summary).slice(-1))
    .flatMap((line) => placed(surveys, line))
  return [...totals.slice(0, 2), ...chosen.map(({ stream, members }) => ({ stream, line: members.at(-1) as LineRef }))]
}

function placed(surveys: readonly Survey[], line: LogLine): PlacedLine[] {
  const stream: LogStream | undefined = surveys.find((survey) => survey.stream.name === line.stream)?.stream
  return stream ? [{ stream, line: line.ref }] : []
}

/** A clean end leaves little to say: what passed, a few complaints, and the last lines. */
export function choosePassed(page: Page, choice: Choice): void {
  const { surveys, incidents, recognised } = choice
  for (const text of recognised.filter(hasCounts).map(describeRecognised).slice(0, maxTools)) page.say(text)
  const last = (i: number): void => {
    for (const { stream, tail } of [...surveys].reverse()) {
      const group = tail.filter((entry) => !isFiller(lineHead(entry.last))).at(-1 - i) ?? (i === 0 ? tail.at(-1) : undefined)
      if (group) page.showGroup(stream, group)
    }
  }
  const close = (from: number, to?: number): void => {
    for (const line of recognised.flatMap(({ totals }) => totals.slice(from, to).reverse()))
      for (const { stream } of placed(surveys, line)) page.showUnlessTold(stream, line.ref)
  }
  last(0)
  close(-1)
  const warned: Finding[] = surveys.flatMap(({ findings }) => findings.filter(({ severity }) => severity === severities.warning))
  for (const finding of warned.slice(0, 3)) if (page.show(finding.stream, finding.members[0] as LineRef) && finding.count > 1) page.note(finding)
  for (const line of recognised.flatMap((entry) => entry.warnings.slice(0, 3))) for (const { stream } of placed(surveys, line)) page.show(stream, line.ref)
  for (const incident of incidents.slice(0, 2)) for (const line of linesOfIncident(incident).slice(0, 2)) page.show(incident.stream, line)
  close(-3, -1)
  for (let i = 1; i < 5; i += 1) last(i)
}
