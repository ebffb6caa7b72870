import { describe, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import { parseQuery } from '../core/query.ts'
import { similarNotes } from './note-likeness.ts'
import { findNotes } from './note-search.ts'

const now = new Date('2026-03-14T10:00:00.000Z')
const notes = [
  storedNote('time', 'formatDuration writes every time span', { category: 'architecture' }),
  storedNote('redis', 'tests need a running Redis on port 6379', { tags: ['ci-only'] }),
  storedNote('redis2', 'Redis keeps tests slow', { confidence: 0.2 }),
  storedNote('cjk', 'テストは本物のデータベースが必要'),
]
const found = (query: string): string =>
  findNotes(notes, parseQuery(query), now)
    .map(({ id }) => id)
    .join(' ')

describe('a search in notes', () => {
  it.each([
    ['a word', 'redis', 'redis redis2'],
    ['the beginning of a word', 'dura', 'time'],
    ['a part of a name', 'duration', 'time'],
    ['CJK', 'データベース', 'cjk'],
    ['a tag', 'ci-only', 'redis'],
    ['a category', 'architecture', 'time'],
    ['all words, wherever they are', 'port tests', 'redis'],
    ['words that stand together', '"running redis"', 'redis'],
    ['some words, where none has all', 'redis postgres', 'redis redis2'],
    ['nothing', 'postgres', ''],
  ])('finds by %s', (_, query, ids) => {
    expect(found(query)).toBe(ids)
  })

  it('weighs how well a note answers with how useful it is', () => {
    const used = storedNote('used', 'the tests, then much else, then redis', { uses: 40 })
    const exact = storedNote('exact', 'redis tests', { confidence: 0.8 })
    const order = (...all: (typeof used)[]): string[] => findNotes(all, parseQuery('redis tests'), now).map(({ id }) => id)
    expect(order(used, { ...exact, uses: 40 })).toEqual(['exact', 'used'])
    expect(order({ ...exact, confidence: 0.1 }, used)).toEqual(['used', 'exact'])
  })
})

describe('notes about much the same', () => {
  const like = (text: string, ...others: string[]): string[] =>
    similarNotes(
      { id: 'new', text },
      others.map((other, i) => storedNote(`n${i}`, other)),
    ).map((note) => note.text)

  it.each([
    ['another number', 'tests need Redis 7 on port 6380', 'tests need Redis 6 on port 6379'],
    ['another answer', 'the database is MySQL', 'The database is PostgreSQL 14'],
    ['the contrary', 'do not run the linter before a commit', 'run the linter before each commit'],
    ['CJK', 'テストはMySQLが必要', 'テストはRedisが必要'],
  ])('are those with %s', (_, text, other) => {
    expect(like(text, other)).toEqual([other])
  })

  it.each([
    ['no words', 'use tabs in Go files', 'tests need Redis 6 on port 6379'],
    ['only words that say nothing', 'this should be used for the build', 'that should not be used in a test'],
    ['nothing to compare', '🔥', '💧'],
  ])('are not those that share %s', (_, text, other) => {
    expect(like(text, other)).toEqual([])
  })

  it('are three at most, the likest first, and never the note itself', () => {
    const others = ['redis port', 'redis port 6379', 'redis 6379 slow tests', 'redis on another port', 'redis port 6379 tests']
    expect(like('redis port 6379', ...others)).toHaveLength(3)
    expect(like('redis port 6379', 'redis tests slow port', 'port 6379 for redis')).toEqual(['port 6379 for redis', 'redis tests slow port'])
    expect(similarNotes({ id: 'n1', text: 'a b c' }, [storedNote('n1', 'a b c')])).toEqual([])
  })
})
