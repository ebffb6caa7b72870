import type { ExportedNotes, FoundNotes } from '../../app/api.ts'
import type { ImportedNotes, Note, SavedNote } from '../../core/note.ts'
import { oneLine, plural } from '../../core/text.ts'
import type { At } from './print.ts'
import { hanging, table } from './width.ts'

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
  if (notes.length === 0) return 'No notes yet.'
  return table(
    notes.map((note) => [note.id, placeIn(note), note.category, String(note.confidence), textOf(note)]),
    at.columns,
  )
}

const placeIn = ({ scope, workspace }: Note): string => (workspace === null ? scope : `workspace ${workspace}`)

function textOf({ text, tags, retired }: Note): string {
  const why = retired === null ? [] : [`[${reasonsInWords[retired.why]}${retired.by === null ? '' : ` by ${retired.by}`}]`]
  return [...why, oneLine(text), ...tags.map((tag) => `#${tag}`)].join(' ')
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
