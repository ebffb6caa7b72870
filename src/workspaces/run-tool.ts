import { failure } from '../core/errors.ts'
import type { WorkspaceContext } from './context.ts'

/** How a program of the machine ended: mount, cp, sync. */
export interface ToolResult {
  readonly ok: boolean
  /** What it says of a failure, in one line. */
  readonly said: string
}

/** Runs a program of the machine to its end, with nothing of the environment but PATH. Rejects where there is none, and where it was canceled. */
export async function runTool(
  context: Pick<WorkspaceContext, 'runProgram' | 'ownEnv'>,
  argv: readonly [string, ...string[]],
  { cwd, timeoutMs, signal }: { readonly cwd: string; readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<ToolResult> {
  const env = { PATH: context.ownEnv.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' }
  const { outcome, stderr } = await context.runProgram({ argv, cwd, env, timeoutMs, maxOutputBytes: 64 * 1024, signal })
  if (outcome.kind === 'canceled') throw failure('canceled', {})
  const text = Buffer.from(stderr).toString('utf8').trim().split('\n').filter(Boolean).slice(0, 2).join(' ')
  if (outcome.kind === 'timed_out') return { ok: false, said: `${argv[0]} did not end within ${timeoutMs / 1000} s` }
  return { ok: outcome.exitCode === 0, said: text || `${argv[0]} ended with exit code ${outcome.exitCode}` }
}
