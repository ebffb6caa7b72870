import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/api-reference.mjs', import.meta.url))

it('the reference of the library is what the docstrings say', { timeout: 180_000 }, () => {
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8', timeout: 170_000 })
  expect([status, stderr]).toEqual([0, ''])
})
