import { describe, expect, it } from 'vitest'
import { linesOf, sample, sampleNames } from '../../test/support/recognised.ts'
import { byteLength, splitLines } from '../core/text.ts'
import type { RunFacts } from './digest.ts'
import { digestRun } from './digest.ts'
import type { LogStream } from './log.ts'
import { textSection } from './log.ts'
import { recognise } from './recognise.ts'
import { isFiller } from './severity.ts'

const stream = (name: LogStream['name'], text: string): LogStream => ({
  name,
  sections: text === '' ? [] : [textSection(text)],
  bytes: byteLength(text),
  lines: splitLines(text).length,
  droppedBytes: 0,
})

const run: RunFacts = {
  id: 'k3f9a2m4p6q8',
  state: 'ended',
  outcome: { kind: 'exited', exitCode: 0, signal: null, limit: null },
  durationMs: 2_900,
  cwd: '/home/ada/work/shop',
  branch: 'main',
  command: 'npm test',
  purpose: null,
  leftovers: [],
  error: null,
  warnings: [],
  limits: null,
}

const passing = sampleNames().filter((name) => /-(?:passed|passing|pushok|started|no-work|warn|warnings)$/.test(name))

describe('the digest of a passing run', () => {
  it.each(passing)('is short for %s, says what passed, and shows its warnings', (name) => {
    const text = sample(name)
    const digest = digestRun(run, [stream('stdout', text), stream('stderr', '')], { budget: 2048 })
    expect(byteLength(digest)).toBeLessThanOrEqual(400)
    expect(digest.split('\n')[0]).toMatch(/^exit 0; /)
    const isWhole = digest.includes(text.trim())
    for (const { counts, warnings } of recognise([stream('stdout', text)])) {
      for (const count of [counts.passed, counts.warnings]) if (count && !isWhole) expect(digest).toMatch(new RegExp(`\\b${count}\\b`))
      if (warnings[0]) expect(digest).toContain(warnings[0].text.trim().slice(0, 36))
    }
    const last = linesOf(text)
      .findLast((line) => !isFiller(line.text))
      ?.text.trim()
    expect(digest).toContain(last?.slice(0, 24))
  })

  it('names no tool of which it has nothing to say', () => {
    expect(digestRun(run, [stream('stdout', sample('cmake-passed')), stream('stderr', '')], { budget: 2048 })).not.toMatch(/^cmake$/m)
  })
})

const words = 'harbour lantern orchard meadow pebble timber copper willow anchor ferry kettle saddle velvet marble canyon glacier'.split(' ')
const word = (i: number): string => words[(i * 7) % words.length] as string
const lines = (count: number, line: (i: number) => string): string => `${Array.from({ length: count }, (_, i) => line(i)).join('\n')}\n`
const listing = lines(52, (i) => `-rw-r--r-- 1 ada ada ${String(i * 977 + 40).padStart(6)} Nov 30 12:${10 + (i % 40)} ${word(i)}-${word(i + 3)}.ts`)
const source = lines(90, (i) => (i % 9 === 8 ? '' : `  const ${word(i)} = ${word(i + 1)}(${word(i + 2)}, { ${word(i + 5)}: '${word(i + 4)}' })`))
const status = `On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n  (use "git add <file>..." to update what will be committed)\n${lines(70, (i) => `\tmodified:   src/${word(i)}/${word(i + 2)}${i}.ts`)}\nno changes added to commit\n`
const history = lines(12, (i) =>
  [
    `commit ${(i + 1).toString(16).repeat(40).slice(0, 40)}`,
    'Author: Ada <ada@example.test>',
    `Date:   Mon Nov ${10 + i} 08:00:00 2026 +0000`,
    '',
    `    ${word(i)} the ${word(i + 1)}`,
    '',
    ` src/${word(i)}.ts | ${i + 2} ++--`,
    ' 1 file changed, 2 insertions(+), 2 deletions(-)',
    '',
  ].join('\n'),
)
const tree = lines(80, (i) => `${i % 3 ? '│ ├── ' : '├─┬ '}${word(i)}-${word(i + 1)}@${i}.2.1`)
const fetched = JSON.stringify(
  Array.from({ length: 40 }, (_, i) => ({ id: i, name: word(i), tags: [word(i + 1)] })),
  null,
  1,
)

describe('the digest of data that was asked for', () => {
  it.each([
    ['a listing', listing],
    ['a source file', source],
    ['a status', status],
    ['a history', history],
    ['a tree of packages', tree],
    ['a JSON document', fetched],
  ])('shows as much of %s as fits, from both ends, and says what is between them', (_name, text) => {
    expect(byteLength(text)).toBeGreaterThan(2048)
    const digest = digestRun(run, [stream('stdout', text), stream('stderr', '')], { budget: 2048 })
    expect(byteLength(digest)).toBeGreaterThan(1700)
    expect(byteLength(digest)).toBeLessThanOrEqual(2048)
    const own = splitLines(text)
    const shown = [...digest.matchAll(/^(\d+) \| (.*)$/gm)].map(([, number, line]) => [Number(number), line] as const)
    for (const [number, line = ''] of shown) expect(own[number - 1]).toContain(line.replace(/ \[\+\d+ bytes\]$/, ''))
    expect(shown[0]?.[0]).toBe(1)
    expect(shown.at(-1)?.[0]).toBe(own.findLastIndex((line) => line !== '') + 1)
    const gap = /^ {2}… (\d+) lines\n(\d+) \|/m.exec(digest)
    const before = shown[shown.findIndex(([number]) => number === Number(gap?.[2])) - 1]?.[0]
    expect(Number(gap?.[2]) - (before ?? 0) - 1).toBe(Number(gap?.[1]))
    expect(digest).toMatch(new RegExp(`more: holdfast output k3f9a2m4p6q8 --lines ${(before ?? 0) + 1}-`))
  })

  it('shows it whole where it fits', () => {
    const text = listing.split('\n').slice(0, 20).join('\n')
    expect(digestRun(run, [stream('stdout', text), stream('stderr', '')], { budget: 2048 })).toContain(text)
  })

  it.each([
    ['steps of a build', lines(60, (i) => `[${i + 1}/60] Compiling ${word(i)} from ${word(i + 1)}/${word(i + 2)}.c`)],
    ['commands of a build', lines(60, (i) => `gcc -O2 -Wall -c src/${word(i)}/${word(i + 4)}.c -o build/${word(i + 1)}.o`)],
    ['a log with times', lines(60, (i) => `2026-11-30T08:00:${10 + (i % 50)}Z ${word(i)} took the ${word(i + 1)} to the ${word(i + 2)}`)],
    ['names of tests', lines(60, (i) => `  ✓ ${word(i)} ${word(i + 1)} keeps the ${word(i + 2)}`)],
    ['lines that differ in their numbers', lines(300, (i) => `row ${i} of the table`)],
    ['downloads', lines(60, (i) => `Downloading ${word(i)}-${word(i + 3)} from the mirror of ${word(i + 5)}`)],
  ])('is short for %s', (_name, text) => {
    expect(byteLength(text)).toBeGreaterThan(2048)
    expect(byteLength(digestRun(run, [stream('stdout', text), stream('stderr', '')], { budget: 2048 }))).toBeLessThanOrEqual(400)
  })
})
