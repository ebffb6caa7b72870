import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { listTrackedFiles } from './sources.ts'

const table = readFileSync(new URL('../conformance/complaints.ts', import.meta.url), 'utf8').match(/\/\*[\s\S]*?\*\//)?.[0] ?? ''

it('the table of complaints has each of the 58, and the tests that it names are there', () => {
  const numbers = new Set<number>()
  for (const [, from = '', to] of table.replace(/"[^"]*"/g, '').matchAll(/(?<![\w.-])(\d{1,2})(?: to (\d{1,2}))?(?![\w.-])/g))
    for (let at = Number(from); at <= Number(to ?? from); at += 1) numbers.add(at)
  expect(Array.from({ length: 58 }, (_, i) => i + 1).filter((number) => !numbers.has(number))).toEqual([])
  const tests = listTrackedFiles()
    .filter(({ path }) => /^(src|test\/(conformance|cases))\/.*\.ts$/.test(path) && !path.endsWith('/complaints.ts'))
    .map(({ text }) => text)
    .join('\n')
  const named = [
    ...table.matchAll(/"([^"]+)"/g),
    ...table.matchAll(/\b((?:endings|capabilities|parallel|bytes|paths|write|read|transfer|start|stdin)\.[\w-]+)/g),
  ]
  expect(named.map(([, title = '']) => title).filter((title) => !tests.includes(title))).toEqual([])
})
