import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Capabilities, Running, Session } from '../../src/core/backend.ts'
import type { ResolvedCommand } from '../../src/core/command.ts'
import type { Limits } from '../../src/core/limits.ts'
import type { Delivery } from '../../src/engine/delivery.ts'
import { type Executed, execute } from '../../src/engine/execute.ts'
import { findPieces, readRange } from '../../src/engine/log-reader.ts'
import { type JumpClock, jumpClock } from '../support/clock.ts'
import { openWorld } from '../support/world.ts'

/** An opened place of a backend, as the suite is given it. */
export interface Place {
  readonly session: Session
  readonly capabilities: Capabilities
  /** Absolute, an empty folder where the commands run. */
  readonly root: string
  close(): Promise<void>
}

export interface BenchOptions {
  readonly cwd?: string
  /** Added to the usual variables, or all there is where `bareEnv` is true. */
  readonly env?: Readonly<Record<string, string>>
  readonly bareEnv?: boolean
  readonly stdin?: Uint8Array
  readonly limits?: Partial<Limits>
  readonly leftovers?: 'report' | 'kill'
  readonly signal?: AbortSignal
  readonly onOutput?: (chunk: Delivery) => void
}

export interface BenchResult extends Executed {
  /** What the logs hold of the two streams. */
  readonly out: Buffer
  readonly err: Buffer
}

export interface Started {
  readonly running: Running
  readonly clock: JumpClock
  readonly mark: string
  /** Resolves once `word` was printed on stdout. */
  printed(word: string): Promise<void>
  readonly result: Promise<BenchResult>
}

/** What every row works with: it runs commands of one place through the engine, with real logs. */
export interface Bench extends Place {
  /** Starts argv, or a script for `sh`. */
  start(command: readonly [string, ...string[]] | string, options?: BenchOptions): Promise<Started>
  run(command: readonly [string, ...string[]] | string, options?: BenchOptions): Promise<BenchResult>
  /** Ends what the rows left behind on purpose. */
  end(): Promise<void>
}

const minute = 60_000

/** The limits of a row that names none: far away, so that only the row itself reaches them. */
const farLimits: Limits = { timeoutMs: 10 * minute, idleTimeoutMs: null, graceMs: 5_000, maxOutputBytes: 64 * 1024 * 1024 }

export function openBench(place: Place): Bench {
  const world = openWorld()
  const begun: { running: Running; result: Promise<unknown> }[] = []
  let count = 0

  async function start(command: readonly [string, ...string[]] | string, options: BenchOptions = {}): Promise<Started> {
    count += 1
    const mark = `test-${randomBytes(6).toString('hex')}`
    const logs = world.path(`run-${count}`)
    mkdirSync(logs)
    const plan = { stdout: join(logs, 'stdout.log'), stderr: join(logs, 'stderr.log') }
    const limits = { ...farLimits, ...options.limits }
    const clock = jumpClock()
    const words = listenForWords()
    const resolved: ResolvedCommand = {
      argv: typeof command === 'string' ? ['sh', '-c', command] : command,
      cwd: options.cwd ?? place.root,
      env: { ...(options.bareEnv ? {} : { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' }), ...options.env, HOLDFAST_RUN: mark },
      stdin: options.stdin ? 'fed' : 'none',
      mark,
    }
    const execution = await execute({
      session: place.session,
      plan: { command: resolved, limits, stdin: options.stdin, leftovers: options.leftovers ?? 'report' },
      logs: { ...plan, maxBytes: limits.maxOutputBytes },
      signal: options.signal,
      clock,
      onOutput(chunk) {
        if (chunk.stream === 'stdout') words.push(chunk.text)
        return options.onOutput?.(chunk)
      },
    })
    const result = execution.finished.then((executed) => ({
      ...executed,
      out: readRange(findPieces(plan.stdout, executed.stdout), 0, executed.stdout.bytes, executed.stdout.bytes),
      err: readRange(findPieces(plan.stderr, executed.stderr), 0, executed.stderr.bytes, executed.stderr.bytes),
    }))
    begun.push({ running: execution.running, result })
    return { running: execution.running, clock, mark, printed: words.printed, result }
  }

  return {
    ...place,
    start,
    run: async (command, options) => (await start(command, options)).result,
    async end() {
      for (const { running, result } of begun.splice(0)) {
        await running.signal('SIGKILL')
        await result
      }
      await world[Symbol.asyncDispose]()
    },
  }
}

function listenForWords() {
  let text = ''
  const waiting: (() => void)[] = []
  return {
    push(more: string): void {
      text += more
      for (const wake of waiting.splice(0)) wake()
    },
    async printed(word: string): Promise<void> {
      while (!text.includes(word)) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
        })
      }
    },
  }
}

export function signalNumber(name: NodeJS.Signals): number {
  return constants.signals[name]
}
