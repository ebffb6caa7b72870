import type { App } from '../../app/api.ts'
import { fieldsOf } from '../../operations/fields.ts'
import type { Operation, OperationCall } from '../../operations/operation.ts'
import { invoke } from '../../operations/operation.ts'
import type { CliIo, Outlet, StopName } from './io.ts'
import { cliNaming, type Option, optionsOf, positionalName } from './option.ts'
import type { Parsed } from './parse.ts'
import { type At, print } from './print.ts'
import { targetOptions, withOptionNames } from './target-options.ts'

export const groups = ['Run commands', 'Read what they printed', 'Work in copies', 'Carry on later', 'Look after it'] as const

/** One command of the command line. */
export interface Command {
  /** As it is typed: `note add`. */
  readonly words: string
  readonly group: (typeof groups)[number]
  /** What follows `holdfast`, one line for each form. */
  readonly usage: readonly string[]
  readonly summary: string
  readonly details: readonly string[]
  readonly options: readonly Option[]
  readonly examples: readonly string[]
  readonly positionals?: readonly string[] | undefined
  readonly joined?: boolean | undefined
  /** They are for the command line alone, no fields of the operation. */
  readonly positionalsAreOwn?: boolean | undefined
  readonly takesProgram?: boolean | undefined
  /** Its answer is not for people, so that there is nothing to print as JSON. */
  readonly withoutJson?: boolean | undefined
  /** It holds nothing that needs an end of its own: a signal ends it at once, also while it reads or computes. */
  readonly endsAtOnce?: boolean | undefined
  run(invocation: Invocation): Promise<number>
}

/** One call of a command. */
export interface Invocation {
  readonly io: CliIo
  readonly parsed: Parsed
  readonly stdout: Outlet
  readonly stderr: Outlet
  /** Aborts with the first signal that asks this process to end. */
  readonly signal: AbortSignal
  /** The signal that came, or undefined. */
  stoppedBy(): StopName | undefined
  /** Calls back before this process is ended in a hurry, until the returned function is called. */
  onLeave(listener: () => void): () => void
  app(): Promise<App>
  /** Told what an operation resolved to. */
  onResult(operation: string, result: unknown): void
}

/** Where a command differs from what follows from its operation. */
export interface Differences extends Partial<Omit<Command, 'group' | 'words'>> {
  /** How a result reads for people. */
  readonly present?: Present
  /** The exit status of a result. */
  readonly exit?: (result: unknown) => number
}

type Present = (result: unknown, at: At) => string

/** Ties a presentation to the type of its operation's result; the table of commands knows the results as unknown. */
export const shown =
  <T>(present: (result: T, at: At) => string): Present =>
  (result, at) =>
    present(result as T, at)

/** The command of an operation. */
export function commandFor(op: Operation, words: string, group: Command['group'], differences: Differences = {}): Command {
  const { present = presentJson, exit = () => 0, options = [], ...own } = differences
  const { positionals = [] } = op.cli
  // Wherever a target is named, it may be told field by field.
  const all = [...options, ...optionsOf(op), ...(Object.hasOwn(op.input.entries, 'target') ? targetOptions : [])]
  const tail = [
    ...(all.length > 0 ? ['[options]'] : []),
    ...positionals.map((name) => (isOptional(op, name) ? `[${positionalName(name)}]` : positionalName(name))),
  ]
  return {
    words,
    group,
    usage: [[words, ...tail].join(' ')],
    summary: op.summary,
    details: op.description === '' ? [] : [op.description],
    examples: op.cli.examples,
    positionals,
    joined: op.cli.joined,
    async run(invocation) {
      const result = await perform(op, invocation, invocation.parsed.input)
      print(invocation, result, present)
      return exit(result)
    },
    ...own,
    options: all,
  }
}

const isOptional = (op: Operation, name: string): boolean => fieldsOf(op.input).some((field) => field.name === name && !field.required)

/** Runs the operation with an input from the command line. */
export async function perform<Output>(
  op: Operation<Operation['input'], Output>,
  invocation: Invocation,
  input: Readonly<Record<string, unknown>>,
  call: OperationCall = {},
  names: Readonly<Record<string, string>> = {},
): Promise<Output> {
  const app = await invocation.app()
  const result = await invoke(op, app, input, { signal: invocation.signal, ...call }, cliNaming(op, names)).catch((error: unknown) => {
    throw typeof input.target === 'object' ? withOptionNames(error) : error
  })
  invocation.onResult(op.name, result)
  return result
}

const presentJson = (result: unknown): string => JSON.stringify(result, null, 2)
