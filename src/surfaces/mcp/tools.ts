import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { failure } from '../../core/errors.ts'
import { mcpTimeoutMs } from '../../core/limits.ts'
import { exec, input, noteAdd, noteList, noteRemove, output, resume, runs, search, stop, wait } from '../../operations/index.ts'
import { inputJsonSchema } from '../../operations/input-json-schema.ts'
import { fromWire, wireNameOf } from '../../operations/names.ts'
import type { Operation } from '../../operations/operation.ts'

/** Clients give up on a call after 60 seconds by default, so an answer comes before that. */
export const answerWithinMs = 45_000

interface ToolShape {
  readonly operation: Operation
  readonly description: string
  /** What is said of a field to a model; the operation's own words serve where none are here. */
  readonly fields?: Readonly<Record<string, string>>
  /** Values of fields that are left out. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Fields that are not for a model. */
  readonly hidden?: readonly string[]
  readonly readOnly?: boolean
}

const shapes: readonly ToolShape[] = [
  {
    operation: exec,
    description:
      'Run a shell script, or a program, in the project. All output is kept; the answer is a digest: how it ended, sizes, the lines that matter. ' +
      `Ended after timeout_ms (default ${mcpTimeoutMs}); still running after wait_ms (default ${answerWithinMs}) it goes on: see wait.`,
    fields: {
      script: 'Script to run; or give argv.',
      argv: 'Program and arguments, without a shell.',
      runtime: 'bash (default), node, python or a configured name.',
      cwd: 'Directory inside the project; default its root.',
      timeoutMs: 'Milliseconds until it is ended.',
      idleTimeoutMs: 'Milliseconds without output until it is ended; default off.',
      graceMs: 'Milliseconds from SIGTERM to SIGKILL; default 2000.',
      maxOutputBytes: 'Bytes kept of each stream; default 67108864.',
      purpose: 'Why; found by runs and search.',
      env: 'Variables for the command.',
      passEnv: 'Variables of the server to pass on.',
      stdin: 'Text that it reads; default none.',
      leftovers: 'Processes it leaves behind.',
      waitMs: 'Milliseconds until the answer.',
      detach: 'Run in the background; answer at once.',
      pty: 'Give it a terminal; output is what stands on the screen.',
      interactive: 'Keep its stdin open for input.',
      budget: 'Bytes of the digest; default 2048.',
    },
    hidden: ['ephemeral'],
    defaults: { waitMs: answerWithinMs },
  },
  {
    operation: wait,
    description: 'Wait until a run ends; same answer as exec. Still running after wait_ms: the output so far; the run goes on.',
    fields: { run: 'Run id, or last.', waitMs: `Milliseconds; default ${answerWithinMs}.`, budget: 'Bytes of the digest.' },
    defaults: { waitMs: answerWithinMs },
    readOnly: true,
  },
  {
    operation: stop,
    description: 'End a run with all its processes. Its output is kept.',
    fields: { run: 'Run id, or last.', signal: 'First signal; default SIGTERM. SIGKILL follows after the grace time.' },
  },
  {
    operation: input,
    description: 'Write to the stdin of a running interactive command; see what it does with output or wait.',
    hidden: ['size'],
    fields: { run: 'Run id, or last.', text: 'What to write; nothing is added.', enter: 'Add a line feed.', end: 'Then end its stdin.' },
  },
  {
    operation: output,
    description: 'Read what a run printed: all, a range of lines or bytes, or the lines that match.',
    fields: {
      run: 'Run id, last, or a ref from search (run:120): that line and 10 around it.',
      stream: 'Default all.',
      lines: '120, 100-150, 100-, or -20 (last 20).',
      bytes: '0-1023, 4096-, or -512 (last 512).',
      grep: 'Regular expression for lines.',
      maxBytes: 'Bytes of the answer; default 32768.',
    },
    readOnly: true,
  },
  {
    operation: search,
    description:
      'Find text in output, commands and purposes of all runs. Lines with all words come first, else lines with some; "quoted words" stand together. Hits have refs for output.',
    fields: {
      query: 'Any text.',
      regex: 'Query is a regular expression.',
      failing: 'Only failed runs.',
      since: '2h, 3d, a date or an ISO time.',
      limit: 'Most hits; default 20.',
    },
    readOnly: true,
  },
  {
    operation: runs,
    description: 'List runs, newest first.',
    fields: { query: 'Text in id, command or purpose.', failing: 'Only failed runs.', runtime: 'Only scripts of it.', limit: 'Most runs; default 20.' },
    readOnly: true,
  },
  {
    operation: resume,
    description: 'The context snapshot: work in hand, notes, recent runs, running commands. Read it first in a fresh context.',
    readOnly: true,
  },
]

const noteActions = { add: noteAdd, list: noteList, remove: noteRemove } as const
const noteActionNames = Object.keys(noteActions)

/** Three operations in one tool, since each tool costs a model some context. */
function noteTool(): Tool {
  const describe = { describe: (field: { name: string }) => noteFields[field.name] ?? '', nameOf: wireNameOf }
  const { properties } = inputJsonSchema(noteAdd.input, describe)
  return {
    name: 'note',
    description: 'Durable facts about the project; they stand in every context snapshot.',
    inputSchema: {
      type: 'object',
      properties: { action: { type: 'string', enum: noteActionNames }, ...properties, ...inputJsonSchema(noteRemove.input, describe).properties },
      required: ['action'],
      additionalProperties: false,
    },
  }
}

const noteFields: Readonly<Record<string, string>> = { text: 'add: the fact, one line.', confidence: '0 to 1.', note: 'remove: id of the note.' }

/** The tools as a client lists them. */
export function listTools(): Tool[] {
  const derived = shapes.map(({ operation, description, fields, hidden = [], readOnly }) => ({
    name: operation.name,
    description,
    inputSchema: inputJsonSchema(operation.input, { hidden, nameOf: wireNameOf, describe: (field) => fields?.[field.name] ?? field.description }),
    ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
  }))
  return [...derived, noteTool()].map(withoutEmptyDescriptions)
}

function withoutEmptyDescriptions(tool: Tool): Tool {
  const properties = Object.entries(tool.inputSchema.properties ?? {}).map(([name, schema]) => {
    const { description, ...shape } = schema as { description?: string }
    return [name, description ? schema : shape]
  })
  return { ...tool, inputSchema: { ...tool.inputSchema, properties: Object.fromEntries(properties) } }
}

/** What a call of a tool asks for, its defaults filled in. The input is unchecked. Throws `invalid` for an unknown tool or action. */
export function readCall(tool: string, args: Readonly<Record<string, unknown>>): { operation: Operation; input: Record<string, unknown> } {
  if (tool === 'note') return readNoteCall(args)
  const shape = shapes.find(({ operation }) => operation.name === tool)
  if (!shape) throw failure('invalid', { field: 'tool', value: tool, accepted: [...shapes.map(({ operation }) => operation.name), 'note'].join(', ') })
  const { operation, defaults } = shape
  const given = fromWire(operation, operation.name === 'exec' ? withUsualName(args) : args)
  // Who lets a command go does not wait for it unless that is said.
  return { operation, input: { ...defaults, ...(given.detach === true ? { waitMs: 0 } : {}), ...given } }
}

function readNoteCall(args: Readonly<Record<string, unknown>>) {
  // Text without an action can only be a fact to keep.
  const { action = args.text === undefined ? undefined : 'add', ...rest } = args
  const known = typeof action === 'string' && Object.hasOwn(noteActions, action)
  if (!known) throw failure('invalid', { field: 'action', value: action, accepted: noteActionNames.join(', ') })
  const operation: Operation = noteActions[action as keyof typeof noteActions]
  return { operation, input: fromWire(operation, rest) }
}

/** Models that know other tools of this kind send `command`; what they mean is plain. */
function withUsualName(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { command, ...rest } = args
  if (command === undefined || rest.script !== undefined || rest.argv !== undefined) return args
  return { ...rest, [Array.isArray(command) ? 'argv' : 'script']: command }
}
