import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FakeCluster, type FakeClusterOptions, openFakeCluster } from './kubernetes-api/open-fake-cluster.ts'
import { whyNoPods } from './kubernetes-api/pod-process.ts'

/** A cluster that tests run against: the one of this machine, or a real one. */
export interface Cluster extends AsyncDisposable {
  readonly kubeconfig: string
  readonly namespace: string
  /** An image with sh, bash, tar and the usual small tools, user 1000 and /workspace. */
  readonly image: string
  /** What every pod needs there, merged into it last. */
  readonly patch: Readonly<Record<string, unknown>>
  /** Its switches and its insides; undefined: it is a real one. */
  readonly fake: FakeCluster | undefined
  /** Runs kubectl in the namespace. */
  kubectl(args: readonly string[], input?: Uint8Array | string): Promise<Said>
  /** Makes a pod with one container `main` and resolves when it is ready; its command is an idle one by default. */
  openPod(name: string, container?: Readonly<Record<string, unknown>>, spec?: Readonly<Record<string, unknown>>): Promise<void>
  close(): Promise<void>
}

/** What a program printed, and its status; null where it was ended after a minute. */
export interface Said {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
  /** Of `stdout`. */
  readonly text: string
}

const realKubeconfig = process.env.HOLDFAST_TEST_KUBECONFIG || undefined

/** Why no cluster can be had here; undefined: one can. */
export function whyNoCluster(): string | undefined {
  if (realKubeconfig === undefined) return whyNoPods()
  return existsSync(realKubeconfig) ? undefined : `HOLDFAST_TEST_KUBECONFIG names ${realKubeconfig}, which does not exist`
}

/** Whether tests with a cluster can run; says which are skipped where they cannot. */
export function hasCluster(tests: string): boolean {
  const why = whyNoCluster()
  if (why !== undefined) console.warn(`skipped: ${tests}: ${why}`)
  return why === undefined
}

/** The real cluster of HOLDFAST_TEST_KUBECONFIG, in a namespace of its own; else the fake one. */
export async function openCluster(options: FakeClusterOptions = {}): Promise<Cluster> {
  return realKubeconfig === undefined ? openFake(options) : openRealCluster(realKubeconfig)
}

async function openFake(options: FakeClusterOptions, namespace = 'default'): Promise<Cluster> {
  const fake = await openFakeCluster(options)
  const place: Place = {
    kubeconfig: fake.kubeconfig,
    namespace,
    image: fake.image,
    patch: { spec: { terminationGracePeriodSeconds: 1 } },
    home: fake.folder,
  }
  return { ...place, fake, ...waysOf(place), close: fake.close, [Symbol.asyncDispose]: fake.close }
}

/** Why no real cluster can be had; undefined: one can, and a fake one beside it. */
export function whyNoRealCluster(): string | undefined {
  return realKubeconfig === undefined ? 'HOLDFAST_TEST_KUBECONFIG names no cluster' : (whyNoCluster() ?? whyNoPods())
}

/** A fake cluster that has a namespace of the same name, with a runtime like that of the real one: both can be asked the same. */
export async function besideRealCluster({ namespace }: Cluster): Promise<Cluster> {
  const cluster = await openFake({}, namespace)
  if (cluster.fake) cluster.fake.switches.unknownProgram = 'status'
  await cluster.kubectl(['create', 'namespace', namespace])
  return cluster
}

interface Place extends Pick<Cluster, 'kubeconfig' | 'namespace' | 'image' | 'patch'> {
  readonly home: string
}

/** As its README says: without a pod network, pods are on that of the node, and no image is ever pulled. */
async function openRealCluster(kubeconfig: string): Promise<Cluster> {
  const place: Place = {
    kubeconfig,
    namespace: `holdfast-test-${randomBytes(4).toString('hex')}`,
    image: process.env.HOLDFAST_TEST_KUBERNETES_IMAGE || 'local/busybash:1',
    patch: { spec: { hostNetwork: true, terminationGracePeriodSeconds: 1 } },
    home: mkdtempSync(join(tmpdir(), 'holdfast-kubectl-')),
  }
  const ways = waysOf(place)
  const made = await ways.kubectl(['create', 'namespace', place.namespace])
  if (made.code !== 0) throw new Error(made.stderr)
  let isClosed = false
  const close = async (): Promise<void> => {
    if (isClosed) return
    isClosed = true
    await ways.kubectl(['delete', 'pods', '--all', '--force', '--grace-period=0', '--ignore-not-found', '--wait=false'])
    await ways.kubectl(['delete', 'namespace', place.namespace, '--wait=false', '--ignore-not-found'])
    await rm(place.home, { recursive: true, force: true })
  }
  return { ...place, fake: undefined, ...ways, close, [Symbol.asyncDispose]: close }
}

function waysOf(place: Place): Pick<Cluster, 'kubectl' | 'openPod'> {
  const kubectl: Cluster['kubectl'] = (args, input) => say(['--kubeconfig', place.kubeconfig, '--namespace', place.namespace, ...args], place.home, input)
  return {
    kubectl,
    async openPod(name, container = {}, spec = {}) {
      const main = { name: 'main', image: place.image, imagePullPolicy: 'Never', ...container }
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { ...(place.patch.spec as object), automountServiceAccountToken: false, restartPolicy: 'Never', containers: [main], ...spec },
      }
      const made = await kubectl(['create', '-f', '-'], JSON.stringify(pod))
      const ready = made.code === 0 ? await kubectl(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']) : made
      if (ready.code !== 0) throw new Error(`pod ${name} is not ready: ${ready.stderr}`)
    },
  }
}

function say(args: readonly string[], home: string, input: Uint8Array | string | undefined): Promise<Said> {
  const child = spawn('kubectl', args, {
    env: { PATH: process.env.PATH ?? '', HOME: home },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const out: Buffer[] = []
  let stderr = ''
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  child.stdout.on('data', (piece: Buffer) => out.push(piece))
  child.stderr.on('data', (piece) => {
    stderr += piece
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      const stdout = Buffer.concat(out)
      resolve({ code, stdout, stderr, text: stdout.toString('utf8') })
    })
  })
}
