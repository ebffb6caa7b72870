import { describe, expect, it } from 'vitest'
import { carriedText, jobOf } from './carrier.ts'
import type { LogSection } from './log.ts'
import { lineAfter, lineFrom, textSection } from './log.ts'

function textsOf(section: LogSection): string[] {
  const texts: string[] = []
  for (let line = lineFrom(section, 0, section.firstLine); line; line = lineAfter(line)) texts.push(carriedText(line))
  return texts
}

const words = ['alpha', 'bravo', 'carrot', 'delta', 'echo', 'fern', 'golf', 'hotel']
const message = (i: number): string => (i % 9 === 4 ? `  at ${words[i % 8]} (file.js:${i})` : `${words[i % 8]} reads ${words[(i * 5) % 8]} ${i}`)
const clock = (i: number): string => `2026-03-04T05:06:${String(i % 60).padStart(2, '0')}.${String(100 + i)}Z`
const logOf = (line: (i: number) => string): LogSection => textSection(Array.from({ length: 120 }, (_, i) => line(i)).join('\n'))

const carriers: readonly (readonly [name: string, before: (i: number) => string])[] = [
  ['a time and a level', (i) => `${clock(i)} INFO `],
  ['a time and a level in brackets', (i) => `[${clock(i)}] [INFO] `],
  ['a level alone', () => '[info] '],
  ['a level in colour', (i) => `${clock(i)} \u001b[32mINFO\u001b[0m `],
  ['a time, a level and a host', (i) => `${clock(i)} INFO build-17 `],
  ['a thread, a level and a logger', (i) => `05:06:07.${100 + i} [worker-${i % 7}] INFO  dev.acme.${words[i % 5]}.Main - `],
  ['a level as a letter, a thread and a place', (i) => `I0304 05:06:07.${100_000 + i}       1 main.go:${i + 3}] `],
  ['a time and the name of a host and a program', (i) => `${clock(i)} edge-1 shop[42]: `],
]

describe('what carries every line of a log', () => {
  it.each(carriers)('%s is no part of a line', (_, before) => {
    expect(textsOf(logOf((i) => before(i) + message(i)))).toEqual(Array.from({ length: 120 }, (_, i) => message(i)))
  })

  it.each([
    ['of docker', (i: number) => JSON.stringify({ log: `${message(i)}\n`, stream: 'stdout', time: clock(i) })],
    ['of a collector', (i: number) => JSON.stringify({ timestamp: clock(i), level: 'info', message: message(i) })],
  ])('an envelope %s is opened', (_, line) => {
    expect(textsOf(logOf(line))).toEqual(Array.from({ length: 120 }, (_, i) => message(i)))
  })

  it('one carrier may be in another', () => {
    const texts = textsOf(logOf((i) => JSON.stringify({ log: `${clock(i)} INFO build-17 ${message(i)}\n`, stream: 'stdout', time: clock(i) })))
    expect(texts).toEqual(Array.from({ length: 120 }, (_, i) => message(i)))
  })

  it.each([
    ['in brackets', (i: number) => `[${i % 3 === 0 ? 'api' : 'web'}] `],
    ['before a colon', (i: number) => `${i % 3 === 0 ? 'api' : '@acme/web'}:build: `],
  ])('the names of jobs %s are no part of their lines, and tell them apart', (_, tagOf) => {
    const section = logOf((i) => tagOf(i) + message(i))
    expect(textsOf(section)).toEqual(Array.from({ length: 120 }, (_, i) => message(i)))
    const first = lineFrom(section, 0, 1)
    const second = first && lineAfter(first)
    const third = second && lineAfter(second)
    expect(second && third && jobOf(second) === jobOf(third)).toBe(true)
    expect(first && second && jobOf(first) === jobOf(second)).toBe(false)
  })

  it('a line that it does not carry stays as it is', () => {
    const line = (i: number): string => (i === 60 ? `${clock(i)} ERROR ${message(i)}` : i === 61 ? 'Killed' : `${clock(i)} INFO ${message(i)}`)
    const texts = textsOf(logOf(line))
    expect(texts.slice(60, 62)).toEqual([`${clock(60)} ERROR ${message(60)}`, 'Killed'])
    expect(texts[62]).toBe(message(62))
  })

  it.each([
    ['levels that differ', (i: number) => `${clock(i)} ${['INFO', 'WARN', 'ERROR'][i % 3]} ${message(i)}`],
    ['fields with levels that differ', (i: number) => JSON.stringify({ level: ['info', 'warn', 'error'][i % 3], msg: message(i) })],
    ['the words that tests passed', (i: number) => `PASS ${message(i)}`],
    ['the same first word', (i: number) => `Compiling ${message(i)}`],
    ['nothing but errors', (i: number) => `error: ${message(i)}`],
  ])('%s are what lines say', (_, line) => {
    expect(textsOf(logOf(line))).toEqual(Array.from({ length: 120 }, (_, i) => line(i)))
  })
})
