import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { blocksOf, isAlike, withOutputs, withoutNoise } from './page.ts'
import { openShell } from './shell.ts'
import { hasInspector, openDocsWorld, shownHome } from './worlds.ts'

/**
 * Every command of the documentation is typed, in a home of its own for each page. What it prints must be what the page says, apart from ids,
 * times and the like. `npm run docs` writes into the pages what is printed really.
 */

const root = new URL('../../', import.meta.url)
const checkout = fileURLToPath(root).replace(/\/$/, '')
const isWriting = process.env.HOLDFAST_DOCS === 'write'
const pages = ['README.md', ...readdirSync(new URL('docs', root), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, url: new URL(name, root) }))
  .filter(({ url }) => blocksOf(readFileSync(url, 'utf8')).some(({ skipped }) => skipped === undefined))
  .filter(({ url }) => hasInspector || !readFileSync(url, 'utf8').includes('mcp-inspector'))
if (!hasInspector) console.warn('pages with the MCP Inspector are skipped: run npm ci in test/mcp-tools')

describe('the commands of', () => {
  it.each(pages)('$name print what the page says', { timeout: 180_000 }, async ({ url }) => {
    const page = readFileSync(url, 'utf8')
    await using world = openDocsWorld()
    const shell = openShell(world.project, world.env)
    const outputs = new Map<number, string>()
    try {
      for (const { steps, skipped, language } of blocksOf(page)) {
        if (skipped !== undefined) continue
        for (const { command, output, status, line } of steps) {
          const answer = await shell.type(command)
          const printed = answer.output.replaceAll(world.home, shownHome).replaceAll(checkout, `${shownHome}/holdfast`)
          outputs.set(line, printed)
          if (status !== null) expect(answer.status, `line ${line}: ${command}\n${printed}`).toBe(status)
          if (!isWriting && language === 'console' && !isAlike(printed, output))
            expect(withoutNoise(printed), `line ${line}: ${command}`).toBe(withoutNoise(output))
        }
      }
    } finally {
      await shell.close()
    }
    if (isWriting) writeFileSync(url, withOutputs(page, outputs))
  })
})

it('what is not run says why', () => {
  for (const { name, url } of pages) {
    for (const { skipped, from } of blocksOf(readFileSync(url, 'utf8')))
      if (skipped !== undefined) expect(skipped.length, `${name}:${from}`).toBeGreaterThan(10)
  }
})
