import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openWorld } from '../support/world.ts'
import { isAlike } from './page.ts'

const script = fileURLToPath(new URL('../../scripts/terminal-picture.mjs', import.meta.url))
const picture = new URL('../../docs/images/terminal.svg', import.meta.url)

/** What stands in it, line by line. */
function textOf(svg: string): string {
  const lines = new Map<string, string>()
  for (const [, y = '', text = ''] of svg.matchAll(/<text [^>]*y="([\d.]+)"[^>]*>([^<]*)/g)) lines.set(y, (lines.get(y) ?? '') + text)
  return [...lines.values()].join('\n')
}

it('the picture of the README shows what a terminal shows', { timeout: 120_000 }, async () => {
  await using world = openWorld()
  const made = world.path('terminal.svg')
  const { status, stderr } = spawnSync(process.execPath, [script, made], { encoding: 'utf8', timeout: 110_000 })
  expect([status, stderr]).toEqual([0, ''])
  const [now, shown] = [made, picture].map((file) => textOf(readFileSync(file, 'utf8')))
  expect(isAlike(now as string, shown as string), now).toBe(true)
  expect(shown).toContain('holdfast exec')
})
