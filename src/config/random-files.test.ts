import { expect, it } from 'vitest'
import { type Random, random } from '../../test/support/random.ts'
import { HoldfastError } from '../core/errors.ts'
import { settingKeys } from './check.ts'
import { loadConfig } from './load.ts'

const names = [
  '__proto__',
  'constructor',
  'toString',
  '',
  'x y',
  'API_TOKEN',
  'length',
  '0',
  '\u001b[2J',
  '\ud800',
  ...settingKeys().flatMap((key) => key.split('.')),
]
const leaves = [
  null,
  true,
  false,
  0,
  -1,
  1,
  2048,
  1e308,
  1.5,
  '',
  '5m',
  '64MiB',
  '0s',
  '(',
  'a+',
  'CI',
  'API_TOKEN',
  'a\0b',
  'x'.repeat(300),
  '\u202e\u001b]0;t\u0007',
]

/** Any JSON, made mostly of words that the schema knows. */
function anyJson({ int, pick }: Random, depth: number): unknown {
  const kind = depth <= 0 ? 0 : int(0, 5)
  if (kind <= 1) return pick(leaves)
  const parts = Array.from({ length: int(0, 4) }, () => anyJson({ int, pick } as Random, depth - 1))
  return kind === 2 ? parts : Object.fromEntries(parts.map((part) => [pick(names), part]))
}

const right: Readonly<Record<string, readonly unknown[]>> = {
  $schema: ['x'],
  enabled: [true, false],
  'limits.timeoutMs': ['5m', 1500, '90d'],
  'limits.idleTimeoutMs': [null, '3h', 1],
  'limits.graceMs': ['2s', '40d'],
  'limits.maxOutputBytes': [2048, '64MiB'],
  'limits.maxTimeoutMs': ['1h', 1, '30d'],
  runtimes: [{ ruby: 'ruby' }, { ruby: ['ruby', ''], constructor: 'x' }],
  'env.pass': [[], ['CI'], ['CI', 'constructor']],
  'env.set': [{}, { A: 'b', toString: '' }],
  'mask.names': [[], ['A*', '*']],
  'mask.patterns': [['a+', '[']],
  'retention.maxAge': ['1ms', '90d'],
  'retention.maxRuns': [1],
  'retention.maxBytes': ['1GiB', 1],
  'digest.budget': [1, '4KiB'],
  'hooks.leadToExec': [true, false],
}

/** A file whose groups are right and whose values most often are. */
function nearlyRight(source: Random): unknown {
  const file: Record<string, Record<string, unknown>> = {}
  for (let i = source.int(1, 4); i > 0; i -= 1) {
    const key = source.pick(settingKeys())
    const [group = '', name] = key.split('.')
    const value = source.int(0, 5) === 0 ? anyJson(source, 2) : source.pick(right[key] ?? [])
    if (name === undefined) Object.assign(file, { [group]: value })
    else file[group] = { ...file[group], [name]: value }
  }
  return file
}

it('whatever stands in the files, they are in force as a whole or refused as invalid_config', async () => {
  const source = random(25)
  const ends = { loaded: 0, refused: 0 }
  for (let i = 0; i < 4000; i += 1) {
    const texts = [0, 1].map(() => JSON.stringify(source.int(0, 1) ? nearlyRight(source) : anyJson(source, 4)))
    if (source.int(0, 9) === 0) texts[0] = texts[0]?.slice(0, source.int(0, 40)) ?? ''
    try {
      const loaded = await loadConfig({ projectFile: 'project', personFile: 'person', read: (path) => texts[path === 'project' ? 0 : 1] })
      const { limits, env } = loaded.settings
      expect(Math.max(limits.timeoutMs, limits.idleTimeoutMs ?? 0, limits.graceMs)).toBeLessThanOrEqual(limits.maxTimeoutMs)
      expect(Object.hasOwn(env.set, 'API_TOKEN')).toBe(false)
      ends.loaded += 1
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.details.reason !== 'invalid_config') throw error
      expect(error.message).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
      ends.refused += 1
    }
  }
  expect(ends.loaded).toBeGreaterThan(100)
  expect(ends.refused).toBeGreaterThan(1000)
})
