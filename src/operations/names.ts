import { type Field, fieldsOf } from './fields.ts'
import { type Operation, unknownField } from './operation.ts'

const separated = (name: string, by: string): string => name.replace(/[A-Z]/g, (letter) => by + letter.toLowerCase())

/** `idleTimeoutMs` as a flag: `--idle-timeout`. Units are left out, since the value carries its own. */
export function flagOf(op: Pick<Operation, 'cli'>, field: Pick<Field, 'name' | 'kind'>): string {
  const own = op.cli.flags?.[field.name]
  if (own !== undefined) return `--${own}`
  const bare = field.kind === 'duration' ? field.name.replace(/Ms$/, '') : field.kind === 'size' ? field.name.replace(/Bytes$/, '') : field.name
  return `--${separated(bare, '-')}`
}

/** `idleTimeoutMs` on the wire of MCP: `idle_timeout_ms`. */
export function wireNameOf(field: Pick<Field, 'name'>): string {
  return separated(field.name, '_')
}

/** Arguments with wire names as an input with field names. Throws `unknown_option` for any other name. */
export function fromWire(op: Pick<Operation, 'name' | 'input'>, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = new Map(fieldsOf(op.input).map((field) => [wireNameOf(field), field.name]))
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const name = fields.get(key)
      if (name === undefined) throw unknownField(op, key, [...fields.keys()])
      return [name, value]
    }),
  )
}
