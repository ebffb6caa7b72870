import { failure, HoldfastError } from '../core/errors.ts'
import { type Note, type NoteCategory, noteCategories, type Retired, type SkippedLine } from '../core/note.ts'
import { clampLine, formatCount } from '../core/text.ts'
import { type ListItem, listItems, skippedLine } from './list-items.ts'
import { makeNote, maxTags, type NotePlace } from './notes.ts'

/** Reads notes out of Markdown: what `writeNotesMarkdown` wrote, or the lists of a page that a person wrote. */

export interface ImportRules {
  readonly place: NotePlace
  /** Of items under a heading that names no category. */
  readonly category: NoteCategory
  readonly now: Date
  newId(): string
  mask(text: string): string
}

export interface ReadNotes {
  readonly notes: readonly Note[]
  /** In the order of the file. */
  readonly skipped: readonly SkippedLine[]
}

const maxBytes = 4 * 1024 * 1024
const maxItems = 5_000
/** Of a line that is told. */
const shownBytes = 120

/**
 * The notes of a page, and what of it is none. It is masked as a whole before it is read, since a secret may have several lines. Throws
 * `invalid` where it is too large.
 */
export function readNotesMarkdown(markdown: string, rules: ImportRules): ReadNotes {
  const tooLarge = (value: number, accepted: string) => failure('invalid', { field: 'text', value: formatCount(value), accepted })
  if (Buffer.byteLength(markdown) > maxBytes) throw tooLarge(Buffer.byteLength(markdown), `Markdown of at most ${formatCount(maxBytes)} bytes`)
  const { items, skipped: left } = listItems(rules.mask(markdown), categoryOf)
  if (items.length > maxItems) throw tooLarge(items.length, `Markdown with at most ${formatCount(maxItems)} items`)
  const notes: Note[] = []
  const skipped = [...left]
  for (const item of items) {
    try {
      notes.push(toNote(item, rules))
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      skipped.push(skippedLine(item.line, item.text, `no note: accepted is ${String(error.details.accepted)}`))
    }
  }
  return { notes, skipped: skipped.map((each) => ({ ...each, text: clampLine(each.text, shownBytes) })).sort((a, b) => a.line - b.line) }
}

const categoryNames: Readonly<Record<NoteCategory, RegExp>> = {
  architecture: /\b(?:architecture|structure|design|layout|overview)\b/i,
  gotcha: /\b(?:gotchas?|pitfalls?|caveats?|warnings?|troubleshooting)\b/i,
  preference: /\b(?:preferences?|preferred)\b/i,
  environment: /\b(?:environments?|set-?up|install(?:ation)?|commands?|tooling)\b/i,
  pattern: /\b(?:patterns?|recipes?|examples?)\b/i,
  convention: /\b(?:conventions?|rules?|style|guidelines?)\b/i,
}

/** The category that a heading names. */
function categoryOf(heading: string): NoteCategory | undefined {
  const exact = noteCategories.find((category) => category === heading.trim().toLowerCase())
  return exact ?? (Object.keys(categoryNames) as NoteCategory[]).find((category) => categoryNames[category].test(heading.slice(0, 200)))
}

function toNote(item: ListItem, { place, category, now, newId }: ImportRules): Note {
  const { data = {} } = item
  // A box to tick is no part of a fact; in what was exported nothing is left out.
  const text = item.data ? item.text : item.text.replace(/^\[[ xX]\][ \t]/, '')
  const note = makeNote({ text, category: item.category ?? category, tags: tagsOf(data.tags) }, { now, id: data.id ?? newId(), place })
  const retired: Retired | null = data.retired ? { at: data.retired, why: (data.why ?? 'superseded') as Retired['why'], by: data.by ?? null } : null
  return {
    ...note,
    confidence: data.confidence === undefined ? note.confidence : Number(data.confidence),
    createdAt: data.created ?? note.createdAt,
    updatedAt: data.updated ?? null,
    supersedes: data.supersedes?.split(',') ?? [],
    retired,
    uses: Number(data.uses ?? 0),
    usedAt: data.used ?? null,
  }
}

const tagsOf = (written: string | undefined): string[] => written?.split(',').slice(0, maxTags) ?? []
