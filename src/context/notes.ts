import { failure } from '../core/errors.ts'
import { type Note, type NoteCategory, type NoteScope, newestFirst, noteCategories, saidBy } from '../core/note.ts'
import { byteLength, formatCount, oneLine } from '../core/text.ts'

/** What a caller says of a note; texts and tags must have been masked. */
export interface NoteInput {
  readonly text: string
  readonly category?: NoteCategory | undefined
  /** 0 to 1. */
  readonly confidence?: number | undefined
  readonly tags?: readonly string[] | undefined
  /** Ids of the notes whose place it takes. */
  readonly supersedes?: readonly string[] | undefined
}

/** What is to be said of it from now on; the rest stays. */
export type NoteChange = { readonly [Key in keyof NoteInput]?: NoteInput[Key] | undefined }

/** Where a note belongs. */
export interface NotePlace {
  readonly scope: NoteScope
  readonly workspace: string | null
}

export const isInPlace = (note: NotePlace, place: NotePlace): boolean => note.scope === place.scope && note.workspace === place.workspace

export const maxNoteBytes = 2_000
export const maxTags = 10
export const defaultNoteCategory: NoteCategory = 'convention'
export const defaultNoteConfidence = 0.8

const tagAccepted = `at most ${maxTags} tags of 1 to 40 letters, digits and . _ / -, beginning with a letter or a digit`
const idsAccepted = 'ids of notes'

export const isTag = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._/-]{0,39}$/u.test(text)
export const isNoteId = (text: string): boolean => /^[0-9a-z]{1,64}$/.test(text)

/**
 * Makes a note: its text becomes one line of 1 to 2,000 bytes without control characters. Throws `invalid_argument` with
 * the field and what is accepted.
 */
export function makeNote(input: NoteInput, made: { readonly now: Date; readonly id: string; readonly place?: NotePlace }): Note {
  return {
    id: made.id,
    ...(made.place ?? { scope: 'project', workspace: null }),
    category: checkCategory(input.category ?? defaultNoteCategory),
    text: checkText(input.text),
    tags: checkTags(input.tags ?? []),
    confidence: checkConfidence(input.confidence ?? defaultNoteConfidence),
    createdAt: made.now.toISOString(),
    updatedAt: null,
    supersedes: checkIds(input.supersedes ?? []),
    retired: null,
    uses: 0,
    usedAt: null,
  }
}

/** The note with what is given in place of what it had; checked in the same way. */
export function changedNote(note: Note, input: NoteChange, now: Date): Note {
  return {
    ...note,
    ...(input.text === undefined ? {} : { text: checkText(input.text) }),
    ...(input.category === undefined ? {} : { category: checkCategory(input.category) }),
    ...(input.confidence === undefined ? {} : { confidence: checkConfidence(input.confidence) }),
    ...(input.tags === undefined ? {} : { tags: checkTags(input.tags) }),
    ...(input.supersedes === undefined ? {} : { supersedes: checkIds(input.supersedes) }),
    updatedAt: now.toISOString(),
  }
}

function checkText(given: unknown): string {
  const text = typeof given === 'string' ? wellFormed(oneLine(given)) : ''
  const bytes = byteLength(text)
  const accepted = `a text of 1 to ${formatCount(maxNoteBytes)} bytes`
  if (bytes === 0) throw failure('invalid', { field: 'text', value: given, accepted })
  if (bytes > maxNoteBytes) throw failure('invalid', { field: 'text', value: text, accepted: `${accepted}; this one has ${formatCount(bytes)}` })
  return text
}

function checkCategory(category: NoteCategory): NoteCategory {
  if (!noteCategories.includes(category)) throw failure('invalid', { field: 'category', value: category, accepted: noteCategories.join(', ') })
  return category
}

function checkConfidence(confidence: number): number {
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1)) {
    throw failure('invalid', { field: 'confidence', value: confidence, accepted: 'a number from 0 to 1' })
  }
  // A negative zero is written as zero.
  return confidence + 0
}

/** In lower case, each once, in the order of their first mention. */
function checkTags(tags: readonly string[]): string[] {
  if (!Array.isArray(tags)) throw failure('invalid', { field: 'tags', value: tags, accepted: tagAccepted })
  const found = [...new Set(tags.map((tag) => (typeof tag === 'string' ? tag.trim().toLowerCase().normalize('NFC') : '')))]
  const wrong = found.findIndex((tag) => !isTag(tag))
  if (wrong >= 0) throw failure('invalid', { field: 'tags', value: tags[wrong] ?? found[wrong], accepted: tagAccepted })
  if (found.length > maxTags) throw failure('invalid', { field: 'tags', value: found, accepted: tagAccepted })
  return found
}

function checkIds(ids: readonly string[]): string[] {
  const wrong = Array.isArray(ids) ? ids.find((id) => typeof id !== 'string' || !isNoteId(id)) : ids
  if (wrong !== undefined) throw failure('invalid', { field: 'supersedes', value: wrong, accepted: idsAccepted })
  return [...new Set(ids)]
}

/** Half a surrogate pair cannot be written as UTF-8. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

const dayMs = 86_400_000
const trustShare = 0.5
const useShare = 0.3
const freshShare = 0.2
/** So many uses count for half of what any number can. */
const halfUses = 4
/** After so long, an untouched note is half as fresh. */
const halfLifeDays = 90

/**
 * How useful a note is, from 0 to 1: half of it is how sure it is, three tenths how often it was used, and two tenths how lately it was
 * made, changed or used.
 */
export function usefulness(note: Note, now: number): number {
  const ageDays = Math.max(0, now - touchedMs(note)) / dayMs
  return trustShare * note.confidence + useShare * (note.uses / (note.uses + halfUses)) + freshShare * 2 ** (-ageDays / halfLifeDays)
}

const touchedMs = ({ createdAt, updatedAt, usedAt }: Note): number => Math.max(...[createdAt, updatedAt, usedAt].map((time) => Date.parse(time ?? '') || 0))

/** How notes are put in order. */
export interface RankBy {
  /** Default: the time of the last thing that happened to any of them. */
  readonly now?: Date | undefined
  /** How well a note answers what was asked, as a factor; without it, all do. */
  match?(note: Note): number
}

/** The most useful first, of equally useful ones the newest. */
export function sortNotes(notes: readonly Note[], by: RankBy = {}): Note[] {
  const now = by.now?.getTime() ?? notes.reduce((latest, note) => Math.max(latest, touchedMs(note)), 0)
  return notes
    .map((note) => ({ note, score: usefulness(note, now) * (by.match?.(note) ?? 1) }))
    .sort((a, b) => b.score - a.score || newestFirst(a.note, b.note))
    .map(({ note }) => note)
}

/** The same for who reads them from the top: of notes that say the same, only the first. */
export function rankNotes(notes: readonly Note[], by: RankBy = {}): Note[] {
  const seen = new Set<string>()
  return sortNotes(notes, by).filter(({ text }) => {
    const key = saidBy(text)
    return !seen.has(key) && seen.add(key) !== undefined
  })
}
