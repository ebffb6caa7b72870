import { join } from 'node:path'
import { addToBook, type BookChange, type BookRules, changeInBook, importIntoBook, releaseInBook, type SavedChange } from '../context/note-book.ts'
import { readNotesMarkdown } from '../context/note-import.ts'
import { similarNotes } from '../context/note-likeness.ts'
import { writeNotesMarkdown } from '../context/note-markdown.ts'
import { findNotes } from '../context/note-search.ts'
import { defaultNoteCategory, isInPlace, makeNote, type NoteChange, type NoteInput, type NotePlace, sortNotes } from '../context/notes.ts'
import { noteItem } from '../context/snapshot.ts'
import { failure, hasReason } from '../core/errors.ts'
import type { ImportedNotes, Note, NoteCategory, NoteFilter, NoteScope, SavedNote } from '../core/note.ts'
import { parseQuery, queryTokens } from '../core/query.ts'
import { checkLimit } from './check-limit.ts'
import type { AppContext } from './context.ts'
import { makeHome } from './home.ts'
import { type NoteShelf, openNoteShelf } from './note-shelf.ts'
import { newRunId } from './run-id.ts'
import { workspaceAt } from './run-tree.ts'

/** Which notes are meant. Without a scope: those of the project, of the workspace that the caller stands in, and of the person. */
export interface NoteSelection {
  readonly scope?: NoteScope | undefined
  /** Id, branch or folder, or `operator:NAME`. Default: the one that the caller stands in; where that is none, every one of the project. */
  readonly workspace?: string | undefined
  readonly category?: NoteCategory | undefined
  readonly tag?: string | undefined
  /** Only the retired ones. Default: only the others. */
  readonly retired?: boolean | undefined
}

export interface NotePlaceInput {
  /** Default: the project; with a workspace, that. */
  readonly scope?: NoteScope | undefined
  readonly workspace?: string | undefined
}

export interface AddNoteInput extends NoteInput, NotePlaceInput {}

export interface UpdateNoteInput extends NoteChange {
  readonly note: string
  /** Bring a retired one back. */
  readonly restore?: boolean | undefined
}

export interface FoundNotes {
  /** The best first. */
  readonly notes: readonly Note[]
  /** True when there are more than `limit`. */
  readonly more: boolean
}

export interface ExportedNotes {
  readonly text: string
  readonly notes: number
}

/** What the app does with notes. */
export interface NoteUseCases {
  /** Saves a fact. One that is there already is confirmed instead. */
  addNote(input: AddNoteInput): Promise<SavedNote>
  /** The most useful first; of retired ones, those that were retired last. */
  listNotes(input?: NoteSelection): Promise<{ notes: readonly Note[] }>
  /** Notes with all words of the query, or else with some. */
  searchNotes(input: NoteSelection & { query: string; limit?: number | undefined }): Promise<FoundNotes>
  updateNote(input: UpdateNoteInput): Promise<SavedNote>
  /** For good. */
  removeNote(input: { note: string }): Promise<{ removed: string; text: string }>
  /** The notes of one scope as Markdown. */
  exportNotes(input?: NotePlaceInput & { retired?: boolean | undefined }): Promise<ExportedNotes>
  /** Adds the notes of a page: of an export, or of the lists of any Markdown. */
  importNotes(input: NotePlaceInput & { text: string; category?: NoteCategory | undefined }): Promise<ImportedNotes>
}

const mostFound = 200
const usuallyFound = 20

export function createNoteUseCases(context: AppContext): NoteUseCases {
  const { mask } = context.masking.general
  const masked = <Input extends NoteChange>(input: Input): Input => ({
    ...input,
    ...(typeof input.text === 'string' ? { text: mask(input.text) } : {}),
    ...(Array.isArray(input.tags) ? { tags: input.tags.map((tag) => (typeof tag === 'string' ? mask(tag) : tag)) } : {}),
  })
  const rules = (): BookRules => ({ cap: context.settings.maxNotes, now: context.now() })

  /** The shelf on which a note stands. */
  async function shelfWith(id: string): Promise<{ shelf: NoteShelf; note: Note }> {
    for (const shelf of shelvesOf(context)) {
      const note = (await shelf.list({ retired: 'also' })).find((each) => each.id === id)
      if (note) return { shelf, note }
    }
    throw failure('note_not_found', { note: id })
  }

  async function saved({ note, saved, retires }: SavedChange): Promise<SavedNote> {
    const here = await currentWorkspace(context)
    const others = (await notesIn(context)).filter((other) => isSeen(other, note.workspace ?? here))
    return { ...note, saved, retires, similar: note.retired ? [] : similarNotes(note, others) }
  }

  return {
    async addNote(input) {
      const place = await placeOf(context, input)
      const note = makeNote(masked(input), { now: context.now(), id: newRunId(), place })
      const change = await shelfOf(context, place).change((notes) => addToBook(notes, note, rules(), input))
      return saved(change)
    },
    async listNotes(input = {}) {
      const notes = await selected(context, input)
      return { notes: input.retired ? lastRetiredFirst(notes) : sortNotes(notes, { now: context.now() }) }
    },
    async searchNotes({ query, limit, ...selection }) {
      const most = checkLimit(limit, usuallyFound, mostFound)
      const asked = parseQuery(query)
      if (asked.terms.length === 0) throw failure('invalid', { field: 'query', value: query, accepted: 'text with at least one word' })
      const whole = await selected(context, selection, queryTokens(asked))
      // Where none has all words, some of them may do.
      const found = findNotes(whole.length > 0 ? whole : await selected(context, selection), asked, context.now())
      const shown = found.slice(0, most)
      await countUses(context, shown)
      return { notes: shown, more: found.length > shown.length }
    },
    async updateNote({ note: id, restore, ...given }) {
      const input = masked(given)
      if (!restore && Object.values(input).every((value) => value === undefined)) {
        throw failure('invalid', { field: 'text', value: undefined, accepted: 'a new text, or another field to change' })
      }
      const { shelf } = await shelfWith(id)
      const plan = await shelf.change((notes) => changeInBook(notes, id, { ...input, restore }, rules()) ?? missing(id))
      return saved(plan)
    },
    async removeNote({ note: id }) {
      const { shelf, note } = await shelfWith(id)
      await shelf.change(() => ({ write: [], remove: [id] }))
      return { removed: id, text: note.text }
    },
    async exportNotes(input = {}) {
      const place = await placeOf(context, input)
      const all = await shelfOf(context, place, false).list({ retired: input.retired ? 'also' : undefined })
      const notes = all.filter((note) => isInPlace(note, place))
      return { text: writeNotesMarkdown(notes), notes: notes.length }
    },
    async importNotes({ text, category, ...input }) {
      const place = await placeOf(context, input)
      const page = readNotesMarkdown(text, { place, category: category ?? defaultNoteCategory, now: context.now(), newId: newRunId, mask })
      if (page.notes.length === 0) return { added: [], known: [], skipped: page.skipped, retires: [] }
      const { added, known, retires } = await shelfOf(context, place).change((notes) => importIntoBook(notes, page.notes, rules(), newRunId))
      return { added, known, skipped: page.skipped, retires }
    },
  }
}

function missing(note: string): never {
  throw failure('note_not_found', { note })
}

const lastRetiredFirst = (notes: readonly Note[]): Note[] => [...notes].sort((a, b) => (b.retired?.at ?? '').localeCompare(a.retired?.at ?? ''))

/** The shelf of the person, for all projects. */
function personalShelf({ homePlace, openLock, now }: AppContext): NoteShelf {
  return openNoteShelf({ folder: join(homePlace.state, 'holdfast', 'notes'), openLock, now })
}

const shelvesOf = (context: AppContext): NoteShelf[] => [context.records.notes, personalShelf(context)]

/** `toWrite`: what it stands in is made where it is not there yet. */
function shelfOf(context: AppContext, { scope }: NotePlace, toWrite = true): NoteShelf {
  if (scope === 'user') return personalShelf(context)
  if (toWrite) makeHome(context.home, context.homePlace)
  return context.records.notes
}

const currentWorkspace = async (context: AppContext): Promise<string | null> => (await workspaceAt(context, context.base))?.record.id ?? null

/** Where a new note belongs. Throws `invalid` where the place is none, `workspace_not_found`. */
async function placeOf(context: AppContext, { scope, workspace }: NotePlaceInput): Promise<NotePlace> {
  if (workspace !== undefined) {
    if (scope !== undefined && scope !== 'workspace')
      throw failure('invalid', { field: 'workspace', value: workspace, accepted: 'nothing, or the scope workspace' })
    return { scope: 'workspace', workspace: await workspaceNamed(context, workspace) }
  }
  if (scope !== 'workspace') return { scope: scope ?? 'project', workspace: null }
  const here = await currentWorkspace(context)
  if (here !== null) return { scope, workspace: here }
  throw failure('invalid', { field: 'scope', value: scope, accepted: 'project or user; workspace inside of one, or with one that is named' })
}

/** The id of a workspace of this project. */
async function workspaceNamed(context: AppContext, reference: string): Promise<string> {
  const { findWorkspace } = await import('../workspaces/find.ts')
  const { commonDir, record } = await findWorkspace({ root: context.workspaces.root(), base: context.base }, reference)
  if (commonDir !== context.repositoryOf(context.root)?.commonDir) {
    throw failure('invalid', { field: 'workspace', value: reference, accepted: 'a workspace of this project' })
  }
  return record.id
}

async function selected(context: AppContext, { scope, workspace, category, tag, retired }: NoteSelection, tokens?: readonly string[]): Promise<Note[]> {
  if (workspace !== undefined && scope !== undefined && scope !== 'workspace') {
    throw failure('invalid', { field: 'workspace', value: workspace, accepted: 'nothing, or the scope workspace' })
  }
  // The notes of one that was released are found by its id.
  const named = workspace === undefined ? undefined : await workspaceNamed(context, workspace).catch((error) => idOfGone(error, workspace))
  const here = named ?? (await currentWorkspace(context)) ?? undefined
  const only = workspace === undefined ? scope : 'workspace'
  const all = await notesIn(context, { tokens, retired: retired ? 'only' : undefined }, only)
  const wantedTag = tag?.trim().toLowerCase()
  return all.filter(
    (note) =>
      (note.scope !== 'workspace' || here === undefined || note.workspace === here) &&
      (category === undefined || note.category === category) &&
      (wantedTag === undefined || note.tags.includes(wantedTag)),
  )
}

function idOfGone(error: unknown, workspace: string): string {
  if (hasReason(error, 'workspace_not_found')) return workspace
  throw error
}

async function notesIn(context: AppContext, filter: NoteFilter = {}, scope?: NoteScope | undefined): Promise<Note[]> {
  const [shared, own] = await Promise.all([
    scope === 'user' ? [] : context.records.notes.list(filter),
    scope === undefined || scope === 'user' ? personalShelf(context).list(filter) : [],
  ])
  return [...shared, ...own].filter((note) => scope === undefined || note.scope === scope)
}

const isSeen = (note: Note, workspace: string | null): boolean => note.scope !== 'workspace' || note.workspace === workspace

/** Those of all scopes that somebody who works here may go by. */
export async function notesInForce(context: AppContext): Promise<Note[]> {
  const here = await currentWorkspace(context)
  return (await notesIn(context)).filter((note) => isSeen(note, here))
}

/** Counts that these notes were put before somebody. */
async function countUses(context: AppContext, notes: readonly Note[]): Promise<void> {
  const ids = (isPersonal: boolean): string[] => notes.filter(({ scope }) => (scope === 'user') === isPersonal).map(({ id }) => id)
  await Promise.all([context.records.notes.use(ids(false)), personalShelf(context).use(ids(true))])
}

/** Counts the notes that stand on a page of ours, the context snapshot. */
export async function countNotesOn(context: AppContext, page: string): Promise<void> {
  const lines = new Set(page.split('\n'))
  await countUses(
    context,
    (await notesInForce(context)).filter((note) => lines.has(noteItem(note))),
  )
}

/** Retires the notes of a workspace that is gone; resolves to how many there were. */
export async function retireNotesOf(shelf: NoteShelf, workspace: string, now: Date): Promise<number> {
  const concerned = (await shelf.list()).some((note) => note.workspace === workspace)
  if (!concerned) return 0
  const { retires }: BookChange = await shelf.change((notes) => releaseInBook(notes, workspace, now))
  return retires.length
}
