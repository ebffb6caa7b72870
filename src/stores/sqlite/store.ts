import { isFailing, type RunRecord, type Verdict, verdictOf } from '../../core/run.ts'
import { dayOf, type SurfaceName } from '../../core/stats.ts'
import type { Candidate, PreviousRuns, Store } from '../../core/store.ts'
import type { Connection, SqlValue } from './driver.ts'
import { listNotes, notesStamp, setNotes } from './notes.ts'
import type { Access } from './open.ts'
import { type Indexed, labelOf, limitOf, type Select, selectRuns, tokenMatch, toRecord } from './statements.ts'

/** Removing many runs is done in steps, so that neither other processes nor this one wait for all of them. */
const removedAtOnce = 100
/** A command is told by its beginning. */
const maxCommandChars = 500

export function sqliteStore(access: Access): Store {
  return {
    begin: (record) =>
      access.write((connection) => {
        const known = connection.all('select seq, state from runs where id = ?', [record.id])[0]
        if (!known) insert(connection, record)
        // A late beginning never takes back an end.
        else if (known[1] === 'running') replace(connection, Number(known[0]), record)
      }),
    finish: (record) =>
      access.write((connection) => {
        const seq = seqOf(connection, record.id)
        if (seq === undefined) insert(connection, record)
        else replace(connection, seq, record)
      }),
    find: (id) =>
      access.read((connection) => {
        const row = connection.all('select r.pinned, c.record from runs r join records c on c.seq = r.seq where r.id = ?', [id])[0]
        return row && toRecord(row[1], row[0] === 1)
      }),
    idsWithPrefix: (prefix, limit) =>
      access.read((connection) => {
        const sql = 'select id from runs where id >= ? and id < ? order by seq desc limit ?'
        const all = 'select id from runs order by seq desc limit ?'
        const rows = prefix === '' ? connection.all(all, [limitOf(limit)]) : connection.all(sql, [prefix, `${prefix}\u{10ffff}`, limitOf(limit)])
        return rows.map(([id]) => String(id))
      }),
    list: (filter) => access.read((connection) => toRecords(select(connection, selectRuns(filter)))),
    previous: (commandKey, before) => access.read((connection) => previous(connection, commandKey, before)),
    count: () =>
      access.read((connection) => {
        const [runs, failing] = connection.all('select (select count(*) from runs), (select count(*) from runs where failing = 1)')[0] ?? []
        return { runs: Number(runs), failing: Number(failing) }
      }),
    setPinned: (id, pinned) =>
      access.write((connection) => {
        connection.run('update runs set pinned = ? where id = ?', [pinned ? 1 : 0, id])
      }),
    async remove(ids) {
      for (let at = 0; at < ids.length; at += removedAtOnce) {
        await access.write((connection) => {
          for (const id of ids.slice(at, at + removedAtOnce)) removeRun(connection, id)
        })
      }
    },
    index: (id, tokens, whole, traits) =>
      access.write((connection) => {
        const [row] = connection.all('select seq, indexed from runs where id = ?', [id])
        if (!row) return
        const seq = Number(row[0])
        if (row[1] !== 0) connection.run('delete from outputs where rowid = ?', [seq])
        connection.run('insert into outputs (rowid, tokens) values (?, ?)', [seq, tokens])
        connection.run('update runs set indexed = ?, traits = ? where seq = ?', [whole ? 2 : 1, traits ?? null, seq])
      }),
    listUnindexed: (limit) =>
      access.read((connection) => {
        const sql = "select id from runs where indexed = 0 and state <> 'running' order by seq desc limit ?"
        return connection.all(sql, [limitOf(limit)]).map(([id]) => String(id))
      }),
    candidates: (...given) => access.read((connection) => candidates(connection, ...given)),
    words: (prefix, limit) =>
      access.read((connection) => {
        // A view of the index that belongs to the connection: nothing of it is in the file.
        connection.exec('create virtual table if not exists temp.words using fts5vocab(main, outputs, row)')
        const sql = 'select term, doc from temp.words where term >= ? and term < ? limit ?'
        return connection.all(sql, [prefix, `${prefix}\u{10ffff}`, limitOf(limit)]).map(([word, runs]) => ({ word: String(word), runs: Number(runs) }))
      }),
    addShown: (entries) =>
      access.write((connection) => {
        const sql =
          'insert into shown (run, surface, operation, day, calls, bytes) values (?, ?, ?, ?, ?, ?) on conflict do update set calls = calls + excluded.calls, bytes = bytes + excluded.bytes'
        for (const { run, surface, operation, day, calls, bytes } of entries) connection.run(sql, [run ?? '', surface, operation, day, calls, bytes])
      }),
    listShown: (sinceMs) =>
      access.read((connection) => {
        const sql = `select s.run, s.surface, s.operation, s.day, s.calls, s.bytes from shown s left join runs r on r.id = s.run
          where case when s.run = '' then s.day >= ? else r.started_ms >= ? end`
        return connection.all(sql, [dayOf(sinceMs), sinceMs]).map(([run, surface, operation, day, calls, bytes]) => ({
          run: run === '' ? null : String(run),
          surface: surface as SurfaceName,
          operation: String(operation),
          day: Number(day),
          calls: Number(calls),
          bytes: Number(bytes),
        }))
      }),
    listPrinted: (sinceMs) =>
      access.read((connection) => {
        const bytes = "json_extract(c.record, '$.stdout.bytes') + json_extract(c.record, '$.stderr.bytes')"
        const sql = `select r.id, r.command_key, substr(json_extract(c.record, '$.command'), 1, ?), ${bytes} from runs r cross join records c on c.seq = r.seq
          where r.state <> 'running' and r.started_ms >= ? and json_valid(c.record) order by r.seq desc`
        return connection.all(sql, [maxCommandChars, sinceMs]).map(([id, commandKey, command, printed]) => ({
          id: String(id),
          commandKey: commandKey === null ? null : String(commandKey),
          command: String(command),
          bytes: Number(printed),
        }))
      }),
    setNotes: (notes, stamp) => access.write((connection) => setNotes(connection, notes, stamp)),
    notesStamp: () => access.read(notesStamp),
    listNotes: (filter = {}) => access.read((connection) => listNotes(connection, filter)),
    ready: () => access.ready(),
    close: () => access.close(),
  }
}

function seqOf(connection: Connection, id: string): number | undefined {
  const row = connection.all('select seq from runs where id = ?', [id])[0]
  return row && Number(row[0])
}

function columnsOf(record: RunRecord): readonly SqlValue[] {
  const startedMs = Date.parse(record.startedAt)
  return [
    record.state,
    isFailing(record) ? 1 : 0,
    record.runtime,
    Number.isNaN(startedMs) ? 0 : startedMs,
    record.commandKey ?? null,
    verdictOf(record),
    record.pinned ? 1 : 0,
  ]
}

function insert(connection: Connection, record: RunRecord): void {
  const sql = 'insert into runs (state, failing, runtime, started_ms, command_key, verdict, pinned, id) values (?, ?, ?, ?, ?, ?, ?, ?)'
  const seq = connection.run(sql, [...columnsOf(record), record.id]).rowid
  const label = labelOf(record)
  connection.run('insert into records (seq, record) values (?, ?)', [seq, JSON.stringify(record)])
  connection.run('insert into labels (seq, label) values (?, ?)', [seq, label])
  connection.run('insert into label_parts (rowid, label) values (?, ?)', [seq, label])
}

function replace(connection: Connection, seq: number, record: RunRecord): void {
  // A pin that was set while the run went on is not in the record that its holder wrote.
  const sql = 'update runs set state = ?, failing = ?, runtime = ?, started_ms = ?, command_key = ?, verdict = ?, pinned = max(pinned, ?) where seq = ?'
  connection.run(sql, [...columnsOf(record), seq])
  connection.run('insert or replace into records (seq, record) values (?, ?)', [seq, JSON.stringify(record)])
  const label = labelOf(record)
  if (connection.all('select label from labels where seq = ?', [seq])[0]?.[0] === label) return
  connection.run('insert or replace into labels (seq, label) values (?, ?)', [seq, label])
  connection.run('delete from label_parts where rowid = ?', [seq])
  connection.run('insert into label_parts (rowid, label) values (?, ?)', [seq, label])
}

function previous(connection: Connection, commandKey: string, before: string): PreviousRuns {
  const end = seqOf(connection, before) ?? Number.MAX_SAFE_INTEGER
  const last = (verdict: Verdict): { seq: number; id: string } | undefined => {
    const sql = 'select seq, id from runs where command_key = ? and verdict = ? and seq < ? order by seq desc limit 1'
    const row = connection.all(sql, [commandKey, verdict, end])[0]
    return row && { seq: Number(row[0]), id: String(row[1]) }
  }
  const passed = last('passed')
  const failed = last('failed')
  const latest = !passed && !failed ? null : (passed?.seq ?? 0) > (failed?.seq ?? 0) ? 'passed' : 'failed'
  return { passed: passed?.id ?? null, failed: failed?.id ?? null, latest }
}

function removeRun(connection: Connection, id: string): void {
  const seq = seqOf(connection, id)
  if (seq === undefined) return
  connection.run('delete from shown where run = ?', [id])
  for (const table of ['outputs', 'label_parts']) connection.run(`delete from ${table} where rowid = ?`, [seq])
  for (const table of ['labels', 'records', 'runs']) connection.run(`delete from ${table} where seq = ?`, [seq])
}

interface Row {
  readonly seq: number
  readonly pinned: boolean
  readonly traits: SqlValue
  readonly record: SqlValue
}

function select(connection: Connection, { sql, params }: Select): Row[] {
  return connection
    .all(sql, params)
    .map(([seq, pinned, traits, record]) => ({ seq: Number(seq), pinned: pinned === 1, traits: traits ?? null, record: record ?? null }))
}

const toRecords = (rows: readonly Row[]): RunRecord[] =>
  rows.flatMap(({ record, pinned }) => {
    const found = toRecord(record, pinned)
    return found ? [found] : []
  })

const toCandidates = (rows: readonly Row[]): Candidate[] =>
  rows.flatMap(({ record, pinned, traits }) => {
    const found = toRecord(record, pinned)
    return found ? [traits === null ? found : { ...found, traits: Number(traits) }] : []
  })

function candidates(connection: Connection, ...[tokens, filter, part]: Parameters<Store['candidates']>): Candidate[] {
  const match = tokenMatch(tokens)
  if (match === undefined) return part === 'rest' ? [] : toCandidates(select(connection, selectRuns(filter)))
  if (part === 'rest') return toCandidates(select(connection, selectRuns(filter, { partial: 'over', without: match })))
  const rows = new Map<number, Row>()
  const partial = part === 'known' ? 'running' : 'all'
  for (const only of [{ match }, { partial }] satisfies Indexed[]) for (const row of select(connection, selectRuns(filter, only))) rows.set(row.seq, row)
  const newest = [...rows.values()].sort((a, b) => b.seq - a.seq)
  return toCandidates(newest.slice(0, limitOf(filter.limit)))
}
