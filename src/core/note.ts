import { foldText } from './fold.ts'
import { holdsToken, tokensOf } from './query.ts'

export const noteCategories = ['architecture', 'convention', 'gotcha', 'preference', 'environment', 'pattern'] as const
export type NoteCategory = (typeof noteCategories)[number]

/** Who a note is for: all who work on the project, those in one workspace, or the person in every project. */
export const noteScopes = ['project', 'workspace', 'user'] as const
export type NoteScope = (typeof noteScopes)[number]

export const retiredReasons = ['superseded', 'least-useful', 'released'] as const

/** That a note counts no more. It is kept, and can be brought back. */
export interface Retired {
  readonly at: string
  /** `superseded`: by another note; `least-useful`: of more than there is room for; `released`: with its workspace. */
  readonly why: (typeof retiredReasons)[number]
  /** The note that took its place; null where none did. */
  readonly by: string | null
}

/** A durable fact. */
export interface Note {
  readonly id: string
  readonly scope: NoteScope
  /** The id of the workspace that it is about; null in the other scopes. */
  readonly workspace: string | null
  readonly category: NoteCategory
  /** One line, masked. */
  readonly text: string
  readonly tags: readonly string[]
  /** 0 to 1. */
  readonly confidence: number
  readonly createdAt: string
  /** When its text or what is said of it last changed; null where that never was. */
  readonly updatedAt: string | null
  /** The notes whose place it took. */
  readonly supersedes: readonly string[]
  readonly retired: Retired | null
  /** How often it was put before somebody: in a snapshot, as a hit, or because it was said again. */
  readonly uses: number
  readonly usedAt: string | null
}

/** What became of a note that was handed in. */
export interface SavedNote extends Note {
  /** `confirmed`: one that says the same was there, and counts for more now; `restored`: the same, and it had been retired. */
  readonly saved: 'added' | 'confirmed' | 'restored' | 'updated'
  /** Notes that were retired for it. */
  readonly retires: readonly Note[]
  /** Notes about much the same, the likest first; they may contradict it. */
  readonly similar: readonly Note[]
}

/** A line of a file that is no note. */
export interface SkippedLine {
  /** From 1. */
  readonly line: number
  readonly text: string
  readonly why: string
}

export interface ImportedNotes {
  readonly added: readonly Note[]
  /** Notes that said the same already, by id; nothing of them was changed. */
  readonly known: readonly string[]
  readonly skipped: readonly SkippedLine[]
  readonly retires: readonly Note[]
}

export interface NoteFilter {
  /** Only those that have all of these; see `Store.candidates`. */
  readonly tokens?: readonly string[] | undefined
  /** Only those that are retired, or those also. Default: none of them. */
  readonly retired?: 'only' | 'also' | undefined
}

/** What a note is found by. */
export const searchedText = ({ text, tags, category }: Pick<Note, 'text' | 'tags' | 'category'>): string => [text, ...tags, category].join(' ')

export const noteTokens = (note: Note): string => tokensOf(searchedText(note))

export function passesNote(note: Note, { tokens = [], retired }: NoteFilter): boolean {
  if (retired !== 'also' && (note.retired !== null) !== (retired === 'only')) return false
  if (tokens.length === 0) return true
  const known = new Set(noteTokens(note).split(' '))
  return tokens.every((token) => holdsToken(known, token))
}

/** Newest first; of the same moment, in the order of their ids, so that every reader sees the same. */
export const newestFirst = (a: Note, b: Note): number => compare(b.createdAt, a.createdAt) || compare(b.id, a.id)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const opening = /^["'`«»‹›()[\]{}*_:;,?]+/
const closing = /["'`«»‹›()[\]{}*_:;,?.!]+$/
/** Between words, these are how people write; a `/` or a `.` alone is a thing. */
const separator = /^["'`«»‹›()[\]{}*_:;,?!•|-]+$/
const wideMarks = /[\u3000-\u3003\u3008-\u3011\u3014-\u301f\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff61-\uff65]/g
/** Scripts that are written with spaces or without. */
const spaceless = /(?<=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]) | (?=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}])/gu

/**
 * The same for texts that say the same but for case, spaces, and the marks at the borders of words. Marks inside of a word, and those
 * that begin one, tell things apart: `1.5` and `15`, `-1` and `1`, `.env` and `env`, `C++` and `C`.
 */
export function saidBy(text: string): string {
  return foldText(text.replace(wideMarks, ' '))
    .split(/\s+/)
    .map((word) => word.replace(opening, '').replace(closing, '') || (separator.test(word) ? '' : word))
    .filter((word) => word !== '' && !separator.test(word))
    .join(' ')
    .replace(spaceless, '')
}
