import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import { failure, type HoldfastError } from '../../core/errors.ts'
import type { Endpoint } from './endpoint.ts'
import { EngineRefusal, unreachable } from './trouble.ts'

/*
 * A client of the Engine API, as much of it as is needed. Each request has a connection of its own: over a unix socket that costs
 * nothing, and no request meets a connection that the engine has just closed.
 */

export interface EngineRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  /** Without the version. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as a tar archive. */
  readonly archive?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Default 60 seconds: an engine on a busy machine takes its time. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** As the engine's clock has it (ms since 1970), where it says so. */
  readonly date: number | undefined
}

export interface Engine {
  readonly endpoint: Endpoint
  readonly product: 'docker' | 'podman'
  /** What both sides speak: `1.41`. */
  readonly apiVersion: string
  /** Resolves to an answer of 2xx or 304; rejects with an EngineRefusal where the engine said no, with an error of ours where it could not be asked. */
  ask(request: EngineRequest): Promise<Answer>
  askJson<T>(request: EngineRequest): Promise<T>
  /** The body as it comes. `timeoutMs` bounds the time to its beginning and then each silence. The caller reads to the end, or destroys it. */
  stream(request: EngineRequest): Promise<IncomingMessage>
  /** Resolves to the bare connection once the engine has left HTTP; `head` are bytes that came already. */
  upgrade(request: EngineRequest): Promise<{ readonly socket: Duplex; readonly head: Buffer }>
}

const usualTimeoutMs = 60_000
/** Of the answer to what is no stream; the list of a thousand containers is not nearly as long. */
const maxAnswerBytes = 32 * 1024 * 1024
/** Docker Engine 18.09 and Podman 3 speak that; what is asked for here has not changed since then. */
const lowestApiVersion = '1.39'
/** Newer engines speak older versions too, but not all of them for ever. */
const highestApiVersion = '1.51'

/** Resolves once the engine has answered a ping. */
export async function openEngine(endpoints: readonly [Endpoint, ...Endpoint[]], signal?: AbortSignal): Promise<Engine> {
  let first: unknown
  for (const endpoint of endpoints) {
    try {
      return await meet(endpoint, signal)
    } catch (error) {
      signal?.throwIfAborted()
      first ??= error
    }
  }
  throw first
}

async function meet(endpoint: Endpoint, signal: AbortSignal | undefined): Promise<Engine> {
  // A ping has no version: it is what tells the version.
  const { headers } = await askAt(endpoint, '', { method: 'GET', path: '/_ping', timeoutMs: 20_000, signal })
  const offered = String(headers['api-version'] ?? '')
  const target = `the engine at ${endpoint.address}`
  if (!/^\d+\.\d+$/.test(offered)) {
    throw failure('backend_unavailable', { target, why: 'what listens there is neither Docker nor Podman', help: 'name the socket of an engine' })
  }
  if (older(offered, lowestApiVersion)) {
    throw failure('backend_refused', { target, what: `API version ${lowestApiVersion}`, why: `it speaks ${offered} at most; Docker 18.09 or newer is needed` })
  }
  const apiVersion = older(offered, highestApiVersion) ? offered : highestApiVersion
  const prefix = `/v${apiVersion}`
  const ask = (request: EngineRequest) => askAt(endpoint, prefix, request)
  return {
    endpoint,
    product: headers['libpod-api-version'] === undefined ? 'docker' : 'podman',
    apiVersion,
    ask,
    askJson: async <T>(request: EngineRequest) => JSON.parse((await ask(request)).text) as T,
    stream: (request) => streamAt(endpoint, prefix, request),
    upgrade: (request) => upgradeAt(endpoint, prefix, request),
  }
}

function older(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = than.split('.').map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

async function askAt(endpoint: Endpoint, prefix: string, request: EngineRequest): Promise<Answer> {
  const { timeoutMs = usualTimeoutMs } = request
  return bounded<Answer>(endpoint, prefix, request, (sent, settle) => {
    const timer = setTimeout(() => settle.fail(late(endpoint, request, timeoutMs)), timeoutMs)
    sent.once('close', () => clearTimeout(timer))
    sent.once('response', (message) => {
      readWhole(message).then(
        (text) => settle.done(answerOf(message, text)),
        (error: unknown) => settle.fail(error instanceof EngineRefusal ? error : unreachable(endpoint, error)),
      )
    })
    sent.once('upgrade', () => settle.fail(new EngineRefusal(101, 'the engine left HTTP without being asked to')))
  }).then((answer) => {
    if (answer.status >= 400) throw new EngineRefusal(answer.status, wordsOf(answer))
    return answer
  })
}

async function streamAt(endpoint: Endpoint, prefix: string, request: EngineRequest): Promise<IncomingMessage> {
  const { timeoutMs = usualTimeoutMs } = request
  return bounded(endpoint, prefix, request, (sent, settle) => {
    // The silence of the connection, before and after the headers.
    sent.setTimeout(timeoutMs, () => {
      settle.fail(late(endpoint, request, timeoutMs))
      sent.destroy(late(endpoint, request, timeoutMs))
    })
    sent.once('response', (message) => {
      if ((message.statusCode ?? 0) < 400) {
        const stop = (): void => void message.destroy(failure('canceled_before_start', {}))
        request.signal?.addEventListener('abort', stop, { once: true })
        message.once('close', () => request.signal?.removeEventListener('abort', stop))
        return settle.done(message)
      }
      readWhole(message).then(
        (text) => settle.fail(new EngineRefusal(message.statusCode ?? 0, wordsOf(answerOf(message, text)))),
        (error: unknown) => settle.fail(unreachable(endpoint, error)),
      )
    })
  })
}

async function upgradeAt(endpoint: Endpoint, prefix: string, request: EngineRequest): Promise<{ socket: Duplex; head: Buffer }> {
  const { timeoutMs = usualTimeoutMs } = request
  const headers = { ...request.headers, Connection: 'Upgrade', Upgrade: 'tcp' }
  return bounded(endpoint, prefix, { ...request, headers }, (sent, settle) => {
    const timer = setTimeout(() => settle.fail(late(endpoint, request, timeoutMs)), timeoutMs)
    sent.once('upgrade', (_message, socket, head) => {
      clearTimeout(timer)
      socket.on('error', () => {})
      settle.done({ socket, head })
    })
    sent.once('close', () => clearTimeout(timer))
    sent.once('response', (message) => {
      readWhole(message).then(
        (text) => settle.fail(new EngineRefusal(message.statusCode ?? 0, wordsOf(answerOf(message, text)) || 'the engine did not leave HTTP')),
        (error: unknown) => settle.fail(unreachable(endpoint, error)),
      )
    })
  })
}

interface Settle<T> {
  done(value: T): void
  fail(error: unknown): void
}

/** Sends a request, and settles once; a request that failed or was given up leaves no connection. */
function bounded<T>(endpoint: Endpoint, prefix: string, request: EngineRequest, listen: (sent: ClientRequest, settle: Settle<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    if (request.signal?.aborted) return reject(failure('canceled_before_start', {}))
    const sent = send(endpoint, prefix, request)
    const giveUp = (): void => settle.fail(failure('canceled_before_start', {}))
    let settled = false
    const over = (): boolean => {
      if (settled) return false
      settled = true
      request.signal?.removeEventListener('abort', giveUp)
      return true
    }
    const settle: Settle<T> = {
      done: (value) => over() && resolve(value),
      fail(error) {
        if (!over()) return
        reject(error)
        sent.destroy()
      },
    }
    request.signal?.addEventListener('abort', giveUp, { once: true })
    sent.on('error', (error) => settle.fail(unreachable(endpoint, error)))
    sent.once('close', () => settle.fail(unreachable(endpoint, new Error('the connection ended without an answer'))))
    listen(sent, settle)
  })
}

function send({ at }: Endpoint, prefix: string, { method, path, query, body, archive, headers }: EngineRequest): ClientRequest {
  const content = archive ?? (body === undefined ? undefined : Buffer.from(JSON.stringify(body)))
  const options: RequestOptions = {
    method,
    path: `${prefix}${path}${query ? `?${new URLSearchParams(query)}` : ''}`,
    agent: false,
    headers: {
      Host: 'docker',
      ...(content ? { 'Content-Type': archive ? 'application/x-tar' : 'application/json', 'Content-Length': content.length } : {}),
      ...headers,
    },
    ...('socketPath' in at ? { socketPath: at.socketPath } : { host: at.host, port: at.port }),
  }
  const tls = 'socketPath' in at ? undefined : at.tls
  const sent = tls ? requestHttps({ ...options, ca: tls.ca, cert: tls.cert, key: tls.key, rejectUnauthorized: tls.verify }) : requestHttp(options)
  sent.end(content)
  return sent
}

async function readWhole(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of message as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxAnswerBytes) throw new EngineRefusal(500, `the answer has more than ${maxAnswerBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function answerOf(message: IncomingMessage, text: string): Answer {
  const date = Date.parse(message.headers.date ?? '')
  return { status: message.statusCode ?? 0, headers: message.headers, text, date: Number.isNaN(date) ? undefined : date }
}

/** The words of a refusal: `{"message": "..."}`, or whatever stands there, on one line and short. */
function wordsOf({ status, text }: Answer): string {
  let words = text
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    if (typeof message === 'string') words = message
  } catch {
    // Not JSON: a proxy may answer in its own way.
  }
  const line = words.replace(/\s+/g, ' ').trim()
  return (line.length > 500 ? `${line.slice(0, 497)}...` : line) || `HTTP status ${status}`
}

function late({ address }: Endpoint, { method, path }: EngineRequest, ms: number): HoldfastError {
  const why = `no answer to ${method} ${path.replace(/[0-9a-f]{64}/g, (id) => id.slice(0, 12))} within ${ms / 1000} s`
  return failure('backend_unavailable', { target: `the engine at ${address}`, why, help: 'see whether the engine hangs (docker info)' })
}
