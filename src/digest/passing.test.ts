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
