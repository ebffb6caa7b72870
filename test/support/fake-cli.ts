import { PassThrough, Readable } from 'node:stream'
import type { App, ExecInput, RunResult } from '../../src/app/api.ts'
import type { CliIo, StopName } from '../../src/surfaces/cli/io.ts'
import { runCli } from '../../src/surfaces/cli/run.ts'
import { runResult } from './fake-app.ts'

/** An ended run with what is given changed. */
export function fakeRun(changes: Partial<RunResult> = {}): RunResult {
  return runResult({ durationMs: 5, digest: 'the digest', ...changes })
}

export interface Played {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** What the app was asked, in order. */
  readonly calls: readonly (readonly [string, unknown])[]
  /** The folders that an app was opened in. */
  readonly opened: readonly string[]
  /** Each time that keys were asked for as they are typed, or no longer. */
  readonly rawModes: readonly boolean[]
}

interface Scene {
  readonly app?: Partial<App>
  /** What standard input has, or what comes there. */
  readonly stdin?: string | AsyncIterable<Uint8Array>
  readonly terminal?: { stdin?: boolean; stdout?: boolean; stderr?: boolean; columns?: number; rows?: number }
  readonly platform?: NodeJS.Platform
  readonly cwd?: string
  /** Receives what sends a signal to the command line, before it starts. */
  readonly onReady?: (signal: (name: StopName) => void, io: { stdout: PassThrough; stderr: PassThrough; exits: number[] }) => void
}

/** For tests: runs one command line in this process against a stand-in for the app, and says all that came of it. */
export async function play(argv: readonly string[], scene: Scene = {}): Promise<Played> {
  const calls: [string, unknown][] = []
  const collected = { stdout: '', stderr: '' }
  const exits: number[] = []
  const streamOf = (name: 'stdout' | 'stderr') => {
    const stream = Object.assign(new PassThrough(), { isTTY: scene.terminal?.[name] === true, columns: scene.terminal?.columns, rows: scene.terminal?.rows })
    stream.on('data', (bytes: Buffer) => {
      collected[name] += bytes.toString('utf8')
    })
    return stream
  }
  const stdout = streamOf('stdout')
  const stderr = streamOf('stderr')
  const opened: string[] = []
  const rawModes: boolean[] = []
  const given = typeof scene.stdin === 'object' ? scene.stdin : Readable.from(scene.stdin === undefined ? [] : [Buffer.from(scene.stdin)])
  let listener: ((name: StopName) => void) | undefined
  const io: CliIo = {
    stdin: {
      [Symbol.asyncIterator]: () => given[Symbol.asyncIterator](),
      isTTY: scene.terminal?.stdin === true,
      setRawMode: (isRaw) => rawModes.push(isRaw),
    },
    stdout,
    stderr,
    env: {},
    cwd: scene.cwd ?? '/project/sub',
    platform: scene.platform ?? 'linux',
    openApp: async ({ cwd }) => {
      opened.push(cwd)
      return recording({ exec: async () => fakeRun(), close: async () => undefined, ...scene.app }, calls)
    },
    onSignal(given) {
      listener = given
      scene.onReady?.((name) => listener?.(name), { stdout, stderr, exits })
      return () => {
        listener = undefined
      }
    },
    exit: (code) => {
      exits.push(code)
    },
    nowMs: () => Date.UTC(2026, 0, 1, 2),
  }
  const code = await runCli(argv, io)
  return { code, ...collected, calls, opened, rawModes }
}

function recording(app: Partial<App>, calls: [string, unknown][]): App {
  return new Proxy({ countShown: async () => undefined, ...app } as App, {
    get(target, name: string) {
      const method = target[name as keyof App] as ((...args: unknown[]) => unknown) | undefined
      if (name === 'then' || method === undefined) return undefined
      return (...args: unknown[]) => {
        // What is counted behind a command is no part of what it asks.
        if (name !== 'countShown') calls.push([name, args[0]])
        return method.apply(target, args)
      }
    },
  })
}

/** For tests: what `exec` was asked. */
export function execInput(played: Played): ExecInput {
  const call = played.calls.find(([name]) => name === 'exec')
  if (!call) throw new Error('exec was not called')
  return call[1] as ExecInput
}
