import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { makeToken, type User } from './access.ts'
import { type Authority, makeAuthority } from './certificates.ts'
import { beginControllers, followOwned } from './controllers.ts'
import { makeImageRoot } from './image-root.ts'
import type { KubeObject, Pod } from './kube-object.ts'
import { timestamp } from './kube-object.ts'
import { Kubelet, nodeName, podType } from './kubelet.ts'
import { type Link, openLink } from './link.ts'
import { ResourceRequests } from './resource-requests.ts'
import { baseTypes, type ResourceType, sandboxTypes } from './resources.ts'
import { ApiServer } from './server.ts'
import { Store } from './store.ts'
import { initialSwitches, type Seen, type Switches } from './switches.ts'
import { Watches } from './watches.ts'

export interface FakeClusterOptions {
  /** Default 1.32.4: it decides which kubectl a dispatcher chooses. */
  readonly version?: string
  /** Default true. Over plain HTTP, clients send no token, and whoever asks is an administrator. */
  readonly tls?: boolean
  /** Whether it knows the custom resources of agent-sandbox. Default true. */
  readonly agentSandbox?: boolean
  /** Names of images that the node has, all with the same root. */
  readonly images?: readonly string[]
}

export interface FakeCluster extends AsyncDisposable {
  readonly url: string
  /** Of an administrator with a token, for namespace `default`. */
  readonly kubeconfig: string
  readonly token: string
  readonly caFile: string
  /** Of the server; gone with it. */
  readonly folder: string
  readonly image: string
  readonly switches: Switches
  readonly link: Link
  readonly store: Store
  readonly watches: Watches
  /** Requests so far. */
  readonly seen: Seen[]
  /** A user with a token; without groups, and as mighty as everybody. */
  addUser(name: string, token?: string): string
  /** From now on the token is unknown. */
  removeToken(token: string): void
  issueCertificate(name: string, groups?: readonly string[]): { readonly certFile: string; readonly keyFile: string }
  /** Another kubeconfig, with fields of `user` as they stand in such a file. */
  writeKubeconfig(
    name: string,
    user: Readonly<Record<string, unknown>>,
    context?: { readonly namespace?: string; readonly cluster?: Readonly<Record<string, unknown>> },
  ): string
  addImage(name: string): void
  list(plural: string, namespace?: string): KubeObject[]
  findPod(name: string, namespace?: string): Pod | undefined
  /** Resolves when it holds for the pod; rejects after 20 seconds. */
  waitForPod(name: string, holds: (pod: Pod) => boolean, namespace?: string): Promise<Pod>
  /** The node throws a pod out. */
  evict(name: string, namespace?: string): void
  /** Pids of the first processes of a pod's containers, as this machine counts them. */
  pidsOf(name: string, namespace?: string): number[]
  /** Ends all exec connections: without a close, or with one of this code. */
  cutExecs(closeCode?: number): void
  readonly openExecs: number
  close(): Promise<void>
}

/** What a server in Go takes; an exec has its command in the address. */
const maxHeaderSize = 1024 * 1024

export const fakeImage = 'local/busybash:1'

/** A cluster of one node on this machine that speaks the API of Kubernetes; its pods are processes in namespaces of their own. */
export async function openFakeCluster(options: FakeClusterOptions = {}): Promise<FakeCluster> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-cluster-')))
  const imageRoot = join(folder, 'image')
  const types: readonly ResourceType[] = [...baseTypes, ...((options.agentSandbox ?? true) ? sandboxTypes : [])]
  const switches = initialSwitches()
  const store = new Store()
  const watches = new Watches(store, switches)
  const requests = new ResourceRequests(store, watches, types)
  const images = new Set([fakeImage, ...(options.images ?? [])])
  const tokens = new Map<string, User>()
  const seen: Seen[] = []
  const isSecure = options.tls ?? true
  let authority: Authority | undefined
  try {
    // Pods of other users come in by it.
    execFileSync('chmod', ['711', folder])
    mkdirSync(imageRoot)
    makeImageRoot(imageRoot)
    mkdirSync(join(folder, 'pki'), { mode: 0o700 })
    authority = isSecure ? makeAuthority(join(folder, 'pki')) : undefined
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  const kubelet = new Kubelet(store, { folder, imageRoot, images, switches })
  const endControllers = beginControllers(store, requests, types)
  const endFollowing = followOwned(store, requests)
  const api = new ApiServer({ store, watches, requests, kubelet, types, switches, tokens, seen, isSecure, version: options.version ?? '1.32.4' })
  const handle = (request: IncomingMessage, response: ServerResponse): void => void api.handle(request, response)
  const server = authority
    ? createServer({ ...authority.server, maxHeaderSize, ca: authority.ca, requestCert: true, rejectUnauthorized: false }, handle)
    : createPlainServer({ maxHeaderSize }, handle)
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => void api.upgrade(request, socket, head))
  server.on('connect', (_, socket: Duplex) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const link = await openLink((server.address() as AddressInfo).port)
  const url = `${isSecure ? 'https' : 'http'}://127.0.0.1:${link.port}`
  addFirstObjects(store, options.version ?? '1.32.4')

  const addUser = (name: string, token = makeToken(`${name} ${link.port}`)): string => {
    tokens.set(token, { name, groups: ['system:authenticated'] })
    return token
  }
  const token = addUser('admin')
  const writeKubeconfig: FakeCluster['writeKubeconfig'] = (name, user, context = {}) => {
    const cluster = { server: url, ...(authority ? { 'certificate-authority-data': authority.ca.toString('base64') } : {}), ...context.cluster }
    const path = join(folder, name)
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'fake', cluster }],
        users: [{ name: 'user', user }],
        contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'user', namespace: context.namespace ?? 'default' } }],
        'current-context': 'fake',
      }),
      { mode: 0o600 },
    )
    return path
  }
  const findPod = (name: string, namespace = 'default'): Pod | undefined => store.find(podType, namespace, name) as Pod | undefined
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    endFollowing()
    endControllers()
    watches.endAll()
    api.execs.cutAll()
    link.heal()
    await link.down()
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
    await kubelet.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
  }
  return {
    url,
    token,
    kubeconfig: writeKubeconfig('kubeconfig', { token }),
    caFile: authority?.caFile ?? '',
    folder,
    image: fakeImage,
    switches,
    link,
    store,
    watches,
    seen,
    addUser,
    removeToken: (gone) => void tokens.delete(gone),
    issueCertificate(name, groups) {
      if (!authority) throw new Error('a cluster without TLS has no certificates')
      return authority.issue(name, groups)
    },
    writeKubeconfig,
    addImage: (name) => void images.add(name),
    list(plural, namespace) {
      const type = types.find((own) => own.plural === plural)
      if (!type) throw new Error(`there are no ${plural}`)
      return store.list(type, namespace)
    },
    findPod,
    waitForPod: (name, holds, namespace = 'default') =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = findPod(name, namespace)
          if (!found || !holds(found)) return
          done()
          resolve(found)
        }
        const done = (): void => {
          clearTimeout(timer)
          forget()
        }
        const timer = setTimeout(() => {
          done()
          reject(new Error(`pod ${name} is not as it should be: ${JSON.stringify(findPod(name, namespace)?.status)}`))
        }, 20_000)
        const forget = store.onChange(look)
        look()
      }),
    evict(name, namespace) {
      const pod = findPod(name, namespace)
      if (pod) kubelet.run(pod)?.evict()
    },
    pidsOf(name, namespace) {
      const pod = findPod(name, namespace)
      return pod ? (kubelet.run(pod)?.pids() ?? []) : []
    },
    cutExecs: (closeCode) => (closeCode === undefined ? api.execs.cutAll() : api.execs.closeAll(closeCode)),
    get openExecs() {
      return api.execs.size
    },
    close() {
      closing ??= close()
      return closing
    },
    [Symbol.asyncDispose]() {
      closing ??= close()
      return closing
    },
  }
}

function addFirstObjects(store: Store, version: string): void {
  const typeOf = (plural: string): ResourceType => baseTypes.find((type) => type.plural === plural) as ResourceType
  for (const name of ['default', 'kube-system', 'kube-node-lease']) {
    store.create(typeOf('namespaces'), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  }
  const now = timestamp()
  store.create(typeOf('nodes'), {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: { 'kubernetes.io/hostname': nodeName, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch },
    },
    spec: {},
    status: {
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now, lastTransitionTime: now }],
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      nodeInfo: { kubeletVersion: `v${version}`, architecture: process.arch === 'x64' ? 'amd64' : process.arch, operatingSystem: 'linux' },
    },
  })
}
