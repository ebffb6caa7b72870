import { failure } from '../../core/errors.ts'
import { parseDuration, parseSize } from '../../core/limits.ts'
import { type Field, type FieldKind, fieldsOf } from '../../operations/fields.ts'
import { flagOf } from '../../operations/names.ts'
import type { Naming, Operation } from '../../operations/operation.ts'

/** What a command line says: the input of the operation, and what concerns the command line alone. */
export interface Given {
  readonly input: Record<string, unknown>
  readonly own: Record<string, string | true>
}

/** One option of a command. */
export interface Option {
  readonly flag: string
  readonly short?: string
  /** What stands for its value in help; without one it takes none. */
  readonly value?: string
  /** Its value may be left out, and stands behind `=` where it is given. */
  readonly valueIsOptional?: boolean
  readonly about: string
  readonly default?: string | undefined
  read(given: Given, text: string): void
}

const placeholders: Partial<Record<FieldKind, string>> = { text: 'TEXT', duration: 'TIME', size: 'SIZE', number: 'N', list: 'TEXT', map: 'NAME=VALUE' }

/** The options that follow from the fields of an operation. */
export function optionsOf(op: Operation): Option[] {
  const skipped = [...(op.cli.hidden ?? []), ...(op.cli.positionals ?? [])]
  return fieldsOf(op.input)
    .filter((field) => !skipped.includes(field.name))
    .map((field) => {
      const flag = flagOf(op, field)
      const value =
        field.kind === 'flag' ? undefined : (op.cli.values?.[field.name] ?? (field.choices ? valueOfChoices(field.choices) : placeholders[field.kind]))
      return {
        flag,
        ...(value === undefined ? {} : { value }),
        about: value === 'NAME' && field.choices ? `${field.description} One of: ${field.accepted}.` : field.description,
        default: op.cli.defaults?.[field.name] ?? field.default,
        read: (given, text) => {
          // Other options may say the same thing part by part.
          if (typeof given.input[field.name] === 'object')
            throw failure('invalid', { field: flag, value: text, accepted: `${flag} alone, or the options that tell what it is` })
          given.input[field.name] = readValue(field.kind, flag, text)
        },
      }
    })
}

const valueOfChoices = (choices: readonly string[]): string => (choices.length <= 3 ? choices.join('|') : 'NAME')

// What is no number goes on as text, for the schema to refuse it with what is accepted.
function readValue(kind: FieldKind, flag: string, text: string): unknown {
  if (kind === 'flag') return true
  if (kind === 'duration') return parseDuration(flag, text)
  if (kind === 'size') return parseSize(flag, text)
  if (kind === 'number') return /^[+-]?\d{1,20}(\.\d{1,20})?$/.test(text) ? Number(text) : text
  return text
}

/** An option of the command line alone: kept under its name, without the dashes. */
export function ownOption(flag: string, about: string, more: { value?: string; short?: string; default?: string } = {}): Option {
  return {
    flag,
    about,
    ...more,
    read: (given, text) => {
      given.own[flag.slice(2)] = more.value === undefined ? true : text
    },
  }
}

/** A list: each time it is given, one more. */
export const listed = (flag: string, field: string, value: string, about: string): Option => ({
  flag,
  value,
  about,
  read: (given, text) => {
    given.input[field] = [...((given.input[field] as string[] | undefined) ?? []), text]
  },
})

/** `NAME=VALUE` gives a variable, `NAME` passes one on. */
export function readVariable(given: Given, text: string): void {
  const at = text.indexOf('=')
  const name = at === -1 ? text : text.slice(0, at)
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
    throw failure('invalid', { field: '--env', value: name, accepted: 'NAME=VALUE, or the NAME of a variable to pass on' })
  if (at === -1) given.input.passEnv = [...((given.input.passEnv as string[] | undefined) ?? []), name]
  else given.input.env = { ...(given.input.env as Record<string, string> | undefined), [name]: text.slice(at + 1) }
}

/** Names fields in refusals as they are typed. */
export function cliNaming(op: Operation, own: Readonly<Record<string, string>> = {}): Naming {
  return (field: Field) => own[field.name] ?? (op.cli.positionals?.includes(field.name) ? positionalName(field.name) : flagOf(op, field))
}

export const positionalName = (field: string): string => field.toUpperCase()
