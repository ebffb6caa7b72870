import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import type { ProcessIdentity } from '../core/run.ts'
import { firstLineOf } from './first-line.ts'
import { identifyChild } from './identity.ts'
import { type OpenPipe, openInputPipe, openOutputPipe } from './pipes.ts'

export interface LaunchRequest {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: 'none' | 'fed' | 'open'
  /** False: sockets instead of named pipes. */
  readonly pipes?: boolean
}

/** A program that runs as the leader of its own session and group. */
export interface Launched {
  readonly identity: ProcessIdentity
  readonly stdout: Readable
  readonly stderr: Readable
  /** Present unless `stdin` is `none`. */
  readonly stdin: Writable | undefined
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** True until the first process has been waited for: as long, its pid and group id cannot belong to anybody else. */
  unreaped(): boolean
  /** Whether it is to keep this process alive, which it does from its start on. */
  hold(isNeeded: boolean): void
}

/**
 * Starts a program. Resolves once it runs; rejects with the system's error (`code`: ENOENT, EACCES, E2BIG …) when it
 * never did. Nothing but the three standard descriptors reaches it.
 */
export async function launch(request: LaunchRequest): Promise<Launched> {
  const [program, ...args] = request.argv
  const pipes = request.pipes === false ? noPipes : await openPipes(request.stdin)
  let child: ChildProcess
  try {
    child = spawn(program, args, {
      cwd: request.cwd,
      env: request.env,
      detached: true,
      stdio: [pipes.stdin?.theirs ?? (request.stdin !== 'none' ? 'pipe' : 'ignore'), pipes.stdout?.theirs ?? 'pipe', pipes.stderr?.theirs ?? 'pipe'],
    })
  } catch (error) {
    closePipes(pipes)
    throw error
  }
  for (const pipe of [pipes.stdin, pipes.stdout, pipes.stderr]) if (pipe) closeSync(pipe.theirs)
  const pid = child.pid
  if (pid === undefined) {
    const error = await new Promise((resolve) => child.once('error', resolve))
    for (const pipe of [pipes.stdin, pipes.stdout, pipes.stderr]) pipe?.ours.destroy()
    throw error
  }
  let reaped = false
  // A child that has started emits `error` only for a failed kill of Node's own, which is never used.
  child.on('error', () => {})
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      reaped = true
      resolve({ code, signal })
    })
  })
  const stdin = pipes.stdin?.ours ?? child.stdin ?? undefined
  const stdout = (pipes.stdout?.ours ?? child.stdout) as Readable
  const stderr = (pipes.stderr?.ours ?? child.stderr) as Readable
  return {
    identity: identifyChild(pid),
    stdout,
    stderr,
    stdin: request.stdin !== 'none' ? stdin : undefined,
    exit,
    unreaped: () => !reaped,
    hold(isNeeded) {
      const how = isNeeded ? 'ref' : 'unref'
      child[how]()
      for (const stream of [stdin, stdout, stderr]) if (stream instanceof Socket) stream[how]()
    },
  }
}

interface Pipes {
  readonly stdin: OpenPipe | undefined
  readonly stdout: OpenPipe | undefined
  readonly stderr: OpenPipe | undefined
}

const noPipes: Pipes = { stdin: undefined, stdout: undefined, stderr: undefined }

async function openPipes(stdin: 'none' | 'fed' | 'open'): Promise<Pipes> {
  const pipes: { -readonly [K in keyof Pipes]: Pipes[K] } = { ...noPipes }
  try {
    pipes.stdout = await openOutputPipe()
    pipes.stderr = pipes.stdout && (await openOutputPipe())
    if (stdin !== 'none' && pipes.stderr) pipes.stdin = await openInputPipe()
    return pipes
  } catch (error) {
    closePipes(pipes)
    throw error
  }
}

function closePipes(pipes: Pipes): void {
  for (const pipe of [pipes.stdin, pipes.stdout, pipes.stderr]) {
    if (!pipe) continue
    closeSync(pipe.theirs)
    pipe.ours.destroy()
  }
}

/**
 * Starts a program that outlives this one: own session, no shared descriptors but what is said here. Its standard input
 * gets `input`, its standard output is read up to the first line, its standard error goes to the file `errors`.
 * Resolves to that line; rejects when the program ends, or `timeoutMs` pass, before one came.
 */
export function launchDetached(request: {
  argv: readonly [string, ...string[]]
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  input: string
  errors: string
  timeoutMs: number
}): Promise<string> {
  const [program, ...args] = request.argv
  const errors = openSync(request.errors, 'a', 0o600)
  const child = spawn(program, args, { cwd: request.cwd, env: request.env, detached: true, stdio: ['pipe', 'pipe', errors] })
  closeSync(errors)
  const stdin: Writable | null | undefined = child.stdin
  stdin?.on('error', () => {}).end(request.input)
  return firstLineOf(child, request.timeoutMs).finally(() => stdin?.destroy())
}
