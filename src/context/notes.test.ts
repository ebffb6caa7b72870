import { describe, expect, it } from 'vitest'
import { makeNote, rankNotes } from './notes.ts'

const made = { now: new Date('2026-01-02T03:04:05Z'), id: 'abc' }

describe('makeNote', () => {
  it('makes one line of the text and fills in what was not said', () => {
    expect(makeNote({ text: ' tests need\n\u001b[31mredis\u001b[0m ' }, made)).toEqual({
      id: 'abc',
      text: 'tests need redis',
      category: 'convention',
      confidence: 0.8,
      createdAt: '2026-01-02T03:04:05.000Z',
    })
  })

  it.each([
    ['text', { text: ' \n ' }],
    ['text', { text: 'x'.repeat(2001) }],
    ['category', { text: 'a', category: 'other' as never }],
    ['confidence', { text: 'a', confidence: Number.NaN }],
    ['confidence', { text: 'a', confidence: 1.1 }],
  ])('refuses a bad %s by name', (field, input) => {
    expect(() => makeNote(input, made)).toThrow(new RegExp(`^${field} is .*; accepted: `))
  })
})

describe('rankNotes', () => {
  it('puts the surest first and newer ones before older ones', () => {
    const note = (text: string, confidence: number, day: number) => ({ ...makeNote({ text, confidence }, made), createdAt: `2026-01-0${day}` })
    expect(rankNotes([note('old', 0.5, 1), note('sure', 0.9, 1), note('new', 0.5, 2)]).map(({ text }) => text)).toEqual(['sure', 'new', 'old'])
  })
})
