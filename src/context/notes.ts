import { failure } from '../core/errors.ts'
import { type Note, type NoteCategory, noteCategories } from '../core/store.ts'
import { byteLength, formatCount, oneLine } from '../core/text.ts'

export interface NoteInput {
  readonly text: string
  readonly category?: NoteCategory | undefined
  /** 0 to 1. */
  readonly confidence?: number | undefined
}

export const maxNoteBytes = 2_000
export const defaultNoteCategory: NoteCategory = 'convention'
export const defaultNoteConfidence = 0.8

/**
 * Makes a note: its text becomes one line of 1 to 2,000 bytes without control characters. Throws `invalid_argument` with
 * the field and what is accepted. The text must have been masked.
 */
export function makeNote(input: NoteInput, made: { readonly now: Date; readonly id: string }): Note {
  const text = typeof input.text === 'string' ? wellFormed(oneLine(input.text)) : ''
  const bytes = byteLength(text)
  if (bytes === 0) throw failure('invalid', { field: 'text', value: input.text, accepted: `a text of 1 to ${formatCount(maxNoteBytes)} bytes` })
  if (bytes > maxNoteBytes) {
    throw failure('invalid', { field: 'text', value: text, accepted: `a text of 1 to ${formatCount(maxNoteBytes)} bytes; this one has ${formatCount(bytes)}` })
  }
  const category = input.category ?? defaultNoteCategory
  if (!noteCategories.includes(category)) throw failure('invalid', { field: 'category', value: category, accepted: noteCategories.join(', ') })
  const confidence = input.confidence ?? defaultNoteConfidence
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1)) {
    throw failure('invalid', { field: 'confidence', value: confidence, accepted: 'a number from 0 to 1' })
  }
  return { id: made.id, category, text, confidence, createdAt: made.now.toISOString() }
}

/** Half a surrogate pair cannot be written as UTF-8. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

/** The surest notes first, of equally sure ones the newest; of notes that say the same, only the first. */
export function rankNotes(notes: readonly Note[]): Note[] {
  const seen = new Set<string>()
  return [...notes]
    .sort((a, b) => b.confidence - a.confidence || compare(b.createdAt, a.createdAt) || compare(b.id, a.id))
    .filter(({ text }) => !seen.has(text) && seen.add(text) !== undefined)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
