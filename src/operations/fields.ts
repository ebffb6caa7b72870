import {
  array,
  boolean,
  check,
  custom,
  finite,
  type GenericSchema,
  instance,
  integer,
  maxValue,
  minValue,
  nullable,
  number,
  picklist,
  pipe,
  record,
  type StrictObjectSchema,
  strictObject,
  string,
  transform,
  union,
} from 'valibot'
import type { ByteSource } from '../core/byte-source.ts'
import { maxTerminalSide } from '../core/limits.ts'
import type { Target } from '../core/target.ts'

/**
 * The kinds of input fields. Each surface writes a kind in its own way: a duration is `30s` on the command line and a
 * number of milliseconds elsewhere.
 *
 * In every schema here the message is what is accepted, since `parseInput` puts it into the one sentence of `invalid`.
 */
export type FieldKind = 'text' | 'target' | 'duration' | 'size' | 'number' | 'flag' | 'choice' | 'list' | 'map'

interface FieldFacts {
  readonly kind: FieldKind
  readonly accepted: string
  readonly choices?: readonly string[]
  /** As people read it, `10m`; shown by help. */
  readonly default?: string
}

export interface Field extends FieldFacts {
  readonly name: string
  readonly description: string
  readonly required: boolean
}

export type InputEntries = Record<string, GenericSchema>
export type InputSchema = StrictObjectSchema<InputEntries, undefined>

interface Extra {
  readonly accepted?: string
  readonly default?: string
  readonly choices?: readonly string[]
}

export interface Described {
  readonly field: FieldFacts & { readonly description: string }
}

const described = <S extends GenericSchema>(schema: S, kind: FieldKind, about: string, accepted: string, extra: Extra = {}): S & Described =>
  Object.assign(schema, { field: { description: about, ...extra, kind, accepted } })

const noNul = (text: string): boolean => !text.includes('\0')

/** Text without NUL, which no program can be given. */
export function text(about: string, extra: Extra = {}) {
  const accepted = extra.accepted ?? 'text without NUL'
  return described(pipe(string(accepted), check(noNul, 'text without NUL')), 'text', about, accepted, extra)
}

/** Text that is read as it is, NUL included; a program may also give bytes, or a stream of them. */
export function content(about: string) {
  const isStream = (value: unknown): value is AsyncIterable<Uint8Array> => typeof value === 'object' && value !== null && Symbol.asyncIterator in value
  return described(union([string(), instance(Uint8Array), custom<AsyncIterable<Uint8Array>>(isStream)], 'text'), 'text', about, 'text')
}

/** The same, all of it at once. */
export function bytes(about: string) {
  return described(union([string(), instance(Uint8Array)], 'text'), 'text', about, 'text')
}

/** A pseudo-terminal: whether there is one; a program may also say of what size. */
export function terminal(about: string) {
  const accepted = `true, false, or ${sides}`
  return described(union([boolean(), rowsAndColumns()], accepted), 'flag', about, accepted)
}

/** The size of a pseudo-terminal. */
export function terminalSize(about: string) {
  return described(rowsAndColumns(), 'flag', about, sides)
}

const sides = `rows and columns from 2 to ${maxTerminalSide}`

function rowsAndColumns() {
  const side = pipe(number(sides), integer(sides), minValue(2, sides), maxValue(maxTerminalSide, sides))
  return strictObject({ rows: side, columns: side }, sides)
}

/** A place for commands and files: its name, or, from a program, what it is. Which fields it has is checked with the configuration. */
export function target(about: string) {
  const accepted = 'the name of a target, or host'
  const isTarget = (value: unknown): value is Target => typeof value === 'object' && value !== null && !Array.isArray(value)
  return described(union([pipe(string(accepted), check(noNul, accepted)), custom<Target>(isTarget)], accepted), 'target', about, accepted)
}

/** Text of any kind that is only read, never handed to a program. */
export function anyText(about: string) {
  return described(string('text'), 'text', about, 'text')
}

/** A log of any kind and length, which is only read; a program may also give bytes, or say where to read them. */
export function log(about: string) {
  const isSource = (value: unknown): value is ByteSource => typeof value === 'object' && value !== null && 'length' in value && 'read' in value
  return described(union([string(), instance(Uint8Array), custom<ByteSource>(isSource)], 'text'), 'text', about, 'text')
}

/** Milliseconds. That it is positive and not too long is checked with the limits, where the ceiling is known. */
export function duration(about: string, extra: Extra = {}) {
  const accepted = 'a positive number of milliseconds'
  return described(pipe(number(accepted), finite(accepted)), 'duration', about, accepted, extra)
}

/** Milliseconds from 0. */
export function waiting(about: string, extra: Extra = {}) {
  const accepted = 'a number of milliseconds from 0'
  return described(pipe(number(accepted), finite(accepted), minValue(0, accepted)), 'duration', about, accepted, extra)
}

/** Bytes; checked with the limits. */
export function size(about: string, accepted: string, extra: Extra = {}) {
  return described(pipe(number(accepted), finite(accepted)), 'size', about, accepted, extra)
}

export function whole(about: string, min: number, what: string, extra: Extra = {}) {
  const accepted = `a whole number${what === '' ? '' : ` of ${what}`} from ${min}`
  return described(
    pipe(number(accepted), integer(accepted), minValue(min, accepted), maxValue(Number.MAX_SAFE_INTEGER, accepted)),
    'number',
    about,
    accepted,
    extra,
  )
}

export function fraction(about: string, extra: Extra = {}) {
  const accepted = 'a number from 0 to 1'
  return described(pipe(number(accepted), minValue(0, accepted), maxValue(1, accepted)), 'number', about, accepted, extra)
}

export function flag(about: string) {
  return described(boolean('true or false'), 'flag', about, 'true or false')
}

export function choice<const T extends readonly string[]>(about: string, values: T, extra: Extra = {}) {
  const accepted = values.join(', ')
  return described(picklist(values, accepted), 'choice', about, accepted, { ...extra, choices: values })
}

/** A choice that is also understood when it is written in another way; `spell` leads there. */
export function spelledChoice<const T extends readonly string[]>(about: string, values: T, spell: (written: string) => string, extra: Extra = {}) {
  const accepted = extra.accepted ?? values.join(', ')
  return described(pipe(string(accepted), transform(spell), picklist(values, accepted)), 'choice', about, accepted, { ...extra, choices: values })
}

export function list(about: string, accepted: string) {
  return described(pipe(array(pipe(string(accepted), check(noNul, accepted)), accepted)), 'list', about, accepted)
}

/** Text, or null for none where there would be one otherwise. */
export function textOrNone(about: string, extra: Extra = {}) {
  const accepted = 'text without NUL, or null'
  return described(nullable(pipe(string(accepted), check(noNul, accepted))), 'text', about, accepted, extra)
}

/** What is checked out of a repository. */
export function folders(about: string, extra: Extra = {}) {
  const accepted = 'inherit, full, or a list of folders'
  return described(union([picklist(['inherit', 'full']), array(pipe(string(), check(noNul)))], accepted), 'list', about, accepted, extra)
}

export function map(about: string, accepted: string) {
  return described(record(string(accepted), string(accepted), accepted), 'map', about, accepted)
}

/** The fields of an input, in the order of their declaration. */
export function fieldsOf(schema: InputSchema): Field[] {
  return Object.entries(schema.entries).map(([name, entry]) => {
    const wrapped = (entry as { wrapped?: GenericSchema }).wrapped
    const { field } = (wrapped ?? entry) as GenericSchema & Described
    return { name, required: wrapped === undefined, ...field }
  })
}
