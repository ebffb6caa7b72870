import { describe, expect, it } from 'vitest'
import { classifyProviderError } from './classify.ts'
import { maxRetryAfterMs } from './provider-error.ts'

const now = Date.parse('2026-11-30T12:00:00Z')
const delayOf = (error: unknown): number | null => classifyProviderError(error, { now }).retryAfterMs
const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]

describe('a wait that is stated in words', () => {
  it.each([
    ['Please try again in 6m0s.', 6 * minute],
    ['Please try again in 9.816s.', 9_816],
    ['Please try again in 6ms.', 6],
    ['try again in 3 hours 2 minutes.', 3 * hour + 2 * minute],
    ['try again in 2 days 17 hours 14 minutes.', 2 * day + 17 * hour + 14 * minute],
    ['try again in 1 day, 4 hours and 5 minutes', day + 4 * hour + 5 * minute],
    ['Please retry after 86400 seconds.', day],
    ['Please retry in 34.074824224s.', 34_075],
    ['Please wait 587 hours 33 minutes before trying again.', 587 * hour + 33 * minute],
    ['Your quota will reset after 2h16m49s.', 2 * hour + 16 * minute + 49 * second],
    ['Resets in 143h57m55s.', 143 * hour + 57 * minute + 55 * second],
    ['Retry-After: 30', 30 * second],
    ['请在 30 秒后重试', 30 * second],
    ['Your limit will reset at 3pm (America/Chicago).', 9 * hour],
    ['resets 2:50am (Asia/Muscat)', 10 * hour + 50 * minute],
    ['resets 12am (UTC)', 12 * hour],
    ['resets 12pm (UTC)', day],
    ['try again at December 1st, 2026 1:36 PM UTC.', 25 * hour + 36 * minute],
    ['resets Dec 2, 5am (UTC)', day + 17 * hour],
    ['reset at 2026-11-30T13:00:00Z', hour],
    ['Your limit will reset at 2026-11-30 14:29:33', 2 * hour + 29 * minute + 33 * second],
    [`Claude AI usage limit reached|${now / 1_000 + 90}`, 90 * second],
    [`reset at ${now + 1_500}`, 1_500],
    ["429 RESOURCE_EXHAUSTED. {'details': [{'@type': 'RetryInfo', 'retryDelay': '34s'}]}", 34 * second],
    ['{"type":"usage_limit_reached","resets_in_seconds":13872}', 13_872 * second],
    [`{"type":"usage_limit_reached","resets_at":${now / 1_000 + 60}}`, minute],
    ['{"quotaResetTimeStamp":"2026-11-30T12:01:00Z"}', minute],
  ])('is read: %s', (text, delay) => {
    expect(delayOf(text)).toBe(delay)
  })

  it.each([
    'retrying 1/5 in 197ms…',
    'Retrying in 4 seconds… (attempt 4/10)',
    'Please try again later.',
    'Please wait a moment and try again.',
    'within the last 5 minutes, please wait a moment and try again',
    'try again in 99999999 days',
    'try again at May 11th, 2026 1:36 PM.',
    'resets 25:99',
    'resets 13pm (UTC)',
    'resets 3pm (Nowhere/Atall)',
    'reset at 2020-01-01T00:00:00Z',
    '{"retryDelay":"-5s"}',
    '{"retry_after":-5}',
    '{"retry_after":"NaN"}',
  ])('is not made up: %s', (text) => {
    expect(delayOf(text)).toBeNull()
  })

  it('that goes over a change of the clocks comes at the hour that people see', () => {
    const before = Date.parse('2026-03-08T00:00:00-06:00')
    expect(classifyProviderError('resets 9am (America/Chicago)', { now: before }).retryAfterMs).toBe(8 * hour)
  })

  it('is cut to 31 days', () => {
    expect(delayOf('try again in 90 days')).toBe(maxRetryAfterMs)
  })
})

describe('a wait that is stated in headers', () => {
  it.each([
    [{ 'retry-after': '20' }, 20 * second],
    [{ 'Retry-After': '0' }, 0],
    [{ 'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT' }, 2 * minute],
    [{ 'retry-after-ms': '1500', 'retry-after': '20' }, 1_500],
    [{ 'retry-after': '-3' }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '99999999999' }, null],
    [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 6 * minute],
    [
      { 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '9' },
      second,
    ],
    [{ 'x-ratelimit-reset': String(now + 90_000) }, 90 * second],
    [{ 'x-ratelimit-reset': String(now / 1_000 + 90) }, 90 * second],
    [{ 'anthropic-ratelimit-tokens-reset': '2026-11-30T12:00:30Z' }, 30 * second],
  ])('is read on a rate limit: %j', (headers, delay) => {
    expect(delayOf({ status: 429, headers, body: '' })).toBe(delay)
    expect(delayOf({ status: 429, headers: new Headers(headers), body: '' })).toBe(delay)
  })

  it('of a limit that was not hit is no wait', () => {
    expect(delayOf({ status: 400, headers: { 'x-ratelimit-reset-tokens': '6m0s' }, body: '' })).toBeNull()
  })

  it('counts more than words', () => {
    expect(delayOf({ status: 429, headers: { 'retry-after': '5' }, body: 'try again in 20s' })).toBe(5 * second)
  })
})
