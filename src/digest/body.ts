import { byteLength, headBytes, plural } from '../core/text.ts'
import { atMark } from './brief.ts'
import type { Choice } from './choose.ts'
import { chooseFailed, choosePassed } from './choose.ts'
import type { DigestOptions } from './digest.ts'
import { incidentsOf } from './incidents.ts'
import type { LogStream } from './log.ts'
import { lineAfter, lineFrom, shownLine } from './log.ts'
import type { Outline } from './outline.ts'
import { outlineOf } from './outline.ts'
import { pageOf } from './page.ts'
import { recognise } from './recognise.ts'
import type { Recognised } from './recognisers/recogniser.ts'
import { withSecretFields } from './secret-fields.ts'
import { severities } from './severity.ts'
import { survey } from './survey.ts'
import { isOfWork } from './work.ts'

export interface BodyOptions extends DigestOptions {
  /** Bytes of the budget that stay free where the output is not shown whole. */
  readonly spare: number
  /** What the log of a tool that passed should take at most, if that is less than the budget. */
  readonly brief: number
}

export interface DigestBody {
  readonly text: string
  /** The lines to look at for more, where something was left out. */
  readonly more: { readonly stream: LogStream['name']; readonly from: number; readonly to: number } | null
}

/** Totals, the lines that matter and the last lines of an output, in at most `budget` bytes; the output itself where it fits. */
export function digestBody(all: readonly LogStream[], { budget, failed, spare, brief, comparison }: BodyOptions): DigestBody {
  const streams = all.map(withSecretFields)
  const talking = streams.filter((stream) => stream.sections.some((section) => lineFrom(section, 0, section.firstLine)))
  if (talking.length === 0)
    return { text: headBytes(streams.every((stream) => stream.bytes === 0) ? 'no output' : streams.map(describeStream).join('; '), budget), more: null }
  const whole = showWhole(streams, talking, budget)
  if (whole !== undefined && (failed || byteLength(whole) <= brief)) return { text: whole, more: null }
  const recognised = recognisedIn(talking)
  if (whole !== undefined && recognised.length === 0) return { text: whole, more: null }
  const bytes = failed ? budget - spare : Math.min(budget - spare, brief)
  const surveys = talking.map(survey)
  const incidents = incidentsOf(surveys, {
    failures: recognised.flatMap(({ failures }) => failures),
    isOld: comparison?.passing ? (line) => comparison.passing?.isNew(line) === false : undefined,
  })
  const outlines =
    recognised.length > 0 ? new Map<LogStream, Outline>() : outlinesOf(talking, (budget - spare) * (failed && incidents.length > 0 ? 0.75 : 1), !failed)
  if (failed) for (const { stream, weight } of incidents) if (weight >= graveWeight || loose.has(outlines.get(stream)?.kind ?? '')) outlines.delete(stream)
  const page = pageOf({ bytes: outlines.size > 0 ? budget - spare : bytes, streams, surveys, describe: describeStream })
  for (const [stream, { lines }] of outlines) for (const line of lines) page.say(line, stream)
  const isLog = ({ stream }: { readonly stream: LogStream }): boolean => !outlines.has(stream)
  const choice: Choice = {
    surveys: surveys.filter(isLog),
    incidents: incidents.filter((incident) => isLog(incident) || incident.strongest.finding.severity >= severities.failure),
    recognised,
    newLines: comparison?.passing?.newLines.filter((placed) => streams.includes(placed.stream) && isLog(placed)) ?? [],
  }
  if (failed) chooseFailed(page, choice, bytes)
  else choosePassed(page, choice)
  const text = page.render().join('\n')
  return { text: atMark(text, budget - spare), more: gapOf(outlines) ?? moreOf(choice, talking) }
}

/** What a recogniser gets wrong takes nothing from what is found without it. */
function recognisedIn(streams: readonly LogStream[]): Recognised[] {
  try {
    return recognise(streams)
  } catch {
    return []
  }
}

function describeStream(stream: LogStream): string {
  if (stream.bytes === 0) return `${stream.name} empty`
  const dropped = stream.droppedBytes > 0 ? `, of which ${plural(stream.droppedBytes, 'byte')} in the middle were not kept` : ''
  const unread = stream.unreadBytes ? `, of which ${plural(stream.unreadBytes, 'byte')} in the middle were not looked through` : ''
  return `${stream.name} ${plural(stream.bytes, 'byte')}, ${plural(stream.lines, 'line')}${stream.onTerminal ? ' on the terminal' : ''}${dropped}${unread}`
}

/** More raw text than this many times the budget cannot be meant to be shown whole, however much of it is frames or colour. */
const wholeFactor = 64
const minWholeBytes = 1 << 19

/** What could be taken for words of a digest is shown with the numbers of its lines, which no line of an output has by itself. */
const ourWords =
  /^(?:\d{1,9} \| |(?:stdout|stderr) (?:empty|[\d,]{1,20} bytes?)\b|exit (?:\d{1,3}|code unknown)(?:; | \(failed\))|more: holdfast |against \S{1,60} \((?:passed|failed)|(?:gone|mended|not seen): )/

function showWhole(streams: readonly LogStream[], talking: readonly LogStream[], budget: number): string | undefined {
  const complete = talking.every((stream) => stream.droppedBytes === 0 && stream.sections.length <= 1 && (stream.sections[0]?.firstLine ?? 1) === 1)
  const bytes = talking.reduce((sum, stream) => sum + stream.bytes, 0)
  if (!complete || bytes > Math.max(minWholeBytes, budget * wholeFactor)) return undefined
  const parts: string[] = []
  let room = budget
  for (const stream of streams) {
    const section = stream.sections[0]
    const lines: string[] = []
    let blanks = 0
    let isMistakable = false
    for (let line = section && lineFrom(section, 0, section.firstLine); line; line = lineAfter(line)) {
      const text = shownLine(line, budget + 1)
      room -= byteLength(text) + 1
      if (room < 0) return undefined
      blanks = text === '' ? blanks + 1 : 0
      isMistakable ||= ourWords.test(text)
      lines.push(text)
    }
    lines.length -= blanks
    if (isMistakable) for (const [i, line] of lines.entries()) lines[i] = `${i + 1} | ${line}`
    if (talking.includes(stream) || streams.length > 1) parts.push([`${describeStream(stream)}${lines.length > 0 ? ':' : ''}`, ...lines].join('\n'))
  }
  const text = parts.join('\n')
  return byteLength(text) <= budget ? text : undefined
}

/** What many a log looks like in places; of what failed, any word of trouble says more than that. */
const loose: ReadonlySet<string> = new Set(['matches', 'list of paths', 'table', 'Markdown', 'NDJSON', 'access log'])
/** Of what failed, the words of something so grave say more than the shape of its text. */
const graveWeight = severities.failure * 10 - 3

/** The shapes of the streams that are data; of two streams each leaves room for the other. */
function outlinesOf(talking: readonly LogStream[], bytes: number, passed: boolean): Map<LogStream, Outline> {
  const outlines = new Map<LogStream, Outline>()
  for (const stream of talking) {
    const outline = outlineOf(stream, Math.floor(bytes * (talking.length > 1 ? 0.6 : 1)) - byteLength(describeStream(stream)) - 2, {
      fill: passed && stream.name === 'stdout' && !isOfWork(stream),
    })
    if (outline) outlines.set(stream, outline)
  }
  return outlines
}

/** Where data is shown from both ends, what is between them. */
function gapOf(outlines: ReadonlyMap<LogStream, Outline>): DigestBody['more'] {
  for (const [stream, { gap }] of outlines) if (gap) return { stream: stream.name, from: gap.from, to: Math.min(gap.to, gap.from + maxGapLines - 1) }
  return null
}

const maxGapLines = 100

/** Around the likeliest cause, else the part before the last lines. */
function moreOf({ incidents: [cause] }: Choice, talking: readonly LogStream[]): DigestBody['more'] {
  if (cause) return { stream: cause.stream.name, from: Math.max(1, cause.head.line.number - 20), to: Math.min(cause.stream.lines, cause.head.line.number + 40) }
  const [first] = talking
  return first ? { stream: first.name, from: Math.max(1, first.lines - 100), to: first.lines } : null
}
