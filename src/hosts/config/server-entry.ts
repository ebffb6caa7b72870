import { isDeepStrictEqual } from 'node:util'
import { failure } from '../../core/errors.ts'
import { type Document, isObject, valueAt } from './document.ts'
import type { Path } from './editing.ts'
import { serverOptions } from './ours.ts'

/** How a host writes down a server that it starts. */
export interface ServerShape {
  readonly path: Path
  /** The fields that say what is started. */
  toFields(words: readonly string[]): Readonly<Record<string, unknown>>
  toWords(entry: Readonly<Record<string, unknown>>): readonly string[] | undefined
  /** What a new entry has besides; a person may have changed it since. */
  readonly defaults?: Readonly<Record<string, unknown>> | undefined
  /** It belongs into another file: in this one it is removed. */
  readonly elsewhere?: boolean | undefined
}

/** The form that most hosts share: `command` and `args`. */
export function commandAndArgs(path: Path, fixed: Readonly<Record<string, unknown>> = {}, defaults?: ServerShape['defaults']): ServerShape {
  return {
    path,
    toFields: ([command, ...args]) => ({ ...fixed, command, args }),
    toWords: ({ command, args }) => (typeof command === 'string' && (args === undefined || isWords(args)) ? [command, ...(args ?? [])] : undefined),
    defaults,
  }
}

export const isWords = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((word) => typeof word === 'string')

export interface FoundServer {
  readonly words: readonly string[]
  readonly entry: Readonly<Record<string, unknown>>
}

/** Our entry, in whatever version; undefined where there is none, or one of the same name that starts something else. */
export function findServer(document: Document, shape: ServerShape): FoundServer | undefined {
  const entry = valueAt(document.value, shape.path)
  const words = isObject(entry) ? shape.toWords(entry) : undefined
  return isObject(entry) && words && serverOptions(words) ? { words, entry } : undefined
}

/** Writes the entry, or brings an older one of ours up to date: what a person added to it stays. Throws `host_config_foreign` where the name is taken. */
export function putServer(document: Document, shape: ServerShape, launcher: readonly string[], file: string): void {
  const found = findServer(document, shape)
  if (!found && valueAt(document.value, shape.path) !== undefined) throw failure('host_config_foreign', { path: file, entry: shape.path.join('.') })
  const words = [...launcher, 'mcp', ...((found && serverOptions(found.words)) ?? [])]
  if (!found) {
    document.set(shape.path, { ...shape.toFields(words), ...shape.defaults })
    return
  }
  for (const [key, value] of Object.entries(shape.toFields(words))) {
    if (!isDeepStrictEqual(found.entry[key], value)) document.set([...shape.path, key], value)
  }
}

/** Takes our entry away; false where there is none. */
export function removeServer(document: Document, shape: ServerShape): boolean {
  const isThere = findServer(document, shape) !== undefined
  if (isThere) document.remove(shape.path)
  return isThere
}
