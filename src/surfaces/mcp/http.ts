import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { App } from '../../app/api.ts'
import { errnoOf, failure } from '../../core/errors.ts'
import { refusalOf } from './http-guard.ts'
import { maxMessageBytes } from './limits.ts'
import { createServer } from './server.ts'
import { sharedApp } from './shared-app.ts'

export interface HttpOptions {
  /** Called at the first call that needs it, and again at a later one if it failed. */
  readonly openApp: () => Promise<App>
  readonly version: string
  /** The address to listen at. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** What every request must carry as its bearer token. */
  readonly token: string
  /** Ends the serving. */
  readonly signal: AbortSignal
  /** Told the address once clients are answered. */
  readonly onListening: (url: string) => void
  readonly onNote: (line: string) => void
  /** For tests. Default: an hour. */
  readonly idleMs?: number | undefined
}

const path = '/mcp'
/** A client that never says goodbye leaves its session behind; what is asked for one that is gone is answered with 404, and it begins anew. */
const defaultIdleMs = 3_600_000
const maxSessions = 64

interface Session {
  readonly transport: StreamableHTTPServerTransport
  open: number
  usedAt: number
}

/**
 * Serves MCP over streamable HTTP at `/mcp`, any number of clients at once, all with one app, until the signal comes; then it cancels what
 * the app holds. Rejects with `unavailable` where it cannot listen. A connection that breaks cancels nothing: by the specification
 * (transports, 2025-11-25) only a message of the client does.
 */
export async function serveMcpHttp(options: HttpOptions): Promise<void> {
  const { host, port, token, signal, onListening, onNote, version, idleMs = defaultIdleMs } = options
  const sessions = new Map<string, Session>()
  const app = sharedApp(options.openApp)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (pathOf(request.url ?? '') !== path) return refuse(response, 404, `there is nothing here; MCP is at ${path}`)
    const refusal = refusalOf(request.headers, { host, token })
    if (refusal) return refuse(response, refusal.status, refusal.why, refusal.headers)
    const body = request.method === 'POST' ? await readBody(request) : undefined
    if (body === tooLong) return refuse(response, 413, `a message has at most ${maxMessageBytes} bytes`)
    if (body === notJson) return refuse(response, 400, 'the body is no JSON', {}, -32700)
    const id = request.headers['mcp-session-id']
    const session = typeof id === 'string' ? sessions.get(id) : await begin(body)
    if (session === undefined) return refuse(response, 404, 'this session is over, or never was; initialize a new one', {}, -32001)
    session.open += 1
    session.usedAt = performance.now()
    response.on('close', () => {
      session.open -= 1
      session.usedAt = performance.now()
    })
    await session.transport.handleRequest(request, response, body)
  }

  /** A session for one client; the transport refuses whatever is no beginning of one. */
  async function begin(body: unknown): Promise<Session> {
    if (sessions.size >= maxSessions) dropIdlest()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    const session: Session = { transport, open: 0, usedAt: performance.now() }
    if (isInitialize(body)) await createServer({ app, version, onNote }).connect(transport as Parameters<ReturnType<typeof createServer>['connect']>[0])
    else await transport.start()
    return session
  }

  const idle = (): [string, Session][] => [...sessions].filter(([, { open }]) => open === 0).sort(([, a], [, b]) => a.usedAt - b.usedAt)
  const drop = ([id, { transport }]: [string, Session]): void => {
    sessions.delete(id)
    transport.close().catch(() => {})
  }
  function dropIdlest(): void {
    const [first] = idle()
    if (first) drop(first)
  }
  const sweeper = setInterval(
    () => {
      for (const each of idle()) if (performance.now() - each[1].usedAt > idleMs) drop(each)
    },
    Math.min(idleMs, 60_000),
  )
  sweeper.unref()

  const http = createHttpServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      onNote(`a request failed: ${error.message.split('\n', 1)[0]}`)
      if (!response.headersSent) refuse(response, 500, 'internal error', {}, -32603)
      else response.end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error) => reject(failure('cannot_listen', { address: addressOf(host, port), why: errnoOf(error) ?? error.message }, error)))
    http.listen(port, host, resolve)
  })
  try {
    onListening(`http://${addressOf(host, (http.address() as AddressInfo).port)}${path}`)
    await aborted(signal)
  } finally {
    clearInterval(sweeper)
    for (const each of [...sessions]) drop(each)
    http.close()
    http.closeAllConnections()
    await app.close()
  }
}

const isInitialize = (body: unknown): boolean => [body].flat().some((message) => (message as { method?: unknown } | null)?.method === 'initialize')

/** Undefined for what is no address. */
const pathOf = (url: string): string | undefined => (URL.canParse(url, 'http://localhost') ? new URL(url, 'http://localhost').pathname : undefined)

const tooLong = Symbol('too long')
const notJson = Symbol('no JSON')

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxMessageBytes) return tooLong
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks, size).toString('utf8'))
  } catch {
    return notJson
  }
}

function refuse(response: ServerResponse, status: number, message: string, headers: Readonly<Record<string, string>> = {}, code = -32000): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }))
}

const addressOf = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
