import type { Readable, Writable } from 'node:stream'
import type { App } from '../../app/api.ts'
import { chooseRoot } from './roots.ts'
import { createServer } from './server.ts'
import { sharedApp } from './shared-app.ts'
import { stdioTransport } from './stdio-transport.ts'

export interface ServeOptions {
  /** Called at the first call that needs it, with the folder to work in, and again at a later one if it failed. */
  readonly openApp: (root: string) => Promise<App>
  /** Where this process was started. */
  readonly cwd: string
  readonly stdin: Readable
  readonly stdout: Writable
  readonly version: string
  /** Told, in one line, what went wrong with the connection, or that a person started this by hand. */
  readonly onNote?: ((line: string) => void) | undefined
}

/** Clients kill a server that is not gone after a few seconds; what the app still holds by then ends with the process. */
const closeWithinMs = 4_000

const endingSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Serves MCP over two streams until the client is gone: its end of stdin, a failed stdout, or a signal. Then it cancels
 * what the app holds and resolves, at most 4 seconds later; a second signal makes that at once. The caller ends the
 * process, since answers that nobody reads may still wait in stdout.
 */
export async function serveMcp(options: ServeOptions): Promise<void> {
  const { openApp, cwd, stdin, stdout, version, onNote = () => {} } = options
  const restoreConsole = keepConsoleOffStdout()
  const app = sharedApp(async () => openApp(await chooseRoot(server, cwd, onNote)))
  const server = createServer({ app, version, onNote })

  let hurry = (): void => {}
  const hurried = new Promise<void>((resolve) => {
    hurry = resolve
  })
  let leaving = false
  const onSignal = (): void => {
    if (leaving) hurry()
    void server.close()
  }
  const gone = new Promise<void>((resolve) => {
    server.onclose = () => {
      leaving = true
      resolve()
    }
  })
  for (const signal of endingSignals) process.on(signal, onSignal)
  if ((stdin as { isTTY?: boolean }).isTTY) {
    onNote('this speaks MCP over stdio and is meant to be started by a coding agent; Ctrl-C ends it (see holdfast mcp --help)')
  }
  try {
    await server.connect(stdioTransport(stdin, stdout, onNote))
    await gone
    await withinMs(closeWithinMs, [app.close(), hurried])
  } finally {
    for (const signal of endingSignals) process.off(signal, onSignal)
    restoreConsole()
    stdin.destroy()
  }
}

async function withinMs(ms: number, work: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([...work, late])
  clearTimeout(timer)
}

/** One line on stdout that is no message breaks the connection, so what a dependency logs goes to stderr. */
function keepConsoleOffStdout(): () => void {
  const names = ['log', 'info', 'debug', 'dir', 'dirxml', 'table', 'group', 'groupCollapsed', 'count', 'timeEnd', 'timeLog'] as const
  const kept = names.map((name) => [name, console[name]] as const)
  for (const name of names) console[name] = (...args: unknown[]) => console.error(...args)
  return () => {
    for (const [name, method] of kept) Object.assign(console, { [name]: method })
  }
}
