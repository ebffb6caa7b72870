import { toJsonSchema } from '@valibot/to-json-schema'
import { configSchema } from './schema.ts'

/** The JSON Schema of holdfast.json, by which editors complete and check it. Made at build time only. */
export function configJsonSchema(): object {
  const { $schema, ...schema } = toJsonSchema(configSchema, { typeMode: 'input', ignoreActions: ['check'] })
  return { $schema, title: 'Holdfast: holdfast.json of a project or of a person', ...schema }
}
