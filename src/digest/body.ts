import { byteLength, headBytes, plural } from '../core/text.ts'
import type { DigestOptions } from './digest.ts'
import type { Incident } from './incidents.ts'
import { incidentsOf, linesOf } from './incidents.ts'
import { linesAfter } from './lines-that-matter.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineFrom, lineHead, shownLine } from './log.ts'
import type { Page } from './page.ts'
import { pageOf } from './page.ts'
import { isFiller, severities } from './severity.ts'
import type { Finding, LineGroup, Survey } from './survey.ts'
import { survey } from './survey.ts'

export interface BodyOptions extends DigestOptions {
  /** Bytes of the budget that stay free where the output is not shown whole. */
  readonly spare: number
}

export interface DigestBody {
  readonly text: string
  /** The lines to look at for more, where something was left out. */
  readonly more: { readonly stream: LogStream['name']; readonly from: number; readonly to: number } | null
}

/** Totals, the lines that matter and the last lines of an output, in at most `budget` bytes; the output itself where it fits. */
export function digestBody(streams: readonly LogStream[], { budget, failed, spare }: BodyOptions): DigestBody {
  const talking = streams.filter((stream) => stream.bytes > 0 || stream.sections.some((section) => section.text !== ''))
  if (talking.length === 0)
    return { text: headBytes(streams.every((stream) => stream.bytes === 0) ? 'no output' : streams.map(describeStream).join('; '), budget), more: null }
  const whole = showWhole(streams, talking, budget)
  if (whole !== undefined) return { text: whole, more: null }
  const surveys = talking.map(survey)
  const bytes = budget - spare
  const page = pageOf({ bytes, streams, surveys, describe: describeStream })
  const incidents = incidentsOf(surveys)
  if (failed) chooseFailed(page, surveys, incidents, bytes)
  else choosePassed(page, surveys, incidents)
  return { text: headBytes(page.render().join('\n'), bytes), more: moreOf(surveys, incidents) }
}

function describeStream(stream: LogStream): string {
  if (stream.bytes === 0) return `${stream.name} empty`
  const dropped = stream.droppedBytes > 0 ? `, of which ${plural(stream.droppedBytes, 'byte')} in the middle were not kept` : ''
  return `${stream.name} ${plural(stream.bytes, 'byte')}, ${plural(stream.lines, 'line')}${stream.onTerminal ? ' on the terminal' : ''}${dropped}`
}

/** More raw text than this many times the budget cannot be meant to be shown whole, however much of it is frames or colour. */
const wholeFactor = 64
const minWholeChars = 1 << 19

function showWhole(streams: readonly LogStream[], talking: readonly LogStream[], budget: number): string | undefined {
  const complete = talking.every((stream) => stream.droppedBytes === 0 && stream.sections.length <= 1 && (stream.sections[0]?.firstLine ?? 1) === 1)
  const chars = talking.reduce((sum, stream) => sum + (stream.sections[0]?.text.length ?? 0), 0)
  if (!complete || chars > Math.max(minWholeChars, budget * wholeFactor)) return undefined
  const parts: string[] = []
  let room = budget
  for (const stream of streams) {
    const section = stream.sections[0]
    const lines: string[] = []
    let blanks = 0
    for (let line = section && lineFrom(section, 0, section.firstLine); line; line = lineAfter(line)) {
      const text = shownLine(line, budget + 1)
      room -= byteLength(text) + 1
      if (room < 0) return undefined
      blanks = text === '' ? blanks + 1 : 0
      lines.push(text)
    }
    lines.length -= blanks
    if (talking.includes(stream) || streams.length > 1) parts.push([`${describeStream(stream)}${lines.length > 0 ? ':' : ''}`, ...lines].join('\n'))
  }
  const text = parts.join('\n')
  return byteLength(text) <= budget ? text : undefined
}

/** Below it, a failed run shows one last line rather than three. */
const roomyBudget = 1000

/**
 * The last lines come first in the accounts, so that no flood of errors can push them out; between those of stderr and
 * those of stdout stands the likeliest cause, which a small budget must not lose to them.
 */
function chooseFailed(page: Page, surveys: readonly Survey[], incidents: readonly Incident[], bytes: number): void {
  const roomy = bytes >= roomyBudget
  const cause = incidents[0]
  for (const { stream, tail } of [...surveys].reverse()) {
    if (stream.name === 'stdout' && cause) page.show(cause.stream, cause.head.line)
    const group = tail.findLast(({ last }) => lineHead(last) !== '')
    if (group) page.showGroup(stream, group)
  }
  const start = page.room()
  const within = (share: number): boolean => start - page.room() <= start * share
  const shown = new Map<Incident, number>()
  const round = (share: number, lines: (i: number) => number): void => {
    for (const [i, incident] of incidents.entries()) {
      if (!within(share)) return
      for (const line of (shown.get(incident) ?? 0) < lines(i) ? linesOf(incident).slice(0, lines(i)) : [])
        if (!within(share) || !page.show(incident.stream, line)) break
      shown.set(incident, lines(i))
      if (incident.strongest.finding.count > 1) page.note(incident.strongest.finding)
    }
  }
  round(roomy ? 0.5 : 0.75, (i) => (i === 0 ? (roomy ? 6 : 2) : i < 4 && roomy ? 3 : 1))
  for (const finding of summariesOf(surveys, cause)) if (within(roomy ? 0.6 : 0.85)) page.show(finding.stream, finding.members.at(-1) as LineRef)
  round(0.9, (i) => (i === 0 ? 12 : i < 3 ? 5 : 2))
  if (roomy)
    for (const { stream, tail } of [...surveys].reverse())
      for (const group of tail.slice(-4).reverse()) if (!isFiller(lineHead(group.last)) && within(0.97)) page.showGroup(stream, group)
  round(1, () => 30)
  if (cause) for (const line of linesAfter(cause.end, 4)) page.show(cause.stream, line)
  extendTails(page, surveys)
}

/** What summed up right after the cause, and what did so last. */
function summariesOf(surveys: readonly Survey[], cause: Incident | undefined): Finding[] {
  const found = surveys
    .flatMap(({ findings }) => findings.filter(({ severity }) => severity === severities.summary))
    .sort((a, b) => b.lastNumber - a.lastNumber)
  const next = found.findLast(({ stream, lastNumber }) => stream === cause?.stream && lastNumber > cause.end.number)
  return [...new Set([...(next ? [next] : []), ...found.slice(0, 1)])]
}

/** What a clean end leaves to say is short: a few of its complaints, and how it ended. */
function choosePassed(page: Page, surveys: readonly Survey[], incidents: readonly Incident[]): void {
  const share = page.room() * 0.6
  const floor = page.room() - Math.min(share, 240)
  for (let i = 0; i < 5; i += 1) {
    for (const { stream, tail } of [...surveys].reverse()) {
      const group = tail.at(-1 - i)
      if (group && (i === 0 || page.room() > floor)) page.showGroup(stream, group)
    }
  }
  for (const incident of incidents.slice(0, 2)) for (const line of linesOf(incident).slice(0, 2)) page.show(incident.stream, line)
  const warnings = surveys.flatMap(({ findings }) => findings.filter(({ severity }) => severity === severities.warning))
  for (const finding of warnings.slice(0, 4)) if (page.show(finding.stream, finding.members[0] as LineRef) && finding.count > 1) page.note(finding)
}

function extendTails(page: Page, surveys: readonly Survey[]): void {
  for (const { stream, tail } of [...surveys].reverse()) {
    for (let i = tail.length - 1; i >= 0 && page.showGroup(stream, tail[i] as LineGroup); i -= 1);
  }
}

/** Around the likeliest cause, else the part before the last lines. */
function moreOf(surveys: readonly Survey[], incidents: readonly Incident[]): DigestBody['more'] {
  const cause = incidents[0]
  if (cause) return { stream: cause.stream.name, from: Math.max(1, cause.head.line.number - 20), to: Math.min(cause.stream.lines, cause.head.line.number + 40) }
  const last = surveys.at(0)
  return last ? { stream: last.stream.name, from: Math.max(1, last.stream.lines - 100), to: last.stream.lines } : null
}
