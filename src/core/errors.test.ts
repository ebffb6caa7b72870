import { describe, expect, it } from 'vitest'
import { failure, HoldfastError, shown, toHoldfastError } from './errors.ts'

describe('failure', () => {
  it('has a code to act on, one sentence, and its facts as details', () => {
    const error = failure('invalid', { field: 'timeoutMs', value: 0, accepted: 'more' })
    expect(error).toBeInstanceOf(HoldfastError)
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'invalid_argument',
      message: 'timeoutMs is 0; accepted: more',
      details: { reason: 'invalid', field: 'timeoutMs', value: 0, accepted: 'more' },
    })
  })
})

describe('shown', () => {
  it.each([
    ['text', '"text"'],
    [Number.NaN, 'NaN'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{ a: 1 }, '{"a":1}'],
    ['line\nbreak', '"line\\nbreak"'],
  ])('writes %j as %s', (value, text) => {
    expect(shown(value)).toBe(text)
  })

  it('is short', () => {
    expect(shown('x'.repeat(1_000)).length).toBeLessThanOrEqual(80)
  })
})

describe('toHoldfastError', () => {
  it('leaves ours alone and calls everything else internal', () => {
    const ours = failure('closed', {})
    expect(toHoldfastError(ours)).toBe(ours)
    expect(toHoldfastError(new Error('x'))).toMatchObject({ code: 'internal', message: 'internal error: x' })
    expect(toHoldfastError('text')).toMatchObject({ code: 'internal' })
  })
})
