import type { HostName } from './host.ts'

/*
 * Source text that the plugins for hosts without hook files share. They are plain JavaScript without dependencies, because a
 * host loads them from a folder in which nothing is installed.
 */

/** Longer than a hook ever takes; then the host goes on without an answer. */
const patienceMs = 2_000

/**
 * `ask(event, input)`: runs the hook command and resolves to its answer, `{ context }`, or to undefined. It never rejects
 * and never takes longer than the patience: a host must not wait for what only helps.
 */
export function askSource(host: HostName, command: readonly string[]): string {
  return `const command = ${JSON.stringify(command)}
const patienceMs = ${patienceMs}

function ask(event, input, cwd) {
  return new Promise((resolve) => {
    try {
      const [program, ...args] = command
      const child = spawn(program, [...args, 'hook', ${JSON.stringify(host)}, event], { cwd, stdio: ['pipe', 'pipe', 'ignore'] })
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      timer.unref?.()
      let text = ''
      const settle = () => {
        clearTimeout(timer)
        try {
          resolve(JSON.parse(text))
        } catch {
          resolve(undefined)
        }
      }
      child.on('error', settle)
      child.on('close', settle)
      child.stdin.on('error', () => {})
      child.stdout.on('data', (chunk) => {
        text += chunk
      })
      child.stdin.end(JSON.stringify({ hook_event_name: event, cwd, ...input }))
    } catch {
      resolve(undefined)
    }
  })
}

const maxTextLength = 2000
const maxItems = 50

/** What is long is shortened, so that a long session is told in little. */
function short(value, depth = 0) {
  if (typeof value === 'string') return value.length > maxTextLength ? value.slice(0, maxTextLength) : value
  if (value === null || typeof value !== 'object') return value
  if (depth > 4) return undefined
  if (Array.isArray(value)) return value.slice(0, maxItems).map((item) => short(item, depth + 1))
  return Object.fromEntries(Object.entries(value).slice(0, maxItems).map(([key, item]) => [key, short(item, depth + 1)]))
}

const maxMessages = 400

/** The first message, which tells the task, and the latest ones. */
function latest(messages) {
  return messages.length > maxMessages ? [messages[0], ...messages.slice(-maxMessages)] : messages
}
`
}
