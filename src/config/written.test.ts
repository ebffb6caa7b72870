import { expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { parseDuration, parseSize } from '../core/limits.ts'
import { writtenDuration, writtenSize } from './written.ts'

it.each([
  [1, '1ms'],
  [1500, '1500ms'],
  [2000, '2s'],
  [90_000, '90s'],
  [600_000, '10m'],
  [86_400_000, '24h'],
  [172_800_000, '2d'],
])('%i milliseconds are written %s', (ms, text) => {
  expect(writtenDuration(ms)).toBe(text)
})

it.each([
  [1024, 1024],
  [1024 ** 2 + 1, 1024 ** 2 + 1],
  [64 * 1024 ** 2, '64MiB'],
  [10 * 1024 ** 3, '10GiB'],
])('%i bytes are written %j', (bytes, text) => {
  expect(writtenSize(bytes)).toBe(text)
})

it('what is written is read as the same value', () => {
  const { int, pick } = random(11)
  for (let i = 0; i < 1000; i += 1) {
    const ms = int(1, 5000) * pick([1, 1000, 60_000, 3_600_000, 86_400_000])
    expect(parseDuration('x', writtenDuration(ms))).toBe(ms)
    const bytes = int(1, 5000) * pick([1, 1024, 1024 ** 2, 1024 ** 3])
    expect(parseSize('x', String(writtenSize(bytes)))).toBe(bytes)
  }
})
