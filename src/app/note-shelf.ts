import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { failure, hasReason, messageOf } from '../core/errors.ts'
import { type Note, type NoteFilter, newestFirst, passesNote } from '../core/note.ts'
import type { Store } from '../core/store.ts'
import type { LockFile, Unlock } from '../core/workspace.ts'
import { makeFolder } from './home.ts'
import { readNotes, readUses, removeNote, stampOf, withUses, writeNote, writeUses } from './note-files.ts'

/** What is to become of the notes of a shelf. */
export interface NotePlan {
  /** Written with their uses, in this order, so that whoever is killed in between has lost none. */
  readonly write: readonly Note[]
  readonly remove?: readonly string[]
}

/** The notes of one folder, for any number of processes at once. */
export interface NoteShelf {
  list(filter?: NoteFilter): Promise<readonly Note[]>
  /** Hands over all notes, the retired ones too, and does what `plan` makes of them, while no other process changes any. */
  change<Plan extends NotePlan>(plan: (notes: readonly Note[]) => Plan): Promise<Plan>
  /** Counts a use of each. Where that cannot be done at once it is not done: no answer waits for it, or fails. */
  use(ids: readonly string[]): Promise<void>
}

export interface NoteShelfOptions {
  readonly folder: string
  openLock(): Promise<LockFile>
  now(): Date
  /** An index over the files; absent: they are read each time. */
  readonly index?: { read<T>(action: (store: Store) => Promise<T>): Promise<T> } | undefined
}

const changeMs = 10_000
const useMs = 100

export function openNoteShelf({ folder, openLock, now, index }: NoteShelfOptions): NoteShelf {
  async function locked<T>(timeoutMs: number, body: () => T): Promise<T> {
    const unlock = await lock(timeoutMs)
    try {
      return body()
    } finally {
      unlock()
    }
  }

  async function lock(timeoutMs: number): Promise<Unlock> {
    try {
      makeFolder(dirname(folder))
      return await (await openLock())(`${folder}.lock`, { what: `the notes in ${folder}`, timeoutMs })
    } catch (error) {
      // Without what makes locks, each note is still a file of its own: what may be lost is a count of uses, or that two say the same.
      if (hasReason(error, 'store_unusable')) return () => {}
      throw hasReason(error, 'lock_timeout') ? error : unusable(error)
    }
  }

  const unusable = (error: unknown) => failure('home_unusable', { path: folder, why: messageOf(error) }, error)

  function count(ids: readonly string[]): void {
    const uses = readUses(folder)
    const at = now().toISOString()
    writeUses(folder, { ...uses, ...Object.fromEntries(ids.map((id) => [id, [(uses[id]?.[0] ?? 0) + 1, at] as const])) })
  }

  function carryOut({ write, remove = [] }: NotePlan, before: readonly Note[]): void {
    try {
      for (const note of write) writeNote(folder, note)
      for (const id of remove) removeNote(folder, id)
      const known = new Map(before.map(({ id, uses }) => [id, uses]))
      const used = write.flatMap(({ id, uses, usedAt }) => (usedAt !== null && uses !== (known.get(id) ?? 0) ? [[id, [uses, usedAt] as const] as const] : []))
      if (used.length > 0) writeUses(folder, { ...readUses(folder), ...Object.fromEntries(used) })
    } catch (error) {
      throw unusable(error)
    }
  }

  /** The index is made anew whenever the files have changed since; the files alone are the truth. */
  async function fromIndex(store: Store, filter: NoteFilter): Promise<readonly Note[]> {
    const stamp = stampOf(folder)
    if (stamp !== undefined && (await store.notesStamp()) === stamp) return store.listNotes(filter)
    const notes = readNotes(folder)
    // A store that takes nothing is not needed for this answer.
    if (stamp !== undefined) await store.setNotes(notes, stamp).catch(() => {})
    return notes.filter((note) => passesNote(note, filter))
  }

  return {
    async list(filter = {}) {
      if (!existsSync(folder)) return []
      const found = index ? await index.read((store) => fromIndex(store, filter)) : readNotes(folder).filter((note) => passesNote(note, filter))
      const uses = readUses(folder)
      return found.map((note) => withUses(note, uses)).sort(newestFirst)
    },
    change: (plan) =>
      locked(changeMs, () => {
        const before = readNotes(folder)
        const made = plan(before)
        carryOut(made, before)
        return made
      }),
    async use(ids) {
      if (ids.length === 0 || !existsSync(folder)) return
      await locked(useMs, () => count(ids)).catch(() => {})
    },
  }
}
