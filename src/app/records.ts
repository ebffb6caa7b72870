import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure, messageOf, toHoldfastError } from '../core/errors.ts'
import type { ProcessIdentity, RunRecord } from '../core/run.ts'
import type { Note, RunFilter, Store } from '../core/store.ts'
import { checkRoom, type Home, makeSpare } from './home.ts'
import { readNotes, writeNote } from './note-files.ts'
import { isRunId, listRunIds, makeRunFolder, type RunFolder, readRecord, runFolder, writeProcess, writeRecord } from './run-folder.ts'

/**
 * Records of runs. The file in the folder of a run is the truth; the store is an index over these files that may be
 * locked, damaged or gone. Then the files serve by themselves, what could not be indexed is noted in `pending`, and
 * the next Holdfast that can use the store brings it in. No command ever fails because of the store.
 */
export interface Records {
  /** Writes the record and makes it findable; resolves to what went wrong, in words for the caller. */
  begin(record: RunRecord): Promise<string[]>
  /** Replaces the record. */
  replace(record: RunRecord): Promise<string[]>
  /** Tells the index alone of an end: the folder of the run holds it already. */
  finish(record: RunRecord): Promise<string[]>
  /** Adds the first process to the record of a run that has begun; only in its folder. */
  started(id: string, process: ProcessIdentity): void
  /** By id, unique prefix or `last`. Throws run_not_found or run_ambiguous. */
  require(reference: string): Promise<RunRecord>
  setPinned(record: RunRecord, pinned: boolean): Promise<{ record: RunRecord; warnings: readonly string[] }>
  list(filter: RunFilter): Promise<readonly RunRecord[]>
  candidates(tokens: readonly string[], filter: RunFilter): Promise<readonly RunRecord[]>
  index(id: string, tokens: string, whole: boolean): Promise<void>
  listUnindexed(limit: number): Promise<readonly string[]>
  count(): Promise<{ readonly runs: number; readonly failing: number }>
  remove(ids: readonly string[]): Promise<void>
  addNote(note: Note): Promise<void>
  listNotes(): Promise<readonly Note[]>
  removeNote(id: string): Promise<boolean>
  folder(id: string): RunFolder
  /** What has been wrong with the store since it was opened. */
  warnings(): Promise<readonly string[]>
  /** Whether the real store is in use. */
  usable(): Promise<boolean>
  close(): Promise<void>
}

export interface OpenedStore {
  readonly store: Store
  readonly warnings: readonly string[]
  /** True when the store is new in place of a damaged or missing one. */
  readonly rebuild: boolean
}

export interface RecordsOptions {
  readonly home: Home
  openStore(path: string): Promise<OpenedStore>
  /** An empty store in memory: stands in while the real one cannot be used. */
  memoryStore(): Promise<Store>
  now(): number
}

/** After a failure the store is left alone for this long. */
const retryAfterMs = 5_000
/** Stands in `pending` for all runs; no id of a run looks like this. */
const everything = 'all-runs'
/** How many of the newest runs are read from their files when there is no store. */
const maxFallbackRuns = 2_000

export function openRecords(options: RecordsOptions): Records {
  const { home, now } = options
  let real: Promise<OpenedStore> | undefined
  let stand: Promise<Store> | undefined
  let brokenUntil = 0
  let problems: string[] = []

  function folder(id: string): RunFolder {
    const at = runFolder(home.runs, id)
    if (existsSync(at.path)) return at
    return home.spares.map((runs) => runFolder(runs, id)).find(({ path }) => existsSync(path)) ?? at
  }

  const allIds = (): string[] => [home.runs, ...home.spares].flatMap(listRunIds)

  /** Makes the folder of a run that begins, with its record: at home, or else elsewhere. */
  function place(record: RunRecord): string[] {
    let why: string | undefined
    for (const runs of [home.runs, ...home.spares]) {
      const at = runFolder(runs, record.id)
      try {
        if (runs !== home.runs) makeSpare(runs)
        makeRunFolder(at)
        checkRoom(runs)
        writeRecord(at, record)
        return why === undefined ? [] : [`${home.path} cannot be written to (${why}); the run is kept in ${at.path}`]
      } catch (error) {
        why ??= messageOf(error)
        discard(at.path)
      }
    }
    return [`the run cannot be kept: ${why}`]
  }

  /** Moves runs that were kept elsewhere to where they belong; what cannot be moved yet is found where it is. */
  function bringHome(): void {
    if (!home.mayHaveSpares()) return
    for (const spare of home.spares) {
      for (const id of listRunIds(spare)) {
        const from = runFolder(spare, id)
        if (readRecord(from, id)?.state === 'running') continue
        const arriving = join(home.runs, `.arriving-${id}`)
        try {
          checkRoom(home.runs)
          cpSync(from.path, arriving, { recursive: true, preserveTimestamps: true })
          renameSync(arriving, runFolder(home.runs, id).path)
          discard(from.path)
          remember(id)
        } catch {
          discard(arriving)
          return
        }
      }
    }
  }

  async function open(): Promise<OpenedStore> {
    const opened = await options.openStore(home.store)
    bringHome()
    // Written down first: whoever is killed while filling the store leaves the rest to the next one.
    if (opened.rebuild) remember(everything)
    if (opened.rebuild || existsSync(join(home.pending, everything))) await importAll(opened.store)
    await importPending(opened.store)
    return opened
  }

  async function store(): Promise<{ store: Store; real: boolean }> {
    // Who only looks makes nothing, and what is gone is not made again from here.
    if (!existsSync(home.path)) return { store: await standIn(), real: false }
    if (now() >= brokenUntil) {
      try {
        real ??= open()
        const opened = await real
        return { store: opened.store, real: true }
      } catch (error) {
        real = undefined
        broken(error)
      }
    }
    stand ??= standIn()
    return { store: await stand, real: false }
  }

  function broken(error: unknown): void {
    brokenUntil = now() + retryAfterMs
    const { message } = toHoldfastError(error)
    if (!problems.includes(message)) problems = [...problems, message]
  }

  /** Does it in the real store; where that fails, in the one that stands in for it. */
  async function use<T>(action: (store: Store) => Promise<T>, again = false): Promise<T> {
    const current = await store()
    if (!current.real) return action(current.store)
    try {
      return await action(current.store)
    } catch (error) {
      // One that was removed meanwhile is made anew, and knows all earlier runs before this one.
      const removed = !again && !existsSync(home.store)
      if (!removed) broken(error)
      if ((await real?.catch(() => undefined))?.store === current.store) real = undefined
      void current.store.close().catch(() => {})
      stand = undefined
      return removed ? use(action, true) : action((await store()).store)
    }
  }

  function newestFirst(ids: readonly string[]): string[] {
    const times = new Map(ids.map((id) => [id, statSync(folder(id).path, { throwIfNoEntry: false })?.mtimeMs ?? 0]))
    return [...ids].sort((a, b) => (times.get(b) ?? 0) - (times.get(a) ?? 0))
  }

  async function standIn(): Promise<Store> {
    const memory = await options.memoryStore()
    const ids = newestFirst(allIds()).slice(0, maxFallbackRuns)
    for (const id of ids.reverse()) {
      const record = readRecord(folder(id), id)
      if (record) await memory.finish(record)
    }
    for (const note of readNotes(home.notes)) await memory.addNote(note)
    return memory
  }

  /** The records of runs, oldest first. */
  function recordsOf(ids: readonly string[]): RunRecord[] {
    const records = ids.flatMap((id) => readRecord(folder(id), id) ?? [])
    return records.sort((a, b) => a.startedAt.localeCompare(b.startedAt) || a.id.localeCompare(b.id))
  }

  async function importAll(target: Store): Promise<void> {
    // A run that goes on may end while its record is read; a late beginning takes back no end.
    for (const record of recordsOf(allIds())) await target[record.state === 'running' ? 'begin' : 'finish'](record)
    for (const note of readNotes(home.notes)) await target.addNote(note)
  }

  async function importPending(target: Store): Promise<void> {
    if (!existsSync(home.pending)) return
    const ids = readdirSync(home.pending).filter(isRunId)
    for (const record of recordsOf(ids)) await target.finish(record)
    for (const id of ids) rmSync(join(home.pending, id), { force: true })
    for (const note of readNotes(home.notes)) await target.addNote(note)
    rmSync(home.pending, { recursive: true, force: true })
  }

  function remember(id: string): void {
    try {
      // Not with the folders above: a project that is gone is not made again.
      if (!existsSync(home.pending)) mkdirSync(home.pending, { mode: 0o700 })
      writeFileSync(join(home.pending, id), '', { mode: 0o600 })
    } catch {
      // Where not even this can be written, a store that is made anew finds the run by its folder.
    }
  }

  async function save(record: RunRecord, action: 'begin' | 'finish', isWritten = false): Promise<string[]> {
    const warnings: string[] = []
    try {
      if (action === 'begin') warnings.push(...place(record))
      else if (!isWritten) writeRecord(folder(record.id), record)
    } catch (error) {
      warnings.push(`the record of the run could not be written: ${toHoldfastError(error).message}`)
    }
    await use((target) => target[action](record))
    if (now() < brokenUntil) {
      remember(record.id)
      warnings.push(...problems.map((why) => `the run is kept in ${folder(record.id).path} but is not in the index yet: ${why}`))
    }
    return warnings
  }

  async function find(reference: string): Promise<RunRecord | undefined> {
    if (reference === 'last') return (await use((target) => target.list({ limit: 1 })))[0]
    if (isRunId(reference)) {
      // The file is newer than the index while another process is between its two writes.
      return readRecord(folder(reference), reference) ?? (await use((target) => target.find(reference)))
    }
    if (!/^[0-9a-z]{1,11}$/.test(reference)) return undefined
    const matches = await use((target) => target.idsWithPrefix(reference, 5))
    if (matches.length > 1) throw failure('run_ambiguous', { run: reference, matches })
    return matches[0] === undefined ? undefined : find(matches[0])
  }

  return {
    begin: (record) => save(record, 'begin'),
    replace: (record) => save(record, 'finish'),
    finish: (record) => save(record, 'finish', true),
    started(id, process) {
      try {
        writeProcess(folder(id), process)
      } catch {
        // The record of the end says what could not be written.
      }
    },
    async require(reference) {
      const record = await find(reference)
      if (!record) throw failure('run_not_found', { run: reference })
      return record
    },
    async setPinned(record, pinned) {
      const changed = { ...record, pinned }
      const warnings = await save(changed, 'finish')
      // A record that replaces another one pins, but never takes a pin away.
      await use((target) => target.setPinned(record.id, pinned))
      return { record: changed, warnings }
    },
    list: (filter) => use((target) => target.list(filter)),
    candidates: (tokens, filter) => use((target) => target.candidates(tokens, filter)),
    index: (id, tokens, whole) => use((target) => target.index(id, tokens, whole)),
    listUnindexed: (limit) => use((target) => target.listUnindexed(limit)),
    count: () => use((target) => target.count()),
    remove: (ids) => use((target) => target.remove(ids)),
    async addNote(note) {
      writeNote(home.notes, note)
      await use((target) => target.addNote(note))
    },
    listNotes: () => use((target) => target.listNotes()),
    async removeNote(id) {
      rmSync(join(home.notes, `${id}.json`), { force: true })
      return use((target) => target.removeNote(id))
    },
    folder,
    async warnings() {
      const opened = await real?.catch(() => undefined)
      return [...(opened?.warnings ?? []), ...problems]
    },
    usable: async () => (await store()).real,
    async close() {
      const opened = await real?.catch(() => undefined)
      await opened?.store.close()
    },
  }
}

function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Then an empty folder stays; without a record it is passed over.
  }
}
