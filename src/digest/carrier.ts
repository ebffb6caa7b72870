import { readBytes } from '../core/byte-source.ts'
import { cleanLine } from '../core/text.ts'
import { levelInFields } from './levels.ts'
import type { LineRef, LogSection } from './log.ts'
import { lineToJudge } from './log.ts'
import { sourceOf, unwrap } from './wrapper.ts'

/**
 * What carries the lines of one log and is the same before (nearly) all of them: a level, a host, a thread, the name of a logger, or
 * an envelope of JSON. It says nothing of a line, other than a level that some lines have and others have not. It is learned from a
 * sample of each section.
 */
interface Carrier {
  /** What it carries, or undefined for a line that it does not carry. */
  readonly carried: (line: string) => string | undefined
  /** The job that a line is of, where the carrier names one. */
  readonly job?: (line: string) => string | undefined
}

/** A line without what carries every line of its log; with its secrets, to judge it by and never to be shown or kept. */
export function carriedText(line: LineRef): string {
  const { section, start } = line
  const texts = recent.get(section) ?? new Map<number, string>()
  const found = texts.get(start)
  if (found !== undefined) return found
  const text = uncarried(lineToJudge(line), carriersOf(section))
  if (text.length > maxRecentChars) return text
  if (texts.size === 0) recent.set(section, texts)
  if (texts.size >= maxRecent) texts.clear()
  texts.set(start, text)
  return text
}

// The same lines are asked for again and again: around each incident, and for each question about it.
const recent = new WeakMap<LogSection, Map<number, string>>()
const maxRecent = 4096
const maxRecentChars = 1024

/** How many carriers one in another a section has. */
export const carriersIn = (section: LogSection): number => carriersOf(section).length

/** A clean line of a section without its carriers, or without the outer ones. */
export const withoutCarriers = (line: string, section: LogSection, most: number): string => uncarried(line, carriersOf(section).slice(0, most))

function uncarried(line: string, carriers: readonly Carrier[]): string {
  let text = line
  for (const carrier of carriers) {
    const inner = carrier.carried(text)
    if (inner === undefined) return text
    text = inner
  }
  return text
}

const known = new WeakMap<LogSection, readonly Carrier[]>()

function carriersOf(section: LogSection): readonly Carrier[] {
  const found = known.get(section)
  if (found) return found
  const carriers = learn(sampleOf(section))
  known.set(section, carriers)
  return carriers
}

const maxCarriers = 3
/** Fewer lines are no sample. */
const minLines = 12

function learn(lines: readonly string[]): Carrier[] {
  const carriers: Carrier[] = []
  let sample = lines
  while (carriers.length < maxCarriers && sample.length >= minLines) {
    const carrier = envelopeOf(sample) ?? columnsOf(sample) ?? tagsOf(sample)
    if (!carrier) break
    carriers.push(carrier)
    sample = sample.flatMap((line) => carrier.carried(line) ?? []).filter((line) => line.trim() !== '')
  }
  return carriers
}

const chunks = 5
const chunkBytes = 8 * 1024
const maxChars = 2048

/** Lines from the beginning to the end of a section. */
function sampleOf({ source }: LogSection): string[] {
  const places =
    source.length <= chunks * chunkBytes
      ? [[0, source.length]]
      : Array.from({ length: chunks }, (_, i) => Math.floor(((source.length - chunkBytes) * i) / (chunks - 1))).map((from) => [from, from + chunkBytes])
  return places.flatMap(([from = 0, to = 0]) => {
    const lines = readBytes(source, from, to).toString('utf8').split('\n')
    return lines
      .slice(from === 0 ? 0 : 1, to < source.length ? -1 : undefined)
      .map((line) => cleanLine(line.slice(0, maxChars)))
      .filter((line) => line.trim() !== '')
  })
}

/** What nearly all lines have: others may have come in between. */
const most = 0.93

const envelopeKeys = ['log', 'message', 'msg', 'MESSAGE', 'textPayload', 'line', 'text']

/** JSON objects with what a line said under one key, and no levels that differ. */
function envelopeOf(lines: readonly string[]): Carrier | undefined {
  const objects = lines.filter((line) => line.startsWith('{'))
  if (objects.length < lines.length * most) return undefined
  for (const key of envelopeKeys) {
    const field = new RegExp(`"${key}"\\s?:\\s?"((?:[^"\\\\]|\\\\.){0,4096})`)
    if (objects.filter((line) => field.test(line)).length < lines.length * most) continue
    const isIdle = (line: string): boolean => (levelInFields(line) ?? 'info') === 'info'
    if (objects.filter(isIdle).length < objects.length * most) return undefined
    return {
      carried(line) {
        const found = line.startsWith('{') ? field.exec(line) : null
        return found && isIdle(line) ? cleanLine(unescaped(found[1] as string)) : undefined
      },
    }
  }
  return undefined
}

function unescaped(text: string): string {
  try {
    return (JSON.parse(`"${text}"`) as string).replace(/\n$/, '')
  } catch {
    return text
  }
}

// `[api] `, `web:build: `: the job that a line of an interleaved log is of.
const tag = /^(?:\[[\w@./:-]{1,40}\]|@?[a-z][\w@./-]{0,40}(?::[\w@./:-]{1,40})?(?::|\s\|)) /
const maxTags = 12

/** The names of a few jobs, one of them before each line. */
function tagsOf(lines: readonly string[]): Carrier | undefined {
  const tags = lines.flatMap((line) => tagIn(line) ?? [])
  const names = new Set(tags)
  if (tags.length < lines.length * most || names.size > maxTags || names.size < 2 || names.size * 8 > tags.length) return undefined
  const job = (line: string): string | undefined => {
    const found = tagIn(line)
    return found !== undefined && names.has(found) ? found : undefined
  }
  return {
    job,
    carried(line) {
      const name = job(line)
      return name === undefined ? undefined : line.slice(name.length)
    },
  }
}

function tagIn(line: string): string | undefined {
  const found = tag.exec(line)?.[0]
  return found === undefined || grave.test(found) || idleLevel.test(found.trim()) ? undefined : found
}

/** Which container, pod, process, job or step a line of an interleaved log is of; empty where it does not say. */
export function jobOf(line: LineRef): string {
  const text = lineToJudge(line)
  return carriersOf(line.section)[0]?.job?.(text) ?? sourceOf(text)
}

const maxColumns = 7

/** What is the same in a column of each line after its time. */
interface Column {
  readonly kind: 'level' | 'same' | 'bracket' | 'name' | 'separator'
  /** True for a word that stands in this column of a line that is carried. */
  readonly fits: (word: string) => boolean
}

/**
 * Words that stand before every line: a level of information, with or without a time before it, and what else is the same. Without
 * a level it takes a time: lines may well begin with the same word because that is what they say.
 */
function columnsOf(lines: readonly string[]): Carrier | undefined {
  let rows = lines.map(rowOf)
  const isTimed = rows.filter(({ timed }) => timed).length >= rows.length * most
  const columns: Column[] = []
  let sure = 0
  for (let at = 0; at < maxColumns; at += 1) {
    const words = rows.map(({ words: own }) => own[at] ?? '')
    const column = columnIn(words.filter((word) => word !== ''))
    if (!column) break
    columns.push(column)
    // A bracket or a name counts only where something surer follows, a message may begin with one.
    if (column.kind === 'level' || column.kind === 'same' || column.kind === 'separator') sure = columns.length
    else if (column.kind === 'name' && columns.some(({ kind }) => kind === 'level')) sure = columns.length
    rows = rows.filter(({ words: own }) => own.length <= at || column.fits(own[at] as string))
  }
  const own = columns.slice(0, sure)
  if (!own.some(({ kind }) => kind === 'level') && !(isTimed && own.length > 0)) return undefined
  if (rows.length < lines.length * most) return undefined
  return { carried: (line) => behind(own, unwrap(line)) }
}

/**
 * What stands behind the columns. A word that most lines have may be part of what they say, so a line is carried as far as its words
 * fit, if that is behind its level.
 */
function behind(columns: readonly Column[], text: string): string | undefined {
  const needed = Math.max(1, columns.findLastIndex(({ kind }) => kind === 'level') + 1)
  let end = 0
  for (const [at, { fits }] of columns.entries()) {
    const start = skipBlanks(text, end)
    const stop = wordEnd(text, start)
    if (start < text.length && !fits(text.slice(start, stop))) {
      if (at < needed) return undefined
      break
    }
    end = stop
  }
  return text.slice(end + (text.charAt(end) === ' ' || text.charAt(end) === '\t' ? 1 : 0))
}

interface Row {
  readonly timed: boolean
  readonly words: readonly string[]
}

function rowOf(line: string): Row {
  const text = unwrap(line)
  return { timed: text.length < line.length, words: text.slice(0, 400).trim().split(/\s+/, maxColumns) }
}

function skipBlanks(text: string, from: number): number {
  let at = from
  while (text.charAt(at) === ' ' || text.charAt(at) === '\t') at += 1
  return at
}

function wordEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charAt(at) !== ' ' && text.charAt(at) !== '\t') at += 1
  return at
}

const idleLevel = /^[[(<]?(?:INFO|NOTICE|DEBUG|TRACE|VERBOSE|info|notice|debug|trace|verbose|Info|I)[\])>]?:?$|^level=(?:info|debug|notice)$|^I\d{4}$/
const grave = /err|fail|fatal|warn|panic|crit|severe|exception|abort|^ok$|^pass|^e\d{4}$|^f\d{4}$/i
const separator = /^(?:-{1,3}|:{1,2}|\||=>|>|[│┃])$/
const bracket = /^[[(<]\S{0,80}[\])>]:?$/
const namedPlace = /^[\w.$/@#()[\]-]{1,120}[:\]]$/
// A number, a time of day, or a name with dots in it.
const loose = /^(?:[\d:.,TZ+-]{1,40}|[A-Za-z_$][\w$]{0,60}(?:[./][\w$]{1,60}){1,12})$/
const plainWord = /^[\w.$/@#()[\]:,=-]{2,80}$/

const shapeOf = (word: string): string => word.replace(/\d+/g, '#')

function columnIn(words: readonly string[]): Column | undefined {
  if (words.length < minLines) return undefined
  const isMost = (test: (word: string) => boolean): boolean => words.filter(test).length >= words.length * most
  const column = (kind: Column['kind'], fits: (word: string) => boolean): Column | undefined => (isMost(fits) ? { kind, fits } : undefined)
  const common = mostCommon(words.map(shapeOf))
  return (
    column('level', (word) => idleLevel.test(word)) ??
    column('separator', (word) => separator.test(word)) ??
    (plainWord.test(common) && /[a-z]/i.test(common) && !grave.test(common) ? column('same', (word) => shapeOf(word) === common) : undefined) ??
    column('bracket', (word) => (bracket.test(word) || loose.test(word)) && !grave.test(word)) ??
    column('name', (word) => namedPlace.test(word) && !grave.test(word))
  )
}

function mostCommon(words: readonly string[]): string {
  const counts = new Map<string, number>()
  let best = ''
  for (const word of words) {
    const count = (counts.get(word) ?? 0) + 1
    counts.set(word, count)
    if (count > (counts.get(best) ?? 0)) best = word
  }
  return best
}
