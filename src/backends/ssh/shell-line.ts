/*
 * What is said to the account's login shell, which may be any: bash, dash, zsh, fish, csh. The command line that it gets is always the same
 * but for a number, has nothing in it that they read differently (no `!`, no line feed, no quote inside quotes), and only starts a POSIX
 * shell. That says on both streams that it is there, which parts what login files printed from what comes then; it is told over its
 * input what to run, and says on its standard error how that ended. So whatever fails before it was told has surely run nothing.
 */

import { shellQuoted } from '../../core/command.ts'

export interface Marks {
  /** On both streams, before the program starts. */
  readonly begin: string
  /** On the standard error, with the status of the program. */
  readonly end: string
}

export const marksOf = (nonce: string): Marks => ({ begin: `holdfast-begin-${nonce}.`, end: `holdfast-end-${nonce}` })

/** For the login shell. */
export function loginLine({ begin }: Marks): string {
  return `exec /bin/sh -c 'printf %s ${begin}; printf %s ${begin} >&2; IFS= read -r holdfast_line && eval "$holdfast_line"'`
}

/** Around the end mark, so that it is looked for by one byte that texts do not have. */
export const endByte = 0x1e

/** One line for the POSIX shell, however many lines the arguments have. */
export function programLine(argv: readonly string[], { end }: Marks): string {
  const words = argv.map(quoted).join(' ')
  return `unset holdfast_line holdfast_lf;holdfast_lf=$(printf '\\nx');holdfast_lf=\${holdfast_lf%x};${words};printf '\\036${end} %d\\036' "$?" >&2\n`
}

/** In single quotes, where a POSIX shell knows nothing special; line feeds come from a variable. */
function quoted(word: string): string {
  return word.split('\n').map(shellQuoted).join('"$holdfast_lf"')
}
