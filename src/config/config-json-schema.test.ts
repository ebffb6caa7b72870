import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { schemaText } from '../operations/published-schemas.ts'
import { settingKeys } from './check.ts'
import { configJsonSchema } from './config-json-schema.ts'
import { loadConfig } from './load.ts'
import { defaultSettings } from './settings.ts'

interface Node {
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: unknown
}

const schema = configJsonSchema() as Node
const file = new URL('../../schemas/config.schema.json', import.meta.url)
const page = new URL('../../docs/configuration.md', import.meta.url)

/** Every setting under its flat key, with what the schema says of it. */
function settingsOf(node: Node, key = ''): [string, Node][] {
  if (!node.properties) return [[key, node]]
  return Object.entries(node.properties).flatMap(([name, child]) => settingsOf(child, key === '' ? name : `${key}.${name}`))
}

/** `{ "limits": { "timeoutMs": value } }` for `limits.timeoutMs`. */
const fileWith = (key: string, value: unknown): object => key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object

const load = (content: object) =>
  loadConfig({ projectFile: '/project', personFile: '/person', read: (path) => (path === '/person' ? JSON.stringify(content) : undefined) })

describe('schemas/config.schema.json', () => {
  it('says what the code says (UPDATE_SCHEMAS=1 writes it anew)', () => {
    if (process.env.UPDATE_SCHEMAS === '1') writeFileSync(file, schemaText(schema))
    expect(existsSync(file) ? readFileSync(file, 'utf8') : 'no such file').toBe(schemaText(schema))
  })

  it('has every setting, each with a description, and allows no other', () => {
    expect(settingsOf(schema).map(([key]) => key)).toEqual(settingKeys())
    expect(settingsOf(schema).filter(([, node]) => !node.description)).toEqual([])
    const groups = [schema, ...Object.values(schema.properties ?? {}).filter((node) => node.properties)]
    expect(groups.map((node) => node.additionalProperties)).toEqual(groups.map(() => false))
  })

  it.each(settingsOf(schema).filter(([, node]) => node.default !== undefined))('has as default of %s what is in force without it', async (key, node) => {
    expect((await load(fileWith(key, node.default))).settings).toEqual(defaultSettings)
    const printed = (await load({})).sources.find((source) => source.key === key)
    expect(printed).toEqual({ key, value: node.default, source: 'default' })
  })

  it.each(settingsOf(schema).flatMap(([key, node]) => (node.examples ?? []).map((example) => [key, example] as const)))(
    'has an example of %s that is accepted: %j',
    async (key, example) => {
      await expect(load(fileWith(key, example))).resolves.toMatchObject({ disabledBy: null })
    },
  )
})

describe('docs/configuration.md', () => {
  const rows = new Map(
    readFileSync(page, 'utf8')
      .split('\n')
      .map((line) => line.split(' | '))
      .map((cells) => [/^\| `([\w.$]+)`$/.exec(cells[0] ?? '')?.[1], cells] as const),
  )

  it.each(settingsOf(schema))('has a row for %s with its default', (key, node) => {
    const written = node.default === undefined ? 'none' : `\`${typeof node.default === 'string' ? node.default : JSON.stringify(node.default)}\``
    expect(rows.get(key)?.[1]).toBe(written)
  })

  it('shows examples that are accepted', async () => {
    const examples = [...readFileSync(page, 'utf8').matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => text)
    expect(examples.length).toBeGreaterThan(0)
    for (const text of examples) await expect(load(JSON.parse(text))).resolves.toMatchObject({ disabledBy: null })
  })
})
