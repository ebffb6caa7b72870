import { fieldsOf } from '../../operations/fields.ts'
import type { Operation } from '../../operations/operation.ts'

/**
 * What models send that know other tools of this kind, where it can mean one thing only. A `timeout` is refused, with the name that was meant:
 * some tools take it in seconds and some in milliseconds.
 */

type Args = Readonly<Record<string, unknown>>

const runNames = { run_id: 'run', id: 'run' }
const usualNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  exec: {
    cmd: 'command',
    working_directory: 'cwd',
    workdir: 'cwd',
    description: 'purpose',
    background: 'detach',
    run_in_background: 'detach',
  },
  wait: runNames,
  stop: runNames,
  input: { ...runNames, chars: 'text' },
  output: { ...runNames, pattern: 'grep' },
  search: { ...runNames, pattern: 'query', q: 'query' },
  runs: { search: 'query' },
}

/** Arguments under the names of ours. One that is given under both stays as it is, and is refused. */
export function withOurNames(tool: string, args: Args): Args {
  const names = usualNames[tool] ?? {}
  const renamed = Object.entries(args).map(([name, value]): [string, unknown] => {
    const ours = Object.hasOwn(names, name) ? (names[name] as string) : name
    return [ours !== name && args[ours] === undefined ? ours : name, value]
  })
  return tool === 'exec' ? withProgram(Object.fromEntries(renamed)) : Object.fromEntries(renamed)
}

/** A command is a script where it is text, and a program with its arguments where it is a list. */
function withProgram(args: Args): Args {
  const { command, argv, ...rest } = args
  if (rest.script !== undefined) return args
  if (command !== undefined && argv === undefined) return { ...rest, [Array.isArray(command) ? 'argv' : 'script']: command }
  return typeof argv === 'string' && command === undefined ? { ...rest, script: argv } : args
}

/** Numbers, yes or no, and a target that are written as text. */
export function withTypes({ input: schema }: Pick<Operation, 'input'>, input: Record<string, unknown>): Record<string, unknown> {
  const kinds = new Map(fieldsOf(schema).map(({ name, kind }) => [name, kind]))
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, typeof value === 'string' ? typed(kinds.get(name), value) : value]))
}

function typed(kind: string | undefined, text: string): unknown {
  if ((kind === 'number' || kind === 'duration' || kind === 'size') && /^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text)
  if (kind === 'flag' && (text === 'true' || text === 'false')) return text === 'true'
  // No name of a target begins like that.
  if (kind === 'target' && text.trimStart().startsWith('{')) return objectIn(text)
  return text
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
