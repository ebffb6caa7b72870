import { expect, it } from 'vitest'
import { closest } from './closest.ts'

it.each([
  ['--timout', ['--timeout', '--cwd'], '--timeout'],
  ['timeoutMs', ['timeout_ms'], 'timeout_ms'],
  ['exce', ['exec', 'wait'], 'exec'],
  ['out', ['output'], 'output'],
  ['frobnicate', ['exec', 'wait'], undefined],
  ['', ['exec'], undefined],
])('what is near to %j among %j is %j', (given, known, word) => {
  expect(closest(given, known)).toBe(word)
})
