import { failure } from '../core/errors.ts'
import { type Note, type NoteCategory, noteCategories } from '../core/store.ts'
import { byteLength, oneLine } from '../core/text.ts'

const maxNoteBytes = 2_000
const defaultConfidence = 0.8

/** Checks and normalizes what somebody wants to note; pure. The text becomes one line. */
export function makeNote(input: { text: string; category?: NoteCategory | undefined; confidence?: number | undefined }, made: { now: Date; id: string }): Note {
  const text = typeof input.text === 'string' ? oneLine(input.text) : ''
  if (text === '' || byteLength(text) > maxNoteBytes) {
    throw failure('invalid', { field: 'text', value: input.text, accepted: `a text of 1 to ${maxNoteBytes} bytes` })
  }
  const category = input.category ?? 'convention'
  if (!noteCategories.includes(category)) throw failure('invalid', { field: 'category', value: category, accepted: noteCategories.join(', ') })
  const confidence = input.confidence ?? defaultConfidence
  if (!(confidence >= 0 && confidence <= 1)) throw failure('invalid', { field: 'confidence', value: confidence, accepted: 'a number from 0 to 1' })
  return { id: made.id, text, category, confidence, createdAt: made.now.toISOString() }
}

/** The surest first; of equally sure ones the newest. */
export function rankNotes(notes: readonly Note[]): Note[] {
  return [...notes].sort((a, b) => b.confidence - a.confidence || b.createdAt.localeCompare(a.createdAt))
}
