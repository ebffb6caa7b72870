import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Attributes, anonymous, authenticate, forbidden, forbiddenPath, isAllowed, type User } from './access.ts'
import { ApiError, badRequest, internalError, noSuchPath, notFound, type StatusBody, tooManyRequests } from './api-status.ts'
import { discover, emptyOpenApi } from './discovery.ts'
import { commonProtocol, ExecSockets } from './exec-sockets.ts'
import type { KubeObject, Pod } from './kube-object.ts'
import { type Kubelet, podType } from './kubelet.ts'
import { StartError, type StartedProcess } from './pod-process.ts'
import { type Answer, bodyOf, locate, numberOf, type ResourceRequest, type ResourceRequests, readBody, verbOf } from './resource-requests.ts'
import type { ResourceType } from './resources.ts'
import { reviewOf } from './reviews.ts'
import { spokenProcess } from './spoken-process.ts'
import type { Store } from './store.ts'
import { type Refusal, type Seen, type Switches, takeFault } from './switches.ts'
import type { Watches } from './watches.ts'

export interface ServerTerms {
  readonly store: Store
  readonly watches: Watches
  readonly requests: ResourceRequests
  readonly kubelet: Kubelet
  readonly types: readonly ResourceType[]
  readonly switches: Switches
  readonly tokens: ReadonlyMap<string, User>
  readonly seen: Seen[]
  readonly isSecure: boolean
  readonly version: string
}

interface Asked {
  readonly user: User
  readonly url: URL
  readonly place: ReturnType<typeof locate>
  readonly attributes: Attributes | undefined
}

/** Anybody may ask for these. */
const openPaths = ['/version', '/healthz', '/livez', '/readyz']

/** The API: who asks, what for, whether that is allowed, and the answer. */
export class ApiServer {
  readonly execs = new ExecSockets()
  private readonly terms: ServerTerms

  constructor(terms: ServerTerms) {
    this.terms = terms
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    try {
      const asked = this.admit(request)
      const answer = await this.answer(request, response, asked)
      if (answer) send(response, answer.code, answer.body)
    } catch (error) {
      refuse(response, error)
    }
  }

  /** Notes the request, and throws where it is not allowed. */
  private admit(request: IncomingMessage): Asked {
    const { switches, types, tokens, seen, isSecure } = this.terms
    const url = new URL(request.url ?? '/', 'http://server')
    const place = locate(url.pathname, types)
    const method = request.method ?? 'GET'
    const verb = place
      ? place.subresource !== undefined && place.subresource !== 'status'
        ? method === 'GET'
          ? 'get'
          : 'create'
        : verbOf(method, place.name, url.searchParams)
      : method.toLowerCase()
    const attributes: Attributes | undefined = place && {
      verb,
      group: place.type.group,
      resource: place.subresource === undefined ? place.type.plural : `${place.type.plural}/${place.subresource}`,
      // A namespace itself is asked for inside of it.
      namespace: place.type.plural === 'namespaces' ? place.name : place.namespace,
      name: place.name,
    }
    const note = (user: string): Seen => {
      const told: Seen = {
        method,
        path: request.url ?? '',
        verb,
        resource: attributes?.resource ?? '',
        namespace: attributes?.namespace,
        name: attributes?.name,
        user,
      }
      seen.push(told)
      return told
    }
    let user: User
    try {
      user = isSecure ? authenticate(request, tokens) : { name: 'admin' }
    } catch (error) {
      note('')
      throw error
    }
    const told = note(user.name)
    const refusal = takeFault(switches.refusals, ({ matches }) => matches?.(told) ?? attributes !== undefined)
    if (refusal) throw new Refused(refusal, attributes)
    if (attributes) {
      if (
        !isAllowed(user, attributes, switches.denied) ||
        (this.isExec(attributes) && switches.execNeedsCreate && !isAllowed(user, { ...attributes, verb: 'create' }, switches.denied))
      ) {
        throw forbidden(user, attributes, place?.type.plural ?? '')
      }
    } else if (user.name === anonymous.name && !openPaths.some((path) => url.pathname === path || url.pathname.startsWith(`${path}/`))) {
      throw forbiddenPath(user, method.toLowerCase(), url.pathname)
    }
    return { user, url, place, attributes }
  }

  /** Whether it is below a group and a version that are there. */
  private isServed(path: string): boolean {
    const [, group = '', version] = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/./.exec(path) ?? []
    return this.terms.types.some((type) => type.group === group && type.version === version)
  }

  private isExec({ resource }: Attributes): boolean {
    return resource === 'pods/exec' || resource === 'pods/attach'
  }

  private async answer(request: IncomingMessage, response: ServerResponse, { user, url, place }: Asked): Promise<Answer | undefined> {
    const accept = request.headers.accept ?? ''
    if (/^\/(healthz|livez|readyz)(\/|$)/.test(url.pathname)) {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('ok')
      return undefined
    }
    if (!place) {
      if (url.pathname === '/openapi/v2') {
        response.writeHead(200, { 'content-type': emptyOpenApi.contentType }).end(emptyOpenApi.bytes)
        return undefined
      }
      const found = discover(url.pathname, accept, this.terms.types, versionInfo(this.terms.version))
      if (!found && this.isServed(url.pathname)) throw noSuchPath()
      if (!found) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n')
        return undefined
      }
      if ('raw' in found) send(response, 200, found.raw, found.contentType)
      else send(response, 200, found)
      return undefined
    }
    const { type, subresource, name } = place
    if (subresource === 'log') {
      this.log(url.searchParams, this.requirePod(place), response)
      return undefined
    }
    if (subresource === 'exec' || subresource === 'attach') throw badRequest('Upgrade request required')
    const given: ResourceRequest = {
      ...place,
      name,
      verb: verbOf(request.method ?? 'GET', name, url.searchParams),
      query: url.searchParams,
      accept,
      contentType: request.headers['content-type'] ?? '',
      body: await bodyOf(request),
    }
    if (type.verbs.length === 1 && given.verb === 'create')
      return { code: 201, body: reviewOf(type, readBody(given) as KubeObject, user, this.terms.switches, this.terms.types) }
    return this.terms.requests.answer(given, response)
  }

  private requirePod({ namespace, name = '' }: { namespace: string | undefined; name: string | undefined }): Pod {
    return this.terms.store.require(podType, namespace, name) as Pod
  }

  private containerOf(pod: Pod, query: URLSearchParams): string {
    const name = query.get('container') || undefined
    const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map((container) => container.name)
    if (name !== undefined && !all.includes(name)) throw badRequest(`container ${name} is not valid for pod ${pod.metadata.name}`)
    if (name === undefined && pod.spec.containers.length > 1) {
      throw badRequest(
        `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${pod.spec.containers.map((container) => container.name).join(' ')}]`,
      )
    }
    return name ?? (all[0] as string)
  }

  private log(query: URLSearchParams, pod: Pod, response: ServerResponse): void {
    const name = this.containerOf(pod, query)
    const held = this.terms.kubelet.run(pod)?.container(name)
    const status = [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])].find((own) => own.name === name)
    const waiting = status?.state.waiting
    if (!held || !status || (waiting && status.restartCount === 0)) {
      throw badRequest(`container "${name}" in pod "${pod.metadata.name}" is waiting to start: ${waiting?.reason ?? 'ContainerCreating'}`)
    }
    if (query.get('previous') === 'true' && status.restartCount === 0) {
      throw badRequest(`previous terminated container "${name}" in pod "${pod.metadata.name}" not found`)
    }
    const tail = query.get('tailLines')
    if (tail) numberOf(tail)
    const sinceSeconds = query.get('sinceSeconds')
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-cache, private' })
    response.flushHeaders()
    const forget = held.log.read(
      {
        tail: tail === null ? undefined : Number(tail),
        since:
          sinceSeconds !== null
            ? new Date(Date.now() - Number(sinceSeconds) * 1000)
            : query.get('sinceTime')
              ? new Date(query.get('sinceTime') as string)
              : undefined,
        follow: query.get('follow') === 'true',
        timestamps: query.get('timestamps') === 'true',
      },
      (bytes) => response.write(bytes),
      () => response.end(),
    )
    response.on('close', forget)
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    try {
      const { url, place, attributes } = this.admit(request)
      if (!place || !attributes || !this.isExec(attributes)) throw noSuchPath()
      const pod = this.requirePod(place)
      const query = url.searchParams
      const protocol = commonProtocol(request, this.terms.switches.execProtocols)
      const wants = (name: string): boolean => /^(1|true)$/.test(query.get(name) ?? '')
      const [stdin, stdout, stderr] = [wants('stdin'), wants('stdout'), wants('stderr')]
      const argv = query.getAll('command')
      if (!stdin && !stdout && !stderr) throw badRequest('you must specify at least 1 of stdin, stdout, stderr')
      if (wants('tty')) throw badRequest('there is no terminal here: ask without tty')
      const container = this.containerOf(pod, query)
      if (!pod.spec.nodeName) throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`)
      if (!/^websocket$/i.test(request.headers.upgrade ?? '')) throw badRequest('unable to upgrade: only WebSocket is spoken here')
      if (protocol === undefined) throw new Plain(403, '')
      const run = this.terms.kubelet.run(pod)
      const fault = takeFault(this.terms.switches.execFaults, ({ matches }) => matches?.(argv) ?? true)
      const { process, status } = attributes.resource === 'pods/exec' ? await this.startIn(pod, container, argv) : attached(run?.attach(container))
      // With the newer protocol, the API server has agreed before it asks the node.
      if (!process && !status && !protocol.startsWith('v5')) throw new Plain(500, `container not found ("${container}")`)
      this.execs.accept(request, socket, head, protocol, {
        stdin,
        stdout,
        stderr,
        fault,
        argv,
        process: process ?? spokenProcess('', 0),
        ...(process ? {} : { status: status ?? notRunning(container) }),
      })
    } catch (error) {
      refuseUpgrade(socket, error)
    }
  }

  private async startIn(pod: Pod, container: string, argv: readonly string[]): Promise<Started> {
    const run = this.terms.kubelet.run(pod)
    if (argv.length === 0) return { status: internalError('error executing command in container: failed to exec in container: no command was given').body }
    try {
      if (!run) throw notFound(podType, pod.metadata.name)
      return { process: await run.exec(container, argv) }
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      if (/^container not found/.test(error.message)) return {}
      const text = `OCI runtime exec failed: exec failed: unable to start container process: exec: "${argv[0]}": ${error.message}: unknown`
      if (this.terms.switches.unknownProgram === 'status') return { process: spokenProcess(`${text}\r\n`, 126) }
      return { status: internalError(`error executing command in container: failed to exec in container: failed to start exec: ${text}`).body }
    }
  }
}

/** A process, or what is said in its place. */
interface Started {
  readonly process?: StartedProcess
  readonly status?: StatusBody
}

/** Neither: there is no such container. */
const attached = (process: StartedProcess | undefined): Started => (process ? { process } : {})

const notRunning = (container: string): StatusBody => internalError(`unable to upgrade connection: container not found ("${container}")`).body

/** What is no Status: words of the node, or none. */
class Plain extends Error {
  readonly code: number

  constructor(code: number, text: string) {
    super(text)
    this.code = code
  }
}

function refuseUpgrade(socket: Duplex, error: unknown): void {
  const body = error instanceof Plain ? undefined : bodyOfError(error)
  const [code, text] = error instanceof Plain ? [error.code, error.message] : [body?.code ?? 500, `${JSON.stringify(body)}\n`]
  const type = body ? 'application/json' : 'text/plain; charset=utf-8'
  const retry = body?.details?.retryAfterSeconds
  const headers = [
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    ...(retry === undefined ? [] : [`Retry-After: ${retry}`]),
  ]
  socket.end(`HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\n${headers.join('\r\n')}\r\n\r\n${text}`)
}

class Refused extends Error {
  readonly refusal: Refusal
  readonly attributes: Attributes | undefined

  constructor(refusal: Refusal, attributes: Attributes | undefined) {
    super('refused')
    this.refusal = refusal
    this.attributes = attributes
  }
}

const reasons: Record<number, string> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

function bodyOfError(error: unknown): StatusBody {
  if (error instanceof ApiError) return error.body
  if (error instanceof Refused) {
    const { status, retryAfterSeconds = 1 } = error.refusal
    if (status === 429) return tooManyRequests(retryAfterSeconds).body
    return new ApiError(status, reasons[status] ?? 'Unknown', `the server was told to refuse this: ${status}`).body
  }
  return internalError(error instanceof Error ? (error.stack ?? error.message) : String(error)).body
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = bodyOfError(error)
  if (error instanceof Refused && error.refusal.html) {
    response.writeHead(error.refusal.status, { 'content-type': 'text/html' }).end(`<html><body><h1>${error.refusal.status}</h1></body></html>\n`)
    return
  }
  const retry = body.details?.retryAfterSeconds
  if (retry !== undefined) response.setHeader('retry-after', String(retry))
  send(response, body.code ?? 500, body)
}

function send(response: ServerResponse, code: number, body: object, contentType = 'application/json'): void {
  const text = Buffer.from(`${JSON.stringify(body)}\n`)
  response.writeHead(code, { 'content-type': contentType, 'content-length': text.length, 'cache-control': 'no-cache, private' })
  response.end(text)
}

function versionInfo(version: string): object {
  const [major, minor] = version.split('.')
  return {
    major,
    minor,
    gitVersion: `v${version}`,
    gitCommit: 'fake',
    gitTreeState: 'clean',
    buildDate: '2025-01-01T00:00:00Z',
    goVersion: 'go1.23.6',
    compiler: 'gc',
    platform: 'linux/amd64',
  }
}
