import { accessSync, constants as modes, type Stats, statSync } from 'node:fs'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import type { Running, Session } from '../../core/backend.ts'
import type { ResolvedCommand } from '../../core/command.ts'
import { errnoOf, failure, type HoldfastError } from '../../core/errors.ts'
import type { ExitStatus } from '../../core/outcome.ts'
import { launch } from '../../process/launch.ts'
import { findTree, signalTree, type TreeKey, toLeftovers } from '../../process/tree.ts'
import { mergeChunks } from './chunks.ts'

/** Commands on this machine, as the user that Holdfast runs as. `pipes: false` gives them sockets for their streams. */
export function openHostSession(root: string, { pipes = true }: { readonly pipes?: boolean } = {}): Session {
  let closed = false
  return {
    logs: 'streamed',
    handle: root,
    async start(command) {
      if (closed) throw failure('closed', {})
      return startOnHost(command, pipes)
    },
    async close() {
      closed = true
    },
  }
}

async function startOnHost(command: ResolvedCommand, pipes: boolean): Promise<Running> {
  checkTexts(command)
  const launched = await launch({ ...command, pipes }).catch((error: unknown) => {
    throw startFailure(error, command)
  })
  const key: TreeKey = { leader: launched.identity, mark: command.mark, seen: new Map() }
  const others = async () => (await findTree(key)).filter(({ pid }) => pid !== launched.identity.pid)
  const { output, release } = mergeChunks(launched)
  return {
    id: String(launched.identity.pid),
    process: launched.identity,
    output,
    ended: launched.exit.then(toStatus),
    ...openInput(launched.stdin),
    signal: async (name) => ({ delivered: await signalTree(key, name, launched.unreaped()) }),
    tree: async () => toLeftovers(await others()),
    busy: async () => (await others()).some(({ busy }) => busy),
    release() {
      release()
      // Something that was left behind may hold the other end without reading: what it did not take is not waited for.
      launched.stdin?.destroy()
    },
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

function checkTexts(command: ResolvedCommand): void {
  const check = (field: string, text: string): void => {
    if (text.includes('\0')) throw failure('invalid', { field, value: text, accepted: 'text without a NUL character' })
    if (process.platform !== 'linux' || text.length * 3 <= maxStringBytes) return
    const bytes = Buffer.byteLength(text)
    if (bytes > maxStringBytes) throw failure('command_too_large', { field, bytes, maxBytes: maxStringBytes })
  }
  check('cwd', command.cwd)
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
  const where = look(cwd)
  if (where === 'forbidden') return failure('cwd_forbidden', { cwd }, error)
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

function look(folder: string): Stats | 'forbidden' | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })
  } catch (error) {
    // A folder on the way may not be searched.
    return errnoOf(error) === 'EACCES' ? 'forbidden' : undefined
  }
}

function canEnter(folder: string): boolean {
  try {
    accessSync(folder, modes.X_OK)
    return true
  } catch {
    return false
  }
}
