import type { LogLine } from './recognisers/recogniser.ts'
import { unwrap } from './wrapper.ts'

/** What one package, process or step printed into a log of several: a log of its own, with the numbers of the whole. */
export interface Lane {
  readonly name: string
  readonly lines: LogLine[]
}

/** A line with the container, pod or process that whatever carries the log says it is of; empty where it does not say. */
export interface SourcedLine extends LogLine {
  readonly source: string
}

export interface Lanes {
  readonly lanes: readonly Lane[]
  /** Lines of the runner itself, in no lane. */
  readonly others: readonly LogLine[]
}

/** How a runner marks each line with whose it is. */
interface Form {
  /** The name and what the package printed. */
  readonly line: RegExp
  /** A line that only such a runner prints, with the name. */
  readonly sign?: RegExp
  /** The package of a lane, without the task. */
  readonly packageOf?: (name: string) => string
  /** True for names that are known by how often they stand before a line. */
  readonly isCommon?: (name: string) => boolean
}

const withoutTask = (name: string): string => name.replace(/(?<=.):[\w.-]{1,60}$/, '')
const level = /^(?:info|error|err|warn(?:ing)?|debug|trace|fatal|notice|verbose|success|failed?|passed|ok|done|note|hint|\d{1,6}\/\d{1,6}|\d{1,3}%)$/i

const forms: readonly Form[] = [
  // act: `[ci/test]   | text`
  { line: /^\[([^\][|]{1,80})\] {2,8}\| ?(.*)$/, sign: /^\[([^\][|]{1,80}\/[^\][|]{1,80})\] {2,8}\| / },
  // pnpm -r: `packages/a test$ command`, then `packages/a test: text`
  { line: /^(\S{1,200} [\w:.-]{1,60}):(?: (.*))?$/, sign: /^(\S{1,200} [\w:.-]{1,60})\$ \S/, packageOf: (name) => name.slice(0, name.lastIndexOf(' ')) },
  // turbo: `web:test: text`; lerna and nx: `@shop/web: text`
  {
    line: /^(@?[\w./-]{1,100}(?::[\w./-]{1,60}){0,3}):(?: (.*))?$/,
    sign: /^(@?[\w./-]{1,100}(?::[\w./-]{1,60}){0,3}): (?:cache (?:miss|hit|bypass)\b|> (?:@[\w.-]{1,100}\/)?[\w.-]{1,100}@\d)/,
    packageOf: withoutTask,
    isCommon: (name) => /^@[\w.-]{1,60}\/[\w.-]{1,60}(?::[\w-]{1,40})?$/.test(name),
  },
  // yarn workspaces foreach -v: `[@shop/web]: text`; concurrently: `[api] text`
  {
    line: /^\[([\w@./:+-]{1,60})\]:?(?: (.*))?$/,
    sign: /^\[([\w@./:+-]{1,60})\](?:: Process (?:started|exited)\b| .{1,300} exited with code \S{1,20}$)/,
    isCommon: (name) => name !== '' && !level.test(name),
  },
  // foreman: `12:00:01 web.1  | text`; overmind and docker compose: `web  | text`
  {
    line: /^(?:\d{1,2}:\d\d:\d\d(?: [AP]M)? )?([A-Za-z][\w.-]{0,60}?) {1,40}\|(?: (.*))?$/,
    sign: /^(?:\d{1,2}:\d\d:\d\d(?: [AP]M)? )?([A-Za-z][\w-]{0,60}\.\d{1,3}) {1,40}\| /,
    isCommon: (name) => name !== '',
  },
]

const anySign = new RegExp(forms.flatMap(({ sign }) => (sign ? [sign.source] : [])).join('|'))

// Runners that print what a package said in one piece begin it with a line that names it.
const headers: readonly RegExp[] = [
  /^> nx run (\S{1,200}?):\S{1,80}$/,
  /^> (@?[\w./-]{1,100}):[\w.:-]{1,60}$/,
  /^> ((?:@[\w.-]{1,100}\/)?[\w.-]{1,100})@\d[\w.+-]{0,60} [\w:.-]{1,100}(?: \S{1,400})?$/,
  /^lerna info run Ran npm script '[^']{1,80}' in '([^']{1,120})' in /,
  /^(?:##\[group\]|::group::)(@?[\w./-]{1,100}):[\w.-]{1,60}$/,
]
const headerStart = /^(?:> |lerna info run Ran |##\[group\]|::group::)/
const blockEnd = /^(?:##\[endgroup\]|::endgroup::)$/

/** So often a name stands before lines that no sign says are those of a package. */
const leastLines = 4
/** And so much of the log such lines are. */
const leastShare = 0.6
const maxNames = 200

/** Tells apart what several packages printed into one log; undefined where it is the log of one. */
export function lanesOf(lines: readonly SourcedLine[]): Lanes | undefined {
  return bySource(lines) ?? byForm(lines) ?? byBlock(lines)
}

function bySource(lines: readonly SourcedLine[]): Lanes | undefined {
  return split(lines, (line) => {
    const name = line.source
    // Steps of a build of an image are told by whoever built it, and both streams of a container are one log.
    return name === '' || /^(?:#\d|std(?:out|err) )/.test(name) ? undefined : { name, line }
  })
}

function byForm(lines: readonly LogLine[]): Lanes | undefined {
  const isSigned = lines.some(({ text }) => anySign.test(text))
  const sample = lines.filter((_, i) => i % Math.ceil(lines.length / sampled) === 0)
  for (const form of forms) {
    const names = isSigned || isShare(sample, form) ? namesOf(lines, form) : new Set()
    if (names.size === 0) continue
    // Some runners put more than one blank behind their mark.
    const rests = lines.flatMap(({ text }) => form.line.exec(text)?.[2] ?? [])
    const indent = rests.every((rest) => rest === '' || rest.startsWith(' ')) ? 1 : 0
    return split(
      lines,
      (line) => {
        const [, name = '', rest = ''] = form.line.exec(line.text) ?? []
        return names.has(name) ? { name: form.packageOf?.(name) ?? name, line: { ...line, text: unwrap(rest.slice(indent)) } } : undefined
      },
      1,
    )
  }
  return undefined
}

/** Of a long log so many lines are asked whether most of them are marked. */
const sampled = 2_000

const isShare = (lines: readonly LogLine[], { line, isCommon }: Form): boolean =>
  isCommon !== undefined &&
  lines.filter(({ text }) => isCommon(line.exec(text)?.[1] ?? '')).length >= (lines.filter(({ text }) => text !== '').length * leastShare) / 2

function namesOf(lines: readonly LogLine[], { line, sign, isCommon }: Form): ReadonlySet<string> {
  const sure = new Set<string>()
  const counts = new Map<string, number>()
  let said = 0
  for (const { text } of lines) {
    if (text === '') continue
    said += 1
    const signed = sign?.exec(text)?.[1]
    if (signed !== undefined && sure.size < maxNames) sure.add(signed)
    const name = line.exec(text)?.[1]
    if (name !== undefined && isCommon?.(name) && (counts.has(name) || counts.size < maxNames)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const common = [...counts].filter(([, count]) => count >= leastLines)
  if (common.reduce((sum, [, count]) => sum + count, 0) >= said * leastShare) for (const [name] of common) sure.add(name)
  return sure
}

function byBlock(lines: readonly LogLine[]): Lanes | undefined {
  let name: string | undefined
  let stream: LogLine['stream'] | undefined
  return split(lines, (line) => {
    if (line.stream !== stream) name = undefined
    stream = line.stream
    if (headerStart.test(line.text)) name = headers.map((header) => header.exec(line.text)?.[1]).find((found) => found !== undefined) ?? name
    else if (blockEnd.test(line.text)) name = undefined
    return name === undefined ? undefined : { name, line }
  })
}

type Placed = { readonly name: string; readonly line: LogLine } | undefined

function split<Line extends LogLine>(lines: readonly Line[], place: (line: Line) => Placed, least = 2): Lanes | undefined {
  const lanes = new Map<string, LogLine[]>()
  const others: LogLine[] = []
  for (const line of lines) {
    const placed = place(line)
    const own = placed && (lanes.get(placed.name) ?? (lanes.size < maxNames ? [] : undefined))
    if (placed && own) {
      own.push(placed.line)
      lanes.set(placed.name, own)
    } else others.push(line)
  }
  return lanes.size < least ? undefined : { lanes: [...lanes].map(([laneName, own]) => ({ name: laneName, lines: own })), others }
}
