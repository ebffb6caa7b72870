import { cpSync, existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure, messageOf, toHoldfastError } from '../core/errors.ts'
import { type ProcessIdentity, type RunRecord, verdictOf } from '../core/run.ts'
import { type Shown, type Stats, statsOf } from '../core/stats.ts'
import type { KnownWord, PreviousRuns, RunFilter, Store } from '../core/store.ts'
import type { LockFile } from '../core/workspace.ts'
import { checkRoom, makeSpare } from './home.ts'
import { type NoteShelf, openNoteShelf } from './note-shelf.ts'
import {
  createRecord,
  discard,
  isRunId,
  listRunIds,
  makeRunFolder,
  type RunFolder,
  readRecord,
  recordText,
  runFolder,
  writeProcess,
  writeRecord,
} from './run-folder.ts'
import { openRunIndex, type RunIndexOptions } from './run-index.ts'
import { openSpareFolders } from './spare-folders.ts'

/**
 * Records of runs. The file in the folder of a run is the truth; the store is an index over these files that may be
 * locked, damaged or gone, and is told later (see run-index.ts). No command ever fails because of it.
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
  /** Whether somebody has pinned a run since it began. */
  isPinned(begun: RunRecord): boolean
  setPinned(record: RunRecord, pinned: boolean): Promise<{ record: RunRecord; warnings: readonly string[] }>
  list(filter: RunFilter): Promise<readonly RunRecord[]>
  /** The last runs of the same command before this one, as far as the index knows them; nothing is waited for, and nothing is wrong without. */
  previous(record: RunRecord): Promise<PreviousRuns>
  candidates: Store['candidates']
  words(prefix: string, limit: number): Promise<readonly KnownWord[]>
  index: Store['index']
  listUnindexed(limit: number): Promise<readonly string[]>
  count(): Promise<{ readonly runs: number; readonly failing: number }>
  remove(ids: readonly string[]): Promise<void>
  addShown(entries: readonly Shown[]): Promise<void>
  stats(sinceMs: number): Promise<Stats>
  /** The notes of the project and of its workspaces. */
  readonly notes: NoteShelf
  folder(id: string): RunFolder
  /** What has been wrong with the store since it was opened. */
  warnings(): Promise<readonly string[]>
  /** Whether the real store is in use. */
  usable(): Promise<boolean>
  close(): Promise<void>
}

export interface RecordsOptions extends Omit<RunIndexOptions, 'folder' | 'allIds' | 'bringHome'> {
  openLock(): Promise<LockFile>
}

const maxPlaced = 1_000
/** How long it counts that there is room for another run. */
const roomMs = 20
/** By then a first record is written, and nobody else has heard of the run. */
const writingMs = 20

export function openRecords(options: RecordsOptions): Records {
  const { home } = options

  /** Runs that began here, in the home, where they stay: they need not be looked for. With the bytes of their first records. */
  const placed = new Map<string, number>()
  let roomAt = Number.NEGATIVE_INFINITY

  function folder(id: string): RunFolder {
    const at = runFolder(home.runs, id)
    if (placed.has(id) || existsSync(at.path)) return at
    return home.spares.map((runs) => runFolder(runs, id)).find(({ path }) => existsSync(path)) ?? at
  }

  const allIds = (): string[] => [home.runs, ...home.spares].flatMap(listRunIds)
  const index = openRunIndex({ ...options, folder, allIds, bringHome })
  const ahead = openSpareFolders(home.ahead, options.processes)

  /** Makes the folder of a run that begins, with its record: at home, or else elsewhere. */
  function place(record: RunRecord): string[] {
    let why: string | undefined
    for (const runs of [home.runs, ...home.spares]) {
      const at = runFolder(runs, record.id)
      let made = false
      try {
        if (runs !== home.runs) makeSpare(runs)
        lookForRoom(runs)
        const text = recordText(record)
        if (runs !== home.runs || !ahead.take(at, text)) {
          makeRunFolder(at)
          made = true
          createRecord(at, text)
        }
        if (placed.size >= maxPlaced) placed.clear()
        if (runs === home.runs) placed.set(record.id, Buffer.byteLength(text))
        return why === undefined ? [] : [`${home.path} cannot be written to (${why}); the run is kept in ${at.path}`]
      } catch (error) {
        why ??= messageOf(error)
        if (made) discard(at.path)
      }
    }
    return [`the run cannot be kept: ${why}`]
  }

  /** In a burst of short runs not for each. */
  function lookForRoom(runs: string): void {
    if (runs === home.runs && options.now() - roomAt < roomMs) return
    checkRoom(runs)
    if (runs === home.runs) roomAt = options.now()
  }

  /** A first record that nobody has replaced is told by its size and its age, without reading it. */
  function isPinned(begun: RunRecord): boolean {
    const at = folder(begun.id)
    try {
      const found = statSync(at.record, { throwIfNoEntry: false })
      if (found && found.size === placed.get(begun.id) && found.ctimeMs < Date.parse(begun.startedAt) + writingMs) return false
    } catch {
      // There is no way to a folder that could not be made.
    }
    return readRecord(at, begun.id)?.pinned === true
  }

  /** Moves runs that were kept elsewhere to where they belong; what cannot be moved yet is found where it is. */
  async function bringHome(owe: (id: string) => Promise<void>): Promise<void> {
    if (!home.mayHaveSpares()) return
    for (const spare of home.spares) {
      for (const id of listRunIds(spare)) {
        const from = runFolder(spare, id)
        if (readRecord(from, id)?.state === 'running') continue
        const arriving = join(home.runs, `.arriving-${id}`)
        try {
          checkRoom(home.runs)
          cpSync(from.path, arriving, { recursive: true, preserveTimestamps: true })
          await owe(id)
          renameSync(arriving, runFolder(home.runs, id).path)
          discard(from.path)
        } catch {
          discard(arriving)
          return
        }
      }
    }
  }

  async function begin(record: RunRecord): Promise<string[]> {
    const warnings: string[] = []
    await index.tell(record, () => warnings.push(...place(record)))
    ahead.ask()
    return [...warnings, ...notIndexed(record.id, index.knownTroubles())]
  }

  /** `isWritten`: the folder holds this end already. */
  async function end(record: RunRecord, isWritten: boolean): Promise<string[]> {
    const warnings: string[] = []
    await index.tell(record, () => {
      try {
        if (!isWritten) writeRecord(folder(record.id), record)
      } catch (error) {
        warnings.push(`the record of the run could not be written: ${toHoldfastError(error).message}`)
      }
    })
    return [...warnings, ...notIndexed(record.id, await index.troubles())]
  }

  function notIndexed(id: string, troubles: readonly string[]): string[] {
    return troubles.map((why) => `the run is kept in ${folder(id).path} but is not in the index yet: ${why}`)
  }

  async function find(reference: string): Promise<RunRecord | undefined> {
    // The file is newer than the index: what a run left behind may have printed more since its end was told.
    if (reference === 'last') {
      const [last] = await index.read((store) => store.list({ limit: 1 }))
      return last && (readRecord(folder(last.id), last.id) ?? last)
    }
    if (isRunId(reference)) return readRecord(folder(reference), reference) ?? (await index.read((store) => store.find(reference)))
    if (!/^[0-9a-z]{1,11}$/.test(reference)) return undefined
    const matches = await index.read((store) => store.idsWithPrefix(reference, 5))
    if (matches.length > 1) throw failure('run_ambiguous', { run: reference, matches })
    return matches[0] === undefined ? undefined : find(matches[0])
  }

  async function previous({ id, commandKey, startedAt }: RunRecord): Promise<PreviousRuns> {
    const none: PreviousRuns = { passed: null, failed: null, latest: null }
    if (commandKey === undefined) return none
    let found = await index.glance((store) => store.previous(commandKey, id))
    if (!found) return none
    for (const record of index.untold()) {
      const verdict = record.commandKey === commandKey && record.id !== id && record.startedAt <= startedAt ? verdictOf(record) : null
      if (verdict !== null) found = { ...found, [verdict]: record.id, latest: verdict }
    }
    return found
  }

  return {
    begin,
    replace: (record) => end(record, false),
    finish: (record) => end(record, true),
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
    isPinned,
    async setPinned(record, pinned) {
      const changed = { ...record, pinned }
      const warnings = await end(changed, false)
      // A record that replaces another one pins, but never takes a pin away.
      await index.write((store) => store.setPinned(record.id, pinned))
      return { record: changed, warnings }
    },
    previous,
    list: (filter) => index.read((store) => store.list(filter)),
    candidates: (...given) => index.read((store) => store.candidates(...given)),
    words: (prefix, limit) => index.read((store) => store.words(prefix, limit)),
    index: (...given) => index.write((store) => store.index(...given)),
    listUnindexed: (limit) => index.read((store) => store.listUnindexed(limit)),
    count: () => index.read((store) => store.count()),
    async addShown(entries) {
      // Who only looked makes nothing.
      if (existsSync(home.path)) await index.write((store) => store.addShown(entries))
    },
    stats: (sinceMs) => index.read(async (store) => statsOf(...(await Promise.all([store.listPrinted(sinceMs), store.listShown(sinceMs)])))),
    remove: (ids) => index.write((store) => store.remove(ids)),
    notes: openNoteShelf({ folder: home.notes, openLock: options.openLock, now: () => new Date(), index }),
    folder,
    warnings: () => index.warnings(),
    usable: () => index.usable(),
    async close() {
      ahead.close()
      await index.close()
    },
  }
}
