import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { usualConfiguration } from '../../src/app/backends.ts'
import { backendNames, type Capabilities, capabilitiesOf } from '../../src/core/backend.ts'
import { repository } from './sources.ts'

const page = new URL('docs/backends/README.md', repository)
const between = /(<!-- capabilities -->\n)[\s\S]*?(<!-- \/capabilities -->)/

const said = (value: Capabilities[keyof Capabilities]): string => (value === true ? 'yes' : value === false ? 'no' : value)

function table(): string {
  const columns = backendNames.map((backend) => [true, false].map((supervised) => capabilitiesOf(usualConfiguration(backend, supervised))))
  const names = Object.keys(columns[0]?.[0] ?? {}) as (keyof Capabilities)[]
  const rows = names.map((name) => {
    const cells = columns.map(([supervised, plain]) => [...new Set([supervised, plain].map((each) => said((each as Capabilities)[name])))].join(' / '))
    return `| \`${name}\` | ${cells.join(' | ')} |`
  })
  return [`|  | ${backendNames.join(' | ')} |`, `|---|${backendNames.map(() => '---|').join('')}`, ...rows, ''].join('\n')
}

it('docs/backends/README.md has the table of what each backend can do (UPDATE_SCHEMAS=1 writes it anew)', () => {
  const text = readFileSync(page, 'utf8')
  const expected = text.replace(between, (_, begin: string, end: string) => `${begin}${table()}${end}`)
  if (process.env.UPDATE_SCHEMAS === '1') writeFileSync(page, expected)
  expect(readFileSync(page, 'utf8')).toBe(expected)
})

it('docs/backends/README.md says what every capability means', () => {
  const text = readFileSync(page, 'utf8').replace(between, '')
  const names = Object.keys(capabilitiesOf(usualConfiguration('host', true)))
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})

it('every backend that is somewhere else has a page', () => {
  expect(backendNames.filter((name) => name !== 'host' && !existsSync(new URL(`docs/backends/${name}.md`, repository)))).toEqual([])
})
