import { describe, expect, it } from 'vitest'
import { parseSpan } from './reading.ts'

describe('parseSpan', () => {
  it.each([
    ['120', { from: 120, to: 120 }],
    ['100-150', { from: 100, to: 150 }],
    ['100-', { from: 100, to: Number.POSITIVE_INFINITY }],
    ['-20', { from: 181, to: 200 }],
    ['-500', { from: 1, to: 200 }],
  ])('reads the lines %s of 200', (text, span) => {
    expect(parseSpan('lines', text, 200, 1)).toEqual(span)
  })

  it('reads offsets from 0 and the last bytes', () => {
    expect(parseSpan('bytes', '0-1023', 5000, 0)).toEqual({ from: 0, to: 1023 })
    expect(parseSpan('bytes', '-512', 5000, 0)).toEqual({ from: 4488, to: 5000 })
  })

  it.each([[''], ['-'], ['0'], ['5-4'], ['a'], ['1-2-3'], ['1.5']])('refuses %j', (text) => {
    expect(() => parseSpan('lines', text, 200, 1)).toThrow(/^lines is .*; accepted: /)
  })
})
