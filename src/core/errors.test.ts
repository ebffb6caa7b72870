import { describe, expect, it } from 'vitest'
import { failure, HoldfastError, toHoldfastError, withFacts } from './errors.ts'
import { shown } from './reason.ts'

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

  it.each([
    [undefined, 'x is missing; accepted: more'],
    [[], 'x is missing; accepted: more'],
    ['', 'x is ""; accepted: more'],
    [null, 'x is null; accepted: more'],
    [[''], 'x is [""]; accepted: more'],
  ])('of the value %j says what was given, or that nothing was', (value, sentence) => {
    expect(failure('invalid', { field: 'x', value, accepted: 'more' }).message).toBe(sentence)
  })

  it.each(['ls -la | wc', 'ls|wc', 'a&&b', 'a;b', 'a>b', 'a<b', '$EDITOR'])('of the program %j says where shell lines belong', (program) => {
    expect(failure('program_missing', { program }).message).toMatch(/nothing was started; a shell command line goes into a script \(-c\)$/)
  })

  it('of a program with a plain name says no more than that it is not there', () => {
    expect(failure('program_missing', { program: '/opt/g++-12' }).message).toBe(
      'there is no program "/opt/g++-12" on the PATH of the command; nothing was started',
    )
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

describe('withFacts', () => {
  const hide = (text: string): string => text.replaceAll('hidden', '[masked]')

  it('changes every text of the details and the sentence, also one that the sentence cuts', () => {
    const long = `${'x'.repeat(70)}hidden`
    const error = withFacts(failure('invalid', { field: 'argv', value: ['hidden', { of: [long, 5] }], accepted: 'none' }), hide)
    expect(error).toMatchObject({ code: 'invalid_argument', details: { value: ['[masked]', { of: [expect.stringMatching(/x\[masked\]$/), 5] }] } })
    expect(withFacts(failure('program_missing', { program: long }), hide).message).not.toMatch(/hid/)
    expect(error.message).toMatch(/^argv is \["\[masked\]"/)
  })

  it('keeps the cause and the operation, and the error itself where nothing changes', () => {
    const cause = new Error('why')
    const error = failure('program_missing', { program: 'hidden' }, cause)
    error.operation = 'exec'
    expect(withFacts(error, hide)).toMatchObject({ operation: 'exec', cause })
    expect(withFacts(error, (text) => text)).toBe(error)
  })
})
