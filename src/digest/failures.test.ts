import { describe, expect, it } from 'vitest'
import { sample, sampleNames } from '../../test/support/recognised.ts'
import { byteLength, splitLines } from '../core/text.ts'
import { digestLog } from './digest.ts'
import type { LogStream } from './log.ts'
import { textSection } from './log.ts'
import { recognise } from './recognise.ts'

const streamOf = (text: string): LogStream => ({
  name: 'stdout',
  sections: [textSection(text)],
  bytes: byteLength(text),
  lines: splitLines(text).length,
  droppedBytes: 0,
})
const digest = (text: string, budget: number): string => digestLog([streamOf(text)], { budget, failed: true })
/** The numbers of the lines that a digest shows; undefined where it shows them all. */
function shownIn(text: string): Set<number> | undefined {
  const numbers = [...text.matchAll(/^(\d+) \| /gm)].map(([, number]) => Number(number))
  return /^std\w+ [\d,]+ bytes?, [\d,]+ lines?:$/m.test(text.split('\n')[0] ?? '') && !text.includes(' like it') && !text.includes(' more of ')
    ? undefined
    : new Set(numbers)
}

const tests = (count: number): string =>
  ` RUN  v4.0.0 /home/ada/app\n\n${Array.from({ length: count }, (_, i) => ` FAIL  src/part${i}.test.ts > keeps ${'abcdefghij'[i % 10]}${i}\nAssertionError: expected ${i} to be ${i + 1} // Object.is equality\n ❯ src/part${i}.test.ts:${i + 3}:9\n      1| source of ${i}\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[${i + 1}/${count}]⎯\n\n`).join('')} Test Files  ${count} failed (${count})\n      Tests  ${count} failed (${count})\n`

describe('the digest of what tools reported as failed', () => {
  it.each([
    ['vitest-ci', 1024],
    ['pytest-failing', 1024],
    ['unittest-failing', 1024],
    ['ruff-full', 1024],
    ['jest-failing', 1024],
    ['node-test-spec', 1024],
    ['gtest-failed', 1024],
    ['cargo-test-failing', 1024],
    ['mocha-spec', 1024],
    ['maven-compile', 512],
    ['gcc-template', 512],
    ['docker-run-step', 512],
  ])('names every failure of %s in %d bytes', (name, budget) => {
    const text = sample(name)
    const shown = shownIn(digest(text, budget))
    const failures = recognise([streamOf(text)]).flatMap((of) => of.failures)
    expect(failures.length).toBeGreaterThan(0)
    for (const { line } of failures) expect(shown?.has(line.number) ?? true, line.text).toBe(true)
  })

  it.each(sampleNames())('has a reason for every failure of %s that it names in 2,048 bytes', (name) => {
    const text = sample(name)
    const shown = shownIn(digest(text, 2048))
    for (const { line, details } of recognise([streamOf(text)]).flatMap((of) => of.failures))
      if (shown?.has(line.number) && details.some(({ text: own }) => /\p{L}/u.test(own)))
        expect(
          details.some(({ number }) => shown.has(number)),
          line.text,
        ).toBe(true)
  })

  it('tells the reasons of the first where there are too many, and how many more there are', () => {
    const text = digest(tests(40), 1024)
    expect(text).toContain('3 |  FAIL  src/part0.test.ts > keeps a0\n4 | AssertionError: expected 0 to be 1')
    const [, more, line] = /… (\d+) more of vitest, the first in line (\d+)/.exec(text) ?? []
    const named = [...text.matchAll(/\| {2}FAIL {2}/g)].length
    expect(named).toBeGreaterThan(3)
    expect(Number(more) + named).toBe(40)
    expect(splitLines(tests(40))[Number(line) - 1]).toContain(`src/part${named}.test.ts`)
  })

  it('says where a failure is if no line does', () => {
    expect(digest(sample('docker-run-step'), 512)).toContain('\n  at Dockerfile:4\n')
  })

  it('shows no line that tells a failure a second time, and none that only rules', () => {
    const text = digest(sample('node-test-spec'), 2048)
    expect([...text.matchAll(/✖ adds two numbers/g)]).toHaveLength(1)
    for (const budget of [512, 1024, 2048]) expect(digest(sample('vitest-ci'), budget)).not.toMatch(/⎯{4}|expected noise/)
  })
})

describe('of many failures of one tool', () => {
  const rules = ["'total' is not defined  no-undef", "'total' is assigned a value but never used  no-unused-vars", "'count' is never reassigned  prefer-const"]
  const file = (i: number): string =>
    `/srv/app/src/part${i}.js\n${Array.from({ length: 10 }, (_, k) => `  ${String(k + 1).padStart(2)}:1  error  ${rules[(i === 0 ? 0 : k) % 3]}\n`).join('')}\n`
  const text = `\n${Array.from({ length: 40 }, (_, i) => file(i)).join('')}✖ 400 problems (400 errors, 0 warnings)\n`

  it('the first one is shown, however common its words are, and all that are not shown are counted', () => {
    const shown = digest(text, 600)
    expect(shown).toMatch(/^3 \| {4}1:1 {2}error {2}'total' is not defined/m)
    const count = Number(/ {2}… (\d+) more of eslint/.exec(shown)?.[1])
    expect(count + (shown.match(/^\d+ \| .*:1 {2}error/gm) ?? []).length).toBeGreaterThanOrEqual(400)
    expect(count).toBeLessThan(400)
  })
})
