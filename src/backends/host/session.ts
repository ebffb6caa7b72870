import { accessSync, constants as modes, statSync } from 'node:fs'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import type { Running, Session } from '../../core/backend.ts'
import type { ResolvedCommand } from '../../core/command.ts'
import { errnoOf, failure, type HoldfastError } from '../../core/errors.ts'
import type { ExitStatus } from '../../core/outcome.ts'
import { launch } from '../../process/launch.ts'
import { findTree, signalTree, type TreeKey, toLeftovers } from '../../process/tree.ts'
import { mergeChunks } from './chunks.ts'

/** Commands on this machine, as the user that Holdfast runs as. */
export function openHostSession(root: string): Session {
  let closed = false
  return {
    logs: 'streamed',
    handle: root,
    async start(command) {
      if (closed) throw failure('closed', {})
      return startOnHost(command)
    },
    async close() {
      closed = true
    },
  }
}

async function startOnHost(command: ResolvedCommand): Promise<Running> {
  checkSizes(command)
  const launched = await launch(command).catch((error: unknown) => {
    throw startFailure(error, command)
  })
  const key: TreeKey = { leader: launched.identity, mark: command.mark }
  const { output, release } = mergeChunks(launched)
  return {
    id: String(launched.identity.pid),
    process: launched.identity,
    output,
    ended: launched.exit.then(toStatus),
    ...openInput(launched.stdin),
    signal: async (name) => ({ delivered: await signalTree(key, name, launched.unreaped()) }),
    tree: async () => toLeftovers((await findTree(key)).filter(({ pid }) => pid !== launched.identity.pid)),
    release,
  }
}

function toStatus({ code, signal }: { code: number | null; signal: NodeJS.Signals | null }): ExitStatus {
  return signal ? { signal, number: constants.signals[signal] } : { exitCode: code ?? 0 }
}

/** Writes with back-pressure. The program may end without reading: that is its business, not an error of the run. */
function openInput(stdin: Writable | undefined): Pick<Running, 'write' | 'endInput'> {
  if (!stdin) return { write: async () => {}, endInput: async () => {} }
  stdin.on('error', () => {})
  const gone = new Promise<void>((resolve) => {
    stdin.once('close', () => resolve())
  })
  return {
    write: (bytes) => Promise.race([gone, new Promise<void>((resolve) => void stdin.write(bytes, () => resolve()))]),
    endInput: async () => {
      stdin.end()
    },
  }
}

/** Linux takes no single argument or variable of more than 32 pages (MAX_ARG_STRLEN, execve(2)), its final NUL included. */
const maxStringBytes = 32 * 4096 - 1

function checkSizes(command: ResolvedCommand): void {
  if (process.platform !== 'linux') return
  const check = (field: string, text: string): void => {
    if (text.length * 3 <= maxStringBytes) return
    const bytes = Buffer.byteLength(text)
    if (bytes > maxStringBytes) throw failure('command_too_large', { field, bytes, maxBytes: maxStringBytes })
  }
  command.argv.forEach((argument, i) => {
    check(`argument ${i}`, argument)
  })
  for (const [name, value] of Object.entries(command.env)) check(`the variable ${name}`, `${name}=${value}`)
}

// The system says ENOENT for a missing program, a missing interpreter of a script and a missing directory alike.
function startFailure(error: unknown, command: ResolvedCommand): HoldfastError {
  const errno = errnoOf(error) ?? 'unknown'
  const program = command.argv[0]
  const cwd = command.cwd
  const where = statSync(cwd, { throwIfNoEntry: false })
  if (!where) return failure('cwd_missing', { cwd }, error)
  if (!where.isDirectory()) return failure('cwd_not_directory', { cwd }, error)
  if (!canEnter(cwd)) return failure('cwd_forbidden', { cwd }, error)
  if (errno === 'ENOENT') return failure('program_missing', { program }, error)
  if (errno === 'EACCES' || errno === 'EPERM' || errno === 'ENOEXEC' || errno === 'EISDIR') return failure('program_not_executable', { program }, error)
  if (errno === 'E2BIG') {
    const bytes = [...command.argv, ...Object.entries(command.env).flat()].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
    return failure('command_too_large', { field: 'the command with its environment', bytes, maxBytes: 2 * 1024 * 1024 }, error)
  }
  return failure('start_failed', { program, errno }, error)
}

function canEnter(folder: string): boolean {
  try {
    accessSync(folder, modes.X_OK)
    return true
  } catch {
    return false
  }
}
