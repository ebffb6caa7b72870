import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isNoteId, isTag } from '../context/notes.ts'
import { type Note, noteCategories, noteScopes, type Retired, retiredReasons } from '../core/note.ts'
import { readPlainText } from '../git/plain-file.ts'
import { makeFolder } from './home.ts'

/*
 * Notes as files, one each, in a folder that belongs to a home or to the person. Beside the folder, in a file of its own, stands how
 * often each was used: that changes with every look, and is no part of what a note says.
 */

export function writeNote(folder: string, { uses: _uses, usedAt: _usedAt, ...note }: Note): void {
  makeFolder(folder)
  replace(join(folder, `.${note.id}.${process.pid}`), join(folder, `${note.id}.json`), note)
}

export function removeNote(folder: string, id: string): void {
  rmSync(join(folder, `${id}.json`), { force: true })
}

function replace(draft: string, path: string, value: unknown): void {
  writeFileSync(draft, `${JSON.stringify(value)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

/** Young enough that another change may fall into the same tick of the file system's clock. */
const tickMs = 100

/** Names the state that the files of a folder are in; undefined where it may change without its name. Taken before the files are read. */
export function stampOf(folder: string): string | undefined {
  const found = statSync(folder, { throwIfNoEntry: false, bigint: true })
  if (!found) return 'none'
  return Date.now() - Number(found.mtimeMs) < tickMs ? undefined : `${found.ino}-${found.mtimeNs}`
}

/** All that can be read, with their uses. */
export function readNotes(folder: string): Note[] {
  const uses = readUses(folder)
  return noteIdsIn(folder).flatMap((id) => {
    const note = readNote(join(folder, `${id}.json`))
    return note ? [withUses(note, uses)] : []
  })
}

function noteIdsIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => (name.endsWith('.json') && isNoteId(name.slice(0, -5)) ? [name.slice(0, -5)] : []))
  } catch {
    return []
  }
}

const textOr = <T>(value: unknown, other: T): string | T => (typeof value === 'string' ? value : other)
const strings = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
const oneOf = <T extends string>(known: readonly T[], value: unknown): T | undefined => known.find((each) => each === value)

/** A note of any version, however little of it is there: what is missing or strange gets what a note without it has. */
function readNote(path: string): Note | undefined {
  try {
    const note = JSON.parse(readPlainText(path)) as Partial<Record<keyof Note, unknown>>
    if (typeof note.id !== 'string' || typeof note.text !== 'string' || typeof note.createdAt !== 'string') return undefined
    const workspace = textOr(note.workspace, null)
    const scope = oneOf(noteScopes, note.scope) ?? 'project'
    return {
      id: note.id,
      scope: scope === 'workspace' && workspace === null ? 'project' : scope,
      workspace,
      category: oneOf(noteCategories, note.category) ?? 'convention',
      text: note.text,
      tags: strings(note.tags).filter(isTag),
      confidence: typeof note.confidence === 'number' ? note.confidence : 0.5,
      createdAt: note.createdAt,
      updatedAt: textOr(note.updatedAt, null),
      supersedes: strings(note.supersedes).filter(isNoteId),
      retired: toRetired(note.retired),
      uses: 0,
      usedAt: null,
    }
  } catch {
    return undefined
  }
}

function toRetired(value: unknown): Retired | null {
  if (typeof value !== 'object' || value === null) return null
  const { at, why, by } = value as Partial<Record<keyof Retired, unknown>>
  return { at: textOr(at, ''), why: oneOf(retiredReasons, why) ?? 'superseded', by: textOr(by, null) }
}

/** By id: how often, and when last. */
export type Uses = Readonly<Record<string, readonly [uses: number, usedAt: string]>>

const usesPath = (folder: string): string => `${folder}.uses`

export function readUses(folder: string): Uses {
  try {
    const found: unknown = JSON.parse(readPlainText(usesPath(folder)))
    return typeof found === 'object' && found !== null ? (found as Uses) : {}
  } catch {
    return {}
  }
}

/** Those of notes that are gone are left out. */
export function writeUses(folder: string, uses: Uses): void {
  const kept = noteIdsIn(folder).flatMap((id) => (Object.hasOwn(uses, id) ? [[id, uses[id]] as const] : []))
  replace(`${usesPath(folder)}.${process.pid}`, usesPath(folder), Object.fromEntries(kept))
}

export function withUses(note: Note, uses: Uses): Note {
  const found: unknown = Object.hasOwn(uses, note.id) ? uses[note.id] : undefined
  const [count, at] = Array.isArray(found) ? (found as unknown[]) : []
  return typeof count === 'number' && count >= 0 && typeof at === 'string' ? { ...note, uses: count, usedAt: at } : note
}
