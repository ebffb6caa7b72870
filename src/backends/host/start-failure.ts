import { accessSync, constants as modes, type Stats, statSync } from 'node:fs'
import type { ResolvedCommand } from '../../core/command.ts'
import { errnoOf, failure, type HoldfastError } from '../../core/errors.ts'

/** Linux takes no single argument or variable of more than 32 pages (MAX_ARG_STRLEN, execve(2)), its final NUL included. */
const maxStringBytes = 32 * 4096 - 1

/** Refuses what no program can be given, before anything is started. */
export function checkTexts(command: ResolvedCommand): void {
  const check = (field: string, text: string): void => {
    if (text.includes('\0')) throw failure('invalid', { field, value: text, accepted: 'text without a NUL character' })
    if (process.platform !== 'linux' || text.length * 3 <= maxStringBytes) return
    const bytes = Buffer.byteLength(text)
    if (bytes > maxStringBytes) throw failure('command_too_large', { field, bytes, maxBytes: maxStringBytes })
  }
  if (command.argv[0] === '') throw failure('program_missing', { program: '' })
  check('cwd', command.cwd)
  command.argv.forEach((argument, i) => {
    check(`argument ${i}`, argument)
  })
  for (const [name, value] of Object.entries(command.env)) check(`the variable ${name}`, `${name}=${value}`)
}

/**
 * The words for a start that the system refused. It says ENOENT for a missing program, a missing interpreter of a script and a
 * missing directory alike, so the directory is looked at; `inCwd` where the error is known to be about it.
 */
export function startFailure(error: unknown, command: ResolvedCommand, inCwd = false): HoldfastError {
  const errno = errnoOf(error) ?? 'unknown'
  const program = command.argv[0]
  const cwd = command.cwd
  const where = look(cwd)
  if (where === 'forbidden') return failure('cwd_forbidden', { cwd }, error)
  if (!where) return failure('cwd_missing', { cwd }, error)
  if (!where.isDirectory()) return failure('cwd_not_directory', { cwd }, error)
  if (!canEnter(cwd)) return failure('cwd_forbidden', { cwd }, error)
  if (inCwd) return errno === 'ENOENT' ? failure('cwd_missing', { cwd }, error) : failure('cwd_forbidden', { cwd }, error)
  if (errno === 'ENOENT') return failure('program_missing', { program }, error)
  if (errno === 'EACCES' || errno === 'EPERM' || errno === 'ENOEXEC' || errno === 'EISDIR') return failure('program_not_executable', { program }, error)
  if (errno === 'E2BIG') return commandTooLarge(command, error)
  return failure('start_failed', { program, errno }, error)
}

/** All together is more than the system takes, although each text alone is not. */
export function commandTooLarge(command: ResolvedCommand, cause?: unknown): HoldfastError {
  const bytes = [...command.argv, ...Object.entries(command.env).flat()].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
  return failure('command_too_large', { field: 'the command with its environment', bytes, maxBytes: 2 * 1024 * 1024 }, cause)
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
