import { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Channel } from '../../core/channel.ts'
import type { StreamName } from '../../core/command.ts'
import { failure, messageOf } from '../../core/errors.ts'
import type { ExitStatus } from '../../core/outcome.ts'
import type { Engine } from './engine.ts'
import { FrameSplitter } from './frames.ts'
import { type ContainerState, describeState, isOver } from './state.ts'
import { hasStatus, troubleOf } from './trouble.ts'

export interface ExecRequest {
  readonly container: string
  readonly argv: readonly string[]
  /** `NAME=VALUE`; no secret is ever in it. */
  readonly env?: readonly string[]
  readonly user?: string | undefined
  /** Of the place, for people. */
  readonly title: string
  readonly signal?: AbortSignal | undefined
}

interface ExecState {
  readonly Running: boolean
  readonly ExitCode: number | null
  readonly Pid?: number
}

/**
 * An engine tells the end of the streams a little before it knows the status. Where it says for so long that the program runs on, the
 * connection was cut, or the program has closed its streams: then no status is waited for.
 */
const statusWithinMs = 10_000
const beginningBytes = 2_048

/** Starts a program in a container. Over the one connection both streams share, a stream that nobody reads in the end stops the other one. */
export async function openExec(engine: Engine, { container, argv, env = [], user, title, signal }: ExecRequest): Promise<Channel> {
  const what = `an exec of ${argv[0]}`
  let id: string
  let connection: Awaited<ReturnType<Engine['upgrade']>>
  try {
    const body = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: false, Cmd: argv, Env: env, ...(user ? { User: user } : {}) }
    id = (await engine.askJson<{ Id: string }>({ method: 'POST', path: `/containers/${container}/exec`, body, signal })).Id
    connection = await engine.upgrade({ method: 'POST', path: `/exec/${id}/start`, body: { Detach: false, Tty: false }, signal })
  } catch (error) {
    if (signal?.aborted) throw error
    throw (await whyNot(engine, container, title)) ?? troubleOf(error, title, what)
  }
  return channelOver(engine, id, connection, title, argv[0] ?? '')
}

/** What an engine says of an exec that it did not start differs, and may be nothing at all; what becomes of the container is told plainly. */
async function whyNot(engine: Engine, container: string, title: string): Promise<Error | undefined> {
  const gone = (why: string) => failure('site_gone', { target: title, why })
  try {
    const path = `/containers/${container}/json`
    const { State } = await engine.askJson<{ readonly State: ContainerState }>({ method: 'GET', path, timeoutMs: 20_000 })
    if (State.Paused) {
      return failure('backend_unavailable', { target: title, why: 'the container is paused', help: `docker unpause ${container.slice(0, 12)}` })
    }
    return isOver(State) ? gone(describeState(State)) : undefined
  } catch (error) {
    return hasStatus(error, 404) ? gone('there is no such container any more') : undefined
  }
}

function channelOver(engine: Engine, id: string, { socket, head }: Awaited<ReturnType<Engine['upgrade']>>, title: string, program: string): Channel {
  const full = new Set<StreamName>()
  const readable = (name: StreamName): Readable =>
    new Readable({
      read() {
        if (full.delete(name) && full.size === 0) socket.resume()
      },
      destroy(error, done) {
        if (full.delete(name) && full.size === 0) socket.resume()
        done(error)
      },
    })
  const streams = { stdout: readable('stdout'), stderr: readable('stderr') }
  // The words of an engine that could not start the program come in the place of output.
  let beginning = ''
  const splitter = new FrameSplitter((name, piece) => {
    if (beginning.length < beginningBytes) beginning += piece.toString('latin1', 0, beginningBytes)
    const stream = streams[name]
    if (stream.destroyed || stream.push(piece)) return
    full.add(name)
    socket.pause()
  })
  const stdin = new Writable({
    // What the program does not take any more has been taken; what became of it is told by `ended`.
    write: (piece: Buffer, _encoding, done) => (socket.writable ? void socket.write(piece, () => done()) : done()),
    final: (done) => (socket.writable ? void socket.end(() => done()) : done()),
    destroy(error, done) {
      if (socket.writable) socket.end()
      done(error)
    },
  })

  let letGo = false
  const lost = (why: string, cause?: unknown) => failure('contact_lost', { target: title, why }, cause)
  const carried = new Promise<void>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      try {
        splitter.push(chunk)
      } catch (error) {
        reject(lost(messageOf(error), error))
        socket.destroy()
      }
    }
    if (head.length > 0) take(head)
    socket.on('data', take)
    socket.once('error', (error) => reject(lost(messageOf(error), error)))
    socket.once('end', () => (splitter.whole ? resolve() : reject(lost('the connection ended in the midst of a frame'))))
    socket.once('close', () => reject(lost(letGo ? 'the connection was closed from here' : 'the connection broke')))
  }).finally(() => {
    for (const stream of Object.values(streams)) if (!stream.destroyed) stream.push(null)
  })

  const ended = carried.then(async (): Promise<ExitStatus> => {
    // What is still to be sent has nobody to read it.
    socket.destroy()
    if (splitter.trouble) throw lost(splitter.trouble.trim())
    const status = await statusOf(engine, id, () => letGo, lost)
    const refused = status === 126 || status === 127 ? startRefusal(beginning) : undefined
    if (refused !== undefined)
      throw failure('backend_missing', {
        target: title,
        what: `program ${program} that can be started`,
        why: refused,
        help: `use an image that has ${program}`,
      })
    return { exitCode: status }
  })
  ended.catch(() => {})
  return {
    stdin,
    stdout: streams.stdout,
    stderr: streams.stderr,
    canEndInput: true,
    ended,
    close() {
      letGo = true
      socket.destroy()
    },
  }
}

async function statusOf(engine: Engine, id: string, isLetGo: () => boolean, lost: (why: string, cause?: unknown) => Error): Promise<number> {
  const since = performance.now()
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 250)) {
    let state: ExecState
    try {
      state = await engine.askJson<ExecState>({ method: 'GET', path: `/exec/${id}/json`, timeoutMs: 20_000 })
    } catch (error) {
      throw lost(`the engine does not tell how it ended (${messageOf(error)})`, error)
    }
    if (!state.Running) {
      if (typeof state.ExitCode === 'number' && state.ExitCode >= 0) return state.ExitCode
      throw lost('the engine knows no status of it')
    }
    if (isLetGo()) throw lost('the connection was closed from here')
    if (performance.now() - since > statusWithinMs) throw lost('its streams ended, and the engine says that it runs on')
    await delay(pauseMs)
  }
}

/** What an engine says in the stream of a program that it could not start; undefined where the program spoke. */
function startRefusal(beginning: string): string | undefined {
  return /^(?:OCI runtime exec failed: |Error: )(?:(?:runc|crun|youki): )?(?:exec failed: )?(?:unable to start container process: )?(.*(?:not found|no such file|permission denied|exec format).*)/i
    .exec(beginning)?.[1]
    ?.trim()
}

export interface Collected {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a short program to its end, without input. */
export async function collectExec(engine: Engine, request: ExecRequest, timeoutMs: number): Promise<Collected> {
  const signal = AbortSignal.any([...(request.signal ? [request.signal] : []), AbortSignal.timeout(timeoutMs)])
  const channel = await openExec(engine, { ...request, signal })
  const texts = { stdout: '', stderr: '' }
  const keep = (name: StreamName) => (piece: Buffer) => {
    if (texts[name].length < 65_536) texts[name] += piece.toString('utf8')
  }
  channel.stdout.on('data', keep('stdout'))
  channel.stderr.on('data', keep('stderr'))
  channel.stdin.end()
  const stop = (): void => channel.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const status = await channel.ended
    return { exitCode: 'exitCode' in status ? status.exitCode : -1, ...texts }
  } finally {
    signal.removeEventListener('abort', stop)
    channel.close()
  }
}
