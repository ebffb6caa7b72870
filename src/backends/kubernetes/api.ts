import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { errnoOf, failure } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import { ApiError, readStatus, type Status, unwrap } from './api-error.ts'
import type { Connection, Signed } from './connection.ts'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  readonly body?: unknown
  readonly contentType?: string | undefined
  /** For sentences: `create pods`. */
  readonly asked: string
  /** Whether asking twice does no more than asking once. Default: of GET and DELETE. */
  readonly repeatable?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** For one attempt. */
  readonly timeoutMs?: number | undefined
}

/** A client of one API server. */
export interface Api {
  readonly server: URL
  readonly from: string
  ask<T>(request: ApiRequest): Promise<T>
  /** The answer as it comes, once it is a success. */
  openStream(request: ApiRequest): Promise<IncomingMessage>
  /** What a WebSocket is opened with. */
  sign(): Promise<Signed>
  renew(signed: Signed): Promise<boolean>
  close(): void
}

const attemptMs = 30_000
const allAttemptsMs = 60_000
const maxAttempts = 5
const maxBodyBytes = 32 * 1024 * 1024
const maxWaitMs = 20_000

export function openApi(connection: Connection): Api {
  const ask = async <T>(request: ApiRequest, take: (response: IncomingMessage) => Promise<T>): Promise<T> => {
    const begun = monotonicMs()
    let renewed = false
    for (let attempt = 1; ; attempt += 1) {
      let error: unknown
      const signed = await connection.sign('shared')
      try {
        return await take(await exchange(connection, request, signed))
      } catch (caught) {
        error = caught
      }
      if (request.signal?.aborted) throw failure('canceled_before_start', {}, error)
      if (error instanceof ApiError && error.http === 401 && !renewed) {
        renewed = true
        if (await connection.renew(signed.credentials)) continue
      }
      const waitMs = retryAfterMs(error, request, attempt)
      if (waitMs === undefined || attempt >= maxAttempts || monotonicMs() - begun + waitMs > allAttemptsMs) throw toReachable(error, connection)
      await pause(waitMs, request.signal)
    }
  }
  return {
    server: connection.server,
    from: connection.from,
    ask: <T>(request: ApiRequest) =>
      ask(request, async (response) => {
        const body = await bodyOf(response)
        return (body === '' ? {} : JSON.parse(body)) as T
      }),
    openStream: (request) => ask(request, async (response) => response),
    sign: () => connection.sign('own'),
    renew: ({ credentials }) => connection.renew(credentials),
    close: () => connection.close(),
  }
}

/** One attempt: resolves to an answer that is a success, with its body unread. */
function exchange(connection: Connection, request: ApiRequest, signed: Signed): Promise<IncomingMessage> {
  const { signal } = request
  if (signal?.aborted) return Promise.reject(signal.reason)
  const url = urlOf(connection.server, request.path, Object.entries(request.query ?? {}))
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const sent = send(url, {
      method: request.method,
      agent: signed.agent,
      signal,
      headers: {
        ...signed.headers,
        accept: 'application/json',
        'user-agent': 'holdfast',
        ...(body ? { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length } : {}),
      },
    })
    const timer = setTimeout(() => sent.destroy(Object.assign(new Error('no answer came in time'), { code: 'ETIMEDOUT' })), request.timeoutMs ?? attemptMs)
    sent.on('close', () => clearTimeout(timer))
    sent.on('error', (error) => reject(Object.assign(error, { wasReused: sent.reusedSocket })))
    sent.on('response', (response) => {
      const http = response.statusCode ?? 0
      if (http >= 200 && http < 300) {
        // The body of a stream takes as long as it likes; who reads it bounds it.
        if (request.query?.watch) clearTimeout(timer)
        resolve(response)
        return
      }
      bodyOf(response).then((text) => reject(withRetryAfter(new ApiError(http, readStatus(http, text), request.asked), response)), reject)
    })
    sent.end(body)
  })
}

export function urlOf(server: URL, path: string, query: Iterable<readonly [string, string | number | boolean | undefined]>): URL {
  const url = new URL(server.pathname.replace(/\/$/, '') + path, server)
  for (const [name, value] of query) if (value !== undefined) url.searchParams.append(name, String(value))
  return url
}

function bodyOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let bytes = 0
    response.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes > maxBodyBytes) response.destroy(new Error(`the answer has more than ${maxBodyBytes} bytes`))
      else parts.push(part)
    })
    response.once('end', () => resolve(Buffer.concat(parts).toString('utf8')))
    response.once('error', reject)
    response.once('close', () => reject(Object.assign(new Error('the answer broke off'), { code: 'ECONNRESET' })))
  })
}

function withRetryAfter(error: ApiError, response: IncomingMessage): ApiError {
  const seconds = Number(response.headers['retry-after'])
  return Object.assign(error, { retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined })
}

const broken = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED'])

/** How long to wait before asking again; undefined: that would be wrong. */
function retryAfterMs(error: unknown, request: ApiRequest, attempt: number): number | undefined {
  const backOff = Math.min(200 * 2 ** attempt, 5_000)
  if (error instanceof ApiError) {
    const told = (error as { retryAfterMs?: number }).retryAfterMs ?? secondsOf(error.status)
    // It was turned away before anybody looked at it.
    if (error.http === 429) return Math.min(told ?? backOff, maxWaitMs)
    if (told !== undefined && error.http >= 500) return Math.min(told, maxWaitMs)
    return undefined
  }
  const repeatable = request.repeatable ?? (request.method === 'GET' || request.method === 'DELETE')
  if (!repeatable || !broken.has(errnoOf(error) ?? '')) return undefined
  // A connection that had been idle may have been closed at the other end for its age.
  return (error as { wasReused?: boolean }).wasReused ? 0 : backOff
}

function secondsOf({ details }: Status): number | undefined {
  return details?.retryAfterSeconds === undefined ? undefined : details.retryAfterSeconds * 1000
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** What the network says in our words; an answer of the server passes as it is. */
export function toReachable(error: unknown, { server, from }: { readonly server: URL; readonly from: string }): unknown {
  if (error instanceof ApiError) return error
  const code = errnoOf(error) ?? ''
  const [why, help] = trouble(code, server) ?? [unwrap(error), undefined]
  return failure(
    'backend_unavailable',
    { target: `kubernetes ${server.host} (${from})`, why, help: help ?? 'kubectl cluster-info shows whether kubectl reaches it' },
    error,
  )
}

function trouble(code: string, server: URL): readonly [string, string | undefined] | undefined {
  if (code === 'ECONNREFUSED') return ['nothing listens there', 'start the cluster, or correct the server in the kubeconfig']
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return [`the name ${server.hostname} is not known here`, 'connect to the network of the cluster (a VPN?), or correct the server in the kubeconfig']
  if (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return [`no answer (${code})`, 'connect to the network of the cluster (a VPN?)']
  if (/CERT|SIGNATURE|SELF_SIGNED|ALTNAME/.test(code)) {
    return [
      `its certificate is not trusted (${code})`,
      'give certificate-authority in the kubeconfig, or tls-server-name; for a test cluster skipTlsVerify of the target',
    ]
  }
  return undefined
}
