import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { failure } from '../../core/errors.ts'
import { type Credentials, type CredentialTools, openCredentials, pem } from './credentials.ts'
import type { Access, Cluster } from './kubeconfig.ts'

/** What one request goes out with. */
export interface Signed {
  readonly agent: HttpAgent
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly credentials: Credentials
}

/** The way to one API server, signed as one user. */
export interface Connection {
  readonly server: URL
  readonly from: string
  /** For requests that share connections, or for one that keeps its own. */
  sign(use: 'shared' | 'own'): Promise<Signed>
  renew(refused: Credentials): Promise<boolean>
  close(): void
}

const maxSockets = 32
const connectTimeoutMs = 20_000

export interface ConnectionRequest extends CredentialTools {
  readonly access: Access
  readonly skipTlsVerify?: boolean | undefined
}

export function openConnection({ access, skipTlsVerify, ...tools }: ConnectionRequest): Connection {
  const { cluster } = access
  const server = serverOf(cluster)
  const credentials = openCredentials(access, tools)
  const proxy = proxyFor(server, cluster, tools.env)
  const tls = {
    ...(cluster.caData || cluster.caFile ? { ca: pem(cluster.caData, cluster.caFile, 'certificate-authority') } : {}),
    ...(cluster.tlsServerName ? { servername: cluster.tlsServerName } : {}),
    rejectUnauthorized: !(skipTlsVerify || cluster.skipTlsVerify),
  }
  let agents: Agents | undefined
  return {
    server,
    from: access.from,
    async sign(use) {
      const current = await credentials.current()
      // A certificate is a matter of the connection, a token of the request.
      if (agents?.generation !== current.generation && !(agents && sameCertificate(agents.credentials, current))) {
        agents?.shared.destroy()
        agents = openAgents(server, current, tls, proxy)
      }
      return { agent: (agents as Agents)[use], headers: current.headers, credentials: current }
    },
    renew: (refused) => credentials.renew(refused),
    close() {
      agents?.shared.destroy()
      agents?.own.destroy()
    },
  }
}

function serverOf(cluster: Cluster): URL {
  const text = /^[a-z]+:\/\//i.test(cluster.server) ? cluster.server : `https://${cluster.server}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  throw failure('invalid', { field: 'server of the kubeconfig', value: cluster.server, accepted: 'https://host:port' })
}

interface Agents {
  readonly generation: number
  readonly credentials: Credentials
  readonly shared: HttpAgent
  readonly own: HttpAgent
}

function sameCertificate(a: Credentials, b: Credentials): boolean {
  const same = (x: Buffer | undefined, y: Buffer | undefined): boolean => (x && y ? x.equals(y) : x === y)
  return same(a.certificate, b.certificate) && same(a.key, b.key)
}

type TlsOptions = { readonly ca?: Buffer | undefined; readonly servername?: string; readonly rejectUnauthorized: boolean }

function openAgents(server: URL, credentials: Credentials, tls: TlsOptions, proxy: URL | undefined): Agents {
  const secure = server.protocol === 'https:'
  const options = secure ? { ...tls, cert: credentials.certificate, key: credentials.key } : {}
  const open = (more: object): HttpAgent => {
    const agent = secure ? new HttpsAgent({ ...options, ...more }) : new HttpAgent(more)
    if (proxy) connectThrough(agent, proxy, server, secure ? options : undefined)
    return agent
  }
  return {
    generation: credentials.generation,
    credentials,
    shared: open({ keepAlive: true, keepAliveMsecs: 15_000, maxSockets, scheduling: 'lifo' }),
    own: open({ keepAlive: false }),
  }
}

/** Every connection of the agent begins with a CONNECT. */
function connectThrough(agent: HttpAgent, proxy: URL, server: URL, tls: object | undefined): void {
  type Made = (error: Error | null, socket?: Socket) => void
  const host = server.hostname.replace(/^\[|\]$/g, '')
  const port = server.port || (server.protocol === 'https:' ? '443' : '80')
  Object.assign(agent, {
    createConnection(_options: unknown, made: Made) {
      const path = `${host.includes(':') ? `[${host}]` : host}:${port}`
      const auth = proxy.username ? `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}` : undefined
      const asked = httpRequest({
        host: proxy.hostname.replace(/^\[|\]$/g, ''),
        port: proxy.port || 80,
        method: 'CONNECT',
        path,
        headers: { host: path, ...(auth ? { 'proxy-authorization': `Basic ${Buffer.from(auth).toString('base64')}` } : {}) },
        agent: false,
        timeout: connectTimeoutMs,
      })
      asked.once('timeout', () => asked.destroy(new Error(`the proxy ${proxy.host} gives no answer`)))
      asked.once('error', (error) =>
        made(Object.assign(new Error(`the proxy ${proxy.host}: ${error.message || (error as { code?: string }).code}`), { cause: error })),
      )
      asked.once('connect', (response, socket) => {
        socket.setTimeout(0)
        if (response.statusCode !== 200) {
          socket.destroy()
          made(new Error(`the proxy ${proxy.host} answers ${response.statusCode} ${response.statusMessage}`))
        } else if (tls) {
          const servername = (tls as TlsOptions).servername ?? (/^[\d.]+$|:/.test(host) ? '' : host)
          const secured = tlsConnect({ ...tls, socket, servername, host })
          secured.once('secureConnect', () => made(null, secured))
          secured.once('error', made)
        } else made(null, socket as Socket)
      })
      asked.end()
    },
  })
}

/** As Go's clients choose it: what the kubeconfig says, else the variables. */
function proxyFor(server: URL, cluster: Cluster, env: CredentialTools['env']): URL | undefined {
  const named = cluster.proxyUrl
  const secure = server.protocol === 'https:'
  const chosen =
    named ??
    (bypassesProxy(server, env.NO_PROXY ?? env.no_proxy) ? undefined : secure ? (env.HTTPS_PROXY ?? env.https_proxy) : (env.HTTP_PROXY ?? env.http_proxy))
  if (!chosen) return undefined
  const text = /^[a-z0-9]+:\/\//i.test(chosen) ? chosen : `http://${chosen}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:') return url
  throw failure('invalid', {
    field: named ? 'proxy-url of the kubeconfig' : secure ? 'HTTPS_PROXY' : 'HTTP_PROXY',
    value: url ? `${url.protocol}//${url.host}` : chosen,
    accepted: 'http://host:port, a proxy that takes CONNECT',
  })
}

function bypassesProxy(server: URL, list: string | undefined): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (host === 'localhost' || host.startsWith('127.') || host === '::1') return true
  return (list ?? '').split(',').some((entry) => {
    const name = entry
      .trim()
      .toLowerCase()
      .replace(/:\d+$/, '')
      .replace(/^\*?\./, '')
    return name === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)))
  })
}
