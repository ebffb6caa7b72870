import { describe, expect, it } from 'vitest'
import { defaultLimits, formatDuration, parseDuration, parseSize, resolveLimits } from './limits.ts'

describe('parseDuration', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['1500ms', 1_500],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
    [' 1s ', 1_000],
    ['99999999s', 99_999_999_000],
    ['0.5ms', 1],
  ])('reads %s', (text, ms) => {
    expect(parseDuration('timeout', text)).toBe(ms)
  })

  it.each([[''], ['0'], ['0s'], ['-1'], ['-1s'], ['5'], ['NaN'], ['Infinity'], ['1e3s'], ['5 minutes'], ['1h30m'], ['s'], ['0x10s'], ['９s']])(
    'refuses %j and names the field, the value and what is accepted',
    (text) => {
      expect(() => parseDuration('timeout', text)).toThrow(`timeout is ${JSON.stringify(text)}; accepted: a positive duration with its unit, like 30s`)
    },
  )
})

describe('parseSize', () => {
  it.each([
    ['65536', 65_536],
    ['64KiB', 65_536],
    ['10MB', 10_000_000],
    ['1.5 GiB', 1_610_612_736],
    ['8m', 8_388_608],
  ])('reads %s', (text, bytes) => {
    expect(parseSize('maxOutput', text)).toBe(bytes)
  })

  it.each([[''], ['0'], ['-1'], ['ten'], ['10XB'], ['NaN'], ['0.1']])('refuses %j', (text) => {
    expect(() => parseSize('maxOutput', text)).toThrow(/^maxOutput is .*; accepted: a positive number of bytes/)
  })
})

describe('resolveLimits', () => {
  it('takes what is asked for and the settings for the rest', () => {
    expect(resolveLimits({ timeoutMs: 1_000, idleTimeoutMs: undefined }, defaultLimits)).toEqual({
      limits: { timeoutMs: 1_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 67_108_864 },
      notes: [],
    })
  })

  it.each([[0], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], ['5' as never], [true as never]])('refuses %j in every limit', (value) => {
    for (const field of ['timeoutMs', 'idleTimeoutMs', 'graceMs', 'maxOutputBytes'] as const) {
      expect(() => resolveLimits({ [field]: value }, defaultLimits)).toThrow(new RegExp(`^${field} is .*; accepted: `))
    }
  })

  it('sets what is above the ceiling to the ceiling and says so', () => {
    const { limits, notes } = resolveLimits({ timeoutMs: 2 ** 31, idleTimeoutMs: 99_999_999_000 }, defaultLimits)
    expect(limits).toMatchObject({ timeoutMs: 86_400_000, idleTimeoutMs: 86_400_000 })
    expect(notes).toEqual([
      'timeoutMs 2147483648 is above the ceiling of 24 h (maxTimeoutMs) and was set to it',
      'idleTimeoutMs 99999999000 is above the ceiling of 24 h (maxTimeoutMs) and was set to it',
    ])
  })

  it('refuses a log that has no room for a head, a tail and the gap between them', () => {
    expect(() => resolveLimits({ maxOutputBytes: 1_023 }, defaultLimits)).toThrow('maxOutputBytes is 1023; accepted: a whole number of bytes from 1024')
    expect(resolveLimits({ maxOutputBytes: 1_024.9 }, defaultLimits).limits.maxOutputBytes).toBe(1_024)
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0 ms'],
    [840.4, '840 ms'],
    [2_340, '2.3 s'],
    [30_000, '30 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min'],
    [245_000, '4 min 5 s'],
    [86_400_000, '24 h'],
    [5_400_000, '1 h 30 min'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})
