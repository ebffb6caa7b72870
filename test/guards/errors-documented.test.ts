import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { errorCodes } from '../../src/core/errors.ts'
import { repository } from './sources.ts'

const page = readFileSync(new URL('docs/errors.md', repository), 'utf8')

it('docs/errors.md has a heading for every code, in the order of the code, and no other', () => {
  expect([...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(errorCodes.map((code) => `\`${code}\``))
})

it('docs/errors.md lists every reason under the heading of its code, and no other', () => {
  const tables = ['errors', 'workspace-reasons', 'remote-reasons'].map((name) => {
    const source = readFileSync(new URL(`src/core/${name}.ts`, repository), 'utf8')
    const start = source.search(/easons = \{/)
    return source.slice(start, source.indexOf('} as const', start))
  })
  const declared = [...tables.join('').matchAll(/^ {2}(\w+): reason<[\s\S]*?>\(\s*'(\w+)'/gm)].map(([, key, code]) => `${code}: ${key}`)
  const sections = page.split(/^## /m).slice(1)
  const documented = sections.flatMap((section) => {
    const code = /^`(\w+)`/.exec(section)?.[1]
    return [...section.matchAll(/^- `(\w+)`/gm)].map(([, key]) => `${code}: ${key}`)
  })
  expect(declared.length).toBeGreaterThan(20)
  expect(documented.sort()).toEqual(declared.sort())
})
