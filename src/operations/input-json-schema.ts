import { type Field, fieldsOf, type InputSchema } from './fields.ts'

interface JsonSchemaOptions {
  /** Which fields to show; all by default. */
  readonly only?: readonly string[]
  readonly hidden?: readonly string[]
  readonly nameOf?: (field: Field) => string
  /** Replaces the description of a field. */
  readonly describe?: (field: Field) => string
}

/** The JSON Schema of an input, as small as it can be: it is sent to models, who pay for each byte. */
export function inputJsonSchema(schema: InputSchema, options: JsonSchemaOptions = {}) {
  const { only, hidden = [], nameOf = (field) => field.name, describe = (field) => field.description } = options
  const fields = fieldsOf(schema).filter((field) => !hidden.includes(field.name) && (only === undefined || only.includes(field.name)))
  const required = fields.filter((field) => field.required).map(nameOf)
  return {
    type: 'object' as const,
    properties: Object.fromEntries(fields.map((field) => [nameOf(field), { ...shapeOf(field), description: describe(field) }])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

function shapeOf(field: Field): Record<string, unknown> {
  switch (field.kind) {
    case 'text':
    // What tells a target field by field may stand in the text, since not every client takes a choice of types.
    case 'target':
      return { type: 'string' }
    case 'duration':
    case 'size':
    case 'number':
      return { type: 'number' }
    case 'flag':
      return { type: 'boolean' }
    case 'choice':
      return { type: 'string', enum: field.choices }
    case 'list':
      return { type: 'array', items: { type: 'string' } }
    case 'map':
      return { type: 'object', additionalProperties: { type: 'string' } }
  }
}
