import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Capabilities, Running, Session } from '../../src/core/backend.ts'
import type { ResolvedCommand } from '../../src/core/command.ts'
import type { Limits } from '../../src/core/limits.ts'
import type { SupervisedRun, SupervisedSession } from '../../src/core/supervised.ts'
import type { Delivery } from '../../src/engine/delivery.ts'
import { type Executed, execute } from '../../src/engine/execute.ts'
import { findPieces, readRange } from '../../src/engine/log-reader.ts'
import { supervise } from '../../src/engine/supervised.ts'
import { findTree, signalTree, toLeftovers } from '../../src/process/tree.ts'
import { type JumpClock, jumpClock } from '../support/clock.ts'
import { openWorld } from '../support/world.ts'

/** An opened place of a backend, as the suite is given it. */
export interface Place {
  readonly session: Session | SupervisedSession
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
  readonly pty?: { readonly rows: number; readonly columns: number }
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

/** The started program, as a row looks at it. */
export type Program = Pick<Running, 'process' | 'signal' | 'tree'>

export interface Started {
  readonly id: string
  readonly running: Program
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
/** The limit of a row that wants it reached: its clock jumps so far. */
const jumpMs = minute
/** What stands for such a limit where the clock is out of reach: a supervisor has its own. Enough to print a word before. */
const soonMs = 1_500

/** The limits of a row that names none: far away, so that only the row itself reaches them. */
const farLimits: Limits = { timeoutMs: 10 * minute, idleTimeoutMs: null, graceMs: 5_000, maxOutputBytes: 64 * 1024 * 1024 }

export function openBench(place: Place): Bench {
  const world = openWorld()
  const begun: { running: Program; result: Promise<unknown> }[] = []
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
      pty: options.pty,
      mark,
    }
    const request = {
      plan: { command: resolved, limits, stdin: options.stdin, leftovers: options.leftovers ?? 'report' },
      signal: options.signal,
      onOutput(chunk: Delivery) {
        if (chunk.stream === 'stdout') words.push(chunk.text)
        return options.onOutput?.(chunk)
      },
    }
    const { session } = place
    const execution =
      'attach' in session
        ? await startSupervised(session, { ...request, id: mark, plan: { ...request.plan, limits: inRealTime(limits) } }, logs)
        : await execute({ ...request, session, logs: { ...plan, maxBytes: limits.maxOutputBytes }, clock })
    const result = execution.finished.then((executed) => ({
      ...executed,
      out: readRange(findPieces(plan.stdout, executed.stdout), 0, executed.stdout.bytes, executed.stdout.bytes),
      err: readRange(findPieces(plan.stderr, executed.stderr), 0, executed.stderr.bytes, executed.stderr.bytes),
    }))
    begun.push({ running: execution.running, result })
    return { id: mark, running: execution.running, clock, mark, printed: words.printed, result }
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

function inRealTime(limits: Limits): Limits {
  const { timeoutMs, idleTimeoutMs } = limits
  return { ...limits, timeoutMs: timeoutMs === jumpMs ? soonMs : timeoutMs, idleTimeoutMs: idleTimeoutMs === jumpMs ? soonMs : idleTimeoutMs }
}

type SuperviseRequest = Parameters<typeof supervise>[0]

/** After the end the process table is looked at, not the supervisor, which says what a row wants to try. */
async function startSupervised(session: SupervisedSession, request: Pick<SuperviseRequest, 'plan' | 'signal' | 'onOutput' | 'id'>, folder: string) {
  let held: SupervisedRun | undefined
  const watched: SupervisedSession = {
    ...session,
    async start(...given) {
      held = await session.start(...given)
      return held
    },
  }
  const { finished, process } = await supervise({
    ...request,
    session: watched,
    paths: {
      path: folder,
      stdout: join(folder, 'stdout.log'),
      stderr: join(folder, 'stderr.log'),
      end: join(folder, 'end.json'),
      process: join(folder, 'process.json'),
    },
    bound: true,
    reconnect: async () => undefined,
  })
  let isOver = false
  const key = { leader: process ?? { pid: -1, startTime: ':0' }, mark: request.plan.command.mark, seen: new Map() }
  const running: Program = {
    process,
    signal: async (name) => (held && !isOver ? held.signal(name) : { delivered: await signalTree(key, name, false) }),
    tree: async () => (held && !isOver ? held.tree() : toLeftovers(await findTree(key)).filter(({ pid }) => pid !== process?.pid)),
  }
  return {
    running,
    finished: finished.then((executed) => {
      isOver = true
      if (!executed) throw new Error('the run was let go of')
      return executed
    }),
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
