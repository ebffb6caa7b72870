import { toJsonSchema } from '@valibot/to-json-schema'
import { failureSchema, runResultSchema } from './run-result.ts'
import { listedSchema, openedSchema, releasedSchema } from './workspace-results.ts'

/** The JSON Schemas that are published in schemas/, by file name. Made at build time only. */
export function publishedSchemas(): Record<string, object> {
  const run = toJsonSchema(runResultSchema)
  const failed = toJsonSchema(failureSchema)
  return {
    'run-result.schema.json': {
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'What holdfast exec, wait, show and stop print with --json',
      anyOf: [{ $ref: '#/definitions/run' }, { $ref: '#/definitions/failure' }],
      definitions: { run: bare(run), failure: bare(failed) },
    },
    'workspace.schema.json': {
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'What holdfast workspace open, release and list print with --json',
      anyOf: ['opened', 'released', 'list', 'failure'].map((name) => ({ $ref: `#/definitions/${name}` })),
      definitions: {
        opened: bare(toJsonSchema(openedSchema)),
        released: bare(toJsonSchema(releasedSchema)),
        list: bare(toJsonSchema(listedSchema)),
        failure: bare(failed),
      },
    },
  }
}

function bare(schema: object): object {
  const { $schema: _, ...rest } = schema as { $schema?: string }
  return rest
}

/** A schema as it stands in its file. */
export function schemaText(schema: object): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}
