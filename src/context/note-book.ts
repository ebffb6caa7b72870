import { failure } from '../core/errors.ts'
import { type Note, type Retired, saidBy } from '../core/note.ts'
import { changedNote, isInPlace, type NoteChange, usefulness } from './notes.ts'

/*
 * What becomes of the notes of a shelf, retired ones included, when one is added, changed or read from a file. Pure: what is to be
 * written comes back, new notes first, so that whoever stops in between has lost none.
 */

export interface BookRules {
  /** So many notes of one place are in use at most. */
  readonly cap: number
  readonly now: Date
}

export interface BookChange {
  readonly write: readonly Note[]
  /** Notes that were retired, as they are now. */
  readonly retires: readonly Note[]
}

export interface SavedChange extends BookChange {
  readonly note: Note
  readonly saved: 'added' | 'confirmed' | 'restored' | 'updated'
}

/**
 * Adds a note. One that says the same in the same place is confirmed instead: it counts for more, gets the tags, and is brought back
 * where it was retired. What the note supersedes is retired, and, past the cap, the least useful of the others.
 */
export function addToBook(notes: readonly Note[], note: Note, rules: BookRules, given: NoteChange = {}): SavedChange {
  const same = theSame(notes, note)
  if (!same) return { ...settle(notes, note, note.supersedes, rules), saved: 'added' }
  const confirmed: Note = {
    ...same,
    confidence: confirmedConfidence(same.confidence, given.confidence),
    tags: [...new Set([...same.tags, ...note.tags])],
    supersedes: [...new Set([...same.supersedes, ...note.supersedes])].filter((id) => id !== same.id),
    retired: null,
    updatedAt: rules.now.toISOString(),
    uses: same.uses + 1,
    usedAt: rules.now.toISOString(),
  }
  const superseded = note.supersedes.filter((id) => id !== same.id)
  return { ...settle(notes, confirmed, superseded, rules), saved: same.retired ? 'restored' : 'confirmed' }
}

/** A quarter of the way to certainty; a higher word of the caller counts. */
const confirmedConfidence = (before: number, given = 0): number => Math.max(given, Math.round((before + (1 - before) / 4) * 1_000) / 1_000)

/** Changes a note of the book; undefined where it has none with this id. Throws `note_exists` where another says the same then. */
export function changeInBook(
  notes: readonly Note[],
  id: string,
  change: NoteChange & { readonly restore?: boolean | undefined },
  rules: BookRules,
): SavedChange | undefined {
  const before = notes.find((note) => note.id === id)
  if (!before) return undefined
  const { restore, ...input } = change
  const changes = Object.values(input).some((value) => value !== undefined)
  const after = { ...(changes ? changedNote(before, input, rules.now) : before), ...(restore ? { retired: null } : {}) }
  const other = input.text === undefined ? undefined : theSame(notes, after)
  if (other) throw failure('note_exists', { note: other.id, retired: other.retired !== null })
  return { ...settle(notes, after, input.supersedes ?? [], rules), saved: restore && before.retired ? 'restored' : 'updated' }
}

/** Another note of the same place that says the same; one in use before a retired one. */
function theSame(notes: readonly Note[], note: Note): Note | undefined {
  const key = saidBy(note.text)
  const same = notes.filter((other) => other.id !== note.id && isInPlace(other, note) && saidBy(other.text) === key)
  return same.find(({ retired }) => retired === null) ?? same[0]
}

/** Writes the note, retires what it supersedes, and what is too much then. */
function settle(notes: readonly Note[], note: Note, supersedes: readonly string[], rules: BookRules): Omit<SavedChange, 'saved'> {
  const at = rules.now.toISOString()
  const superseded = supersedes.flatMap((id) => {
    const other = notes.find((each) => each.id === id)
    if (!other) throw failure('note_not_found', { note: id })
    if (id === note.id) throw failure('invalid', { field: 'supersedes', value: id, accepted: 'ids of other notes' })
    if (!isInPlace(other, note)) throw failure('invalid', { field: 'supersedes', value: id, accepted: `ids of notes of the scope ${note.scope}` })
    return other.retired ? [] : [retire(other, { at, why: 'superseded', by: note.id })]
  })
  const gone = new Set(superseded.map(({ id }) => id))
  const others = notes.filter(({ id, retired }) => id !== note.id && !gone.has(id) && retired === null)
  const tooMany = note.retired
    ? []
    : beyondCap(
        others.filter((other) => isInPlace(other, note)),
        rules.cap - 1,
        rules.now,
      )
  const retires = [...superseded, ...tooMany]
  return { note, write: [note, ...retires], retires }
}

const retire = (note: Note, retired: Retired): Note => ({ ...note, retired })

/** The least useful of more notes than `room`, retired. */
function beyondCap(notes: readonly Note[], room: number, now: Date): Note[] {
  if (notes.length <= room) return []
  const leastFirst = [...notes].sort((a, b) => usefulness(a, now.getTime()) - usefulness(b, now.getTime()))
  return leastFirst.slice(0, notes.length - Math.max(0, room)).map((note) => retire(note, { at: now.toISOString(), why: 'least-useful', by: null }))
}

export interface ImportChange extends BookChange {
  readonly added: readonly Note[]
  /** Ids of notes that say the same already. */
  readonly known: readonly string[]
}

/**
 * Adds the notes of a file, which are all of one place. What is there already, in use or retired, stays as it is, so that reading a file
 * twice changes nothing. A note keeps its id where that is free.
 */
export function importIntoBook(notes: readonly Note[], incoming: readonly Note[], rules: BookRules, newId: () => string): ImportChange {
  const byKey = new Map<string, Note>()
  const ids = new Set(notes.map(({ id }) => id))
  const added: Note[] = []
  const known: string[] = []
  for (const note of incoming) {
    if (byKey.size === 0) for (const old of notes) if (isInPlace(old, note)) byKey.set(saidBy(old.text), old)
    const key = saidBy(note.text)
    const same = byKey.get(key)
    if (same) {
      if (!added.includes(same)) known.push(same.id)
      continue
    }
    const taken = ids.has(note.id) ? { ...note, id: newId() } : note
    ids.add(taken.id)
    byKey.set(key, taken)
    added.push(taken)
  }
  const first = incoming[0]
  const inUse = first ? [...notes.filter((note) => isInPlace(note, first)), ...added].filter(({ retired }) => retired === null) : []
  const retires = beyondCap(inUse, rules.cap, rules.now)
  const last = new Map(retires.map((note) => [note.id, note]))
  const written = added.map((note) => last.get(note.id) ?? note)
  return { added: written, known, retires, write: [...written, ...retires.filter(({ id }) => !added.some((note) => note.id === id))] }
}

/** The notes of a workspace that is gone go into the project's retired ones. */
export function releaseInBook(notes: readonly Note[], workspace: string, now: Date): BookChange {
  const left = notes.filter((note) => note.workspace === workspace && note.retired === null)
  const retires = left.map((note) => retire(note, { at: now.toISOString(), why: 'released', by: null }))
  return { write: retires, retires }
}
