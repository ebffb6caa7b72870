import type { Note, NoteFilter } from './note.ts'
import type { RunRecord, Verdict } from './run.ts'
import type { Printed, Shown } from './stats.ts'

/** What `runs` filters by. Every part that is given must hold. */
export interface RunFilter {
  /** Substring, case folded, of id, purpose or command. */
  readonly query?: string | undefined
  readonly failing?: boolean | undefined
  readonly running?: boolean | undefined
  readonly runtime?: string | undefined
  /** Only runs that started at or after this time, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined
  /** Only runs that come after this one in the order, newest first; none where it is not known. */
  readonly before?: string | undefined
  readonly limit: number
}

/** A run that may have what is looked for. */
export interface Candidate extends RunRecord {
  /** What its logs have besides printable ASCII; absent where that is not known. */
  readonly traits?: number
}

/** A word of the index and how many runs have it. */
export interface KnownWord {
  readonly word: string
  readonly runs: number
}

/** The last runs of one command, by id. */
export interface PreviousRuns {
  readonly passed: string | null
  readonly failed: string | null
  /** Which of the two began later; null where there is neither. */
  readonly latest: Verdict | null
}

/**
 * The index of runs and notes. Any number of processes may use one store at once. The run folders hold the same records
 * as files, so a lost store can be made again from them; a method rejects with `unavailable` or `failed_precondition`
 * when the store cannot be used, and callers go on without it.
 */
export interface Store {
  /** Adds the record of a run that is about to start. Its place in the order of runs is fixed here, not by any clock. */
  begin(record: RunRecord): Promise<void>
  /** Replaces the record of a run; adds it where `begin` could not. The place in the order stays. */
  finish(record: RunRecord): Promise<void>
  find(id: string): Promise<RunRecord | undefined>
  /** Ids that begin with `prefix`, newest first. */
  idsWithPrefix(prefix: string, limit: number): Promise<readonly string[]>
  /** Newest first. */
  list(filter: RunFilter): Promise<readonly RunRecord[]>
  /**
   * The last run of a command (`commandKey`) that passed and the last that failed, of those that began before the run `before`; of all
   * where that is not stored. What it costs does not grow with the history.
   */
  previous(commandKey: string, before: string): Promise<PreviousRuns>
  count(): Promise<{ readonly runs: number; readonly failing: number }>
  setPinned(id: string, pinned: boolean): Promise<void>
  /** Removes runs and what is indexed of them. Unknown ids are passed over. */
  remove(ids: readonly string[]): Promise<void>

  /**
   * Makes the tokens of a run findable; `whole` says whether they cover its whole output, `traits` what its logs have besides printable
   * ASCII (see log-traits), where that is known. Replaces what was there.
   */
  index(id: string, tokens: string, whole: boolean, traits?: number): Promise<void>
  /** Ended runs whose output was never indexed, newest first. */
  listUnindexed(limit: number): Promise<readonly string[]>
  /**
   * Runs that may hold all of the tokens, newest first: those whose index has them, and those whose index is not whole.
   * An entry of `tokens` is a whole token, or the beginning of one where it ends with `*`. Empty: every run. `known`: only those of which
   * the index has all tokens, and those that go on, since it has nothing of them yet. `rest`: only the others.
   */
  candidates(tokens: readonly string[], filter: RunFilter, part?: 'known' | 'rest'): Promise<readonly Candidate[]>
  /** Words of the index that begin with `prefix`, at most `limit`, in the order of their code points. */
  words(prefix: string, limit: number): Promise<readonly KnownWord[]>

  /** Adds answers to those that were counted of the same surface, operation, run and day. Those of a run go with it. */
  addShown(entries: readonly Shown[]): Promise<void>
  /** Of runs that started at or after `sinceMs`, and what belongs to no run since that day. */
  listShown(sinceMs: number): Promise<readonly Shown[]>
  /** What runs printed that started at or after `sinceMs` and do not go on, newest first. */
  listPrinted(sinceMs: number): Promise<readonly Printed[]>

  /**
   * Makes these the notes that are known, in place of all before. Notes are few, and their files are the truth; `stamp` names the state of
   * the files that these were read from.
   */
  setNotes(notes: readonly Note[], stamp: string): Promise<void>
  /** The stamp of the last `setNotes`; null before the first. */
  notesStamp(): Promise<string | null>
  /** In the order of `newestFirst`. */
  listNotes(filter?: NoteFilter): Promise<readonly Note[]>

  /** Whether a write would be taken at this very moment; told at once, without waiting for other processes. */
  ready(): boolean
  /** Harmless when called twice. */
  close(): Promise<void>
}
