import { expect, it } from 'vitest'
import { sample, sampleNames } from '../../test/support/recognised.ts'
import { byteLength, splitLines } from '../core/text.ts'
import type { RunFacts } from './digest.ts'
import { digestRun } from './digest.ts'
import type { LogStream } from './log.ts'
import { textSection } from './log.ts'

const run: RunFacts = {
  id: 'k3f9a2m4p6q8',
  state: 'ended',
  outcome: { kind: 'exited', exitCode: 2, signal: null, limit: null },
  durationMs: 2_900,
  cwd: '/srv/app',
  branch: 'main',
  command: 'npm run ci',
  purpose: null,
  leftovers: [],
  error: null,
  warnings: [],
  limits: null,
}

const streamOf = (name: LogStream['name'], text: string): LogStream => ({
  name,
  sections: text === '' ? [] : [textSection(text)],
  bytes: byteLength(text),
  lines: splitLines(text).length,
  droppedBytes: 0,
})

const wellWords = /\b(?:no|0|zero) (?:errors?|failures?|failed|problems?|issues?)\b|\ball (?:tests |checks )?passed\b|\bsuccess/i

it.each(sampleNames())('of a run that failed, whatever %s says, the digest says so first and says of its own that nothing went well', (name) => {
  const text = sample(name)
  const said = new Set(splitLines(text).map((line) => line.trim()))
  for (const budget of [300, 2048]) {
    const [first = '', ...rest] = digestRun(run, [streamOf('stdout', text), streamOf('stderr', '')], { budget }).split('\n')
    expect(first).toMatch(/^exit 2 \(failed\)/)
    const own = rest.filter((line) => !/^\d+ \| /.test(line) && !said.has(line.trim()))
    // What a tool states of itself may be repeated.
    for (const line of own) if (wellWords.test(line)) expect(text, line).toMatch(wellWords)
  }
})
