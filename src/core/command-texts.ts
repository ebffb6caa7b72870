import type { ResolvedCommand } from './command.ts'
import { failure, type HoldfastError } from './errors.ts'

/** Linux takes no single argument or variable of more than 32 pages (MAX_ARG_STRLEN, execve(2)), its final NUL included. */
const maxStringBytes = 32 * 4096 - 1

/** Refuses what no program can be given, before anything is started. `system` is the one that the command is to run on. */
export function checkTexts(command: ResolvedCommand, system: NodeJS.Platform): void {
  const check = (field: string, text: string): void => {
    if (text.includes('\0')) throw failure('invalid', { field, value: text, accepted: 'text without a NUL character' })
    if (system !== 'linux' || text.length * 3 <= maxStringBytes) return
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

/** All together is more than the system takes, although each text alone is not. */
export function commandTooLarge(command: ResolvedCommand, cause?: unknown): HoldfastError {
  const bytes = [...command.argv, ...Object.entries(command.env).flat()].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
  return failure('command_too_large', { field: 'the command with its environment', bytes, maxBytes: 2 * 1024 * 1024 }, cause)
}
