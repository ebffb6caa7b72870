import { byteLength, headBytes, plural } from '../core/text.ts'
import type { DigestOptions } from './digest.ts'
import { byWeight, contextOf, linesAfter } from './lines-that-matter.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineFrom, shownLine } from './log.ts'
import type { Page } from './page.ts'
import { pageOf } from './page.ts'
import { severities } from './severity.ts'
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
  const totals = describeTotals(streams)
  const talking = streams.filter((stream) => stream.bytes > 0 || stream.sections.some((section) => section.text !== ''))
  if (talking.length === 0) return { text: headBytes(totals, budget), more: null }
  const whole = showWhole(streams, talking, budget)
  if (whole !== undefined) return { text: whole, more: null }
  const surveys = talking.map(survey)
  const bytes = budget - spare
  const page = pageOf(bytes - byteLength(totals), maxLineBytes(bytes), surveys)
  reserveTails(page, surveys, failed, bytes < roomyBudget ? 1 : 3)
  chooseMatter(page, surveys, failed)
  if (failed) extendTails(page, surveys)
  return { text: headBytes([totals, ...page.render()].join('\n'), bytes), more: moreOf(surveys) }
}

// The first hundred bytes of a line name its trouble; where there is less room, a line gives way so that each stream has one.
const maxLineBytes = (budget: number): number => Math.floor(Math.max(Math.min(130, budget / 4), Math.min(300, budget / 7)))

function describeTotals(streams: readonly LogStream[]): string {
  if (streams.every((stream) => stream.bytes === 0)) return 'no output'
  return streams.map(describeStream).join('; ')
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
function reserveTails(page: Page, surveys: readonly Survey[], failed: boolean, failedLines: number): void {
  const most = failed ? failedLines : 5
  const share = page.room() * (failed ? 0.2 : 0.6)
  const floor = page.room() - (failed ? share : Math.min(share, 240))
  for (let i = 0; i < most; i += 1) {
    for (const { stream, tail } of [...surveys].reverse()) {
      if (failed && i === 0 && stream.name === 'stdout') showCause(page, surveys)
      const group = tail.at(-1 - i)
      if (group && (i === 0 || page.room() > floor)) page.tail(stream, group)
    }
  }
}

function showCause(page: Page, surveys: readonly Survey[]): void {
  const cause = byWeight(surveys.flatMap((entry) => entry.findings))[0]
  if (cause && cause.severity >= severities.failure) page.matter(cause.stream, cause.members[0] as LineRef)
}

function extendTails(page: Page, surveys: readonly Survey[]): void {
  for (const { stream, tail } of [...surveys].reverse()) {
    for (let i = tail.length - 1; i >= 0 && page.tail(stream, tail[i] as LineGroup); i -= 1);
  }
}

function chooseMatter(page: Page, surveys: readonly Survey[], failed: boolean): void {
  const ordered = byWeight(surveys.flatMap((entry) => entry.findings))
  const start = page.room()
  const spent = (): number => start - page.room()
  const within = (share: number): boolean => spent() <= start * share
  const worst = ordered.filter((finding) => finding.severity >= severities.failure)
  if (!failed) {
    // What a clean end leaves to say is short: a few of its complaints.
    for (const finding of ordered.filter((entry) => entry.severity !== severities.summary).slice(0, 4))
      showHead(page, finding, finding.severity >= severities.failure ? 2 : 0)
    return
  }
  for (const [i, finding] of worst.entries()) {
    if (!within(0.55)) break
    showHead(page, finding, i === 0 && start >= roomyBudget ? 5 : i < 4 ? 3 : 2)
  }
  for (const finding of ordered.filter((entry) => entry.severity === severities.summary).slice(0, 2)) if (within(0.62)) showHead(page, finding, 0)
  for (const finding of ordered.filter((entry) => entry.severity === severities.trouble)) if (within(0.7)) showHead(page, finding, 1)
  for (const finding of worst.slice(0, 4))
    for (const line of contextOf(finding.members[0] as LineRef, 10)) if (!within(0.85) || !page.matter(finding.stream, line)) break
  for (const finding of worst) showMembers(page, finding)
  for (const finding of worst.slice(0, 3)) for (const line of linesAfter(finding.members[0] as LineRef, 4)) if (!page.matter(finding.stream, line)) break
  for (const finding of ordered.filter((entry) => entry.severity === severities.warning).slice(0, 3)) showHead(page, finding, 0)
}

function showHead(page: Page, finding: Finding, context: number): void {
  const head = finding.members[0] as LineRef
  if (!page.matter(finding.stream, head)) return
  if (finding.count > 1) page.note(finding)
  for (const line of contextOf(head, context)) if (!page.matter(finding.stream, line)) return
}

function showMembers(page: Page, finding: Finding): void {
  for (const member of finding.members) {
    if (!page.matter(finding.stream, member)) return
    for (const line of contextOf(member, 1)) page.matter(finding.stream, line)
  }
}

/** Around the likeliest cause, else the part before the last lines. */
function moreOf(surveys: readonly Survey[]): DigestBody['more'] {
  const cause = byWeight(surveys.flatMap((entry) => entry.findings))[0]
  const head = cause?.members[0]
  if (cause && head) return { stream: cause.stream.name, from: Math.max(1, head.number - 20), to: Math.min(cause.stream.lines, head.number + 40) }
  const last = surveys.at(0)
  return last ? { stream: last.stream.name, from: Math.max(1, last.stream.lines - 100), to: last.stream.lines } : null
}
