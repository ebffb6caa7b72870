import { accessSync, constants as modes, type Stats, statSync } from 'node:fs'
import type { ResolvedCommand } from '../../core/command.ts'
import { commandTooLarge } from '../../core/command-texts.ts'
import { errnoOf, failure, type HoldfastError } from '../../core/errors.ts'

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
