import type { HoldfastError } from '../../core/errors.ts'
import type { CliIo, Outlet } from './io.ts'

interface Target {
  readonly io: Pick<CliIo, 'nowMs'>
  readonly stdout: Outlet
  readonly stderr: Outlet
  readonly parsed: { readonly json: boolean }
}

/** Prints a result: as JSON where that was asked for, else for people; warnings go to standard error. */
export function print(target: Target, result: unknown, present: (result: unknown, at: { columns: number; nowMs: number }) => string): void {
  if (target.parsed.json) {
    printJson(target.stdout, result)
    return
  }
  target.stdout.write(withLineFeed(present(result, { columns: target.stdout.columns, nowMs: target.io.nowMs() })))
  printWarnings(target.stderr, result)
}

export function printWarnings(stderr: Outlet, result: unknown): void {
  for (const warning of (result as { warnings?: readonly string[] } | null)?.warnings ?? []) stderr.write(`holdfast: ${warning}\n`)
}

/** One object; on one line where a program reads it. */
export function printJson(stdout: Outlet, result: unknown): void {
  stdout.write(`${JSON.stringify(result, null, stdout.isTerminal ? 2 : 0)}\n`)
}

/** Prints an error where its reader looks for it. */
export function printError(stdout: Outlet, stderr: Outlet, error: HoldfastError, json: boolean): void {
  if (json) printJson(stdout, { error })
  else stderr.write(`holdfast: ${error.message}\n`)
}

export function withLineFeed(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
