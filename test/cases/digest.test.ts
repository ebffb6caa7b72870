import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const score = fileURLToPath(new URL('../../../shared/digest-cases/score.mjs', import.meta.url))
const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const present = existsSync(score)
if (!present) console.log(`skipped: the labelled build logs are not at ${score}`)

interface Score {
  readonly hit: number
  readonly cover: number
  readonly over: number
}

function scoreOf(text: string): Score {
  const [, hit, cover, over] = /hit ([\d.]+), cover ([\d.]+), over budget (\d+)/.exec(text) ?? []
  return { hit: Number(hit), cover: Number(cover), over: Number(over) }
}

describe.skipIf(!present)('digests of real build logs', () => {
  it.each([
    { budget: 2048, hit: 0.99, cover: 0.9, previous: false },
    { budget: 1024, hit: 0.95, cover: 0.75, previous: false },
    { budget: 512, hit: 0.9, cover: 0.5, previous: false },
    { budget: 1024, hit: 0.99, cover: 0.8, previous: true },
  ])(
    'of $budget bytes hold a labelled error of at least $hit of them, and $cover of the lines (with a log that passed: $previous)',
    ({ budget, hit, cover, previous }) => {
      const args = [
        score,
        '--budget',
        String(budget),
        '--',
        process.execPath,
        program,
        'digest',
        '--budget',
        '{budget}',
        ...(previous ? ['--previous', '{previous}'] : []),
      ]
      const text = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000 })
      const found = scoreOf(text)
      expect(found.hit, text).toBeGreaterThanOrEqual(hit)
      expect(found.cover, text).toBeGreaterThanOrEqual(cover)
      expect(found.over, text).toBe(0)
    },
    130_000,
  )
})
