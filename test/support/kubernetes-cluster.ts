import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
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
  /** Runs kubectl in the namespace; resolves to what it printed. Throws where it fails. */
  kubectl(...args: readonly string[]): string
  close(): Promise<void>
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
  if (realKubeconfig !== undefined) return openRealCluster(realKubeconfig)
  const fake = await openFakeCluster(options)
  const namespace = 'default'
  return {
    kubeconfig: fake.kubeconfig,
    namespace,
    image: fake.image,
    patch: {},
    fake,
    kubectl: (...args) => kubectl(fake.kubeconfig, namespace, args),
    close: fake.close,
    [Symbol.asyncDispose]: fake.close,
  }
}

/** As the README of the real one says: without a pod network, pods are on that of the node, and no image is ever pulled. */
function openRealCluster(kubeconfig: string): Cluster {
  const namespace = `holdfast-test-${randomBytes(4).toString('hex')}`
  kubectl(kubeconfig, 'default', ['create', 'namespace', namespace])
  const close = async (): Promise<void> => {
    kubectl(kubeconfig, namespace, ['delete', 'pods', '--all', '--force', '--grace-period=0', '--ignore-not-found', '--wait=false'])
    kubectl(kubeconfig, 'default', ['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found'])
  }
  return {
    kubeconfig,
    namespace,
    image: process.env.HOLDFAST_TEST_KUBERNETES_IMAGE || 'local/busybash:1',
    patch: { spec: { hostNetwork: true, terminationGracePeriodSeconds: 1 } },
    fake: undefined,
    kubectl: (...args) => kubectl(kubeconfig, namespace, args),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function kubectl(kubeconfig: string, namespace: string, args: readonly string[]): string {
  return execFileSync('kubectl', ['--kubeconfig', kubeconfig, '--namespace', namespace, ...args], {
    encoding: 'utf8',
    timeout: 60_000,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
