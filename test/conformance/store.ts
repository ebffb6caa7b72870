import { afterEach, describe, expect, it } from 'vitest'
import type { Note } from '../../src/core/note.ts'
import { parseQuery, queryTokens, tokensOf } from '../../src/core/query.ts'
import { emptyTotals, type RunRecord } from '../../src/core/run.ts'
import type { RunFilter, Store } from '../../src/core/store.ts'

/** A record to begin with; `changes` say what the test is about. */
export function runRecord(id: string, changes: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    state: 'running',
    command: `command of ${id}`,
    runtime: null,
    purpose: null,
    cwd: '/srv/project',
    branch: 'main',
    startedAt: '2026-03-14T10:00:00.000Z',
    endedAt: null,
    durationMs: null,
    outcome: null,
    error: null,
    stdout: emptyTotals,
    stderr: emptyTotals,
    leftovers: [],
    warnings: [],
    holder: { pid: 100, startTime: '12345' },
    process: null,
    pinned: false,
    ...changes,
  }
}

/** The same record when its command has ended. */
export function endedRecord(id: string, exitCode: number, changes: Partial<RunRecord> = {}): RunRecord {
  return runRecord(id, {
    state: 'ended',
    endedAt: '2026-03-14T10:00:01.000Z',
    durationMs: 1_000,
    outcome: { kind: 'exited', exitCode, signal: null, limit: null },
    stdout: { bytes: 12, lines: 1, droppedBytes: 0, gap: null },
    ...changes,
  })
}

/** A note as a store is given it; `changes` say what the test is about. */
export function storedNote(id: string, text: string, changes: Partial<Note> = {}): Note {
  return {
    id,
    scope: 'project',
    workspace: null,
    category: 'gotcha',
    text,
    tags: [],
    confidence: 0.8,
    createdAt: '2026-03-14T10:00:00.000Z',
    updatedAt: null,
    supersedes: [],
    retired: null,
    uses: 0,
    usedAt: null,
    ...changes,
  }
}

const ids = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id)
const filter = (changes: Partial<RunFilter> = {}): RunFilter => ({ limit: 100, ...changes })
const tokensFor = (query: string): readonly string[] => queryTokens(parseQuery(query))

interface Requirement {
  readonly id: string
  readonly promise: string
  readonly check: (store: Store) => Promise<void>
}

const requirement = (id: string, promise: string, check: Requirement['check']): Requirement => ({ id, promise, check })

async function add(store: Store, ...records: readonly RunRecord[]): Promise<void> {
  for (const record of records) {
    await store.begin(record.state === 'running' ? record : { ...record, state: 'running', outcome: null })
    if (record.state !== 'running') await store.finish(record)
  }
}

/** Every promise of the port `Store`. */
export const storeRequirements: readonly Requirement[] = [
  requirement('records.begin', 'a run that has begun is found with everything that was recorded', async (store) => {
    const record = runRecord('a', { purpose: 'line\nbreak "quotes" 日本 🔥 \u0000', runtime: 'bash', process: { pid: 7, startTime: 'x' }, warnings: ['one'] })
    await store.begin(record)
    expect(await store.find('a')).toEqual(record)
  }),
  requirement('records.finish', 'a finished run replaces what was recorded at its beginning', async (store) => {
    await store.begin(runRecord('a'))
    await store.finish(endedRecord('a', 3))
    expect(await store.find('a')).toEqual(endedRecord('a', 3))
    expect(await store.count()).toEqual({ runs: 1, failing: 1 })
  }),
  requirement('records.finish-alone', 'finishing a run that was never begun adds it', async (store) => {
    await store.finish(endedRecord('a', 0))
    expect(await store.find('a')).toEqual(endedRecord('a', 0))
  }),
  requirement('records.begin-late', 'a beginning that is recorded late does not take back the end of the run', async (store) => {
    await store.finish(endedRecord('a', 0))
    await store.begin(runRecord('a'))
    expect((await store.find('a'))?.state).toBe('ended')
    expect(await store.count()).toEqual({ runs: 1, failing: 0 })
  }),
  requirement('records.begin-again', 'beginning a running run again replaces its record', async (store) => {
    await store.begin(runRecord('a'))
    await store.begin(runRecord('a', { process: { pid: 8, startTime: 'y' } }))
    expect((await store.find('a'))?.process).toEqual({ pid: 8, startTime: 'y' })
    expect((await store.count()).runs).toBe(1)
  }),
  requirement('records.copies', 'what a caller does to a record afterwards does not change the stored one', async (store) => {
    const record = { ...runRecord('a'), warnings: ['kept'] }
    await store.begin(record)
    record.warnings.push('added later')
    expect((await store.find('a'))?.warnings).toEqual(['kept'])
  }),
  requirement('records.unknown', 'an id that is not stored is answered with undefined', async (store) => {
    await store.begin(runRecord('a'))
    expect(await store.find('b')).toBeUndefined()
    expect(await store.find('')).toBeUndefined()
    expect((await store.find('a'))?.id).toBe('a')
    expect(await store.find('b')).toBeUndefined()
  }),
  requirement('order.sequence', 'runs are listed newest first by the order in which they began, whatever the clock said', async (store) => {
    await store.begin(runRecord('a', { startedAt: '2026-03-14T18:00:00.000Z' }))
    await store.begin(runRecord('b', { startedAt: '2026-03-14T09:00:00.000Z' }))
    await store.begin(runRecord('c', { startedAt: 'no time at all' }))
    expect(ids(await store.list(filter()))).toEqual(['c', 'b', 'a'])
  }),
  requirement('order.kept', 'the end of a run does not change its place', async (store) => {
    await add(store, runRecord('a'), runRecord('b'), runRecord('c'))
    await store.finish(endedRecord('a', 0))
    expect(ids(await store.list(filter()))).toEqual(['c', 'b', 'a'])
  }),
  requirement('order.calls', 'calls that are made without waiting are recorded in the order of the calls', async (store) => {
    const names = Array.from({ length: 20 }, (_, i) => `run-${i}`)
    await Promise.all(names.map((id) => store.begin(runRecord(id))))
    expect(ids(await store.list(filter()))).toEqual(names.reverse())
  }),
  requirement('order.never-reused', 'the place of a removed run is not given to a later one', async (store) => {
    await add(store, runRecord('a'), runRecord('b'))
    await store.index('b', 'word', true)
    await store.remove(['b'])
    await add(store, endedRecord('c', 0))
    expect(ids(await store.list(filter()))).toEqual(['c', 'a'])
    await store.index('c', 'other', true)
    expect(ids(await store.candidates(['word'], filter({ running: false })))).toEqual([])
  }),
  requirement('prefix.newest', 'ids with a prefix come newest first, up to the limit', async (store) => {
    await add(store, runRecord('ab1'), runRecord('b'), runRecord('ab2'), runRecord('ab3'))
    expect(await store.idsWithPrefix('ab', 10)).toEqual(['ab3', 'ab2', 'ab1'])
    expect(await store.idsWithPrefix('ab', 2)).toEqual(['ab3', 'ab2'])
    expect(await store.idsWithPrefix('', 10)).toEqual(['ab3', 'ab2', 'b', 'ab1'])
    expect(await store.idsWithPrefix('ab1', 10)).toEqual(['ab1'])
  }),
  requirement('prefix.literal', 'a prefix has no wildcards', async (store) => {
    await add(store, runRecord('abc'), runRecord('a%c'), runRecord('a_c'))
    expect(await store.idsWithPrefix('a%', 10)).toEqual(['a%c'])
    expect(await store.idsWithPrefix('a_', 10)).toEqual(['a_c'])
    expect(await store.idsWithPrefix('*', 10)).toEqual([])
  }),
  requirement('list.limit', 'a list is no longer than its limit', async (store) => {
    await add(store, runRecord('a'), runRecord('b'), runRecord('c'))
    expect(ids(await store.list(filter({ limit: 2 })))).toEqual(['c', 'b'])
    expect(await store.list(filter({ limit: 0 }))).toEqual([])
    expect(await store.list(filter({ limit: Number.POSITIVE_INFINITY }))).toHaveLength(3)
  }),
  requirement('list.query', 'a query is a part of id, purpose or command, whatever the case', async (store) => {
    await add(
      store,
      runRecord('one-x1', { command: 'npm test -- --grep "A_b%c"' }),
      runRecord('two-x2', { purpose: 'Deploy the Straße service', command: 'make' }),
      runRecord('three-x3', { command: 'echo 日本語', purpose: 'make it so' }),
    )
    const found = async (query: string): Promise<string[]> => ids(await store.list(filter({ query })))
    expect(await found('NPM TEST')).toEqual(['one-x1'])
    expect(await found('"a_b%C"')).toEqual(['one-x1'])
    expect(await found('a%c')).toEqual([])
    expect(await found('STRASSE')).toEqual(['two-x2'])
    expect(await found('本語')).toEqual(['three-x3'])
    expect(await found('x2')).toEqual(['two-x2'])
    expect(await found('Make')).toEqual(['three-x3', 'two-x2'])
    expect(await found('e')).toEqual(['three-x3', 'two-x2', 'one-x1'])
    expect(await found('nothing like it')).toEqual([])
    expect(await found("' OR 1=1 --")).toEqual([])
    expect(await found('  ')).toEqual(['three-x3', 'two-x2', 'one-x1'])
    expect(await found('  make ')).toEqual(['three-x3', 'two-x2'])
  }),
  requirement('list.query-long', 'a long query is compared to its end', async (store) => {
    const text = Array.from({ length: 400 }, (_, i) => `word${i}`).join(' ')
    await add(store, runRecord('a', { command: `${text} end` }))
    expect(ids(await store.list(filter({ query: `${text} END` })))).toEqual(['a'])
    expect(await store.list(filter({ query: `${text} ends` }))).toEqual([])
  }),
  requirement('list.query-changed', 'a run is found by what its last record says', async (store) => {
    await store.begin(runRecord('a', { command: 'first text' }))
    await store.finish(endedRecord('a', 0, { command: 'second text' }))
    expect(ids(await store.list(filter({ query: 'second' })))).toEqual(['a'])
    expect(await store.list(filter({ query: 'first' }))).toEqual([])
  }),
  requirement('list.failing', 'failing is every end but exit code 0, and not a run that goes on', async (store) => {
    const ended = (id: string, outcome: RunRecord['outcome']): RunRecord => endedRecord(id, 0, { outcome })
    await add(
      store,
      endedRecord('ok', 0),
      endedRecord('code', 1),
      ended('signal', { kind: 'signaled', exitCode: 137, signal: 'SIGKILL', limit: null }),
      ended('timeout', { kind: 'timed_out', exitCode: 0, signal: null, limit: 'wall' }),
      ended('lost', { kind: 'lost', exitCode: null, signal: null, limit: null }),
      runRecord('failed', { state: 'failed', error: { code: 'not_found', message: 'no such program', details: {} } }),
      runRecord('interrupted', { state: 'interrupted' }),
      runRecord('going'),
    )
    expect(ids(await store.list(filter({ failing: true })))).toEqual(['interrupted', 'failed', 'lost', 'timeout', 'signal', 'code'])
    expect(ids(await store.list(filter({ failing: false })))).toEqual(['going', 'ok'])
    expect(await store.count()).toEqual({ runs: 8, failing: 6 })
  }),
  requirement('list.running', 'running runs are those whose record says so', async (store) => {
    await add(store, runRecord('a'), endedRecord('b', 0), runRecord('c'))
    expect(ids(await store.list(filter({ running: true })))).toEqual(['c', 'a'])
    expect(ids(await store.list(filter({ running: false })))).toEqual(['b'])
  }),
  requirement('list.runtime', 'a runtime is compared as a whole', async (store) => {
    await add(store, runRecord('a', { runtime: 'bash' }), runRecord('b', { runtime: 'python' }), runRecord('c'), runRecord('d', { runtime: 'bash' }))
    expect(ids(await store.list(filter({ runtime: 'bash' })))).toEqual(['d', 'a'])
    expect(await store.list(filter({ runtime: 'bas' }))).toEqual([])
  }),
  requirement('list.since', 'a time bounds the start of the runs, itself included', async (store) => {
    await add(
      store,
      runRecord('late', { startedAt: '2026-03-14T12:00:00.000Z' }),
      runRecord('early', { startedAt: '2026-03-14T08:00:00.000Z' }),
      runRecord('exact', { startedAt: '2026-03-14T10:00:00.000Z' }),
    )
    expect(ids(await store.list(filter({ sinceMs: Date.parse('2026-03-14T10:00:00.000Z') })))).toEqual(['exact', 'late'])
  }),
  requirement('list.together', 'all parts of a filter must hold', async (store) => {
    await add(
      store,
      endedRecord('a', 1, { runtime: 'bash', command: 'make all' }),
      endedRecord('b', 0, { runtime: 'bash', command: 'make all' }),
      endedRecord('c', 1, { runtime: 'node', command: 'make all' }),
      endedRecord('d', 1, { runtime: 'bash', command: 'other' }),
      endedRecord('e', 1, { runtime: 'bash', command: 'make all', startedAt: '2020-01-01T00:00:00.000Z' }),
    )
    const all = filter({ failing: true, running: false, runtime: 'bash', query: 'MAKE', sinceMs: Date.parse('2026-01-01') })
    expect(ids(await store.list(all))).toEqual(['a'])
  }),
  requirement('list.before', 'runs before another one in the order are listed from the newest of them on', async (store) => {
    await add(store, endedRecord('a', 0), endedRecord('b', 1), endedRecord('c', 0), endedRecord('d', 0))
    expect(ids(await store.list(filter({ before: 'c' })))).toEqual(['b', 'a'])
    expect(ids(await store.list(filter({ before: 'd', failing: false, limit: 1 })))).toEqual(['c'])
    expect(await store.list(filter({ before: 'unknown' }))).toEqual([])
    await store.index('a', 'word', true)
    await store.index('b', 'other', true)
    await store.index('d', 'word', true)
    expect(ids(await store.candidates(['word'], filter({ before: 'd' })))).toEqual(['c', 'a'])
  }),
  requirement('index.words', 'the words of the index come by their beginning, with the number of runs that have them', async (store) => {
    await add(store, endedRecord('a', 0), endedRecord('b', 0), endedRecord('c', 0))
    await store.index('a', 'connection connect 日本 error', true)
    await store.index('b', 'connection', false)
    expect(await store.words('conn', 10)).toEqual([
      { word: 'connect', runs: 1 },
      { word: 'connection', runs: 2 },
    ])
    expect(await store.words('conn', 1)).toEqual([{ word: 'connect', runs: 1 }])
    expect(await store.words('日', 10)).toEqual([{ word: '日本', runs: 1 }])
    expect(await store.words('x%', 10)).toEqual([])
    await store.remove(['a'])
    expect(await store.words('conn', 10)).toEqual([{ word: 'connection', runs: 1 }])
  }),
  requirement('pins.set', 'a pin is set and taken away again', async (store) => {
    await add(store, endedRecord('a', 0))
    await store.setPinned('a', true)
    expect((await store.find('a'))?.pinned).toBe(true)
    expect((await store.list(filter()))[0]?.pinned).toBe(true)
    await store.setPinned('a', false)
    expect((await store.find('a'))?.pinned).toBe(false)
    await store.setPinned('unknown', true)
  }),
  requirement('pins.kept', 'a pin that was set while a run went on stays when it ends', async (store) => {
    await store.begin(runRecord('a'))
    await store.setPinned('a', true)
    await store.finish(endedRecord('a', 0))
    expect((await store.find('a'))?.pinned).toBe(true)
  }),
  requirement('remove.all', 'a removed run is gone from records, lists, counts and index; unknown ids are passed over', async (store) => {
    await add(store, endedRecord('a', 1, { command: 'gone' }), endedRecord('b', 0))
    await store.index('a', 'alpha', true)
    await store.index('b', 'beta', true)
    await store.remove(['a', 'unknown', 'a'])
    expect(await store.find('a')).toBeUndefined()
    expect(ids(await store.list(filter()))).toEqual(['b'])
    expect(await store.list(filter({ query: 'gone' }))).toEqual([])
    expect(await store.count()).toEqual({ runs: 1, failing: 0 })
    expect(await store.candidates(['alpha'], filter())).toEqual([])
    expect(await store.idsWithPrefix('a', 10)).toEqual([])
    await store.remove([])
  }),
  requirement('remove.many', 'many runs are removed at once', async (store) => {
    const names = Array.from({ length: 250 }, (_, i) => `run-${i}`)
    await Promise.all(names.map((id) => store.begin(runRecord(id))))
    await store.remove(names.slice(0, 249))
    expect(ids(await store.list(filter()))).toEqual(['run-249'])
  }),
  requirement('index.whole', 'an indexed run is a candidate only for tokens that it has, all of them', async (store) => {
    await add(store, endedRecord('a', 0), endedRecord('b', 0))
    await store.index('a', 'alpha beta gamma', true)
    await store.index('b', 'alpha delta', true)
    const found = async (...tokens: string[]): Promise<string[]> => ids(await store.candidates(tokens, filter()))
    expect(await found('alpha')).toEqual(['b', 'a'])
    expect(await found('alpha', 'beta')).toEqual(['a'])
    expect(await found('beta', 'delta')).toEqual([])
    expect(await found('alph')).toEqual([])
    expect(await found('alph*', 'gam*')).toEqual(['a'])
    expect(await found('alpha*')).toEqual(['b', 'a'])
    expect(await found('zeta*')).toEqual([])
    expect(await found()).toEqual(['b', 'a'])
  }),
  requirement('index.partial', 'a run whose index is not whole may hold anything', async (store) => {
    await add(store, endedRecord('part', 0), endedRecord('whole', 0), endedRecord('never', 0), runRecord('going'))
    await store.index('part', 'alpha', false)
    await store.index('whole', 'beta', true)
    expect(ids(await store.candidates(['zeta'], filter()))).toEqual(['going', 'never', 'part'])
    expect(ids(await store.candidates(['alpha'], filter()))).toEqual(['going', 'never', 'part'])
    expect(ids(await store.candidates(['beta'], filter()))).toEqual(['going', 'never', 'whole', 'part'])
  }),
  requirement('index.traits', 'a candidate has the traits that its logs were indexed with, none where they are not known', async (store) => {
    await add(store, endedRecord('plain', 0), endedRecord('coloured', 0), endedRecord('unknown', 0), endedRecord('never', 0))
    await store.index('plain', 'alpha', true, 0)
    await store.index('coloured', 'alpha', false, 1)
    await store.index('unknown', 'alpha', false, 4)
    await store.index('unknown', 'alpha', false)
    const traits = async (...asked: Parameters<Store['candidates']>): Promise<unknown[]> =>
      (await store.candidates(...asked)).map((run) => [run.id, 'traits' in run ? run.traits : null])
    const indexed = [
      ['unknown', null],
      ['coloured', 1],
      ['plain', 0],
    ]
    expect(await traits([], filter())).toEqual([['never', null], ...indexed])
    expect(await traits(['alpha'], filter(), 'known')).toEqual(indexed)
    expect(await traits(['beta'], filter(), 'rest')).toEqual([['never', null], ...indexed.slice(0, 2)])
    expect((await store.list(filter())).some((run) => 'traits' in run)).toBe(false)
  }),
  requirement('index.known', 'candidates are those of which the index has the tokens or that go on, and the rest', async (store) => {
    await add(
      store,
      endedRecord('part', 0),
      endedRecord('whole', 0),
      endedRecord('other', 0),
      endedRecord('never', 0),
      endedRecord('not', 0),
      runRecord('going'),
    )
    await store.index('part', 'alpha', false)
    await store.index('whole', 'alpha', true)
    await store.index('other', 'beta', false)
    await store.index('not', 'beta', true)
    const known = async (tokens: string[], more = {}): Promise<string[]> => ids(await store.candidates(tokens, filter(more), 'known'))
    const rest = async (tokens: string[], more = {}): Promise<string[]> => ids(await store.candidates(tokens, filter(more), 'rest'))
    expect(await known(['alpha'])).toEqual(['going', 'whole', 'part'])
    expect(await rest(['alpha'])).toEqual(['never', 'other'])
    expect(await known(['alpha'], { running: false, limit: 1 })).toEqual(['whole'])
    expect(await rest(['alpha'], { limit: 1 })).toEqual(['never'])
    expect(await known(['al*', 'gamma'], { running: false })).toEqual([])
    expect(await rest(['al*', 'gamma'])).toEqual(['never', 'other', 'part'])
    expect(await known([])).toEqual(['going', 'not', 'never', 'other', 'whole', 'part'])
    expect(await rest([])).toEqual([])
  }),
  requirement('index.replace', 'indexing a run again replaces its tokens', async (store) => {
    await add(store, endedRecord('a', 0))
    await store.index('a', 'alpha', false)
    await store.index('a', 'beta', true)
    expect(await store.candidates(['alpha'], filter())).toEqual([])
    expect(ids(await store.candidates(['beta'], filter()))).toEqual(['a'])
  }),
  requirement('index.kept', 'recording the run again keeps its index', async (store) => {
    await add(store, endedRecord('a', 0), endedRecord('b', 0))
    await store.index('a', 'alpha', true)
    await store.index('b', '', true)
    await store.finish(endedRecord('a', 2))
    expect(ids(await store.candidates(['alpha'], filter()))).toEqual(['a'])
  }),
  requirement('index.unknown', 'indexing a run that is not there does nothing', async (store) => {
    await store.index('unknown', 'alpha', true)
    expect(await store.candidates(['alpha'], filter())).toEqual([])
    expect((await store.count()).runs).toBe(0)
  }),
  requirement('index.filter', 'candidates pass the filter and are newest first up to its limit', async (store) => {
    await add(store, endedRecord('a', 1), endedRecord('b', 0), endedRecord('c', 1, { command: 'special' }), endedRecord('d', 1), endedRecord('e', 1))
    for (const id of ['a', 'b', 'c', 'd']) await store.index(id, 'alpha', true)
    expect(ids(await store.candidates(['alpha'], filter({ failing: true })))).toEqual(['e', 'd', 'c', 'a'])
    expect(ids(await store.candidates(['alpha'], filter({ limit: 2 })))).toEqual(['e', 'd'])
    expect(ids(await store.candidates(['alpha'], filter({ failing: true, limit: 3 })))).toEqual(['e', 'd', 'c'])
    expect(ids(await store.candidates(['alpha'], filter({ query: 'special' })))).toEqual(['c'])
    expect(ids(await store.candidates([], filter({ failing: false })))).toEqual(['b'])
  }),
  requirement('index.unindexed', 'ended runs that were never indexed are listed newest first', async (store) => {
    await add(store, endedRecord('a', 0), runRecord('going'), endedRecord('b', 0), endedRecord('c', 0), runRecord('cut', { state: 'interrupted' }))
    await store.index('b', 'alpha', false)
    expect(await store.listUnindexed(10)).toEqual(['cut', 'c', 'a'])
    expect(await store.listUnindexed(1)).toEqual(['cut'])
    await store.finish(endedRecord('going', 0))
    expect(await store.listUnindexed(10)).toEqual(['cut', 'c', 'going', 'a'])
  }),
  requirement('index.language', 'the tokens of any text are found by the tokens of a query for it', async (store) => {
    const texts = [
      'pre-edit hook',
      'C++ builds',
      '日本語のエラー出力',
      'Zürich straße',
      'emoji 🔥 and 🥹',
      'FOO_BAR=1',
      'myCamelCase x86_64',
      `long ${'x'.repeat(300)}`,
      'naïve Ⅷ ﬁ',
    ]
    for (const [i, text] of texts.entries()) {
      await add(store, endedRecord(`run-${i}`, 0))
      await store.index(`run-${i}`, tokensOf(text), true)
    }
    const queries = ['pre-edit', 'C++', 'エラー', 'STRASSE', '🥹', 'BAR=1', 'case', 'x'.repeat(300), 'VIII fi']
    for (const [i, query] of queries.entries()) expect(ids(await store.candidates(tokensFor(query), filter())), query).toEqual([`run-${i}`])
  }),
  requirement('index.any-token', 'no token is an error', async (store) => {
    await add(store, endedRecord('a', 0))
    await store.index('a', 'alpha', true)
    for (const token of ['"', '""*', '*', 'a"b', "'", 'NEAR(', 'AND', '-alpha', '{tokens}:alpha', '\u0000', '^alpha', '\ud800', '']) {
      expect(Array.isArray(await store.candidates([token], filter())), token).toBe(true)
    }
  }),
  requirement('notes.list', 'notes are listed newest first and come back as they were', async (store) => {
    const first = storedNote('n1', 'tests need "port 5432" 日本', { tags: ['db', '日本'], supersedes: ['n0'], updatedAt: '2026-03-15T10:00:00.000Z' })
    const second = storedNote('n0', 'second', { scope: 'workspace', workspace: 'w1', createdAt: '2026-03-14T10:00:01.000Z', confidence: 0.123456789 })
    await store.setNotes([first, second, storedNote('n2', 'of the same moment')], 's1')
    expect(await store.listNotes()).toEqual([second, storedNote('n2', 'of the same moment'), first])
  }),
  requirement('notes.set', 'notes take the place of all before, and say of which state they are', async (store) => {
    expect(await store.notesStamp()).toBeNull()
    expect(await store.listNotes()).toEqual([])
    await store.setNotes([storedNote('n1', 'old'), storedNote('n2', 'gone')], 's1')
    await store.setNotes([storedNote('n1', 'new')], 's2')
    expect(await store.listNotes({ tokens: tokensFor('old') })).toEqual([])
    expect(await store.listNotes()).toEqual([storedNote('n1', 'new')])
    expect(await store.notesStamp()).toBe('s2')
    await store.setNotes([], 's3')
    expect([await store.listNotes(), await store.notesStamp()]).toEqual([[], 's3'])
  }),
  requirement('notes.retired', 'retired notes are listed only where they are asked for', async (store) => {
    const retired = storedNote('n1', 'old', { retired: { at: '2026-03-14T10:00:00.000Z', why: 'superseded', by: 'n2' } })
    await store.setNotes([retired, storedNote('n2', 'new')], 's1')
    expect(ids(await store.listNotes())).toEqual(['n2'])
    expect(await store.listNotes({ retired: 'only' })).toEqual([retired])
    expect(ids(await store.listNotes({ retired: 'also' }))).toEqual(['n2', 'n1'])
    expect(ids(await store.listNotes({ retired: 'only', tokens: tokensFor('new') }))).toEqual([])
  }),
  requirement('notes.found', 'notes are found by all words of text, tags and category, by beginnings, parts of names and CJK', async (store) => {
    const notes = [
      storedNote('n1', 'formatDuration writes every time span', { category: 'architecture', tags: ['time-spans'] }),
      storedNote('n2', 'テストは本物のデータベースが必要'),
      storedNote('n3', 'needs C++ and Zürich, and "quotes"'),
    ]
    await store.setNotes(notes, 's1')
    const found = async (query: string): Promise<string> => ids(await store.listNotes({ tokens: tokensFor(query) })).join(' ')
    const queries = {
      duration: 'n1',
      formatD: 'n1',
      'span time': 'n1',
      architecture: 'n1',
      'time-spans': 'n1',
      データ: 'n2',
      本物: 'n2',
      zurich: 'n3',
      'C++': 'n3',
    }
    for (const [query, expected] of Object.entries(queries)) expect(await found(query), query).toBe(expected)
    for (const query of ['uration', 'time missing', '真実']) expect(await found(query), query).toBe('')
    for (const token of ['"', '*', '', 'NEAR(', '\u0000']) expect(Array.isArray(await store.listNotes({ tokens: [token] })), token).toBe(true)
  }),
  requirement('previous.last', 'the last run of a command that passed and the last that failed are found, and which was later', async (store) => {
    const commandKey = 'key'
    expect(await store.previous(commandKey, 'a')).toEqual({ passed: null, failed: null, latest: null })
    await add(store, endedRecord('a', 0, { commandKey }), endedRecord('b', 1, { commandKey }), endedRecord('c', 0, { commandKey }))
    expect(await store.previous(commandKey, 'unknown')).toEqual({ passed: 'c', failed: 'b', latest: 'passed' })
    await add(store, endedRecord('d', 2, { commandKey }), endedRecord('e', 0, { commandKey: 'other' }), endedRecord('f', 0))
    expect(await store.previous(commandKey, 'unknown')).toEqual({ passed: 'c', failed: 'd', latest: 'failed' })
    await store.remove(['c', 'd'])
    expect(await store.previous(commandKey, 'unknown')).toEqual({ passed: 'a', failed: 'b', latest: 'failed' })
  }),
  requirement('previous.before', 'only runs that began before the named one are previous to it', async (store) => {
    const commandKey = 'key'
    await add(store, endedRecord('a', 1, { commandKey }), endedRecord('b', 0, { commandKey }), endedRecord('c', 1, { commandKey }))
    expect(await store.previous(commandKey, 'c')).toEqual({ passed: 'b', failed: 'a', latest: 'passed' })
    expect(await store.previous(commandKey, 'b')).toEqual({ passed: null, failed: 'a', latest: 'failed' })
    expect(await store.previous(commandKey, 'a')).toEqual({ passed: null, failed: null, latest: null })
  }),
  requirement(
    'previous.verdict',
    'a run that goes on, never started, died or was canceled says nothing of its command; one that timed out does',
    async (store) => {
      const commandKey = 'key'
      const outcome = { exitCode: null, signal: 'SIGTERM', limit: null } as const
      await add(
        store,
        endedRecord('timed', 0, { commandKey, outcome: { ...outcome, kind: 'timed_out', limit: 'wall' } }),
        endedRecord('canceled', 0, { commandKey, outcome: { ...outcome, kind: 'canceled' } }),
        endedRecord('lost', 0, { commandKey, outcome: { ...outcome, kind: 'lost' } }),
        runRecord('failed', { commandKey, state: 'failed' }),
        runRecord('died', { commandKey, state: 'interrupted' }),
        runRecord('running', { commandKey }),
      )
      expect(await store.previous(commandKey, 'unknown')).toEqual({ passed: null, failed: 'timed', latest: 'failed' })
    },
  ),
  requirement('shown.added', 'answers are added up by surface, operation, run and day', async (store) => {
    const entry = { surface: 'mcp', operation: 'exec', run: 'a', day: 20_000, calls: 1, bytes: 300 } as const
    await add(store, endedRecord('a', 0))
    await store.addShown([entry, { ...entry, bytes: 200 }])
    await store.addShown([entry, { ...entry, operation: 'output' }, { ...entry, run: null }])
    const shown = [...(await store.listShown(0))].sort((a, b) => b.bytes - a.bytes || (a.run ?? '').localeCompare(b.run ?? ''))
    expect(shown).toEqual([
      { ...entry, calls: 3, bytes: 800 },
      { ...entry, run: null },
      { ...entry, operation: 'output' },
    ])
  }),
  requirement('shown.since', 'answers of runs count from the start of the run on, others from their day on', async (store) => {
    const day = Date.parse('2026-03-14T00:00:00.000Z') / 86_400_000
    const entry = { surface: 'cli', operation: 'exec', calls: 1, bytes: 1 } as const
    await add(store, endedRecord('a', 0, { startedAt: '2026-03-14T10:00:00.000Z' }), endedRecord('b', 0, { startedAt: '2026-03-14T12:00:00.000Z' }))
    await store.addShown([
      { ...entry, run: 'a', day },
      { ...entry, run: 'b', day },
      { ...entry, run: null, day },
      { ...entry, run: null, day: day - 1 },
    ])
    const since = Date.parse('2026-03-14T11:00:00.000Z')
    const found = await store.listShown(since)
    expect(found.map(({ run, day: on }) => `${run} ${on - day}`).sort()).toEqual(['b 0', 'null 0'])
    expect((await store.listPrinted(since)).map(({ id }) => id)).toEqual(['b'])
  }),
  requirement('shown.removed', 'the answers of a run go with it', async (store) => {
    await add(store, endedRecord('a', 0), endedRecord('b', 0))
    const entry = { surface: 'mcp', operation: 'exec', day: 1, calls: 1, bytes: 1 } as const
    await store.addShown([
      { ...entry, run: 'a' },
      { ...entry, run: 'b' },
    ])
    await store.remove(['a'])
    expect((await store.listShown(0)).map(({ run }) => run)).toEqual(['b'])
  }),
  requirement('printed.list', 'what runs printed is listed newest first, without those that go on', async (store) => {
    const stderr = { bytes: 30, lines: 1, droppedBytes: 0, gap: null }
    await add(store, endedRecord('a', 0), endedRecord('b', 1, { stderr, commandKey: 'key' }), runRecord('c'))
    expect(await store.listPrinted(0)).toEqual([
      { id: 'b', commandKey: 'key', command: 'command of b', bytes: 42 },
      { id: 'a', commandKey: null, command: 'command of a', bytes: 12 },
    ])
  }),
  requirement('close.twice', 'closing twice is harmless, and afterwards every method rejects with a code', async (store) => {
    await store.close()
    await store.close()
    const closed = { code: 'failed_precondition' }
    await expect(store.begin(runRecord('a'))).rejects.toMatchObject(closed)
    await expect(store.find('a')).rejects.toMatchObject(closed)
    await expect(store.list(filter())).rejects.toMatchObject(closed)
    await expect(store.candidates([], filter())).rejects.toMatchObject(closed)
    await expect(store.setNotes([storedNote('n', 't')], 's')).rejects.toMatchObject(closed)
  }),
]

/** Runs every requirement on a store of its own; `open` makes an empty one. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  describe(`the store ${name}`, () => {
    const opened: Store[] = []
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close()
    })
    for (const { id, promise, check } of storeRequirements) {
      it(`${id}: ${promise}`, async () => {
        const store = await open()
        opened.push(store)
        await check(store)
      })
    }
  })
}
