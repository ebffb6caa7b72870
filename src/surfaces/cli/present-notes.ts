import type { ExportedNotes, FoundNotes } from '../../app/api.ts'
import type { ImportedNotes, Note, SavedNote } from '../../core/note.ts'
import { oneLine, plural } from '../../core/text.ts'
import type { At } from './print.ts'
import { hanging } from './width.ts'

const verbs: Readonly<Record<SavedNote['saved'], string>> = {
  added: 'Saved note',
  confirmed: 'Confirmed note',
  restored: 'Restored note',
  updated: 'Changed note',
}

export function presentSaved(note: SavedNote, at: At): string {
  const same = note.saved === 'confirmed' ? `, which says the same (confidence ${note.confidence})` : ''
  const similar = note.similar.map((other) => noteLine('similar: ', other, at))
  const hint = similar.length === 0 ? [] : [`If it takes the place of one: holdfast note update ${note.id} --supersedes ID`]
  return [`${verbs[note.saved]} ${note.id}${same}.`, ...retiredLines(note.retires, at), ...similar, ...hint].join('\n')
}

const noteLine = (head: string, { id, text }: Note, at: At): string => hanging(`  ${head}`, `${id}  ${oneLine(text)}`, at.columns)

function retiredLines(retires: readonly Note[], at: At): string[] {
  return retires.map((note) => noteLine(note.retired?.why === 'superseded' ? 'retired, superseded: ' : 'retired, least useful: ', note, at))
}

const reasonsInWords = { superseded: 'superseded', 'least-useful': 'least useful', released: 'workspace released' } as const

export function presentNotes({ notes }: { readonly notes: readonly Note[] }, at: At): string {
  if (notes.length === 0) return 'No notes.'
  // A fact that is cut short is none, so that its text goes on under its beginning.
  return notes
    .map((note) => hanging(`${note.id}  `, `${factsOf(note)}: ${[oneLine(note.text), ...note.tags.map((tag) => `#${tag}`)].join(' ')}`, at.columns))
    .join('\n')
}

/** `gotcha 0.8`, and what is not usual: another scope than the project, and that it is retired. */
function factsOf({ scope, workspace, category, confidence, retired }: Note): string {
  const place = scope === 'project' ? [] : [workspace === null ? scope : `workspace ${workspace}`]
  const why = retired === null ? [] : [`retired, ${reasonsInWords[retired.why]}${retired.by === null ? '' : ` by ${retired.by}`}`]
  const unusual = [...place, ...why]
  return `${category} ${confidence}${unusual.length === 0 ? '' : ` (${unusual.join('; ')})`}`
}

export function presentFoundNotes({ notes, more }: FoundNotes, at: At): string {
  if (notes.length === 0) return 'No note has any of that.'
  return [presentNotes({ notes }, at), ...(more ? ['There are more: raise --limit.'] : [])].join('\n')
}

export function presentRemovedNote({ removed, text }: { readonly removed: string; readonly text: string }, at: At): string {
  return hanging(`Removed note ${removed} for good: `, oneLine(text), at.columns)
}

export const presentExported = ({ notes }: ExportedNotes, file: string): string => `Wrote ${plural(notes, 'note')} to ${oneLine(file)}.`

/** So many lines that are no notes are told; all of them are in the JSON. */
const mostSkipped = 20

export function presentImported({ added, known, skipped, retires }: ImportedNotes, at: At): string {
  const taken = added.map((note) => noteLine(`taken, ${note.category}: `, note, at))
  const left = skipped.slice(0, mostSkipped).map(({ line, text, why }) => hanging(`  line ${line}, `, `${why}: ${oneLine(text)}`, at.columns))
  const rest = skipped.length > mostSkipped ? [`  and ${plural(skipped.length - mostSkipped, 'more line')} (--json has them)`] : []
  const sums = [`${plural(added.length, 'note')} taken`, `${known.length} known already`, `${plural(skipped.length, 'line')} not taken`]
  return [...taken, ...retiredLines(retires, at), ...left, ...rest, `${sums.join(', ')}.`].join('\n')
}
