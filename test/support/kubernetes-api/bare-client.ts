import { readFileSync } from 'node:fs'
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { WebSocket } from 'ws'
import { parse } from 'yaml'
import type { KubeObject } from './kube-object.ts'

/** What a kubeconfig says of the server and of who asks. */
interface Access {
  readonly server: string
  readonly ca: Buffer | undefined
  readonly token: string | undefined
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
}

interface Named<Value> {
  readonly name: string
  readonly cluster: Value
  readonly user: Value
}

export function readAccess(kubeconfig: string): Access {
  const config = parse(readFileSync(kubeconfig, 'utf8')) as Record<'clusters' | 'users', readonly Named<Record<string, string>>[]>
  const { cluster } = config.clusters[0] as Named<Record<string, string>>
  const { user } = config.users[0] as Named<Record<string, string>>
  const bytes = (from: Record<string, string>, name: string): Buffer | undefined => {
    const [data, file] = [from[`${name}-data`], from[name]]
    return data === undefined ? (file === undefined ? undefined : readFileSync(file)) : Buffer.from(data, 'base64')
  }
  return {
    server: cluster.server as string,
    ca: bytes(cluster, 'certificate-authority'),
    token: user.token,
    cert: bytes(user, 'client-certificate'),
    key: bytes(user, 'client-key'),
  }
}

export interface Call {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Is told each line as it comes. */
  readonly onLine?: (line: string) => void
}

export interface Called {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: KubeObject
  readonly text: string
}

export interface ExecMessage {
  readonly channel: number
  readonly bytes: Buffer
}

/** One exec over a bare WebSocket, with all that it heard. */
export interface Execution {
  readonly protocol: string
  readonly socket: WebSocket
  readonly messages: readonly ExecMessage[]
  readonly closed: Promise<number>
  send(channel: number, bytes: Uint8Array | string): void
  text(channel: number): string
  bytes(channel: number): Buffer
  /** Resolves when this channel has said so much. */
  heard(channel: number, text: string): Promise<void>
}

export interface ExecAsk {
  readonly protocols?: readonly string[]
  readonly stdin?: boolean
  readonly container?: string
}

/** A client with nothing in between: what is sent and heard is what the server sees and says. */
export interface BareClient {
  call(path: string, call?: Call): Promise<Called>
  /** Rejects with the status code and the words of a server that does not agree. */
  exec(pod: string, argv: readonly string[], ask?: ExecAsk): Promise<Execution>
}

export function openBareClient(kubeconfig: string, namespace: string, overrides: Partial<Access> = {}): BareClient {
  const access: Access = { ...readAccess(kubeconfig), ...overrides }
  const authorization: Record<string, string> = access.token === undefined ? {} : { authorization: `Bearer ${access.token}` }
  const tls = { ...(access.ca ? { ca: access.ca } : {}), ...(access.cert && access.key ? { cert: access.cert, key: access.key } : {}) }
  return {
    call: (path, { method = 'GET', body, headers = {}, signal, onLine } = {}) =>
      new Promise((resolve, reject) => {
        const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
        const given = {
          accept: 'application/json',
          ...(bytes ? { 'content-type': 'application/json', 'content-length': String(bytes.length) } : {}),
          ...authorization,
          ...headers,
        }
        const request = access.server.startsWith('https') ? secureRequest : plainRequest
        const asked = request(new URL(path, access.server), { method, headers: given, agent: false, ...tls, ...(signal ? { signal } : {}) }, (response) => {
          let text = ''
          let told = 0
          response.on('data', (piece) => {
            text += piece
            for (let end = text.indexOf('\n', told); onLine && end >= 0; end = text.indexOf('\n', told)) {
              onLine(text.slice(told, end))
              told = end + 1
            }
          })
          const finish = (): void => resolve({ code: response.statusCode ?? 0, headers: response.headers, body: parsed(text) as Called['body'], text })
          response.on('end', finish).on('error', reject)
        })
        asked.on('error', reject)
        asked.end(bytes)
      }),
    exec(pod, argv, ask = {}) {
      const query = new URLSearchParams({ stdout: 'true', stderr: 'true' })
      for (const text of argv) query.append('command', text)
      if (ask.stdin) query.append('stdin', 'true')
      if (ask.container) query.append('container', ask.container)
      const url = `${access.server.replace(/^http/, 'ws')}/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query}`
      return openExecution(
        new WebSocket(url, [...(ask.protocols ?? ['v5.channel.k8s.io', 'v4.channel.k8s.io'])], { headers: authorization, perMessageDeflate: false, ...tls }),
      )
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function openExecution(socket: WebSocket): Promise<Execution> {
  const messages: ExecMessage[] = []
  const waiting = new Set<() => void>()
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  socket.on('message', (data) => {
    const bytes = data as Buffer
    messages.push({ channel: bytes[0] as number, bytes: bytes.subarray(1) })
    for (const look of [...waiting]) look()
  })
  const bytes = (channel: number): Buffer => Buffer.concat(messages.filter((own) => own.channel === channel).map((own) => own.bytes))
  const execution: Omit<Execution, 'protocol'> = {
    socket,
    messages,
    closed,
    send: (channel, piece) => socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(piece)])),
    bytes,
    text: (channel) => bytes(channel).toString('utf8'),
    heard: (channel, text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!bytes(channel).includes(text)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        void closed.then((code) => reject(new Error(`closed with ${code} before ${text}; ${messages.length} messages`)))
      }),
  }
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve({ ...execution, protocol: socket.protocol }))
    socket.on('error', reject)
    socket.on('unexpected-response', (_, response) => {
      let text = ''
      response.on('data', (piece) => {
        text += piece
      })
      response.on('end', () => reject(new Error(`${response.statusCode} ${text}`)))
    })
  })
}
