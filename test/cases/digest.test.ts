import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const score = fileURLToPath(new URL('../../../shared/digest-cases/score.mjs', import.meta.url))
const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const present = existsSync(score)
if (!present) console.log(`skipped: the labelled build logs are not at ${score}`)

describe.skipIf(!present)('digests of real build logs', () => {
  it.each([
    [2048, 0.99],
    [1024, 0.95],
    [512, 0.9],
  ])(
    'of %d bytes hold a labelled error of at least %d of them, and are never over their budget',
    (budget, least) => {
      const text = execFileSync(process.execPath, [score, '--budget', String(budget), '--', process.execPath, program, 'digest', '--budget', '{budget}'], {
        encoding: 'utf8',
        timeout: 120_000,
      })
      const [, hit, over] = /hit ([\d.]+), cover [\d.]+, over budget (\d+)/.exec(text) ?? []
      expect(Number(hit), text).toBeGreaterThanOrEqual(least)
      expect(over, text).toBe('0')
    },
    130_000,
  )
})
