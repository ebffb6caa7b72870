import type { Activity, Todo, TodoState } from '../../core/activity.ts'
import { fieldsOf, listIn, textIn, textOf } from './values.ts'

/** The task lists of the hosts: TodoWrite, update_plan, write_todos, manage_todo_list, todowrite, and single tasks by TaskCreate and TaskUpdate. */
export function todosOf(name: string, input: unknown, output: unknown): Activity[] {
  const fields = fieldsOf(input)
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  if (plain === 'taskcreate') {
    const text = textIn(fields, 'subject', 'title')
    const id = /#(\w{1,20})/.exec(textOf(output).slice(0, 200))?.[1] ?? textIn(fieldsOf(fieldsOf(output).task), 'id')
    return text === null ? [] : [{ kind: 'todos', todos: [{ id: id ?? null, text, state: 'open' }], merge: true }]
  }
  if (plain === 'taskupdate') {
    const id = textIn(fields, 'taskId', 'task_id', 'id')
    if (id === null || textIn(fields, 'status', 'subject') === null) return []
    return [{ kind: 'todos', todos: [{ id, text: textIn(fields, 'subject') ?? '', state: stateOf(fields.status) }], merge: true }]
  }
  if (!/todo|plan$/.test(plain)) return []
  const items = listIn(fields, 'todos', 'plan', 'todoList', 'items')
  return items.length === 0 ? [] : [{ kind: 'todos', todos: toTodos(items), merge: fields.merge === true }]
}

const maxTodos = 100

export function toTodos(items: readonly unknown[]): Todo[] {
  return items.slice(0, maxTodos).flatMap((item) => {
    const fields = fieldsOf(item)
    const text = textIn(fields, 'content', 'step', 'title', 'description', 'text', 'subject')
    const id = typeof fields.id === 'string' || typeof fields.id === 'number' ? String(fields.id) : null
    // In a list that is merged an item may be told by its id alone.
    return text === null && id === null ? [] : [{ id, text: text ?? '', state: stateOf(fields.status) }]
  })
}

const states: Readonly<Record<string, TodoState>> = {
  pending: 'open',
  'not-started': 'open',
  not_started: 'open',
  todo: 'open',
  blocked: 'open',
  in_progress: 'doing',
  'in-progress': 'doing',
  inprogress: 'doing',
  completed: 'done',
  complete: 'done',
  done: 'done',
  cancelled: 'dropped',
  canceled: 'dropped',
  deleted: 'dropped',
}

const stateOf = (status: unknown): TodoState => (typeof status === 'string' && Object.hasOwn(states, status) ? (states[status] as TodoState) : 'open')
