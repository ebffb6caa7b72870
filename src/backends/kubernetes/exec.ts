import type { IncomingMessage } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { WebSocket } from 'ws'
import type { Channel } from '../../core/channel.ts'
import { displayArgv } from '../../core/command.ts'
import { failure, type HoldfastError } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import type { ExitStatus } from '../../core/outcome.ts'
import { type Api, toReachable, urlOf } from './api.ts'
import { ApiError, readStatus, toFailure, unwrap } from './api-error.ts'
import { readExecStatus } from './exec-status.ts'
import { pathOf } from './resources.ts'

export interface ExecRequest {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly argv: readonly [string, ...string[]]
  /** How people know the pod. */
  readonly target: string
  /** Nothing is heard for so long: contact is lost. */
  readonly livenessMs: number
  readonly signal?: AbortSignal | undefined
}

const stdinChannel = 0
const stdoutChannel = 1
const stderrChannel = 2
const statusChannel = 3
/** Of v5: the next byte is the channel that ends. */
const closeChannel = 255

const v5 = 'v5.channel.k8s.io'
const v4 = 'v4.channel.k8s.io'

const handshakeMs = 30_000
/** A message holds at most so much of the input: small enough for every server. */
const inputBytes = 32 * 1024
const bufferBytes = 256 * 1024
const maxMessageBytes = 64 * 1024 * 1024
const maxStatusBytes = 64 * 1024
/** After the status and its last frame the server closes; where it does not, nothing more is to come. */
const afterStatusMs = 5_000
/** Longer command lines are refused on the way by some proxies, as too long an address. */
const maxQueryBytes = 4_000
/** With more input than this on its way the server may be busy with it, and answers no ping before. */
const busyInputBytes = 64 * 1024
const busyFactor = 4

/** Starts a program in a container, over a WebSocket of its own. */
export async function openExec(api: Api, request: ExecRequest): Promise<Channel> {
  const { argv, first } = shorten(request.argv)
  const socket = await connect(api, request, argv)
  return carry(socket, request, first)
}

/**
 * A command line is part of an address. A long one is read by a shell from the input instead, byte by byte, so that what the program itself
 * is to read stays there.
 */
export function shorten(argv: readonly [string, ...string[]]): { argv: readonly [string, ...string[]]; first: Buffer | undefined } {
  const bytes = argv.reduce((sum, word) => sum + encodeURIComponent(word).length + 'command='.length + 1, 0)
  if (bytes <= maxQueryBytes) return { argv, first: undefined }
  const first = Buffer.from(`exec ${displayArgv(argv)}`)
  return { argv: ['sh', '-c', `eval "$(dd bs=1 count=${first.length} 2>/dev/null)"`], first }
}

async function connect(api: Api, request: ExecRequest, argv: readonly string[]): Promise<WebSocket> {
  const query: [string, string][] = argv.map((word) => ['command', word])
  query.push(['container', request.container], ['stdin', 'true'], ['stdout', 'true'], ['stderr', 'true'], ['tty', 'false'])
  const url = urlOf(api.server, `${pathOf('pods', request.namespace, request.pod)}/exec`, query)
  let protocols = [v5, v4]
  for (let attempt = 1; ; attempt += 1) {
    const signed = await api.sign()
    try {
      return await handshake(url, protocols, { ...signed, signal: request.signal })
    } catch (error) {
      if (request.signal?.aborted) throw failure('canceled_before_start', {}, error)
      // None of these has started anything: the server answered no to the very question.
      if (error instanceof ApiError && attempt < 5) {
        if (error.http === 401 && attempt === 1 && (await api.renew(signed))) continue
        if (error.http === 429) {
          await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt))
          continue
        }
        if (protocols.length > 1 && error.http === 400 && /subprotocol|protocol/i.test(error.message)) {
          protocols = [v4]
          continue
        }
      }
      if (protocols.length > 1 && /subprotocol/i.test(unwrap(error))) {
        protocols = [v4]
        continue
      }
      throw refusal(error, api, request)
    }
  }
}

function refusal(error: unknown, api: Api, { target, pod, argv, container }: ExecRequest): HoldfastError {
  if (error instanceof ApiError) {
    const said = error.status.message ?? ''
    if (error.http === 404 && /pods? .*not found/i.test(said)) return failure('site_gone', { target, why: `there is no pod ${pod} any more` }, error)
    if (/current phase is|completed pod|deleted pod/i.test(said)) return failure('site_gone', { target, why: said }, error)
    if (/container .* (?:is )?not (?:valid|found)/i.test(said))
      return failure('backend_missing', { target, what: `running container ${container}`, why: said }, error)
    return startRefusal(said, argv[0], target) ?? toFailure(error, target)
  }
  return toFailure(toReachable(error, api), target)
}

/** What a runtime says of a program that cannot be executed; undefined: it is no such saying. */
function startRefusal(said: string, program: string, target: string): HoldfastError | undefined {
  if (/executable file not found|no such file or directory|not found in \$PATH/i.test(said)) return failure('program_missing', { program })
  if (/permission denied/i.test(said)) return failure('program_not_executable', { program })
  if (/container not found|no such container|container .*is not running|not found: not found|cannot exec in a (?:stopped|deleted)/i.test(said)) {
    return failure('site_gone', { target, why: said })
  }
  if (
    /error dialing backend|unable to upgrade connection|failed to exec in container|failed to start exec|OCI runtime exec failed|failed to create exec/i.test(
      said,
    )
  ) {
    return failure('backend_unavailable', { target, why: `the command could not be started: ${said}` })
  }
  return undefined
}

interface Handshake {
  readonly agent: unknown
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly signal?: AbortSignal | undefined
}

function handshake(url: URL, protocols: string[], { agent, headers, signal }: Handshake): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, protocols, {
      agent: agent as never,
      headers: { ...headers, 'user-agent': 'holdfast' } as never,
      perMessageDeflate: false,
      handshakeTimeout: handshakeMs,
      maxPayload: maxMessageBytes,
      followRedirects: false,
      skipUTF8Validation: true,
    })
    const cancel = (): void => {
      socket.terminate()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    const settle = (): void => signal?.removeEventListener('abort', cancel)
    socket.once('open', () => {
      settle()
      // Nothing may be lost before somebody listens.
      socket.pause()
      resolve(socket)
    })
    socket.once('unexpected-response', (_, response: IncomingMessage) => {
      let body = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        if (body.length < maxStatusBytes) body += part
      })
      const done = (): void => {
        settle()
        reject(new ApiError(response.statusCode ?? 0, readStatus(response.statusCode ?? 0, body), 'get pods/exec'))
        socket.terminate()
      }
      response.once('end', done).once('close', done)
    })
    socket.on('error', (error) => {
      settle()
      reject(error)
    })
    if (signal?.aborted) cancel()
  })
}

/** Carries the bytes of a socket that is open, and paused. */
function carry(socket: WebSocket, request: ExecRequest, first: Buffer | undefined): Channel {
  const { target, livenessMs, argv } = request
  const canEndInput = socket.protocol === v5
  const state = { heardAt: monotonicMs(), paused: true, status: Buffer.alloc(0), closing: '', unanswered: 0, ended: false }
  const begin = first ? sendInput(socket, first, state) : Promise.resolve()

  const stdout = outlet()
  const stderr = outlet()
  /** The socket rests as long as one stream has more than its reader took. */
  const pace = (): void => {
    const full = stdout.full || stderr.full
    if (full === state.paused) return
    state.paused = full
    if (full) socket.pause()
    else {
      // What was on its way meanwhile is only looked at now.
      state.heardAt = monotonicMs()
      socket.resume()
    }
  }
  stdout.onRead = pace
  stderr.onRead = pace

  const stdin = new Writable({
    highWaterMark: bufferBytes,
    write(chunk: Buffer, _encoding, done) {
      begin
        .then(() => sendInput(socket, chunk, state))
        .then(
          () => done(),
          () => done(),
        )
    },
    final(done) {
      begin.then(
        () => {
          if (canEndInput) socket.send(Buffer.from([closeChannel, stdinChannel]), () => done())
          else {
            // There is no word for the end of the input in this protocol: only the whole channel can end.
            close('its input was ended, which this server can only do by ending the whole channel')
            done()
          }
        },
        () => done(),
      )
    },
  })
  stdin.on('error', () => {})

  let settle: (outcome: ExitStatus | HoldfastError) => void = () => {}
  const ended = new Promise<ExitStatus>((resolve, reject) => {
    settle = (outcome) => {
      if (state.ended) return
      state.ended = true
      clearInterval(watching)
      clearTimeout(closing)
      socket.terminate()
      stdin.destroy()
      // The end of the streams first, then the status.
      void Promise.all([stdout.end(), stderr.end()]).then(() => (outcome instanceof Error ? reject(outcome) : resolve(outcome)))
    }
  })
  ended.catch(() => {})
  const lost = (why: string): HoldfastError => failure('contact_lost', { target, why })
  const close = (why: string): void => {
    state.closing ||= why
    settle(lost(why))
  }

  /** All frames are there. */
  const finish = (closed: string): void => {
    const read = readExecStatus(state.status)
    if (read.kind === 'none') settle(lost(closed))
    else if (read.kind === 'unreadable') settle(lost(`its status cannot be read: ${JSON.stringify(read.text.slice(0, 200))}`))
    else if (read.kind === 'failed') settle(startRefusal(read.message, argv[0], target) ?? lost(read.message))
    else settle(refusedByRuntime(read.exitCode) ?? { exitCode: read.exitCode })
  }
  /** Some runtimes print why they could not start a program, as if it had been the program that printed it. */
  const refusedByRuntime = (exitCode: number): HoldfastError | undefined =>
    (exitCode === 126 || exitCode === 127) && stdout.head.startsWith('OCI runtime exec failed') ? startRefusal(stdout.head, argv[0], target) : undefined
  let closing: NodeJS.Timeout | undefined
  const expectClose = (): void => {
    clearTimeout(closing)
    if (readExecStatus(state.status).kind === 'none') return
    closing = setTimeout(() => (state.paused ? expectClose() : finish('')), afterStatusMs)
    closing.unref()
  }

  socket.on('message', (data) => {
    if (state.ended) return
    state.heardAt = monotonicMs()
    const frame = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)
    if (frame.length < 2) return
    const bytes = frame.subarray(1)
    if (frame[0] === stdoutChannel) stdout.push(bytes)
    else if (frame[0] === stderrChannel) stderr.push(bytes)
    else if (frame[0] === statusChannel && state.status.length < maxStatusBytes) state.status = Buffer.concat([state.status, bytes])
    pace()
    expectClose()
  })
  socket.on('ping', () => {
    state.heardAt = monotonicMs()
  })
  socket.on('pong', () => {
    state.heardAt = monotonicMs()
    state.unanswered = 0
  })
  socket.on('error', (error) => {
    state.closing ||= unwrap(error)
  })
  socket.on('close', (code, reason) => {
    const word = reason.toString('utf8').slice(0, 200)
    finish(state.closing || `the connection ended without a status (close code ${code}${word ? `: ${word}` : ''})`)
  })

  const watching = setInterval(
    () => {
      // What rests here is not silence there.
      if (state.paused) return
      const limitMs = state.unanswered > busyInputBytes ? livenessMs * busyFactor : livenessMs
      if (monotonicMs() - state.heardAt > limitMs) close(`nothing was heard for ${Math.round(limitMs / 1000)} s`)
      else socket.ping(undefined, undefined, () => {})
    },
    Math.max(20, livenessMs / 3),
  )
  watching.unref()

  state.heardAt = monotonicMs()
  state.paused = false
  socket.resume()
  return { stdin, stdout: stdout.stream, stderr: stderr.stream, canEndInput, ended, close: () => close('it was closed here') }
}

/** Resolves when the bytes are on their way, or when they never will be. */
async function sendInput(socket: WebSocket, bytes: Buffer, state: { unanswered: number }): Promise<void> {
  for (let at = 0; at < bytes.length; at += inputBytes) {
    const part = bytes.subarray(at, at + inputBytes)
    state.unanswered += part.length
    await new Promise<void>((resolve) => {
      socket.send(Buffer.concat([Buffer.from([stdinChannel]), part]), () => resolve())
    })
  }
}

interface Outlet {
  readonly stream: Readable
  /** The first bytes of all. */
  head: string
  /** Whether to wait with more until somebody reads. */
  full: boolean
  push(bytes: Buffer): void
  /** Resolves when all was read, or nobody does. */
  end(): Promise<void>
  onRead: () => void
}

const headBytes = 512
const unreadMs = 2_000

function outlet(): Outlet {
  let over = false
  const stream = new Readable({
    highWaterMark: bufferBytes,
    read() {
      made.full = false
      made.onRead()
    },
    destroy(error, done) {
      over = true
      made.full = false
      made.onRead()
      done(error)
    },
  })
  stream.on('error', () => {})
  const made: Outlet = {
    stream,
    head: '',
    full: false,
    push(bytes) {
      if (made.head.length < headBytes) made.head += bytes.toString('latin1', 0, headBytes)
      // Whoever gave the stream up wants nothing more of it.
      if (!over && !stream.push(bytes)) made.full = true
    },
    end() {
      if (over || stream.readableEnded) return Promise.resolve()
      stream.push(null)
      if (stream.readableLength === 0) return Promise.resolve()
      return new Promise((resolve) => {
        stream.once('end', resolve).once('close', resolve)
        // Nobody may be reading it; the status does not wait for that.
        setTimeout(resolve, unreadMs).unref()
      })
    },
    onRead: () => {},
  }
  return made
}
