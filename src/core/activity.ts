/** What happened in a session of an agent, one thing at a time, in the order in which it happened. */
export type Activity =
  /** A person asked for something. */
  | { readonly kind: 'request'; readonly text: string }
  /** The agent said something. */
  | { readonly kind: 'statement'; readonly text: string }
  | { readonly kind: 'tool'; readonly tool: ToolUse }
  /** The whole list; or, with `merge`, those that are new or have changed. */
  | { readonly kind: 'todos'; readonly todos: readonly Todo[]; readonly merge: boolean }
  | { readonly kind: 'background-ended'; readonly id: string }

export type ToolAction = 'shell' | 'edit' | 'read' | 'other'

/** A call of a tool that is over. */
export interface ToolUse {
  readonly name: string
  readonly action: ToolAction
  /** What a shell ran. */
  readonly command: string | null
  /** The files that were edited or read, as the agent named them. */
  readonly paths: readonly string[]
  readonly failed: boolean
  /** The line that says why it failed; null where nothing does. */
  readonly message: string | null
  /** The line that counts tests, such as `Tests: 1 failed, 12 passed`. */
  readonly result: string | null
  /** The name of what goes on in the background by it. */
  readonly background: string | null
}

export const todoStates = ['open', 'doing', 'done', 'dropped'] as const
export type TodoState = (typeof todoStates)[number]

export interface Todo {
  /** null where the host has none: then the text is what it is known by. */
  readonly id: string | null
  readonly text: string
  readonly state: TodoState
}
