import { describe, expect, it } from 'vitest'
import type { Random } from '../../../test/support/random.ts'
import { random } from '../../../test/support/random.ts'
import { linesOf, recogniseWith, sample, sampleNames } from '../../../test/support/recognised.ts'
import { recognisers } from './all.ts'
import type { LogLine, Recognised } from './recogniser.ts'
import { maxDetails, maxFailures } from './recogniser.ts'

/** A sample is called `<tool>-<what>` or, where two tools speak in one log, `<tool>+<tool>-<what>`. */
function toolsOf(name: string): string[] {
  const known = recognisers.map((recogniser) => recogniser.name).sort((a, b) => b.length - a.length)
  return name.split('+').map((part) => known.find((tool) => part === tool || part.startsWith(`${tool}-`)) ?? `none is called like ${part}`)
}

const answersTo = (text: string): string[] => recognisers.filter((recogniser) => recogniseWith(recogniser, text)).map(({ name }) => name)

function expectSound(recognised: Recognised | undefined, lines: ReadonlySet<LogLine>): void {
  if (!recognised) return
  const { counts, failures, warnings, totals } = recognised
  for (const count of Object.values(counts)) if (count !== undefined) expect(Number.isSafeInteger(count) && count >= 0, JSON.stringify(counts)).toBe(true)
  expect(failures.length).toBeLessThanOrEqual(maxFailures)
  expect(warnings.length).toBeLessThanOrEqual(maxFailures)
  const shown = [...warnings, ...totals, ...failures.flatMap(({ line, details }) => [line, ...details])]
  expect(shown.every((line) => lines.has(line))).toBe(true)
  for (const { details, title } of failures) {
    expect(details.length).toBeLessThanOrEqual(maxDetails)
    expect(title).not.toMatch(/\n/)
  }
}

describe('recognisers', () => {
  it.each(sampleNames())('of other tools leave %s alone, and its own answer', (name) => {
    expect(answersTo(sample(name)).sort()).toEqual(toolsOf(name).sort())
  })

  it.each([
    ['prose', 'The tests failed: 3 failed, 20 passed. An error occurred in the build, see the log. npm and make are tools; FAIL is a word.\n'],
    ['source text', 'if (failed > 0) throw new Error(`${failed} failed, ${passed} passed`)\nassert x == 1, "error: expected 1"\nprintf("error: %s\\n", s);\n'],
    [
      'a page about tools',
      '# Testing\n\nRun `npm test`, `pytest -q` or `make check`.\n\n- vitest, jest and mocha print a summary\n- gcc prints `file.c:1:2: error: ...`\n',
    ],
    ['a log of a service', 'INFO started in 3.2 s\nERROR request failed: timeout\nWARN retry 1 of 3\nat com.acme.Foo.bar(Foo.java:12)\n'],
    ['nothing', ''],
  ])('leave %s alone', (_what, text) => {
    expect(answersTo(text)).toEqual([])
  })

  it.each(sampleNames())('make do with what is left of %s', (name) => {
    const draw = random(7)
    const others = sampleNames()
    for (let round = 0; round < 40; round += 1) {
      const lines = damaged(draw, sample(name), sample(draw.pick(others)))
      const known = new Set(lines)
      for (const recogniser of recognisers) expectSound(recogniseWith(recogniser, lines), known)
    }
  })

  it.each(recognisers)('$name reads a flood of its own lines within bounds', (recogniser) => {
    const text = sampleNames()
      .filter((name) => toolsOf(name).includes(recogniser.name))
      .map(sample)
      .join('\n')
    const once = linesOf(text)
    const lines = Array.from({ length: Math.max(1, Math.ceil(100_000 / Math.max(1, once.length))) }, () => once).flat()
    expectSound(recogniseWith(recogniser, lines), new Set(once))
  })

  it.each(recognisers)('$name reads lines of any length in a time that grows with it', (recogniser) => {
    const starts = sampleNames()
      .filter((name) => toolsOf(name).includes(recogniser.name))
      .flatMap((name) => linesOf(sample(name)))
    const fills = ['a', ' ', '.', '/', ':1', '(', '1 ', 'a.b:', '> ', '-', '=', '[a]', "'", '|']
    const text = starts.map(({ text: start }, i) => (start + (fills[i % fills.length] as string).repeat(4096)).slice(0, 4096)).join('\n')
    const lines = linesOf(text)
    expectSound(recogniseWith(recogniser, lines), new Set(lines))
  })
})

/** The lines of a log with some gone, some twice, some mixed with those of another log, and some changed. */
function damaged(draw: Random, text: string, other: string): LogLine[] {
  const strange = linesOf(other)
  const kept = linesOf(text).flatMap((line): LogLine[] => {
    const dice = draw.int(0, 19)
    if (dice === 0) return []
    if (dice === 1) return [line, line]
    if (dice === 2 && strange.length > 0) return [draw.pick(strange), line]
    if (dice === 3) return [{ ...line, text: line.text.slice(draw.int(0, line.text.length)) }]
    if (dice === 4) return [{ ...line, text: line.text.replace(/\d+/g, () => String(draw.int(0, 99_999_999))) }]
    if (dice === 5) return [{ ...line, text: line.text.slice(0, draw.int(0, line.text.length)) }]
    return [line]
  })
  const start = draw.int(0, 2) === 0 ? draw.int(0, kept.length) : 0
  const end = draw.int(0, 2) === 0 ? draw.int(start, kept.length) : kept.length
  return kept.slice(start, end)
}
