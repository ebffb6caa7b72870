import { type Note, saidBy } from '../core/note.ts'
import { tokensOf } from '../core/query.ts'

/** Notes about much the same: those that share at least half of the words of the shorter one. */

const words =
  'a an and any are as at be but by can do does for from has have if in into is it its may must need needs no not of on only or our should so than ' +
  'that the their then there these this to up use used uses using was we when where which will with you your'
/** They say nothing of what a text is about. */
const common = new Set(words.split(' '))
const enough = 0.5
const mostShown = 3

/** The likest first. */
export function similarNotes(note: Pick<Note, 'id' | 'text'>, others: readonly Note[]): Note[] {
  const about = subjectOf(note.text)
  return others
    .filter(({ id }) => id !== note.id)
    .map((other) => ({ other, likeness: likenessOf(about, subjectOf(other.text)) }))
    .filter(({ likeness }) => likeness >= enough)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, mostShown)
    .map(({ other }) => other)
}

function subjectOf(text: string): Set<string> {
  const tokens = tokensOf(saidBy(text)).split(' ')
  // Of CJK the pairs say it; a single letter says nothing.
  return new Set(tokens.filter((token) => token.length > 1 && !common.has(token)))
}

function likenessOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0
  for (const word of a) if (b.has(word)) shared += 1
  return shared / Math.max(1, Math.min(a.size, b.size))
}
