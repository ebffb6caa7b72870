import { isDeepStrictEqual } from 'node:util'
import { failure } from '../../core/errors.ts'
import { type Editing, Fault, type Path } from './editing.ts'
import * as jsonc from './jsonc.ts'
import * as toml from './toml.ts'

export type Format = 'jsonc' | 'toml'

const editings: Readonly<Record<Format, Editing>> = { jsonc, toml }

/** A configuration file that is being changed. Every change is checked: it parses, and means what it did before but for what was asked. */
export interface Document {
  readonly text: string
  readonly value: unknown
  set(path: Path, value: unknown): void
  append(path: Path, value: unknown): void
  remove(path: Path): void
  /** Takes an object or a list away that has nothing in it, not even a comment; leaves any other. */
  removeEmpty(path: Path): void
}

/** Opens text as a document. Throws `host_config_broken` with the place where it cannot be read, or where it can only be changed by a person. */
export function openDocument(path: string, format: Format, original: string): Document {
  // A byte order mark is no part of either language.
  const mark = original.startsWith('\ufeff') ? '\ufeff' : ''
  const editing = editings[format]
  let text = original.slice(mark.length)
  let value = parsed(path, editing, text)

  function change(edit: () => string, ...expected: unknown[]): void {
    const edited = tried(path, text, edit)
    const found = parsed(path, editing, edited)
    if (!expected.some((each) => isDeepStrictEqual(found, each))) throw failure('host_config_unusual', { path })
    text = edited
    value = found
  }

  return {
    get text() {
      return mark + text
    },
    get value() {
      return value
    },
    set: (at, member) => change(() => editing.set(text, at, member), withMember(value, at, member)),
    append(at, element) {
      const list = valueAt(value, at)
      const place = [...at, Array.isArray(list) ? list.length : 0]
      change(() => editing.append(text, at, element), withMember(value, place, element))
    },
    remove: (at) => change(() => editing.remove(text, at), ...withoutMember(value, at)),
    removeEmpty(at) {
      if (editing.isBare(text, at)) change(() => editing.remove(text, at), ...withoutMember(value, at))
    },
  }
}

const parsed = (path: string, { parse }: Editing, text: string): unknown => tried(path, text, () => plain(parse(text)))

// Parsers make objects without a prototype, which count as different from others.
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)])) : value
}

function tried<T>(path: string, text: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const before = text.slice(0, error.offset).split('\n')
    throw failure('host_config_broken', { path, line: before.length, column: (before.at(-1) ?? '').length + 1, problem: error.problem }, error)
  }
}

/** What stands at a path; undefined where nothing does. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (isObject(at) || Array.isArray(at) ? (Object.hasOwn(at, key) ? at[key as keyof typeof at] : undefined) : undefined),
    value,
  )
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

function withMember(value: unknown, [key, ...rest]: Path, member: unknown): unknown {
  if (key === undefined) return member
  if (typeof key === 'number') {
    const list = Array.isArray(value) ? [...value] : []
    list[key] = withMember(list[key], rest, member)
    return list
  }
  const object = isObject(value) ? value : {}
  return { ...object, [key]: withMember(Object.hasOwn(object, key) ? object[key] : undefined, rest, member) }
}

/** A value without a member; then also without what is empty because of it, since TOML has no word for that. */
function withoutMember(value: unknown, path: Path): unknown[] {
  const left = without(value, path)
  const parent = path.slice(0, -1)
  const rest = valueAt(left, parent)
  const isEmpty = parent.length > 0 && typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0
  return isEmpty ? [left, ...withoutMember(left, parent)] : [left]
}

function without(value: unknown, [key, ...rest]: Path): unknown {
  if (rest.length > 0 && key !== undefined) return withMember(value, [key], without(valueAt(value, [key]), rest))
  if (Array.isArray(value)) return value.filter((_, place) => place !== key)
  return Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== key))
}
