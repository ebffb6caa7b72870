import { describe, expect, it } from 'vitest'
import { sample } from '../../test/support/recognised.ts'
import { byteLength, splitLines } from '../core/text.ts'
import { digestLog } from './digest.ts'
import { textSection } from './log.ts'
import { describeRecognised, recognise } from './recognise.ts'
import type { Counts, Recogniser } from './recognisers/recogniser.ts'

const said = (counts: Counts): string => describeRecognised({ tool: 'tool', noun: 'test', counts, failures: [], warnings: [], totals: [] })
const stream = (text: string) =>
  ({ name: 'stdout', sections: [textSection(text)], bytes: byteLength(text), lines: splitLines(text).length, droppedBytes: 0 }) as const

describe('what is said of a tool', () => {
  it.each<[Counts, string]>([
    [{ passed: 3, total: 3 }, 'tool: 3 passed (3 tests)'],
    [{ failed: 0, passed: 3 }, 'tool: 0 tests failed, 3 passed'],
    [{ errors: 0 }, '0 errors'],
    [{ warnings: 1 }, '1 warning'],
  ])('of %j has %s', (counts, words) => {
    expect(said(counts)).toContain(words)
  })

  it.each<Counts>([{}, { passed: 3 }, { failed: 2 }, { warnings: 4 }, { total: 9 }])('of %j invents no count that is not there', (counts) => {
    const known = Object.values(counts).map(String)
    expect((said(counts).match(/\d+/g) ?? []).filter((number) => !known.includes(number))).toEqual([])
  })
})

describe('recognising', () => {
  const broken: Recogniser = {
    name: 'broken',
    signs: /^BROKEN/,
    open: () => ({
      line: () => undefined,
      end: () => undefined,
    }),
  }

  it('finds nothing where a tool turns out not to be the one', () => {
    expect(recognise([stream('BROKEN\n')], [broken])).toEqual([])
  })

  it('gives a tool the lines with their numbers, and without what a runner put before them', () => {
    const seen: string[] = []
    const tool: Recogniser = {
      ...broken,
      open: () => ({ line: ({ number, text }) => seen.push(`${number} ${text}`), end: () => undefined }),
    }
    recognise([stream('2026-11-30T08:00:00.123Z BROKEN one\n2026-11-30T08:00:01.456Z   two\n')], [tool])
    expect(seen.slice(0, 2)).toEqual(['1 BROKEN one', '2   two'])
  })
})

it('a line that no tool knows is not lost because a tool is known', () => {
  const filler = Array.from({ length: 400 }, (_, i) => ` ✓ src/${'abcdefghij'[i % 10]}${i}.test.ts (3 tests) 5ms\n`).join('')
  const log = ` RUN  v3.2.4 /home/ada/app\n\n${filler}fatal: the disk is full\n\n Test Files  400 passed (400)\n      Tests  1200 passed (1200)\n`
  const digest = digestLog([stream(log)], { budget: 1024, failed: true })
  expect(digest).toContain('1200 passed')
  expect(digest).toContain('403 | fatal: the disk is full')
})

describe('of a log of which not every line was read', () => {
  const filler = (from: number): string =>
    Array.from({ length: 60_000 }, (_, i) => `[${from + i}] worker ${i % 7}: request for /api/items/${(i * 37) % 9973} is done\n`).join('')
  const errors = Array.from({ length: 200 }, (_, i) => `src/m${i}.ts(${i + 1},7): error TS2304: Cannot find name 'm${i}'.\n`).join('')

  it('what was counted is said to be the least there can be', () => {
    const [words = ''] = recognise([stream(`${filler(0)}${errors}${filler(60_000)}`)]).map(describeRecognised)
    const count = Number(/^tsc: at least (\d+) errors$/.exec(words)?.[1])
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThanOrEqual(200)
    expect(recognise([stream(errors)]).map(describeRecognised)).toEqual(['tsc: 200 errors'])
  })

  it('what the tool states is said as it is', () => {
    const text = `${filler(0)}${sample('vitest-colour')}${filler(60_000)}`
    expect(recognise([stream(text)]).map(describeRecognised)).toEqual(['vitest: 4 failed, 2 passed, 1 skipped (7 tests)'])
  })

  it('what a log lacks counts as not read', () => {
    const cut = { ...stream(errors), sections: [textSection(errors), textSection(errors, 5_000)], lines: 5_199, droppedBytes: 90_000 }
    expect(recognise([cut]).map(describeRecognised)).toEqual(['tsc: at least 400 errors'])
  })
})
