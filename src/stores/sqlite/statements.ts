import { foldText } from '../../core/fold.ts'
import type { RunRecord } from '../../core/run.ts'
import type { RunFilter } from '../../core/store.ts'
import type { SqlValue } from './driver.ts'

/** What `query` of a filter is looked for in: id, purpose and command, folded, apart from each other. */
export function labelOf(record: Pick<RunRecord, 'id' | 'purpose' | 'command'>): string {
  return [record.id, record.purpose ?? '', record.command].map((text) => foldText(text).replaceAll('\u0000', ' ')).join('\u001f')
}

export interface Select {
  readonly sql: string
  readonly params: readonly SqlValue[]
}

const maxTrigrams = 24

/** The match expression for rows that have every trigram of `text`; undefined where it is too short to have one. */
function trigramMatch(text: string): string | undefined {
  const chars = [...text]
  const trigrams = new Set<string>()
  const last = chars.length - 3
  const step = Math.max(1, last / (maxTrigrams - 1))
  for (let at = 0; at <= last; at += step) trigrams.add(chars.slice(Math.floor(at), Math.floor(at) + 3).join(''))
  return trigrams.size === 0 ? undefined : [...trigrams].map(quoted).join(' ')
}

const quoted = (term: string): string => `"${term.replaceAll('"', '""')}"`

/** The match expression for rows that have every token; undefined where there is none to ask for. */
export function tokenMatch(tokens: readonly string[]): string | undefined {
  const terms = tokens.flatMap((token) => {
    const prefix = token.endsWith('*')
    // The tokenizer knows no other characters inside of a token, and this kind of index no phrases.
    const words = token.split(/[^A-Za-z0-9_\u0080-\uffff]+/).filter((word) => word !== '')
    return words.map((word, i) => quoted(word) + (prefix && i === words.length - 1 ? '*' : ''))
  })
  return terms.length === 0 ? undefined : terms.join(' ')
}

/** Which runs, by what the index has of them. */
export interface Indexed {
  /** Those whose index has these tokens. */
  readonly match?: string
  /** Those whose index has them not. */
  readonly without?: string
  /** Those not indexed whole, or of them those that go on or do not. */
  readonly partial?: 'all' | 'running' | 'over'
}

/** Runs that a filter lets pass, newest first, as `seq, pinned, traits, record`. */
export function selectRuns(filter: RunFilter, only: Indexed = {}): Select {
  const where: string[] = []
  const params: SqlValue[] = []
  const add = (condition: string, ...values: readonly SqlValue[]): void => {
    where.push(condition)
    params.push(...values)
  }
  // Nothing of those that go on is indexed. There are few, and they have an index of their own.
  if (only.partial === 'running') add("r.state = 'running'")
  else if (only.partial) add('r.indexed < 2')
  if (only.partial === 'over') add("r.state <> 'running'")
  if (only.without !== undefined) add('r.seq not in (select rowid from outputs where outputs match ?)', only.without)
  if (filter.failing !== undefined) add(filter.failing ? 'r.failing = 1' : 'r.failing = 0')
  if (filter.running !== undefined) add(filter.running ? "r.state = 'running'" : "r.state <> 'running'")
  if (filter.runtime !== undefined) add('r.runtime = ?', filter.runtime)
  if (filter.before !== undefined) add('r.seq < (select seq from runs where id = ?)', filter.before)
  if (filter.sinceMs !== undefined) add('r.started_ms >= ?', filter.sinceMs)
  // A full-text table alone is read from its newest row on and stops at the limit. Next to another filter it is cheaper
  // to ask it once for all its rows; the plus keeps SQLite from sorting them instead of walking `runs`.
  let from = where.length > 0 ? 'runs r' : ''
  const search = (table: string, match: string): void => {
    if (from !== '') add(`+r.seq in (select rowid from ${table} where ${table} match ?)`, match)
    else {
      from = `(select rowid as seq from ${table} where ${table} match ? order by rowid desc) r`
      params.push(match)
    }
  }
  const label = filter.query === undefined ? '' : foldText(filter.query).trim()
  const labelMatch = trigramMatch(label)
  if (only.match !== undefined) search('outputs', only.match)
  if (labelMatch !== undefined) search('label_parts', labelMatch)
  if (label !== '') {
    from = from === '' ? 'labels r' : `${from} cross join labels l on l.seq = r.seq`
    add('instr(label, ?) > 0', label)
  }
  // Records are read for the rows of the answer only.
  const chosen = `select r.seq from ${from || 'runs r'}${where.length > 0 ? ` where ${where.join(' and ')}` : ''} order by r.seq desc limit ?`
  const sql = `select r.seq, r.pinned, r.traits, c.record from (${chosen}) s cross join runs r on r.seq = s.seq cross join records c on c.seq = s.seq order by s.seq desc`
  return { sql, params: [...params, limitOf(filter.limit)] }
}

/** A limit as SQL takes it. What is no number of rows asks for none. */
export function limitOf(limit: number): number {
  if (Number.isNaN(limit) || limit <= 0) return 0
  return Math.floor(Math.min(limit, 2 ** 31))
}

/** A stored record; undefined where the row is damaged. */
export function toRecord(json: SqlValue | undefined, pinned: boolean): RunRecord | undefined {
  if (typeof json !== 'string') return undefined
  try {
    const value = JSON.parse(json) as Partial<RunRecord> | null
    const whole =
      typeof value === 'object' &&
      value !== null &&
      typeof value.id === 'string' &&
      typeof value.state === 'string' &&
      typeof value.command === 'string' &&
      typeof value.startedAt === 'string' &&
      isObject(value.stdout) &&
      isObject(value.stderr)
    return whole ? { ...(value as RunRecord), pinned } : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
