import { failure } from '../../core/errors.ts'
import { foldText } from '../../core/fold.ts'
import { type Note, newestFirst, passesNote } from '../../core/note.ts'
import { holdsToken } from '../../core/query.ts'
import { isFailing, type RunRecord, type Verdict, verdictOf } from '../../core/run.ts'
import { dayOf, type Shown } from '../../core/stats.ts'
import type { KnownWord, RunFilter, Store } from '../../core/store.ts'

interface Row {
  readonly seq: number
  record: RunRecord
  /** Undefined until the output is indexed. */
  index: { readonly tokens: ReadonlySet<string>; readonly whole: boolean; readonly traits: number | undefined } | undefined
}

/** A store that lasts as long as the process: for tests, and where nothing can be written. It keeps copies of what it is given. */
export function memoryStore(): Store {
  const rows = new Map<string, Row>()
  let notes: { readonly all: readonly Note[]; readonly stamp: string } | undefined
  const shown = new Map<string, Shown>()
  let seq = 0
  let closed = false

  const use = async <T>(body: () => T): Promise<T> => {
    if (closed) throw failure('closed', {})
    return body()
  }
  const newest = (): Row[] => [...rows.values()].sort((a, b) => b.seq - a.seq)
  const put = (record: RunRecord): void => {
    const row = rows.get(record.id)
    const copy = { ...structuredClone(record), pinned: record.pinned || row?.record.pinned === true }
    if (row) row.record = copy
    else rows.set(record.id, { seq: ++seq, record: copy, index: undefined })
  }
  const isBefore = (row: Row, id: string | undefined): boolean => id === undefined || row.seq < (rows.get(id)?.seq ?? 0)
  const passing = (filter: RunFilter, also: (row: Row) => boolean): Row[] =>
    newest()
      .filter((row) => isBefore(row, filter.before) && passes(row.record, filter) && also(row))
      .slice(0, Math.max(0, Math.floor(filter.limit)))

  return {
    begin: (record) =>
      use(() => {
        const known = rows.get(record.id)
        if (!known || known.record.state === 'running') put(record)
      }),
    finish: (record) => use(() => put(record)),
    find: (id) => use(() => structuredClone(rows.get(id)?.record)),
    idsWithPrefix: (prefix, limit) =>
      use(() =>
        newest()
          .map(({ record }) => record.id)
          .filter((id) => id.startsWith(prefix))
          .slice(0, limit),
      ),
    list: (filter) => use(() => passing(filter, () => true).map(({ record }) => structuredClone(record))),
    previous: (commandKey, before) =>
      use(() => {
        const end = rows.get(before)?.seq ?? Number.POSITIVE_INFINITY
        const runs = newest().filter(({ seq, record }) => seq < end && record.commandKey === commandKey)
        const last = (verdict: Verdict): string | null => runs.find(({ record }) => verdictOf(record) === verdict)?.record.id ?? null
        const latest = runs.map(({ record }) => verdictOf(record)).find((verdict) => verdict !== null) ?? null
        return { passed: last('passed'), failed: last('failed'), latest }
      }),
    count: () => use(() => ({ runs: rows.size, failing: newest().filter(({ record }) => isFailing(record)).length })),
    setPinned: (id, pinned) =>
      use(() => {
        const row = rows.get(id)
        if (row) row.record = { ...row.record, pinned }
      }),
    remove: (ids) =>
      use(() => {
        for (const id of ids) rows.delete(id)
        for (const [key, { run }] of shown) if (run !== null && ids.includes(run)) shown.delete(key)
      }),
    index: (id, tokens, whole, traits) =>
      use(() => {
        const row = rows.get(id)
        if (row) row.index = { tokens: new Set(tokens.split(/\s+/)), whole, traits }
      }),
    listUnindexed: (limit) =>
      use(() =>
        newest()
          .filter(({ record, index }) => record.state !== 'running' && !index)
          .slice(0, limit)
          .map(({ record }) => record.id),
      ),
    candidates: (tokens, filter, part) =>
      use(() =>
        passing(filter, ({ index, record }) => {
          const known = tokens.length === 0 || record.state === 'running' || (index !== undefined && tokens.every((token) => holdsToken(index.tokens, token)))
          return part === 'known' ? known : (!known && !index?.whole) || (known && part !== 'rest')
        }).map(({ record, index }) => ({ ...structuredClone(record), ...(index?.traits === undefined ? {} : { traits: index.traits }) })),
      ),
    words: (prefix, limit) => use(() => wordsOf([...rows.values()], prefix).slice(0, limit)),
    addShown: (entries) =>
      use(() => {
        for (const entry of entries) {
          const key = JSON.stringify([entry.run, entry.surface, entry.operation, entry.day])
          const known = shown.get(key) ?? { ...entry, calls: 0, bytes: 0 }
          shown.set(key, { ...entry, calls: known.calls + entry.calls, bytes: known.bytes + entry.bytes })
        }
      }),
    listShown: (sinceMs) =>
      use(() =>
        [...shown.values()].filter(({ run, day }) => {
          if (run === null) return day >= dayOf(sinceMs)
          const record = rows.get(run)?.record
          return record !== undefined && startedMs(record) >= sinceMs
        }),
      ),
    listPrinted: (sinceMs) =>
      use(() =>
        newest()
          .filter(({ record }) => record.state !== 'running' && startedMs(record) >= sinceMs)
          .map(({ record: { id, commandKey, command, stdout, stderr } }) => ({
            id,
            commandKey: commandKey ?? null,
            command,
            bytes: stdout.bytes + stderr.bytes,
          })),
      ),
    setNotes: (all, stamp) =>
      use(() => {
        notes = { all: structuredClone([...all]).sort(newestFirst), stamp }
      }),
    notesStamp: () => use(() => notes?.stamp ?? null),
    listNotes: (filter = {}) => use(() => structuredClone((notes?.all ?? []).filter((note) => passesNote(note, filter)))),
    ready: () => !closed,
    async close() {
      closed = true
    },
  }
}

function wordsOf(rows: readonly Row[], prefix: string): KnownWord[] {
  const counts = new Map<string, number>()
  for (const { index } of rows) for (const word of index?.tokens ?? []) if (word.startsWith(prefix)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].map(([word, runs]) => ({ word, runs })).sort((a, b) => Buffer.compare(Buffer.from(a.word), Buffer.from(b.word)))
}

const startedMs = ({ startedAt }: RunRecord): number => Date.parse(startedAt) || 0

function passes(record: RunRecord, filter: RunFilter): boolean {
  if (filter.failing !== undefined && isFailing(record) !== filter.failing) return false
  if (filter.running !== undefined && (record.state === 'running') !== filter.running) return false
  if (filter.runtime !== undefined && record.runtime !== filter.runtime) return false
  if (filter.sinceMs !== undefined && Date.parse(record.startedAt) < filter.sinceMs) return false
  const wanted = foldText(filter.query ?? '').trim()
  return wanted === '' || [record.id, record.purpose ?? '', record.command].some((text) => foldText(text).includes(wanted))
}
