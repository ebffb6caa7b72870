import type { App, ExecInput, RunResult } from '../../src/app/api.ts'
import { failure } from '../../src/core/errors.ts'
import type { Outcome } from '../../src/core/outcome.ts'

const stream = { bytes: 0, lines: 0, droppedBytes: 0, gap: null, path: '/logs/stdout.log' }

export function runResult(part: Partial<RunResult> = {}): RunResult {
  return {
    id: 'r1',
    state: 'ended',
    outcome: { kind: 'exited', exitCode: 0, signal: null, limit: null },
    durationMs: 12,
    stdout: stream,
    stderr: { ...stream, path: '/logs/stderr.log' },
    digest: 'exit 0; 12 ms; run r1',
    comparison: null,
    leftovers: [],
    usage: null,
    command: 'true',
    runtime: null,
    cwd: '/project',
    branch: null,
    target: null,
    workspace: null,
    purpose: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:00.012Z',
    pinned: false,
    pty: null,
    error: null,
    warnings: [],
    ...part,
  }
}

export const ended = (part: Partial<Outcome>): Partial<RunResult> => ({
  outcome: { kind: 'exited', exitCode: 0, signal: null, limit: null, ...part },
  digest: `ended as ${JSON.stringify(part)}; run r1`,
})

/**
 * An app without commands. `exec` of the script `hold` prints a line and ends by cancellation only, the others by their
 * own name; what happens is told to `onEvent`.
 */
export function fakeApp(onEvent: (event: string) => void = () => {}, own: Partial<App> = {}): App {
  const held = new Set<() => void>()
  const parts: Partial<App> = {
    exec: (input: ExecInput, call = {}) => {
      onEvent(`exec ${JSON.stringify({ ...input, script: input.script?.slice(0, 20) })}`)
      if (input.script === 'log') console.log('a line that is no message')
      if (input.script === 'running') return Promise.resolve(runResult({ state: 'running', outcome: null, digest: 'still running after 12 ms; run r1' }))
      if (input.script === 'missing') return Promise.reject(failure('cwd_missing', { cwd: '/project/gone' }))
      if (input.script !== 'hold')
        return Promise.resolve(runResult({ ...(input.argv?.[0] === 'false' ? ended({ exitCode: 1 }) : {}), command: input.script ?? '' }))
      call.onBegin?.(runResult({ state: 'running', outcome: null }))
      call.onOutput?.({ stream: 'stdout', bytes: new Uint8Array(7), text: 'hidden\n' })
      call.onProgress?.({ bytes: 7, stream: 'stdout', text: 'hidden\n' })
      return new Promise((resolve) => {
        const cancel = (): void => {
          onEvent('canceled')
          held.delete(cancel)
          resolve(runResult(ended({ kind: 'canceled', exitCode: 143, signal: 'SIGTERM' })))
        }
        held.add(cancel)
        call.signal?.addEventListener('abort', cancel, { once: true })
        onEvent('held')
      })
    },
    output: (input) =>
      Promise.resolve({
        id: 'r1',
        state: 'running',
        lines: [
          { stream: 'stdout', line: 0, text: input.lines ?? 'last' },
          { stream: 'stdout', line: 0, text: '' },
        ],
        text: `${input.lines ?? 'last'}\n`,
        truncated: true,
        next: '2-9',
      }),
    countShown: async () => undefined,
    close: () => {
      for (const cancel of [...held]) cancel()
      onEvent('closed')
      return Promise.resolve()
    },
    ...own,
  }
  return new Proxy(parts as App, {
    // A value with `then` would be taken for a promise.
    get: (target, name) => Reflect.get(target, name) ?? (name === 'then' ? undefined : () => Promise.reject(new Error(`the fake has no ${String(name)}`))),
  })
}
