import { type Note, searchedText } from '../core/note.ts'
import { matchLine, type Query } from '../core/query.ts'
import { sortNotes } from './notes.ts'

/** From here on a line has all terms of a query; see matchLine. */
const allTerms = 1_000
const mostPoints = 1_400

/** Notes with all that is looked for, or, where none has all, with some of it: the best first. */
export function findNotes(notes: readonly Note[], query: Query, now: Date): Note[] {
  const points = new Map(notes.map((note) => [note, matchLine(query, searchedText(note))]))
  const reached = (least: number): Note[] => notes.filter((note) => (points.get(note) ?? 0) >= least)
  const whole = reached(allTerms)
  return sortNotes(whole.length > 0 ? whole : reached(1), { now, match: (note) => (points.get(note) ?? 0) / mostPoints })
}
