import type { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { type FakeCluster, openFakeCluster } from '../../../test/support/kubernetes-api/open-fake-cluster.ts'
import { initialSwitches } from '../../../test/support/kubernetes-api/switches.ts'
import type { Site } from '../../core/channel.ts'
import type { KubernetesTarget } from '../../core/target.ts'
import { reapKubernetes } from './reap.ts'
import { connect, forgetRefusals, type KubernetesSite, type KubernetesTools, openKubernetesSite } from './site.ts'

let cluster: FakeCluster
let sites: Site[] = []
let serial = 0

beforeAll(async () => {
  cluster = await openFakeCluster()
}, 60_000)
afterAll(async () => cluster.close())
afterEach(async () => {
  Object.assign(cluster.switches, initialSwitches())
  forgetRefusals()
  await Promise.all(sites.map((site) => site.destroy()))
  sites = []
})

type Wish = Partial<KubernetesTarget>
const targetOf = (more: Wish = {}): KubernetesTarget => ({
  backend: 'kubernetes',
  kubeconfig: cluster.kubeconfig,
  namespace: 'default',
  image: cluster.image,
  imagePullPolicy: 'Never',
  ...more,
})
const toolsOf = (more: Partial<KubernetesTools> = {}): KubernetesTools => {
  serial += 1
  return {
    env: { PATH: process.env.PATH, HOME: cluster.folder },
    owner: 'a test',
    key: `key ${serial}`,
    patience: { startMs: 15_000, troubleMs: 300 },
    ...more,
  }
}

async function open(wish: Wish = {}, tools: Partial<KubernetesTools> = {}, signal = new AbortController().signal): Promise<KubernetesSite> {
  const site = await openKubernetesSite(targetOf(wish), toolsOf(tools), signal)
  sites.push(site)
  return site
}

const podOf = (site: Site): string => (site.handle as KubernetesTarget).pod as string

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const part of stream) text += part
  return text
}

async function run(site: Site, script: string, input?: string): Promise<{ stdout: string; stderr: string; end: unknown }> {
  const channel = await site.open({ argv: ['sh', '-c', script] })
  channel.stdin.end(input ?? '')
  const [stdout, stderr, end] = await Promise.all([textOf(channel.stdout), textOf(channel.stderr), channel.ended.catch((error: unknown) => error)])
  return { stdout, stderr, end }
}

const requests = (from: number, verb?: string): string[] =>
  cluster.seen
    .slice(from)
    .filter((each) => verb === undefined || each.verb === verb)
    .map(({ verb: done, resource }) => `${done} ${resource}`)

describe('a target that is not whole', () => {
  it.each<[string, Wish, RegExp]>([
    ['no namespace', { namespace: '' }, /^namespace is missing; accepted: the namespace that the pod is to be in; it has no default$/],
    ['a namespace that is none', { namespace: 'My Space' }, /^namespace is "My Space"/],
    ['no image', { image: undefined }, /^image is missing; accepted: the name of an image; or pod/],
    ['no warm pool', { provider: 'agent-sandbox' }, /^warmPool is missing/],
    ['secrets in a claim', { provider: 'agent-sandbox', warmPool: 'p', secrets: ['A'] }, /^secrets is/],
    ['a root that is relative', { root: 'work' }, /^root is "work"/],
    ['an idle time in seconds', { idleMs: 60 }, /^idleMs is 60/],
  ])('is refused at once with one sentence: %s', async (_, wish, sentence) => {
    const before = cluster.seen.length
    await expect(open(wish)).rejects.toThrow(sentence)
    expect(cluster.seen).toHaveLength(before)
  })

  it('is refused for secrets that are not set, and for a liveness limit that is none', async () => {
    await expect(open({ secrets: ['NOT_SET'] })).rejects.toThrow(/secrets: NOT_SET is missing/)
    await expect(open({}, { env: { HOLDFAST_K8S_LIVENESS_MS: '45' } })).rejects.toThrow(/HOLDFAST_K8S_LIVENESS_MS is "45"/)
  })
})

describe('a pod of our own', () => {
  it('runs commands, with both streams, input and status, in its workspace', async () => {
    const site = await open()
    expect(site.rights?.all).toBe('granted')
    expect(await run(site, 'pwd; cat; echo err >&2; exit 9', 'input')).toEqual({ stdout: '/workspace\ninput', stderr: 'err\n', end: { exitCode: 9 } })
    expect(await site.examine()).toEqual({ kind: 'up' })
  })

  it('is made as little powerful as possible, and patched last', async () => {
    const site = await open({
      resources: { cpu: '500m', memory: '64Mi' },
      labels: { team: 'a' },
      patch: { metadata: { annotations: { more: 'b' } }, spec: { securityContext: { seccompProfile: null, fsGroup: 7 }, priority: null } },
    })
    const pod = cluster.findPod(podOf(site))
    const [container] = pod?.spec.containers ?? []
    expect(pod?.spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { fsGroup: 7 },
    })
    expect(container).toMatchObject({
      resources: { requests: { cpu: '500m', memory: '64Mi' }, limits: { cpu: '500m', memory: '64Mi' } },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    })
    expect(pod?.metadata.labels).toMatchObject({ team: 'a', 'app.kubernetes.io/managed-by': 'holdfast' })
    expect(pod?.metadata.annotations).toMatchObject({ more: 'b', 'dev.holdfast.owner': 'a test' })
  })

  it('is one, however many open it at the same time, and is found again later', async () => {
    const [a, b, c] = await Promise.all([open({}, { key: 'shared' }), open({}, { key: 'shared' }), open({}, { key: 'shared' })])
    expect(new Set([a, b, c].map(podOf)).size).toBe(1)
    await run(a, 'echo here >file')
    await a.close()
    const again = await open({}, { key: 'shared' })
    expect((await run(again, 'cat file')).stdout).toBe('here\n')
    expect(podOf(again)).toBe(podOf(b))
  })

  it('is gone after destroy, which what holds it is told as such', async () => {
    const site = await open()
    const other = await openKubernetesSite(site.handle as KubernetesTarget, toolsOf(), new AbortController().signal)
    await site.destroy()
    await until(() => cluster.findPod(podOf(site)) === undefined)
    expect(await other.examine()).toEqual({ kind: 'gone', why: 'it was deleted' })
    await expect(other.open({ argv: ['true'] })).rejects.toMatchObject({ details: { reason: 'site_gone' } })
    await other.close()
    const next = openKubernetesSite(site.handle as KubernetesTarget, toolsOf(), new AbortController().signal)
    await expect(next).rejects.toMatchObject({ code: 'not_found' })
  })

  it('gets secrets as a Secret that goes with it; their values are nowhere else', async () => {
    const env = { PATH: process.env.PATH, HOME: cluster.folder, TOKEN: 'very-secret-value' }
    const site = await open({ secrets: ['TOKEN'] }, { env })
    expect((await run(site, 'tr "\\0" "\\n" </proc/1/environ | grep TOKEN')).stdout).toBe('TOKEN=very-secret-value\n')
    expect(JSON.stringify(cluster.findPod(podOf(site)))).not.toContain('very-secret-value')
    expect(JSON.stringify(site.handle)).not.toContain('very-secret-value')
    const [secret] = cluster.list('secrets', 'default').filter(({ metadata }) => metadata.name === podOf(site))
    expect(secret?.metadata).toMatchObject({ labels: { 'app.kubernetes.io/managed-by': 'holdfast' }, ownerReferences: [{ kind: 'Pod', name: podOf(site) }] })
    await site.destroy()
    await until(() => !cluster.list('secrets', 'default').some(({ metadata }) => metadata.name === podOf(site)))
  })

  it('that was deleted and made anew by somebody under its name is another one', async () => {
    const site = await open({}, { key: 'twice' })
    await site.destroy()
    await until(() => cluster.findPod(podOf(site)) === undefined)
    await open({}, { key: 'twice' })
    await expect(openKubernetesSite(site.handle as KubernetesTarget, toolsOf(), new AbortController().signal)).rejects.toMatchObject({
      details: { reason: 'site_gone', why: expect.stringContaining('another pod has its name') },
    })
  })

  it('ends by itself when nobody uses it, and is made anew for who comes then', async () => {
    const site = await open({ idleMs: 1000 }, { key: 'idle' })
    await cluster.waitForPod(podOf(site), ({ status }) => status?.phase === 'Succeeded')
    expect(await site.examine()).toMatchObject({ kind: 'gone' })
    const again = await open({ idleMs: 1000 }, { key: 'idle' })
    expect((await run(again, 'echo alive')).stdout).toBe('alive\n')
  })

  it('stays as long as it is kept', async () => {
    const site = await open({ idleMs: 1500 })
    const begun = Date.now()
    while (Date.now() - begun < 3_500) {
      await site.keep?.()
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    expect(await site.examine()).toEqual({ kind: 'up' })
    const kept = cluster.findPod(podOf(site))?.metadata.annotations?.['dev.holdfast.kept'] ?? ''
    expect(Date.parse(kept)).toBeGreaterThan(begun)
  })

  it('that is thrown out by its node is gone, and says why', async () => {
    const site = await open()
    cluster.evict(podOf(site))
    await until(async () => (await site.examine()).kind === 'gone')
    expect(await site.examine()).toMatchObject({ kind: 'gone', why: expect.stringMatching(/^Evicted/) })
  })
})

describe('what cannot be made', () => {
  it.each<['unschedulable' | 'image-never' | 'image-pull' | 'failed', string, RegExp]>([
    ['image-never', 'backend_missing', /ErrImageNeverPull/],
    ['image-pull', 'backend_missing', /Err(Image)?Pull|ImagePullBackOff/],
    ['failed', 'backend_refused', /ended before it ran/],
    ['unschedulable', 'backend_', /Unschedulable/],
  ])('says what is in the way, and leaves nothing behind: %s', async (kind, reason, sentence) => {
    cluster.switches.podFaults = [{ kind }]
    const before = cluster.seen.length
    const key = `cannot ${kind}`
    const error = await open({}, { key }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ details: { reason: expect.stringContaining(reason) }, message: expect.stringMatching(sentence) })
    await until(() => !cluster.list('pods', 'default').some(({ metadata }) => metadata.deletionTimestamp === undefined))
    expect(requests(before, 'create')).toContain('create pods')
    // What lasts is remembered: the second time nobody is asked.
    const later = cluster.seen.length
    const again = await open({}, { key }).catch((caught: unknown) => caught)
    expect(again).toMatchObject({ message: (error as Error).message })
    if (kind === 'unschedulable') expect(cluster.seen.length).toBeGreaterThan(later)
    else expect(cluster.seen).toHaveLength(later)
  })

  it('that waits for something only its events tell of is given up, with their word', async () => {
    const patch = {
      spec: {
        volumes: [
          { name: 'workspace', secret: { secretName: 'nobody-made-it' } },
          { name: 'holdfast', emptyDir: {} },
        ],
      },
    }
    const opened = open({ patch }, { patience: { startMs: 2_000, troubleMs: 60_000 } })
    await expect(opened).rejects.toThrow(/did not run within 2 s: FailedMount: .*nobody-made-it/)
    await until(() => !cluster.list('pods', 'default').some(({ metadata }) => metadata.deletionTimestamp === undefined))
  })

  it('says which namespace is not there', async () => {
    await expect(open({ namespace: 'nowhere' })).rejects.toMatchObject({ details: { reason: 'backend_missing', what: 'namespace nowhere' } })
  })

  it('says which field the server does not take', async () => {
    await expect(open({ resources: { memory: 'much' } })).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('is given up when nobody waits any more, and removed', async () => {
    cluster.switches.podFaults = [{ kind: 'slow', delayMs: 60_000 }]
    const waiting = new AbortController()
    const opened = open({}, { key: 'canceled' }, waiting.signal)
    opened.catch(() => {})
    await until(() => cluster.list('pods', 'default').length > 0)
    waiting.abort()
    await expect(opened).rejects.toMatchObject({ details: { reason: 'canceled_before_start' } })
    await until(() => cluster.list('pods', 'default').every(({ metadata }) => metadata.deletionTimestamp !== undefined))
  })
})

describe('rights', () => {
  it('are asked before anything is made; a definite no is told with what is missing', async () => {
    cluster.switches.denied = [{ verb: 'create', resource: 'pods' }] as never
    const before = cluster.seen.length
    await expect(open()).rejects.toMatchObject({ details: { reason: 'backend_denied', why: expect.stringContaining('create pods') } })
    expect(requests(before, 'create').filter((each) => each === 'create pods')).toEqual([])
  })

  it('that nobody would tell of are unverified, and the attempt decides', async () => {
    cluster.switches.reviews = 'forbidden'
    const site = await open()
    expect(site.rights?.all).toBe('unverified')
    expect((await run(site, 'echo ok')).stdout).toBe('ok\n')
  })

  it('to watch and to patch are not needed', async () => {
    cluster.switches.denied = [
      { verb: 'watch', resource: 'pods' },
      { verb: 'list', resource: 'pods' },
      { verb: 'patch', resource: 'pods' },
    ] as never
    expect((await run(await open(), 'echo ok')).stdout).toBe('ok\n')
  })
})

describe('an existing pod', () => {
  it('is used as it is, and left as it was', async () => {
    const made = await open()
    const pod = podOf(made)
    const raw = cluster.findPod(pod)
    if (raw) Object.assign(raw.metadata, { annotations: {}, labels: {} })
    const site = await openKubernetesSite(targetOf({ pod, image: undefined, root: '/tmp' }), toolsOf(), new AbortController().signal)
    expect(site.root).toBe('/tmp')
    expect((await run(site, 'echo adopted')).stdout).toBe('adopted\n')
    await site.destroy()
    expect(await made.examine()).toEqual({ kind: 'up' })
  })

  it.each<[string, Wish, string]>([
    ['a pod that is not there', { pod: 'nobody' }, 'backend_missing'],
    ['a container that is not there', { container: 'nobody' }, 'invalid'],
  ])('that cannot be found is told: %s', async (_, wish, reason) => {
    const made = await open()
    const opened = openKubernetesSite(targetOf({ pod: podOf(made), ...wish }), toolsOf(), new AbortController().signal)
    await expect(opened).rejects.toMatchObject({ details: { reason } })
  })
})

describe('the way to the server', () => {
  it('may be busy, and expire and end watches', async () => {
    cluster.switches.refusals = [
      { status: 429, times: 2, retryAfterSeconds: 0 },
      { status: 503, times: 1, retryAfterSeconds: 0 },
    ]
    cluster.switches.watch.expireNext = 2
    cluster.switches.watch.endAfterMs = 50
    cluster.switches.podFaults = [{ kind: 'slow', delayMs: 400, times: 1 }]
    expect((await run(await open(), 'echo ok')).stdout).toBe('ok\n')
  })

  it('is told apart by what is wrong with it', async () => {
    const kubeconfig = cluster.writeKubeconfig('stranger', { token: 'nobody-knows-this' })
    await expect(open({ kubeconfig })).rejects.toMatchObject({ code: 'unauthenticated' })
    const elsewhere = cluster.writeKubeconfig('elsewhere', { token: 'x' }, { cluster: { server: 'https://127.0.0.1:1' } })
    await expect(open({ kubeconfig: elsewhere })).rejects.toThrow(/kubernetes 127.0.0.1:1 .*nothing listens there/)
    const untrusted = cluster.writeKubeconfig('untrusted', { token: cluster.token }, { cluster: { 'certificate-authority-data': undefined } })
    await expect(open({ kubeconfig: untrusted })).rejects.toThrow(/certificate is not trusted/)
    expect((await run(await open({ kubeconfig: untrusted, skipTlsVerify: true }), 'echo ok')).stdout).toBe('ok\n')
  })

  it('may be signed with a client certificate', async () => {
    const { certFile, keyFile } = cluster.issueCertificate('admin', ['system:masters'])
    const kubeconfig = cluster.writeKubeconfig('certified', { 'client-certificate': certFile, 'client-key': keyFile })
    expect((await run(await open({ kubeconfig }), 'echo ok')).stdout).toBe('ok\n')
  })
})

describe('the reaper', () => {
  const reap = (dryRun: boolean) => reapKubernetes(targetOf(), toolsOf(), { dryRun })

  it('removes what has ended, says so before with a dry run, and leaves what is in use', async () => {
    const used = await open()
    const ended = await open({ idleMs: 1000 })
    await ended.close()
    await cluster.waitForPod(podOf(ended), ({ status }) => status?.phase === 'Succeeded')
    const planned = await reap(true)
    expect(planned.removed.map(({ name }) => name)).toEqual([podOf(ended)])
    expect(planned.kept.map(({ name }) => name)).toContain(podOf(used))
    expect(cluster.findPod(podOf(ended))).toBeDefined()
    expect((await reap(false)).removed.map(({ name }) => name)).toEqual([podOf(ended)])
    await until(() => cluster.findPod(podOf(ended)) === undefined)
    expect(await used.examine()).toEqual({ kind: 'up' })
  })

  it('reports a delete that it is refused', async () => {
    const ended = await open({ idleMs: 1000 })
    await ended.close()
    await cluster.waitForPod(podOf(ended), ({ status }) => status?.phase === 'Succeeded')
    cluster.switches.denied = [{ verb: 'delete', resource: 'pods' }] as never
    const { removed, problems } = await reap(false)
    expect(removed).toEqual([])
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^pod ${podOf(ended)}: .*nobody has given the right to delete pods`))])
  })
})

describe('agent-sandbox', () => {
  const group = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default'
  const create = async (plural: string, kind: string, name: string, spec: object): Promise<void> => {
    const { api } = connect(targetOf(), toolsOf())
    const body = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind, metadata: { name }, spec }
    await api.ask({ method: 'POST', path: `${group}/${plural}`, body, asked: `create ${plural}` })
    api.close()
  }
  const claims = () => cluster.list('sandboxclaims', 'default').filter(({ metadata }) => metadata.deletionTimestamp === undefined)

  it('gives a pod of a warm pool for a claim, which is renewed and goes with it', async () => {
    const container = { name: 'agent', image: cluster.image, imagePullPolicy: 'Never' }
    await create('sandboxtemplates', 'SandboxTemplate', 'plain', { podTemplate: { spec: { containers: [container] } } })
    await create('sandboxwarmpools', 'SandboxWarmPool', 'pool', { replicas: 0, sandboxTemplateRef: { name: 'plain' } })
    const wish = { provider: 'agent-sandbox', warmPool: 'pool', image: undefined, idleMs: 4000, root: '/tmp' } as const
    const [site, same] = await Promise.all([open(wish, { key: 'claimed' }), open(wish, { key: 'claimed' })])
    expect(podOf(same)).toBe(podOf(site))
    expect((await run(site, 'echo in a sandbox')).stdout).toBe('in a sandbox\n')
    // The sandbox is one of the pool, and its pod has yet another name.
    expect(podOf(site)).toMatch(/^pool-[0-9a-f]{5}-pod$/)
    const [claim] = claims()
    expect(claim?.spec).toMatchObject({ warmPoolRef: { name: 'pool' }, lifecycle: { shutdownPolicy: 'Delete' } })
    const end = (): string => (claims()[0] as unknown as { spec: { lifecycle: { shutdownTime: string } } }).spec.lifecycle.shutdownTime
    const before = end()
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await site.keep?.()
    expect(Date.parse(end())).toBeGreaterThan(Date.parse(before))
    // Whoever opens the same again may end it, too.
    const again = await openKubernetesSite(site.handle as KubernetesTarget, toolsOf(), new AbortController().signal)
    await again.destroy()
    await until(() => claims().length === 0 && cluster.findPod(podOf(site)) === undefined)
  })

  it('says what is in the way of a claim, and leaves none', async () => {
    const opened = open({ provider: 'agent-sandbox', warmPool: 'no-such-pool', image: undefined })
    await expect(opened).rejects.toThrow(/is not ready: .*no-such-pool/)
    await until(() => claims().length === 0)
  })
})
