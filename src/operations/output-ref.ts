import type { StreamName } from '../core/command.ts'

const context = 10

/** A line of a run as search names it: `RUN:120` in stdout, `RUN:stderr:7` in stderr; `RUN:e:7` is understood too. */
export interface OutputRef {
  readonly run: string
  readonly stream: StreamName
  readonly line: number
}

/** Reads a reference; undefined where `written` is none, such as a plain run id or a range of lines. */
export function parseRef(written: string | undefined): OutputRef | undefined {
  // `stdout:120` are lines of a stream.
  const match = /^(?!std(?:out|err):)([^:\s]+):(?:(e|err|stderr|o|out|stdout):)?(\d{1,15})$/.exec(written?.trim() ?? '')
  if (!match) return undefined
  const line = Number(match[3])
  return line < 1 ? undefined : { run: match[1] as string, stream: /^(?:e|err|stderr)$/.test(match[2] ?? '') ? 'stderr' : 'stdout', line }
}

/** The range that shows a line with what surrounds it. */
export function linesAround(line: number): string {
  return `${Math.max(1, line - context)}-${line + context}`
}
