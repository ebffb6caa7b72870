import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openWorld } from '../support/world.ts'
import { withoutNoise } from './page.ts'

const script = fileURLToPath(new URL('../../scripts/terminal-picture.mjs', import.meta.url))
const picture = new URL('../../docs/images/terminal.svg', import.meta.url)

/** What stands in it, line by line. */
const textOf = (svg: string): string =>
  withoutNoise([...svg.matchAll(/<text [^>]*y="([\d.]+)"[^>]*>([^<]*)/g)].map(([, y, text]) => `${y}: ${text}`).join('\n'))

it('the picture of the README shows what a terminal shows', { timeout: 120_000 }, async () => {
  await using world = openWorld()
  const made = world.path('terminal.svg')
  const { status, stderr } = spawnSync(process.execPath, [script, made], { encoding: 'utf8', timeout: 110_000 })
  expect([status, stderr]).toEqual([0, ''])
  expect(textOf(readFileSync(made, 'utf8'))).toBe(textOf(readFileSync(picture, 'utf8')))
  expect(textOf(readFileSync(picture, 'utf8'))).toContain('holdfast exec')
})
