import { describe, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import { HoldfastError } from '../core/errors.ts'
import type { Note } from '../core/note.ts'
import { byteLength } from '../core/text.ts'
import { changedNote, makeNote, rankNotes, sortNotes, usefulness } from './notes.ts'

const made = { now: new Date('2026-01-02T03:04:05.678Z'), id: 'n1' }
const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'invalid_argument') return error.message
  }
  return 'not refused'
}

describe('a new note', () => {
  it('gets defaults, its time and its id', () => {
    expect(makeNote({ text: 'use npm ci' }, made)).toEqual({
      id: 'n1',
      scope: 'project',
      workspace: null,
      category: 'convention',
      text: 'use npm ci',
      tags: [],
      confidence: 0.8,
      createdAt: '2026-01-02T03:04:05.678Z',
      updatedAt: null,
      supersedes: [],
      retired: null,
      uses: 0,
      usedAt: null,
    })
  })

  it('has its tags in lower case and each once', () => {
    expect(makeNote({ text: 'x', tags: [' CI ', 'ci', 'Größe', 'node-20', '日本'] }, made).tags).toEqual(['ci', 'größe', 'node-20', '日本'])
  })

  it.each([['a b'], [''], ['-x'], ['a,b'], ['a=b'], ['x'.repeat(41)], ['-->'], [5 as never]])('is refused with the tag %j', (tag) => {
    expect(refusal(() => makeNote({ text: 'x', tags: [tag] }, made))).toContain('at most 10 tags of 1 to 40 letters')
  })

  it('is refused with too many tags, and with ids that are none', () => {
    expect(refusal(() => makeNote({ text: 'x', tags: Array.from({ length: 11 }, (_, i) => `t${i}`) }, made))).toContain('at most 10 tags')
    for (const id of ['', '../x', 'A', 7 as never]) expect(refusal(() => makeNote({ text: 'x', supersedes: [id] }, made))).toContain('ids of notes')
  })

  it('becomes one line without control characters or halves of characters', () => {
    expect(makeNote({ text: ' a\r\n\n## b\u2028c\u001b[31m\u0007\ud800d ' }, made).text).toBe('a ## b c\ufffdd')
  })

  it('is refused when it is empty or too long, with the bytes it has', () => {
    expect(refusal(() => makeNote({ text: ' \n\u0007 ' }, made))).toContain('1 to 2,000 bytes')
    expect(refusal(() => makeNote({ text: '日'.repeat(667) }, made))).toContain('this one has 2,001')
    expect(byteLength(makeNote({ text: `${'日'.repeat(666)}ab` }, made).text)).toBe(2000)
  })

  it('is refused with an unknown category or a confidence that is none', () => {
    expect(refusal(() => makeNote({ text: 'x', category: 'idea' as never }, made))).toContain('architecture, convention')
    for (const confidence of [-0.1, 1.1, Number.NaN, '1' as never]) expect(refusal(() => makeNote({ text: 'x', confidence }, made))).toContain('from 0 to 1')
    for (const confidence of [0, 1]) expect(makeNote({ text: 'x', confidence }, made).confidence).toBe(confidence)
  })
})

describe('a changed note', () => {
  it('keeps what is not given, and says when it was changed', () => {
    const note = makeNote({ text: 'a', tags: ['t'], confidence: 0.4 }, made)
    const now = new Date('2026-02-02T00:00:00.000Z')
    expect(changedNote(note, { text: ' b ', category: 'gotcha' }, now)).toEqual({ ...note, text: 'b', category: 'gotcha', updatedAt: now.toISOString() })
    expect(changedNote(note, { tags: [], confidence: 1 }, now)).toMatchObject({ text: 'a', tags: [], confidence: 1 })
    expect(refusal(() => changedNote(note, { text: ' ' }, now))).toContain('1 to 2,000 bytes')
  })
})

describe('notes in order', () => {
  const now = new Date('2026-06-01T00:00:00.000Z')
  const daysAgo = (days: number): string => new Date(now.getTime() - days * 86_400_000).toISOString()
  const note = (id: string, changes: Partial<Note> = {}): Note => storedNote(id, id, { createdAt: daysAgo(0), ...changes })
  const order = (...notes: Note[]): string =>
    sortNotes(notes, { now })
      .map(({ id }) => id)
      .join(' ')

  it.each([
    ['the surer', note('b', { confidence: 0.9 }), note('a', { confidence: 0.5 })],
    ['the more used', note('a', { uses: 3 }), note('b')],
    ['the newer', note('a', { createdAt: daysAgo(1) }), note('b', { createdAt: daysAgo(100) })],
    ['the one that was changed lately', note('a', { createdAt: daysAgo(300), updatedAt: daysAgo(1) }), note('b', { createdAt: daysAgo(200) })],
    ['the one that was used lately', note('a', { uses: 1, usedAt: daysAgo(1) }), note('b', { uses: 1, usedAt: daysAgo(300), createdAt: daysAgo(300) })],
    ['an old one that is used much, before a new one', note('a', { createdAt: daysAgo(400), uses: 50 }), note('b')],
    ['of the same, the last by its id', note('b'), note('a')],
  ])('have %s first', (_, first, second) => {
    expect(order(second, first)).toBe(`${first.id} ${second.id}`)
    expect(order(first, second)).toBe(`${first.id} ${second.id}`)
  })

  it('are from 0 to 1 useful, whatever was written into their files', () => {
    expect(usefulness(note('a', { confidence: 1, uses: 1e9 }), now.getTime())).toBeLessThanOrEqual(1)
    expect(usefulness(note('a', { confidence: 0, createdAt: 'once' }), now.getTime())).toBeGreaterThanOrEqual(0)
    expect(usefulness(note('a', { confidence: 0.8, uses: 4 }), now.getTime())).toBeCloseTo(0.4 + 0.15 + 0.2)
    expect(usefulness(note('a', { confidence: 0.8, createdAt: daysAgo(90) }), now.getTime())).toBeCloseTo(0.4 + 0.1)
  })

  it('are said once where they are read from the top', () => {
    const twice = [note('a', { text: 'Use npm ci.' }), note('b', { text: 'use npm ci', scope: 'user', confidence: 0.9 }), note('c')]
    expect(rankNotes(twice).map(({ id }) => id)).toEqual(['b', 'c'])
    expect(rankNotes([])).toEqual([])
  })
})
