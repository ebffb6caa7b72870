import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { classifyProviderError } from '../../src/providers/classify.ts'

/** Labelled messages of real providers: on one set the tables were made, the other was only looked at when they were done. */
const sets = {
  tuned: fileURLToPath(new URL('tuned.tsv', import.meta.url)),
  kept: fileURLToPath(new URL('kept.tsv', import.meta.url)),
  'from elsewhere': fileURLToPath(new URL('../../../shared/provider-errors/messages.tsv', import.meta.url)),
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
  for (const [name, file] of Object.entries(sets)) {
    const isThere = existsSync(file)
    if (!isThere) console.warn(`skipped: messages ${name}: ${file} is not there`)
    it.skipIf(!isThere)(`${name}: at least 95 of 100 get their class, 97 one that is near, and each stated delay is read`, () => {
      const score = scoreOf(file)
      expect(score.wrongDelays).toEqual([])
      expect(score.exact).toBeGreaterThanOrEqual(0.95)
      expect(score.near).toBeGreaterThanOrEqual(0.97)
    })
  }
})
