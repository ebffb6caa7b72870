import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { defaultDigestBudget } from '../../src/core/limits.ts'
import { formatCount } from '../../src/core/text.ts'
import { recognisers } from '../../src/digest/recognisers/all.ts'
import { listSources, repository } from './sources.ts'

const page = readFileSync(new URL('docs/digests.md', repository), 'utf8')
const sectionOf = (heading: string): string => page.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? ''

it('docs/digests.md lists every tool that is recognised, and no other', () => {
  const [, list = ''] = sectionOf('Tools').split('\n\n')
  const named = list
    .trim()
    .replace(/\.$/, '')
    .split(/,\s+|\s+and\s+/)
  expect(named.sort()).toEqual(recognisers.map(({ name }) => name).sort())
})

it('docs/digests.md names every kind of text that has a shape', () => {
  const kinds = listSources()
    .filter(({ path }) => path.startsWith('src/digest/outlines/'))
    .flatMap(({ text }) =>
      [...text.matchAll(/\bkind: ([^\n]*)/g)].flatMap(([, value = '']) => [...value.matchAll(/'([A-Z][\w-]+)'/g)].map(([, kind = '']) => kind)),
    )
  expect(kinds.length).toBeGreaterThan(5)
  expect(kinds.filter((kind) => !sectionOf('What comes first').includes(kind))).toEqual([])
})

it('docs/digests.md states the budget that is the default', () => {
  expect(sectionOf('Budgets')).toContain(`${formatCount(defaultDigestBudget)} bytes`)
})
