import { readlinkSync } from 'node:fs'
import { version } from '../../core/version.ts'
import type { CliIo } from './io.ts'

/**
 * The program `holdfast`. Everything is loaded when it is needed and no sooner, since most calls need little: the version
 * needs nothing, help no store, and only mcp its server.
 */
async function main(argv: readonly string[]): Promise<number> {
  const first = argv[0]
  if (first === '--version' || first === '-V' || first === 'version') {
    process.stdout.write(`${version}\n`)
    return 0
  }
  if (process.platform !== 'win32') {
    const [, ...options] = argv
    if (first === 'mcp' && options.every((option) => option === '--ephemeral')) return serveAgent(options.length > 0)
    if (first === 'hook' && options.every((option) => option !== '--help' && option !== '-h')) return answerHook(options)
    if (first === '__hold' && options.length === 0) return holdOneRun()
  }
  return (await import('./run.ts')).runCli(argv, processIo())
}

/** Not for people: a process of Holdfast's own that holds a detached run. It reads a request, answers one line, and stays until the run is over. */
async function holdOneRun(): Promise<number> {
  const answer = (line: string): void => {
    process.stdout.write(line)
  }
  // Whoever asked may be gone before the answer; the run goes on.
  process.stdout.on('error', () => {})
  const read = async (): Promise<string> => {
    const chunks: Uint8Array[] = []
    for await (const chunk of process.stdin) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8')
  }
  const { hold } = await import('../../compose.ts')
  try {
    await hold({ cwd: workingDirectory(), env: process.env, surface: 'cli' }, read, answer)
    return 0
  } catch (error) {
    const { toHoldfastError } = await import('../../core/errors.ts')
    answer(`${JSON.stringify({ error: toHoldfastError(error) })}\n`)
    return 125
  }
}

/** Whatever happens, the host of the hook goes on. */
async function answerHook(args: readonly string[]): Promise<number> {
  const leave = (): void => process.exit(0)
  for (const name of ['uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, leave)
  const { answerHostHook } = await import('./hook-command.ts')
  await answerHostHook(args, {
    stdin: process.stdin,
    stdout: process.stdout,
    cwd: workingDirectory(),
    env: process.env,
    sinceStartMs: () => performance.now(),
  })
  return 0
}

async function serveAgent(ephemeral: boolean): Promise<number> {
  // A command that ends each `node`, or what has the path of a project in its command line (pkill -f), must not end its own server.
  process.title = 'holdfast'
  const { serveMcp } = await import('../mcp/serve.ts')
  const cwd = workingDirectory()
  await serveMcp({
    cwd,
    openApp: async (root) => (await import('../../compose.ts')).openApp({ cwd: root, env: process.env, surface: 'mcp', ephemeral }),
    stdin: process.stdin,
    stdout: process.stdout,
    version,
    onNote: (line) => process.stderr.write(`holdfast: ${line}\n`),
  })
  return 0
}

function processIo(): CliIo {
  return {
    // Node makes each of these streams when it is first asked for, which takes time.
    get stdin() {
      return process.stdin
    },
    get stdout() {
      return process.stdout
    },
    get stderr() {
      return process.stderr
    },
    env: process.env,
    cwd: workingDirectory(),
    platform: process.platform,
    openApp: async (options) => (await import('../../compose.ts')).openApp(options),
    onSignal(listener) {
      const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
      for (const name of names) process.on(name, listener)
      return () => {
        for (const name of names) process.off(name, listener)
      }
    },
    exit: (code) => process.exit(code),
    nowMs: Date.now,
  }
}

// Node refuses to say where it is once that folder is gone. Linux names it still, with a mark; elsewhere a shell may have.
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    return folderThatWas() || process.env.PWD || '/'
  }
}

function folderThatWas(): string {
  try {
    return readlinkSync('/proc/self/cwd').replace(/ \(deleted\)$/, '')
  } catch {
    return ''
  }
}

// The program is built as CommonJS, which has no await at its top.
main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`holdfast: internal error: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(125)
  },
)
