import { isDeepStrictEqual } from 'node:util'
import { failure } from '../../core/errors.ts'
import { type Document, type Format, isObject, openDocument, valueAt } from './document.ts'
import type { Path } from './editing.ts'
import { findHooks, type HooksShape, putHooks, removeHooks } from './hook-entries.ts'
import { isOurSource } from './ours.ts'
import { findServer, putServer, removeServer, type ServerShape } from './server-entry.ts'

/** One file that a host reads, and what of it is ours. */
export type ConfigFile = EntriesFile | SourceFile

/** A file that others write to as well. */
export interface EntriesFile {
  readonly path: string
  readonly format: Format
  readonly server?: ServerShape | undefined
  readonly hooks?: HooksShape | undefined
  /** A setting. */
  readonly member?: { readonly path: Path; readonly value: unknown } | undefined
  /** What a new file begins with. */
  readonly initial?: Readonly<Record<string, unknown>> | undefined
  /** By its name nobody else writes to it: it goes when nothing is left in it. */
  readonly isOwn?: boolean | undefined
}

/** A file with a program, which is ours alone. */
export interface SourceFile {
  readonly path: string
  readonly format: 'source'
  toSource(launcher: readonly string[]): string
}

export interface FoundEntries {
  /** The words that start the server, and whether the person turned it off. */
  readonly server?: { readonly words: readonly string[]; readonly isOff: boolean; readonly env: Readonly<Record<string, string>> } | undefined
  readonly hooks: readonly { readonly event: string; readonly command: string }[]
  /** A program of ours. */
  readonly source?: string | undefined
}

/**
 * The text of the file with everything of ours in it; undefined where there is no file and none is needed. `launcher` are the words that
 * start Holdfast.
 */
export function installedText(file: ConfigFile, text: string | undefined, launcher: readonly string[]): string | undefined {
  if (file.format === 'source') {
    if (text !== undefined && text.trim() !== '' && !isOurSource(text)) throw failure('host_config_foreign', { path: file.path, entry: 'the whole file' })
    return file.toSource(launcher)
  }
  const { server, hooks, member } = file
  // What is only taken away from makes no file.
  if (text === undefined && !member && [server, hooks].every((part) => !part || part.elsewhere)) return undefined
  const document = openDocument(file.path, file.format, text ?? '')
  if (Object.keys(document.value as object).length === 0) for (const [key, value] of Object.entries(file.initial ?? {})) document.set([key], value)
  const containers = containersOf(file, document)
  const touched = removed(document, { server: server?.elsewhere ? server : undefined, hooks: hooks?.elsewhere ? hooks : undefined })
  if (server && !server.elsewhere) putServer(document, server, launcher, file.path)
  if (hooks && !hooks.elsewhere) touched.push(...putHooks(document, hooks, launcher).map((event) => [...hooks.path, event]))
  if (member && !isDeepStrictEqual(valueAt(document.value, member.path), member.value)) document.set(member.path, member.value)
  prune(document, containers, touched, undefined)
  return document.text
}

/**
 * The text without anything of ours; undefined where nothing of the file is left. `made` are the objects and lists that were made for us;
 * undefined where that is not known.
 */
export function removedText(file: ConfigFile, text: string, made: readonly Path[] | undefined): string | undefined {
  if (file.format === 'source') return isOurSource(text) ? undefined : text
  const document = openDocument(file.path, file.format, text)
  const containers = containersOf(file, document)
  prune(document, containers, removed(document, file), made)
  return file.isOwn && /^\s*\{\s*\}\s*$/.test(document.text) ? undefined : document.text
}

/** The objects and lists of the text that hold something of ours, outer ones first. */
export function containersIn(file: ConfigFile, text: string | undefined): Path[] {
  if (file.format === 'source' || text === undefined) return []
  const document = openDocument(file.path, file.format, text)
  return containersOf(file, document).filter((path) => valueAt(document.value, path) !== undefined)
}

/** What of ours is in the text. */
export function foundEntries(file: ConfigFile, text: string | undefined): FoundEntries {
  if (text === undefined) return { hooks: [] }
  if (file.format === 'source') return { hooks: [], ...(isOurSource(text) ? { source: text } : {}) }
  const document = openDocument(file.path, file.format, text)
  const server = file.server && findServer(document, file.server)
  const hooks = file.hooks ? findHooks(document, file.hooks).map(({ event, command }) => ({ event, command })) : []
  return server ? { server: { words: server.words, isOff: isOff(server.entry), env: envOf(server.entry) }, hooks } : { hooks }
}

const isOff = ({ enabled, disabled }: Readonly<Record<string, unknown>>): boolean => enabled === false || disabled === true

function envOf({ env, environment }: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries((env ?? environment ?? {}) as object).filter(([, value]) => typeof value === 'string'))
}

/** Takes away what is ours, and gives the paths of what it stood in. */
function removed(document: Document, { server, hooks, member }: Pick<EntriesFile, 'server' | 'hooks' | 'member'>): Path[] {
  const touched: Path[] = []
  if (member && isDeepStrictEqual(valueAt(document.value, member.path), member.value)) {
    document.remove(member.path)
    touched.push(member.path.slice(0, -1))
  }
  if (server && removeServer(document, server)) touched.push(server.path.slice(0, -1))
  if (hooks) touched.push(...removeHooks(document, hooks).map((event) => [...hooks.path, event]))
  return touched
}

function containersOf({ server, hooks, member }: EntriesFile, document: Document): Path[] {
  const found = hooks && valueAt(document.value, hooks.path)
  const events = isObject(found) ? Object.keys(found) : []
  const paths = [
    ...(member ? [member.path.slice(0, -1)] : []),
    ...(server ? [server.path.slice(0, -1)] : []),
    ...(hooks ? [hooks.path, ...events.map((event) => [...hooks.path, event])] : []),
  ]
  return paths.filter((path) => path.length > 0)
}

/** Takes away what is empty now, inner ones first: of what was touched, and was made for us where that is known. */
function prune(document: Document, containers: readonly Path[], touched: readonly Path[], made: readonly Path[] | undefined): void {
  const isAbove = (path: Path, below: Path): boolean => path.every((key, depth) => below[depth] === key)
  for (const path of containers.toSorted((one, other) => other.length - one.length)) {
    const isMade = made === undefined || made.some((each) => each.length === path.length && isAbove(each, path))
    if (isMade && touched.some((each) => isAbove(path, each))) document.removeEmpty(path)
  }
}
