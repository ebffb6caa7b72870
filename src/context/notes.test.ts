import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../core/errors.ts'
import { byteLength } from '../core/text.ts'
import { makeNote, rankNotes } from './notes.ts'

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
      category: 'convention',
      text: 'use npm ci',
      confidence: 0.8,
      createdAt: '2026-01-02T03:04:05.678Z',
    })
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

it('notes are ranked by confidence, then by age, and said once', () => {
  const note = (id: string, confidence: number, second: number, text = id) => ({ ...makeNote({ text, confidence }, { id, now: new Date(second * 1000) }) })
  const ranked = rankNotes([note('old', 0.5, 1), note('new', 0.5, 2), note('sure', 0.9, 0), note('twice', 0.4, 9, 'sure')])
  expect(ranked.map(({ id }) => id)).toEqual(['sure', 'new', 'old'])
})
