import { formatCount, oneLine, plural } from '../../core/text.ts'
import { levelInFields } from '../levels.ts'
import type { LineRef } from '../log.ts'
import { shownValue } from '../secret-fields.ts'
import { edges, type Found, refsOf, type Source } from './source.ts'
import { fieldsOf, type MaskValue, valuesOf } from './values.ts'

/** A JSON document: how many entries, which keys with what values, and its first and last entries. */
export function json(source: Source): Found | undefined {
  const [first] = source.probe
  if (!first || !/^\s*[[{]/.test(first.text)) return undefined
  const text = source.whole()
  const value = text === undefined ? undefined : parse(text)
  if (typeof value !== 'object' || value === null) return text === undefined ? unfinished(source) : undefined
  return {
    kind: 'JSON',
    facts: Array.isArray(value) ? factsOfList('', value, source.mask) : factsOfObject(value as Record<string, unknown>, source.mask),
    rows: entries(source),
    all: namesOf(source),
  }
}

/** One JSON value a line. Logs of that form are left to those who read logs. */
export function ndjson(source: Source): Found | undefined {
  // What fails to parse takes its time, so that is asked last and once.
  if (source.probe.length < 3 || !source.probe.every(({ text }) => /^\s*[{[]/.test(text))) return undefined
  const probe: unknown[] = []
  for (const { text } of source.probe) {
    const value = parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    probe.push(value)
  }
  if (probe.some((value) => isLogEntry(value as object)) || source.probe.every(({ text }) => levelInFields(text) !== undefined)) return undefined
  const fields = fieldsOf(source.mask)
  let others = 0
  let count = 0
  for (const { text } of source.lines()) {
    if (text.trim() === '') continue
    count += 1
    const value = parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) fields.add(value as Record<string, unknown>)
    else others += 1
  }
  const facts = [
    `${plural(count, 'line')} of one JSON value each${source.unread > 0 ? `, and ${plural(source.unread, 'more line')} not looked at` : ''}`,
    ...(others > 0 ? [`${plural(others, 'line')} not an object, or longer than is looked at`] : []),
    ...fields.describe(),
  ]
  return { kind: 'NDJSON', facts, rows: edges(refsOf(source.probe.slice(0, 3)), refsOf(source.last(2))) }
}

const isLogEntry = (value: object): boolean =>
  ['level', 'severity', 'lvl', 'levelname'].some((key) => key in value) && ['msg', 'message', 'event', 'error'].some((key) => key in value)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const maxItems = 5_000
const maxKeys = 60

function factsOfList(name: string, list: readonly unknown[], mask: MaskValue): string[] {
  const called = name === '' ? 'a list' : `${name}: a list`
  const fields = fieldsOf(mask)
  const values = valuesOf(mask, 1)
  for (const item of list.slice(0, maxItems)) {
    if (isObject(item)) fields.add(item)
    else values.add(item)
  }
  const some = list.length > maxItems ? `, of which the first ${formatCount(maxItems)} were looked at` : ''
  return [
    `${called} of ${plural(list.length, fields.count > 0 ? 'object' : 'value')}${some}`,
    ...(values.count > 0 ? [`values: ${values.describe()}`] : []),
    ...fields.describe(),
  ]
}

function factsOfObject(object: Readonly<Record<string, unknown>>, mask: MaskValue): string[] {
  const keys = Object.keys(object)
  const lists = keys.filter((key) => Array.isArray(object[key]) && (object[key] as unknown[]).length > 1)
  const facts = [`an object of ${plural(keys.length, 'key')}`]
  for (const key of keys.slice(0, maxKeys)) facts.push(...describeEntry(nameOf(key, mask), shownValue(key, object[key]), mask))
  if (keys.length > maxKeys) facts.push(`and ${plural(keys.length - maxKeys, 'more key')}`)
  // The longest list is what such a document is about.
  const longest = lists.sort((a, b) => (object[b] as unknown[]).length - (object[a] as unknown[]).length)[0]
  if (longest !== undefined) facts.push(...factsOfList(nameOf(longest, mask), object[longest] as unknown[], mask))
  return facts
}

const maxNames = 8
/** From so many values on, an object of objects is a table by name rather than a record. */
const minAlike = 5

function describeEntry(name: string, value: unknown, mask: MaskValue): string[] {
  if (!isObject(value)) return [`${name}: ${describeOne(value, mask)}`]
  const keys = Object.keys(value)
  const names = keys
    .slice(0, maxNames)
    .map((key) => nameOf(key, mask))
    .join(', ')
  const fact = `${name}: ${keys.length > maxNames ? `${plural(keys.length, 'key')}, ${names}, …` : `{${names}}`}`
  const entries = Object.values(value).slice(0, maxItems)
  if (entries.length < minAlike || !entries.every(isObject)) return [fact]
  const fields = fieldsOf(mask)
  for (const entry of entries) fields.add(entry)
  return [fact, `each of ${name}: {${fields.names().join(', ')}}`]
}

function describeOne(value: unknown, mask: MaskValue): string {
  const values = valuesOf(mask, 1)
  values.add(value)
  return values.describe()
}

const nameOf = (key: string, mask: MaskValue): string => oneLine(mask(key))

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A document of which only the beginning can be read is told by it. */
function unfinished(source: Source): Found | undefined {
  const head = source.head(4096)
  if (!/^\s*(?:\{\s*"|\[\s*[[{"\d\-ntf])/.test(head)) return undefined
  return {
    kind: 'JSON',
    facts: ['too long, or too much of it missing, to be read as a whole'],
    rows: edges(refsOf(source.probe.slice(0, 8)), refsOf(source.last(4))),
  }
}

/** Where a document is laid out over lines, the first lines of it and of its last entry. */
function entries(source: Source): LineRef[] {
  if (source.stream.lines < 3) return refsOf(source.probe.slice(0, 1))
  // Its entries are those of the outermost list of objects, which may be the value of a key.
  const indent = indentOf(source.probe.slice(1).find(({ text }) => isOpening(text))?.text ?? '')
  const tail = source.last(200)
  const lastStart = tail.findLastIndex(({ text }) => isOpening(text) && indentOf(text) === indent)
  const last = lastStart >= 0 ? tail.slice(lastStart, lastStart + 6) : tail.slice(-3)
  return [...refsOf(source.probe.slice(0, 8)), ...refsOf(last)]
}

/** What entries are called, by the first of these keys that they have. */
const naming = ['name', 'title', 'path', 'file', 'subject', 'message', 'id']

/** Of a document that is laid out over lines, the line that names each entry of its outermost list. */
function namesOf(source: Source): LineRef[] {
  const opening = source.probe.slice(1).find(({ text }) => isOpening(text))?.text
  if (opening === undefined) return []
  const byKey = new Map<string, LineRef[]>(naming.map((key) => [key, []]))
  let depth: number | undefined
  for (const { text, ref } of source.lines()) {
    const found = /^(\s+)"(\w{1,40})": "/.exec(text)
    if (!found || (found[1] as string).length <= indentOf(opening)) continue
    depth ??= (found[1] as string).length
    if ((found[1] as string).length === depth) byKey.get(found[2] as string)?.push(ref)
  }
  return naming.map((key) => byKey.get(key) ?? []).find((refs) => refs.length > 1) ?? []
}

const isOpening = (text: string): boolean => /^\s*[[{]\s*$/.test(text)
const indentOf = (text: string): number => text.length - text.trimStart().length
