import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'valibot'
import { expect, it } from 'vitest'
import { failure } from '../core/errors.ts'
import { publishedSchemas, schemaText } from './published-schemas.ts'
import { failureSchema } from './run-result.ts'

const folder = new URL('../../schemas/', import.meta.url)

it.each(Object.entries(publishedSchemas()))('schemas/%s says what the code says (UPDATE_SCHEMAS=1 writes it anew)', (name, schema) => {
  const file = new URL(name, folder)
  if (process.env.UPDATE_SCHEMAS === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, schemaText(schema))
  }
  expect(existsSync(file) ? readFileSync(file, 'utf8') : 'no such file').toBe(schemaText(schema))
})

it('an error has the shape that is published', () => {
  const error = JSON.parse(JSON.stringify({ error: failure('run_not_found', { run: 'x' }) }))
  expect(parse(failureSchema, error)).toEqual(error)
})
