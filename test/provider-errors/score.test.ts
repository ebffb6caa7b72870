import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { classifyProviderError } from '../../src/providers/classify.ts'

/**
 * Labelled messages of real providers. The tables were made on `tuned`; `kept` was scored once, when they were done, and is not worked on:
 * its bounds are a little below what it had then.
 */
const sets = {
  tuned: { file: fileURLToPath(new URL('tuned.tsv', import.meta.url)), exact: 0.95, near: 0.97 },
  kept: { file: fileURLToPath(new URL('kept.tsv', import.meta.url)), exact: 0.93, near: 0.93 },
  'from elsewhere': { file: fileURLToPath(new URL('../../../shared/provider-errors/messages.tsv', import.meta.url)), exact: 0.95, near: 0.97 },
}

const transient = ['network', 'connection', 'stream']

interface Score {
  readonly exact: number
  readonly near: number
  readonly wrongDelays: readonly string[]
}

function scoreOf(file: string): Score {
  const rows = readFileSync(file, 'utf8').trim().split('\n').slice(1)
  let [exact, near] = [0, 0]
  const wrongDelays: string[] = []
  for (const row of rows) {
    const [message = '', label = '', delay = ''] = row.split('\t')
    const got = classifyProviderError(message)
    if (got.class === label) exact += 1
    if (got.class === label || (transient.includes(got.class) && transient.includes(label))) near += 1
    if (delay !== '' && Math.abs((got.retryAfterMs ?? Number.NEGATIVE_INFINITY) - Number(delay)) > 1_000) wrongDelays.push(message)
  }
  return { exact: exact / rows.length, near: near / rows.length, wrongDelays }
}

describe('of real messages', () => {
  for (const [name, { file, exact, near }] of Object.entries(sets)) {
    const isThere = existsSync(file)
    if (!isThere) console.warn(`skipped: messages ${name}: ${file} is not there`)
    it.skipIf(!isThere)(`${name}: ${exact * 100} of 100 get their class, ${near * 100} one that is near, and each stated delay is read`, () => {
      const score = scoreOf(file)
      expect(score.wrongDelays).toEqual([])
      expect(score.exact).toBeGreaterThanOrEqual(exact)
      expect(score.near).toBeGreaterThanOrEqual(near)
    })
  }
})
