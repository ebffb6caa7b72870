import type { RunResult } from '../../app/api.ts'
import type { HoldfastError } from '../../core/errors.ts'
import { oneLine, stripControls } from '../../core/text.ts'
import type { Invocation } from './command.ts'
import type { CliIo, Outlet } from './io.ts'

interface Target {
  readonly io: Pick<CliIo, 'nowMs'>
  readonly stdout: Outlet
  readonly stderr: Outlet
  readonly parsed: { readonly json: boolean }
}

/** What a result is shown on. */
export interface At {
  readonly columns: number
  readonly isTerminal: boolean
  readonly nowMs: number
}

/** Prints a result: as JSON where that was asked for, else for people; warnings go to standard error. */
export function print(target: Target, result: unknown, present: (result: unknown, at: At) => string): void {
  if (target.parsed.json) {
    printJson(target.stdout, result)
    return
  }
  const { columns, isTerminal } = target.stdout
  const text = present(result, { columns, isTerminal, nowMs: target.io.nowMs() })
  target.stdout.write(withLineFeed(text))
  printWarnings(target.stderr, result, text)
}

/** Prints the warnings of a result that the text printed before does not tell. */
export function printWarnings(stderr: Outlet, result: unknown, printed: string): void {
  for (const warning of (result as { warnings?: readonly string[] } | null)?.warnings ?? []) {
    if (!printed.includes(oneLine(warning))) stderr.write(`holdfast: ${plainLines(warning)}\n`)
  }
}

/** Tells whoever left a run with Ctrl-C that it has not ended. */
export function sayThatItGoesOn({ stderr, stoppedBy }: Pick<Invocation, 'stderr' | 'stoppedBy'>, { id, state }: Pick<RunResult, 'id' | 'state'>): void {
  if (state === 'running' && stoppedBy() !== undefined) stderr.write(`holdfast: run ${id} goes on; holdfast stop ${id} ends it\n`)
}

/** One object; on one line where a program reads it. */
export function printJson(stdout: Outlet, result: unknown): void {
  stdout.write(`${JSON.stringify(result, null, stdout.isTerminal ? 2 : 0)}\n`)
}

/** Prints an error where its reader looks for it. */
export function printError(stdout: Outlet, stderr: Outlet, error: HoldfastError, json: boolean): void {
  if (json) printJson(stdout, { error })
  else stderr.write(`holdfast: ${plainLines(error.message)}\n${remedyOf(error).map((remedy) => `  what to do: ${plainLines(remedy)}\n`)}`)
}

const remedyOf = ({ details: { remedy } }: HoldfastError): string[] => (typeof remedy === 'string' ? [remedy] : [])

/**
 * A message may hold what others wrote: names of branches and files, the reason of a lock, what git said. None of it colours the terminal,
 * moves on it, or looks like a line of Holdfast's own.
 */
export function plainLines(message: string): string {
  return stripControls(message)
    .trimEnd()
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .join('\n  ')
}

export function withLineFeed(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
