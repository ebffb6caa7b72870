import { createHash } from 'node:crypto'
import { relative } from 'node:path'
import type { Program } from './command.ts'

/** What makes two runs runs of one command. */
export interface KeyedCommand {
  readonly program: Pick<Program, 'runtime' | 'display' | 'whole'>
  /** As shown, without its secrets. */
  readonly command: string
  readonly cwd: string
  /** The top of the copy of the project that it runs in. */
  readonly top: string
  /** Where it runs, if not on this machine. */
  readonly target?: string | undefined
}

const keyChars = 16

/** The same for the same command at the same place of a project, in whichever of its copies; see RunRecord. */
export function commandKey({ program, command, cwd, top, target }: KeyedCommand): string {
  // Of a script that is shown in part the rest counts, too.
  const rest = program.whole === program.display ? '' : program.whole
  const told = JSON.stringify([program.runtime, relative(top, cwd), command, rest, ...(target === undefined ? [] : [target])])
  return createHash('sha256').update(told).digest('base64url').slice(0, keyChars)
}
