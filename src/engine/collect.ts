import type { Running, Session } from '../core/backend.ts'
import { markVariable, type StreamName } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import { toOutcome } from '../core/outcome.ts'
import type { ProgramRequest, ProgramResult, RunProgram } from '../core/program.ts'
import { type Clock, pause, systemClock } from './clock.ts'
import { letGoMs } from './execute.ts'
import { feed } from './feed.ts'
import { watch } from './settle.ts'

/** How long a program that is being ended may take to clean up: git removes the lock files that it holds. */
const graceMs = 2_000

/** Makes what runs programs of ours. They are settled like any other command; `mark` gives the id of each. */
export function createProgramRunner(openSession: () => Promise<Session>, mark: () => string, clock: Clock = systemClock): RunProgram {
  return async (request) => {
    if (request.signal?.aborted) throw failure('canceled', {})
    const session = await openSession()
    const { argv, cwd, stdin } = request
    const id = mark()
    const env = { ...request.env, [markVariable]: id }
    const running = await session.start({ argv, cwd, env, stdin: stdin === undefined ? 'none' : 'fed', mark: id }, noLogs)
    if (stdin !== undefined) void feed(running, typeof stdin === 'string' ? Buffer.from(stdin) : stdin, { notes: [] })
    return collect(running, request, clock)
  }
}

const noLogs = { stdout: '/dev/null', stderr: '/dev/null', maxBytes: 0 }

async function collect(running: Running, { timeoutMs, maxOutputBytes, signal }: ProgramRequest, clock: Clock): Promise<ProgramResult> {
  const kept: Record<StreamName, Uint8Array[]> = { stdout: [], stderr: [] }
  const sizes: Record<StreamName, number> = { stdout: 0, stderr: 0 }
  let truncated = false
  let over = (): void => {}
  const outputEnded = new Promise<void>((resolve) => {
    over = resolve
  })
  const limits = { timeoutMs, idleTimeoutMs: null, graceMs, maxOutputBytes }
  const watching = watch({ running, limits, leftovers: 'kill', signal, clock, outputEnded })
  const pumped = (async () => {
    try {
      for await (const { stream, bytes } of running.output) {
        const room = maxOutputBytes - sizes[stream]
        if (bytes.length > room) truncated = true
        if (room > 0) kept[stream].push(bytes.subarray(0, room))
        sizes[stream] += Math.min(bytes.length, room)
        watching.touch()
      }
    } finally {
      over()
    }
  })().catch(() => {})
  const ending = await watching.settled
  const stop = new AbortController()
  await Promise.race([pumped, pause(clock, letGoMs, stop.signal)])
  stop.abort()
  return {
    outcome: toOutcome(ending.cut, ending.status),
    stdout: Buffer.concat(kept.stdout),
    stderr: Buffer.concat(kept.stderr),
    truncated,
  }
}
