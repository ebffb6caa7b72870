import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { failure } from '../../core/errors.ts'
import { mcpTimeoutMs } from '../../core/limits.ts'
import {
  exec,
  input,
  noteAdd,
  noteList,
  noteRemove,
  noteSearch,
  noteUpdate,
  output,
  resume,
  runs,
  search,
  stop,
  wait,
  workspaceDiff,
  workspaceList,
  workspaceOpen,
  workspaceRelease,
  workspaceRescues,
  workspaceRestore,
  workspaceStatus,
} from '../../operations/index.ts'
import { inputJsonSchema } from '../../operations/input-json-schema.ts'
import { fromWire, wireNameOf } from '../../operations/names.ts'
import type { Operation } from '../../operations/operation.ts'
import { withOurNames, withTypes } from './habits.ts'

/** Clients give up on a call after 60 seconds by default, so an answer comes before that. */
export const answerWithinMs = 45_000

interface ToolShape {
  readonly operation: Operation
  readonly description: string
  /** What is said of a field to a model; the operation's own words serve where none are here. */
  readonly fields?: Readonly<Record<string, string>>
  /** Values of fields that are left out. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Fields that a model is not told of, since it hardly needs them; whoever knows them may give them. */
  readonly hidden?: readonly string[]
  readonly readOnly?: boolean
}

const shapes: readonly ToolShape[] = [
  {
    operation: exec,
    description:
      'Run a shell script or a program. All output is kept; the answer is a digest: how it ended, the lines that matter as number | text. ' +
      `Ended after timeout_ms (default ${mcpTimeoutMs}); still running after wait_ms (default ${answerWithinMs}) it goes on: see wait.`,
    fields: {
      script: 'Or give argv.',
      argv: 'Program and arguments, no shell.',
      runtime: 'bash (default), node, python, or configured.',
      cwd: 'In the project; default its root.',
      workspace: 'Run it in there.',
      target: 'Configured name, host (here), or {"backend":"docker","image":"node:22"}.',
      timeoutMs: 'Milliseconds until it is ended.',
      idleTimeoutMs: 'Milliseconds of silence until then.',
      purpose: 'Why; found by search.',
      env: '',
      passEnv: 'Names in the server to pass on.',
      stdin: 'What it reads.',
      waitMs: 'Milliseconds until the answer.',
      detach: 'Answer at once; it runs on.',
      pty: 'On a terminal; output is its screen.',
      interactive: 'Keep stdin open for input.',
      budget: 'Bytes of the digest; default 2048.',
      tokens: 'Most tokens, instead.',
    },
    hidden: ['ephemeral', 'graceMs', 'leftovers', 'maxOutputBytes'],
    defaults: { waitMs: answerWithinMs },
  },
  {
    operation: wait,
    description: 'Wait until a run ends; same answer as exec. After wait_ms: the output so far; the run goes on.',
    fields: { run: 'Run id, or last.', waitMs: `Milliseconds; default ${answerWithinMs}.`, budget: 'Bytes of the digest.' },
    hidden: ['tokens'],
    defaults: { waitMs: answerWithinMs },
    readOnly: true,
  },
  {
    operation: stop,
    description: 'End a run with all its processes. Its output is kept.',
    fields: { run: 'Run id, or last.', signal: 'Default SIGTERM; SIGKILL follows.' },
  },
  {
    operation: input,
    description: 'Write to the stdin of an interactive run; see output or wait.',
    hidden: ['size'],
    fields: { run: 'Run id, or last.', text: 'Nothing is added.', enter: 'Add a line feed.', end: 'Then end its stdin.' },
  },
  {
    operation: output,
    description: 'Read what a run printed: all, a range of lines or bytes, or the lines that match.',
    fields: {
      run: 'Run id, last, or a ref from search: lines around it.',
      stream: 'Default all.',
      lines: '120, 100-150, 100-, or -20 (last 20).',
      bytes: '0-1023, 4096-, or -512 (last 512).',
      grep: 'Regular expression.',
      maxBytes: 'Bytes of the answer; default 32768.',
    },
    readOnly: true,
  },
  {
    operation: search,
    description: 'Find text in all output, commands and purposes; "quoted words" stand together. Hits have refs for output.',
    fields: {
      query: 'Any text.',
      regex: '',
      run: 'Only there.',
      context: 'Most lines around.',
      failing: 'Only failed runs.',
      since: '2h, 3d, a date or an ISO time.',
      limit: 'Most hits; default 20.',
      all: 'Long logs, too.',
    },
    hidden: ['literal', 'workspace', 'stream'],
    readOnly: true,
  },
  {
    operation: runs,
    description: 'List runs, newest first.',
    hidden: ['runtime'],
    fields: { query: 'Text in id, command or purpose.', failing: 'Only failed runs.', limit: 'Most runs; default 20.' },
    readOnly: true,
  },
  {
    operation: resume,
    description: 'The context snapshot: work in hand, notes, recent runs, running commands. Read it first in a fresh context.',
    readOnly: true,
  },
]

/** Several operations in one tool, since each tool costs a model some context. */
interface ActionTool {
  readonly name: string
  readonly description: string
  readonly actions: Readonly<Record<string, Operation>>
  /** What is said of each field that there is to a model, whichever actions take it. */
  readonly fields: Readonly<Record<string, string>>
  /** Of each action, values of fields that are left out. */
  readonly defaults?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Where no action is named. */
  usualAction?(args: Readonly<Record<string, unknown>>): string | undefined
}

const actionTools: readonly ActionTool[] = [
  {
    name: 'note',
    description: 'Durable facts; the best are in every context snapshot. Say what a new one supersedes; remove is for good.',
    actions: { add: noteAdd, list: noteList, search: noteSearch, update: noteUpdate, remove: noteRemove },
    fields: {
      text: 'The fact, one line.',
      query: 'search: words.',
      note: 'update, remove: its id.',
      category: '',
      confidence: '0 to 1.',
      tags: '',
      scope: '',
      supersedes: 'Ids of notes that it retires.',
      retired: 'list, search: only these.',
      restore: 'update: a retired one.',
    },
    // Text without an action can only be a fact to keep.
    usualAction: (args) => (args.text === undefined ? undefined : 'add'),
  },
  {
    name: 'workspace',
    description: 'Working copies of the repository, one for each branch. Release saves what is nowhere else as a rescue.',
    actions: {
      open: workspaceOpen,
      list: workspaceList,
      status: workspaceStatus,
      diff: workspaceDiff,
      release: workspaceRelease,
      rescues: workspaceRescues,
      restore: workspaceRestore,
    },
    // A model pays for each line.
    defaults: { diff: { maxBytes: 32 * 1024 } },
    fields: {
      branch: 'open: made if new.',
      base: 'open: where it begins.',
      operator: 'open: a sandbox.',
      workspace: 'Id, branch, operator:NAME.',
      mode: '',
      stop: 'release: end commands.',
      rescue: 'restore.',
    },
  },
]

function toolOf({ name, description, actions, fields }: ActionTool): Tool {
  const options = { only: Object.keys(fields), describe: (field: { name: string }) => fields[field.name] ?? '', nameOf: wireNameOf }
  const all = Object.assign({}, ...Object.values(actions).map(({ input }) => inputJsonSchema(input, options).properties))
  const names = Object.keys(actions)
  const action = { type: 'string', enum: names }
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { action, ...Object.fromEntries(Object.keys(fields).map((field) => [field, all[field]])) },
      required: ['action'],
      additionalProperties: false,
    },
  }
}

/** The tools as a client lists them. */
export function listTools(): Tool[] {
  const derived = shapes.map(({ operation, description, fields, hidden = [], readOnly }) => ({
    name: operation.name,
    description,
    inputSchema: inputJsonSchema(operation.input, { hidden, nameOf: wireNameOf, describe: (field) => fields?.[field.name] ?? field.description }),
    ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
  }))
  return [...derived, ...actionTools.map(toolOf)].map(withoutEmptyDescriptions)
}

function withoutEmptyDescriptions(tool: Tool): Tool {
  const properties = Object.entries(tool.inputSchema.properties ?? {}).map(([name, schema]) => {
    const { description, ...shape } = schema as { description?: string }
    return [name, description ? schema : shape]
  })
  // That no other field is taken is said to whoever sends one, with the name that was meant.
  const { additionalProperties: _, ...inputSchema } = tool.inputSchema
  return { ...tool, inputSchema: { ...inputSchema, properties: Object.fromEntries(properties) } }
}

/** What a call of a tool asks for, its defaults filled in. The input is unchecked. Throws `invalid` for an unknown tool or action. */
export function readCall(tool: string, args: Readonly<Record<string, unknown>>): { operation: Operation; input: Record<string, unknown> } {
  const several = actionTools.find(({ name }) => name === tool)
  if (several) return readActionCall(several, args)
  const shape = shapes.find(({ operation }) => operation.name === tool)
  if (!shape) {
    const known = [...shapes.map(({ operation }) => operation.name), ...actionTools.map(({ name }) => name)]
    throw failure('invalid', { field: 'tool', value: tool, accepted: known.join(', ') })
  }
  const { operation, defaults } = shape
  const given = withTypes(operation, fromWire(operation, withOurNames(tool, args)))
  // Who lets a command go does not wait for it unless that is said.
  return { operation, input: { ...defaults, ...(given.detach === true ? { waitMs: 0 } : {}), ...given } }
}

function readActionCall({ actions, defaults, usualAction }: ActionTool, args: Readonly<Record<string, unknown>>) {
  const { action = usualAction?.(args), ...rest } = args
  const operation = typeof action === 'string' && Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!operation) throw failure('invalid', { field: 'action', value: action, accepted: Object.keys(actions).join(', ') })
  return { operation, input: { ...defaults?.[action as string], ...withTypes(operation, fromWire(operation, rest)) } }
}
