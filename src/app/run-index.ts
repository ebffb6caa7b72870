import { existsSync, statSync } from 'node:fs'
import { toHoldfastError } from '../core/errors.ts'
import type { ProcessIdentity, RunRecord } from '../core/run.ts'
import type { Store } from '../core/store.ts'
import type { Home } from './home.ts'
import { everyRun, type Journal, listJournals, type Noted, openJournal, readJournal, removeJournal, saysSomething } from './journal.ts'
import { type RunFolder, readRecord } from './run-folder.ts'

/**
 * The store as an index over the folders of runs. It is told of runs a moment later and of many at once, so that no command
 * waits for it; until then they stand in a journal. Who reads gets all that was told before, by this process or by others.
 * While the store cannot be used, one in memory stands in, filled from the folders.
 */
export interface RunIndex {
  /**
   * Hands over the record of a run that begins, or changed. `write` puts it into its folder, after it was noted that the index is
   * behind with it. Resolves at once, unless that could not be noted: then the index is told first.
   */
  tell(record: RunRecord, write: () => void): Promise<void>
  read<T>(action: (store: Store) => Promise<T>): Promise<T>
  /** What the index knows at this moment, without being told anything first; undefined where it cannot be used, or is in use for too long. */
  glance<T>(action: (store: Store) => Promise<T>): Promise<T | undefined>
  /** What it is still to be told by this process, in the order in which that was first heard of. */
  untold(): readonly RunRecord[]
  /** After all that was told. */
  write<T>(action: (store: Store) => Promise<T>): Promise<T>
  /** What keeps the index from being told at this moment, in words. Waits for it only where that is not known. */
  troubles(): Promise<readonly string[]>
  /** The same, as far as it is known. */
  knownTroubles(): readonly string[]
  /** What has been wrong since the beginning. */
  warnings(): Promise<readonly string[]>
  /** Whether the real store is in use. */
  usable(): Promise<boolean>
  /** Tells the index all that is left. */
  close(): Promise<void>
}

export interface OpenedStore {
  readonly store: Store
  readonly warnings: readonly string[]
  /** True when the store is new in place of a damaged or missing one. */
  readonly rebuild: boolean
  readonly readOnly: boolean
}

/** What is known of processes; loaded when somebody has noted something. */
export interface Processes {
  readonly self: ProcessIdentity
  isAlive(identity: ProcessIdentity): boolean
}

export interface RunIndexOptions {
  readonly home: Home
  openStore(path: string): Promise<OpenedStore>
  /** An empty store in memory. */
  memoryStore(): Promise<Store>
  processes(): Promise<Processes>
  now(): number
  folder(id: string): RunFolder
  /** The ids of all folders there are. */
  allIds(): readonly string[]
  /** Moves what was kept elsewhere to the home, and says each run before it arrives. */
  bringHome(owe: (id: string) => Promise<void>): Promise<void>
}

/** After a failure the store is left alone for this long. */
const retryAfterMs = 5_000
/** So long the index may be behind: a burst of short runs is written together, and each of them once. */
const behindMs = 25
/** So long it counts as ready once it was seen so: a burst of short runs does not ask for each. */
const readyMs = 5
/** Written together; then others have their turn. */
const togetherRuns = 16
/** How long a glance at the index may take. */
const glanceMs = 250
/** How many of the newest runs are read from their files when there is no store. */
const maxFallbackRuns = 2_000

async function inTime<T>(glance: Promise<T | undefined>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, glanceMs, undefined)
  })
  return Promise.race([glance, late]).finally(() => clearTimeout(timer))
}

export function openRunIndex(options: RunIndexOptions): RunIndex {
  const { home, now, folder } = options
  let real: Promise<OpenedStore> | undefined
  /** The real store, once it is open. */
  let opened: OpenedStore | undefined
  let stand: Promise<Store> | undefined
  let brokenUntil = 0
  let problems: string[] = []

  let journal: Journal | undefined
  /** What the journal says. */
  const noted = new Set<string>()
  /** What the index is to be told, in the order in which it was first heard of. */
  const behind = new Map<string, RunRecord>()
  /** What the index could not be told; then the folders tell it. */
  const owed = new Set<string>()
  /** Journals of others of which all is known, with what they said. */
  const known = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined
  let closed = false
  let isAsking = false
  /** When the store was last seen to take a write. */
  let readyAt = Number.NEGATIVE_INFINITY

  async function openOwn(): Promise<Journal> {
    const { self } = await options.processes()
    journal ??= openJournal(home.pending, self)
    return journal
  }

  function note(own: Journal, line: string): boolean {
    if (!noted.has(line) && own.note(line)) noted.add(line)
    return noted.has(line)
  }

  async function owe(line: string): Promise<void> {
    note(journal ?? (await openOwn()), line)
    owed.add(line)
  }

  async function open(): Promise<OpenedStore> {
    const found = await options.openStore(home.store)
    if (!found.readOnly) {
      await options.bringHome(owe)
      // Written down first: whoever is killed while filling the store leaves the rest to the next one.
      if (found.rebuild) await owe(everyRun)
      await takeIn(found.store, true)
    }
    opened = found
    return found
  }

  async function store(): Promise<{ store: Store; real: boolean }> {
    // Who only looks makes nothing, and what is gone is not made again from here.
    if (!existsSync(home.path)) return { store: await standIn(), real: false }
    if (now() >= brokenUntil) {
      try {
        real ??= open()
        return { store: (await real).store, real: true }
      } catch (error) {
        forget()
        broken(error)
      }
    }
    stand ??= standIn()
    return { store: await stand, real: false }
  }

  function forget(): void {
    real = undefined
    opened = undefined
  }

  function broken(error: unknown): void {
    brokenUntil = now() + retryAfterMs
    readyAt = Number.NEGATIVE_INFINITY
    const { message } = toHoldfastError(error)
    if (!problems.includes(message)) problems = [...problems, message]
  }

  /** Does it in the real store; where that fails, in the one that stands in for it. */
  async function use<T>(action: (store: Store, isReal: boolean) => Promise<T>, again = false): Promise<T> {
    const current = await store()
    if (!current.real) return action(current.store, false)
    try {
      return await action(current.store, true)
    } catch (error) {
      // One that was removed meanwhile is made anew, and knows all earlier runs before this one.
      const removed = !again && !existsSync(home.store)
      if (!removed) broken(error)
      if ((await real?.catch(() => undefined))?.store === current.store) forget()
      void current.store.close().catch(() => {})
      stand = undefined
      if (removed) return use(action, true)
      const next = await store()
      return action(next.store, next.real)
    }
  }

  function newestFirst(ids: readonly string[]): string[] {
    const times = new Map(ids.map((id) => [id, statSync(folder(id).path, { throwIfNoEntry: false })?.mtimeMs ?? 0]))
    return [...ids].sort((a, b) => (times.get(b) ?? 0) - (times.get(a) ?? 0))
  }

  async function standIn(): Promise<Store> {
    const memory = await options.memoryStore()
    const ids = newestFirst(options.allIds()).slice(0, maxFallbackRuns)
    for (const id of ids.reverse()) {
      const record = readRecord(folder(id), id)
      if (record) await memory.finish(record)
    }
    return memory
  }

  async function writeAll(target: Store, records: readonly RunRecord[]): Promise<void> {
    for (let at = 0; at < records.length; at += togetherRuns) {
      if (at > 0) await new Promise((resolve) => setImmediate(resolve))
      // A run that goes on may have ended meanwhile; a late beginning takes back no end.
      await Promise.all(records.slice(at, at + togetherRuns).map((record) => target[record.state === 'running' ? 'begin' : 'finish'](record)))
    }
  }

  /** Brings in what others have noted, and what this process could not tell earlier. */
  async function takeIn(target: Store, isFirst: boolean): Promise<void> {
    const found = await readOthers(isFirst)
    const mine = [...owed]
    if (found.length === 0 && mine.length === 0) return
    const all = mine.includes(everyRun) || found.some((journal) => journal.everyRun)
    const ids = new Set(all ? options.allIds() : [...found.flatMap((journal) => journal.ids), ...mine])
    const records = [...ids].flatMap((id) => readRecord(folder(id), id) ?? [])
    await writeAll(
      target,
      records.sort((a, b) => a.startedAt.localeCompare(b.startedAt)),
    )
    for (const line of mine) owed.delete(line)
    clearJournal()
    const over = new Set(records.flatMap(({ id, state }) => (state === 'running' ? [] : [id])))
    for (const { name, abandoned, text, ids } of found) {
      if (abandoned) removeJournal(home.pending, name)
      else if (ids.every((id) => over.has(id))) known.set(name, text)
    }
  }

  async function readOthers(isFirst: boolean): Promise<Noted[]> {
    // Who begins runs knows processes anyway, and clears away also what a dead one left empty.
    const thorough = isFirst && journal !== undefined
    const names = listJournals(home.pending, journal?.name).filter((name) => thorough || saysSomething(home.pending, name))
    if (names.length === 0) return []
    const { isAlive } = await options.processes()
    return names.flatMap((name) => {
      const journal = readJournal(home.pending, name, isAlive)
      return journal && (journal.abandoned || (journal.text !== '' && known.get(name) !== journal.text)) ? [journal] : []
    })
  }

  function clearJournal(): void {
    if (behind.size > 0 || owed.size > 0) return
    journal?.clear()
    noted.clear()
  }

  /** Resolves when the index knows all that was told before the call, or cannot be told. One at a time. */
  async function flush(): Promise<void> {
    while (flushing) await flushing
    if (behind.size === 0) return
    flushing = tellBehind().finally(() => {
      flushing = undefined
    })
    await flushing
  }

  async function tellBehind(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const records = [...behind.values()]
    const isReal = await use(async (target, isReal) => {
      await writeAll(target, records)
      return isReal
    }).catch(() => false)
    if (isReal) readyAt = now()
    for (const record of records) {
      if (behind.get(record.id) === record) behind.delete(record.id)
      if (!isReal) owed.add(record.id)
    }
    clearJournal()
  }

  function isReady(target: Store): boolean {
    if (now() - readyAt < readyMs) return true
    if (!target.ready()) return false
    readyAt = now()
    return true
  }

  function askReady(): void {
    isAsking = false
    if (opened && !closed) isReady(opened.store)
  }

  const knownTroubles = (): readonly string[] => (now() < brokenUntil ? problems : [])

  return {
    async tell(record, write) {
      const own = journal ?? (await openOwn())
      // No wait between these three: what is noted and not handed over yet could be taken for told.
      const isNoted = note(own, record.id)
      write()
      if (!closed) behind.set(record.id, record)
      if (!isNoted) await flush()
      // Whoever ends without closing leaves it to the journal.
      else if (!closed) timer ??= setTimeout(() => void flush(), behindMs).unref()
      // While the command runs there is time for that.
      if (record.state === 'running' && opened && !isAsking && now() - readyAt >= readyMs) {
        isAsking = true
        setImmediate(askReady)
      }
    },
    async read(action) {
      await flush()
      return use(async (target, isReal) => {
        if (isReal && !opened?.readOnly) await takeIn(target, false)
        return action(target)
      })
    },
    async glance(action) {
      if (now() < brokenUntil || !existsSync(home.path)) return undefined
      real ??= open()
      const known = real.then(({ store }) => action(store))
      // Whoever needs the store next finds out what is wrong with it, and waits for who holds it.
      return inTime(known.catch(() => undefined))
    },
    untold: () => [...behind.values()],
    async write(action) {
      await flush()
      return use(action)
    },
    async troubles() {
      if (!opened || now() < brokenUntil || !isReady(opened.store)) await flush()
      return knownTroubles()
    },
    knownTroubles,
    async warnings() {
      const found = await real?.catch(() => undefined)
      return [...(found?.warnings ?? []), ...problems]
    },
    usable: async () => (await store()).real,
    async close() {
      await flush()
      closed = true
      clearTimeout(timer)
      journal?.close(behind.size === 0 && owed.size === 0)
      await (await real?.catch(() => undefined))?.store.close()
    },
  }
}
