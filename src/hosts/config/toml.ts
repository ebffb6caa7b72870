import { parse as parseToml, patch } from '@decimalturn/toml-patch'
import { endOfLine, Fault, type Path } from './editing.ts'
import { readSections, type Section, type Statement } from './toml-sections.ts'

/*
 * TOML, changed by cutting text in and out. What is put in comes as tables of its own behind everything else, which is where it
 * disturbs nothing. Where the file has the place as an inline table or list, a library changes that.
 */

export function parse(text: string): unknown {
  try {
    return text.trim() === '' ? {} : parseToml(text)
  } catch (error) {
    const { message, line, column } = error as { message: string; line?: number; column?: number }
    const lines = text.split('\n')
    const offset = lines.slice(0, (line ?? 1) - 1).reduce((sum, each) => sum + each.length + 1, column ?? 0)
    const said = message
      .split('\n')
      .at(-1)
      ?.replace(/ \d+ \d+$/, '')
    throw new Fault(said || 'it is no TOML', Math.min(offset, text.length))
  }
}

export function set(text: string, path: Path, value: unknown): string {
  requireTables(text, path)
  const statement = findStatement(text, path)
  if (statement) return text.slice(0, statement.valueStart) + toValue(value) + text.slice(statement.valueEnd)
  const sections = readSections(text)
  const table = sections.find((section) => isSame(section.path, path.slice(0, -1)))
  if (!isTable(value) && table) {
    const eol = endOfLine(text)
    const line = `${toKey(path.at(-1) as string)} = ${toValue(value)}`
    return table.contentEnd > 0 && text[table.contentEnd - 1] !== '\n'
      ? `${text.slice(0, table.contentEnd)}${eol}${line}${text.slice(table.contentEnd)}`
      : `${text.slice(0, table.contentEnd)}${line}${eol}${text.slice(table.contentEnd)}`
  }
  if (isTable(value) && isFree(sections, path)) return put(text, [`[${path.map((key) => toKey(String(key))).join('.')}]`, ...toLines(value)])
  return patched(text, (root) => assign(root, path, value))
}

export function append(text: string, path: Path, value: unknown): string {
  requireTables(text, path)
  const sections = readSections(text)
  if (!isTable(value) || !isFree(sections, path, true)) return patched(text, (root) => assign(root, path, [...listAt(root, path), value]))
  return put(text, blocks(path as readonly string[], value))
}

export function remove(text: string, path: Path): string {
  const sections = readSections(text)
  const inside = sections.filter((section) => isBelow(section.path, path))
  const statement = inside.length === 0 ? findStatement(text, path) : undefined
  if (statement?.path.length === path.length) return text.slice(0, statement.start) + text.slice(statement.end)
  if (inside.length === 0) return patched(text, (root) => drop(root, path))
  const left = inside.reduceRight((rest, { start, contentEnd }) => rest.slice(0, blankBefore(rest, start)) + rest.slice(contentEnd), text)
  return text.endsWith('\n') ? left : left.replace(/\r?\n$/, '')
}

// A table goes with what is in it.
export const isBare = (): boolean => false

/** An array of tables as blocks: `[[hooks.Stop]]`, and `[[hooks.Stop.hooks]]` for what is a list of tables in it. */
function blocks(path: readonly string[], value: Table): string[] {
  const lists = Object.entries(value).filter((entry): entry is [string, Table[]] => Array.isArray(entry[1]) && entry[1].length > 0 && entry[1].every(isTable))
  const own = Object.fromEntries(Object.entries(value).filter(([key]) => !lists.some(([list]) => list === key)))
  return [`[[${path.map(toKey).join('.')}]]`, ...toLines(own), ...lists.flatMap(([key, tables]) => tables.flatMap((each) => blocks([...path, key], each)))]
}

/** Adds a block of lines behind everything, apart by an empty line. A text without a last line end keeps that. */
function put(text: string, lines: readonly string[]): string {
  const eol = endOfLine(text)
  if (text.trim() === '') return `${text}${lines.join(eol)}${eol}`
  return text.endsWith('\n') ? `${text}${eol}${lines.join(eol)}${eol}` : `${text}${eol}${eol}${lines.join(eol)}`
}

/** Throws where something else stands in the way to a place. */
function requireTables(text: string, path: Path): void {
  let at = parse(text)
  for (const [depth, key] of path.slice(0, -1).entries()) {
    at = (at as Record<string, unknown>)[key as string]
    if (at === undefined) return
    if (typeof at !== 'object' || at === null || at instanceof Date)
      throw new Fault(`${path.slice(0, depth + 1).join('.')} is no table`, findStatement(text, path.slice(0, depth + 1))?.start ?? 0)
  }
}

/** Whether a table may be put behind everything: what it is below is there as tables, or not at all. */
function isFree(sections: readonly Section[], path: Path, isList = false): boolean {
  const statements = sections.flatMap((section) => section.statements)
  // A statement at the path, above or below it makes the place an inline table, or a table of dotted keys.
  const isTaken = statements.some(
    ({ path: at }) => (isBelow(path, at) || isBelow(at, path)) && !sections.some((section) => section.isList && isBelow(at, section.path)),
  )
  return !isTaken && !sections.some((section) => isSame(section.path, path) && !isList)
}

function findStatement(text: string, path: Path): Statement | undefined {
  return readSections(text)
    .flatMap(({ statements }) => statements)
    .find((statement) => isSame(statement.path, path))
}

const isBelow = (path: Path, above: Path): boolean => above.every((key, depth) => path[depth] === key)
const isSame = (one: Path, other: Path): boolean => one.length === other.length && isBelow(one, other)

/** Where an empty line before an offset begins; the offset where there is none. */
function blankBefore(text: string, offset: number): number {
  const found = /(?:^|\n)(\r?\n)$/.exec(text.slice(Math.max(0, offset - 3), offset))?.[1]
  return found === undefined ? offset : offset - found.length
}

type Table = Readonly<Record<string, unknown>>
const isTable = (value: unknown): value is Table => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

const toKey = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))
const toLines = (table: Table): string[] => Object.entries(table).map(([key, value]) => `${toKey(key)} = ${toValue(value)}`)

// Every string of JSON is one of TOML but for DEL, which no command has.
function toValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toValue).join(', ')}]`
  if (isTable(value)) return `{ ${toLines(value).join(', ')} }`
  return JSON.stringify(value)
}

function patched(text: string, change: (root: Record<string, unknown>) => void): string {
  const root = parse(text) as Record<string, unknown>
  change(root)
  const after = patch(text, root)
  // What loses a comment is no change: the caller finds that nothing was done.
  return text.split('\n').every((line) => !line.includes('#') || after.includes(line.slice(line.indexOf('#')).trimEnd())) ? after : text
}

function listAt(root: unknown, path: Path): readonly unknown[] {
  const found = path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key as string], root)
  return Array.isArray(found) ? found : []
}

function assign(root: Record<string, unknown>, path: Path, value: unknown): void {
  let at = root
  for (const key of path.slice(0, -1)) {
    at[key] ??= {}
    at = at[key] as Record<string, unknown>
  }
  at[path.at(-1) as string] = value
}

function drop(root: Record<string, unknown>, path: Path): void {
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key as string], root)
  const last = path.at(-1) as string
  if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else if (isTable(parent)) delete (parent as Record<string, unknown>)[last]
}
