import type { Activity, Todo, ToolUse } from '../core/activity.ts'
import { byteLength, headBytes, oneLine } from '../core/text.ts'
import { decisionsIn } from './decisions.ts'

/** What is worth knowing of a session of an agent. Every list has a bound, and every text is one line with a bound. */
export interface SessionFacts {
  /** What the session began with. */
  readonly task: string | null
  /** What was asked for last, newest first; the task is not among them. */
  readonly requests: readonly string[]
  /** Those that matter most first. */
  readonly files: readonly TouchedFile[]
  /** Newest first. */
  readonly decisions: readonly string[]
  readonly todos: readonly Todo[]
  /** What failed and has not passed since, newest first. */
  readonly errors: readonly Failure[]
  /** The last counts of tests by command, newest first. */
  readonly results: readonly TestResult[]
  readonly background: readonly BackgroundShell[]
  /** Commands that passed when they were run last. */
  readonly passed: readonly string[]
}

export interface TouchedFile {
  readonly path: string
  readonly edits: number
  readonly reads: number
}

export interface Failure {
  /** The command, or the tool where it was none. */
  readonly what: string
  readonly message: string | null
}

export interface TestResult {
  readonly command: string
  readonly text: string
  readonly failed: boolean
}

export interface BackgroundShell {
  readonly id: string
  readonly command: string
}

const most = { requests: 4, files: 40, decisions: 8, todos: 30, errors: 10, results: 4, background: 10, passed: 60 } as const
const maxRequestBytes = 700
const maxTextBytes = 240
const maxCommandBytes = 160
const maxPathBytes = 200

export const noFacts: SessionFacts = {
  task: null,
  requests: [],
  files: [],
  decisions: [],
  todos: [],
  errors: [],
  results: [],
  background: [],
  passed: [],
}

/** What a series of activities comes to. Only what is kept is masked, and each text whole, before anything of it is cut. */
export function factsOf(activities: Iterable<Activity>, mask: (text: string) => string = (text) => text): SessionFacts {
  let task: string | null = null
  const requests = new Latest<string>(most.requests)
  const files = new Latest<TouchedFile>(most.files * 4)
  const decisions = new Latest<string>(most.decisions)
  const errors = new Latest<{ readonly what: string; readonly tool: ToolUse }>(most.errors)
  const results = new Latest<TestResult>(most.results)
  const background = new Latest<BackgroundShell>(most.background)
  const passed = new Latest<string>(most.passed)
  let todos: readonly Todo[] = []

  function addTool(tool: ToolUse): void {
    const what = (tool.command ?? `${tool.name} ${tool.paths[0] ?? ''}`).trim()
    // What could not be edited was not touched.
    for (const path of tool.failed ? [] : tool.paths) {
      const known = files.get(path) ?? { path, edits: 0, reads: 0 }
      if (tool.action === 'edit') files.put(path, { ...known, edits: known.edits + 1 })
      else if (tool.action === 'read') files.put(path, { ...known, reads: known.reads + 1 })
    }
    if (tool.failed) {
      errors.put(what, { what, tool })
      passed.delete(what)
    } else {
      errors.delete(what)
      if (tool.command !== null) passed.put(what, what)
    }
    if (tool.result !== null) results.put(what, { command: what, text: tool.result, failed: tool.failed })
    if (tool.background !== null) background.put(tool.background, { id: tool.background, command: what })
  }

  for (const activity of activities) {
    switch (activity.kind) {
      case 'request':
        if (activity.text.trim() === '') break
        if (task === null) task = activity.text
        else if (activity.text !== task) requests.put(activity.text, activity.text)
        break
      case 'statement':
        for (const decision of decisionsIn(activity.text)) decisions.put(decision, decision)
        break
      case 'tool':
        addTool(activity.tool)
        break
      case 'todos':
        todos = (activity.merge ? mergeTodos(todos, activity.todos) : activity.todos).slice(0, most.todos)
        break
      case 'background-ended':
        background.delete(activity.id)
        break
    }
  }

  const line = (text: string, maxBytes: number): string => shortLine(mask(text), maxBytes)
  return {
    task: task === null ? null : line(task, maxRequestBytes),
    requests: requests.newestFirst().map((text) => line(text, maxRequestBytes)),
    files: rankFiles(files.newestFirst().map((file) => ({ ...file, path: line(file.path, maxPathBytes) }))),
    decisions: decisions.newestFirst().map((text) => line(text, maxTextBytes)),
    todos: todos.filter(({ state, text }) => state !== 'dropped' && text.trim() !== '').map((todo) => ({ ...todo, text: line(todo.text, maxTextBytes) })),
    errors: errors
      .newestFirst()
      .map(({ what, tool: { message } }) => ({ what: line(what, maxCommandBytes), message: message === null ? null : line(message, maxTextBytes) })),
    results: results.newestFirst().map((result) => ({ ...result, command: line(result.command, maxCommandBytes), text: line(result.text, maxTextBytes) })),
    background: background.newestFirst().map(({ id, command }) => ({ id: line(id, maxPathBytes), command: line(command, maxCommandBytes) })),
    passed: passed.newestFirst().map((text) => line(text, maxCommandBytes)),
  }
}

/** Two accounts of the same session as one. Where they differ, the second has the word. */
export function combineFacts(first: SessionFacts, second: SessionFacts): SessionFacts {
  // An account that began later calls a later request the task.
  const task = second.task !== null && (first.task === null || second.requests.some(isLike(first.task))) ? second.task : first.task
  const asked = [second, first].flatMap((facts) => [...facts.requests, ...(facts.task === null ? [] : [facts.task])])
  const files = new Map(first.files.map((file) => [file.path, file]))
  for (const file of second.files) {
    const other = files.get(file.path)
    // Both may have counted the same call.
    files.set(file.path, other ? { ...file, edits: Math.max(file.edits, other.edits), reads: Math.max(file.reads, other.reads) } : file)
  }
  const order = [...second.files, ...first.files].map(({ path }) => path)
  const failing = joined(second.errors, first.errors, ({ what }) => what, most.errors)
  return {
    task,
    requests: joined(asked, [], beginning, asked.length)
      .filter((text) => task === null || !isLike(task)(text))
      .slice(0, most.requests),
    files: rankFiles([...new Set(order)].flatMap((path) => files.get(path) ?? [])),
    decisions: joined(second.decisions, first.decisions, (text) => text, most.decisions),
    todos: second.todos.length > 0 ? second.todos : first.todos,
    errors: failing.filter(({ what }) => !second.passed.includes(what) && (!first.passed.includes(what) || second.errors.some((error) => error.what === what))),
    results: joined(second.results, first.results, ({ command }) => command, most.results),
    background: joined(second.background, first.background, ({ id }) => id, most.background),
    passed: joined(second.passed, first.passed, (text) => text, most.passed),
  }
}

/** What was recorded of a long text is shorter than the text. */
const beginning = (text: string): string => text.slice(0, 100)
const isLike =
  (text: string) =>
  (other: string): boolean =>
    beginning(text) === beginning(other)

/** Whether there is anything that the next session would want to know. */
export function saysSomething({ task, requests, files, errors, todos }: SessionFacts): boolean {
  return task !== null || requests.length + files.length + errors.length + todos.length > 0
}

function joined<T>(first: readonly T[], second: readonly T[], key: (item: T) => string, limit: number): T[] {
  const seen = new Set<string>()
  return [...first, ...second].filter((item) => !seen.has(key(item)) && seen.add(key(item)) !== undefined).slice(0, limit)
}

/** Edited files before those that were only read, and what was edited often before the rest; of equal ones the latest first. */
function rankFiles(newestFirst: readonly TouchedFile[]): TouchedFile[] {
  const weight = ({ edits, reads }: TouchedFile): number => (edits > 0 ? 1_000 + Math.min(edits, 8) * 10 : 0) + Math.min(reads, 9)
  return [...newestFirst].sort((a, b) => weight(b) - weight(a)).slice(0, most.files)
}

function mergeTodos(known: readonly Todo[], changed: readonly Todo[]): Todo[] {
  const merged = [...known]
  for (const todo of changed) {
    const at = merged.findIndex(({ id, text }) => (todo.id === null ? text === todo.text : id === todo.id))
    const before = merged[at]
    if (before) merged[at] = { ...todo, text: todo.text === '' ? before.text : todo.text }
    else if (todo.text !== '') merged.push(todo)
  }
  return merged
}

/** Looked at no further: what is longer is cut anyway. */
const maxLookedAt = 4_000

function shortLine(text: string, maxBytes: number): string {
  const looked = oneLine(text.slice(0, maxLookedAt))
  return byteLength(looked) <= maxBytes ? looked : `${headBytes(looked, maxBytes - 3)}…`
}

/** A bounded map that forgets what was put longest ago. */
class Latest<T> {
  readonly #limit: number
  readonly #items = new Map<string, T>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): T | undefined {
    return this.#items.get(key)
  }

  put(key: string, item: T): void {
    this.#items.delete(key)
    this.#items.set(key, item)
    if (this.#items.size > this.#limit) this.#items.delete(this.#items.keys().next().value as string)
  }

  delete(key: string): void {
    this.#items.delete(key)
  }

  newestFirst(): T[] {
    return [...this.#items.values()].reverse()
  }
}

/** Facts that were stored as JSON; undefined where they are not of this form. */
export function parseFacts(value: unknown): SessionFacts | undefined {
  const found = (value ?? {}) as Partial<Record<keyof SessionFacts, unknown>>
  const texts = (given: unknown): given is string[] => Array.isArray(given) && given.every((item) => typeof item === 'string')
  const objects = <T>(given: unknown, ...names: readonly (keyof T)[]): given is T[] =>
    Array.isArray(given) &&
    given.every((item) => typeof item === 'object' && item !== null && names.every((name) => ['string', 'number'].includes(typeof item[name])))
  const { task, requests, files, decisions, todos, errors, results, background, passed } = found
  if (task !== null && typeof task !== 'string') return undefined
  if (!texts(requests) || !texts(decisions) || !texts(passed)) return undefined
  if (!objects<TouchedFile>(files, 'path', 'edits', 'reads') || !objects<Todo>(todos, 'text', 'state') || !objects<Failure>(errors, 'what')) return undefined
  if (!objects<TestResult>(results, 'command', 'text') || !objects<BackgroundShell>(background, 'id', 'command')) return undefined
  return { task, requests, files, decisions, todos, errors, results, background, passed }
}
