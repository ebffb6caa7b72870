import { type InferOutput, safeParse } from 'valibot'
import type { App, ExecCall, WorkspaceCall } from '../app/api.ts'
import { closest } from '../core/closest.ts'
import { failure, toHoldfastError } from '../core/errors.ts'
import { type Field, fieldsOf, type InputSchema } from './fields.ts'

/** How the command line presents an operation; it adds no meaning. */
export interface CliShape {
  /** The fields that are given by position, in their order. */
  readonly positionals?: readonly string[]
  /** All words from the last of these on count as one text. */
  readonly joined?: boolean
  /** Flags whose name does not follow from the field. */
  readonly flags?: Readonly<Record<string, string>>
  /** What stands for the value in help. */
  readonly values?: Readonly<Record<string, string>>
  /** Defaults that differ on the command line. */
  readonly defaults?: Readonly<Record<string, string>>
  /** Fields without a flag that follows from them. */
  readonly hidden?: readonly string[]
  readonly examples: readonly string[]
}

/** What any operation may be asked to tell while it goes on. */
export interface OperationCall extends ExecCall, WorkspaceCall {}

export interface Refusal {
  readonly field: string
  readonly value: unknown
  readonly accepted: string
}

/** Something that Holdfast does, declared once; flags, tools and their help follow from it. */
export interface Operation<Schema extends InputSchema = InputSchema, Output = unknown> {
  readonly name: string
  /** One sentence. */
  readonly summary: string
  /** What else its caller should know. */
  readonly description: string
  readonly input: Schema
  readonly cli: CliShape
  /** A rule between fields. */
  check?(input: InferOutput<Schema>): Refusal | undefined
  run(app: App, input: InferOutput<Schema>, call: OperationCall): Promise<Output>
}

/** Declares an operation. */
export function operation<const Schema extends InputSchema, Output>(declared: Operation<Schema, Output>): Operation<Schema, Output> {
  return declared
}

/** Gives the name of a field as the caller wrote it. */
export type Naming = (field: Field) => string

const asDeclared: Naming = (field) => field.name

/**
 * Checks an input from outside. Throws `invalid` (field, value, what is accepted) or `unknown_option` with a suggestion.
 * Fields that are `undefined` count as left out.
 */
export function parseInput<Schema extends InputSchema>(
  op: Operation<Schema>,
  raw: Readonly<Record<string, unknown>>,
  naming: Naming = asDeclared,
): InferOutput<Schema> {
  const fields = fieldsOf(op.input)
  const given = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined))
  for (const key of Object.keys(given)) {
    if (!fields.some((field) => field.name === key)) throw unknownField(op, key, fields.map(naming))
  }
  const nameOf = (name: string): string => {
    const field = fields.find((f) => f.name === name)
    return field ? naming(field) : name
  }
  const parsed = safeParse(op.input, given, { abortEarly: true })
  if (!parsed.success) {
    const issue = parsed.issues[0]
    const name = String(issue.path?.[0]?.key ?? 'input')
    const field = fields.find((f) => f.name === name)
    const accepted = name in given ? issue.message : (field?.accepted ?? issue.message)
    throw failure('invalid', { field: nameOf(name), value: given[name], accepted })
  }
  const refusal = op.check?.(parsed.output)
  if (refusal) throw failure('invalid', { ...refusal, field: nameOf(refusal.field) })
  return parsed.output
}

/** The refusal of a field that an operation does not have. Without a word about help, which programs cannot ask for. */
export function unknownField(op: Pick<Operation, 'name'>, given: string, known: readonly string[]) {
  return failure('unknown_option', { option: given, command: commandOf(op), suggestion: closest(given, known) })
}

/** `note-add` as it is typed: `note add`. */
export function commandOf(op: Pick<Operation, 'name'>): string {
  return /^(?:note|workspace|files)-/.test(op.name) ? op.name.replace('-', ' ') : op.name
}

/**
 * Parses the input and runs the operation. Rejects with a HoldfastError only, whose field, where it has one, is named as
 * the caller wrote it.
 */
export async function invoke<Schema extends InputSchema, Output>(
  op: Operation<Schema, Output>,
  app: App,
  raw: Readonly<Record<string, unknown>>,
  call: OperationCall = {},
  naming: Naming = asDeclared,
): Promise<Output> {
  try {
    return await op.run(app, parseInput(op, raw, naming), call)
  } catch (thrown) {
    const error = toHoldfastError(renameField(op, thrown, naming))
    error.operation ??= op.name
    throw error
  }
}

function renameField(op: Operation, thrown: unknown, naming: Naming): unknown {
  const details = (thrown as { details?: { reason?: string; field?: string; value?: unknown; accepted?: string } } | null)?.details
  if (details?.reason !== 'invalid') return thrown
  const field = fieldsOf(op.input).find((f) => f.name === details.field)
  if (!field || naming(field) === field.name) return thrown
  return failure('invalid', { field: naming(field), value: details.value, accepted: details.accepted ?? field.accepted }, thrown)
}
