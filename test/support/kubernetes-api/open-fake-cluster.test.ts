import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type BareClient, type Called, openBareClient } from './bare-client.ts'
import type { KubeObject, Pod } from './kube-object.ts'
import { type FakeCluster, openFakeCluster } from './open-fake-cluster.ts'
import { whyNoPods } from './pod-process.ts'
import { initialSwitches } from './switches.ts'

const why = whyNoPods()
if (why !== undefined) console.warn(`skipped: tests of the fake cluster: ${why}`)

const pods = '/api/v1/namespaces/default/pods'
const secrets = '/api/v1/namespaces/default/secrets'
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

describe.skipIf(why !== undefined)('the fake cluster', () => {
  let cluster: FakeCluster
  let client: BareClient

  const podOf = (name: string, container: object = {}, spec: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: cluster.image, imagePullPolicy: 'Never', ...container }],
      ...spec,
    },
  })
  const make = (name: string, container?: object, spec?: object): Promise<Called> => client.call(pods, { method: 'POST', body: podOf(name, container, spec) })
  const patch = (path: string, body: unknown, kind = 'merge'): Promise<Called> =>
    client.call(path, { method: 'PATCH', body, headers: { 'content-type': `application/${kind}-patch+json` } })
  /** Events of a watch until it is enough of them. */
  const watch = async (path: string, enough: (events: { type: string; object: KubeObject }[]) => boolean): Promise<{ type: string; object: KubeObject }[]> => {
    const events: { type: string; object: KubeObject }[] = []
    const end = new AbortController()
    const onLine = (line: string): void => {
      events.push(JSON.parse(line) as { type: string; object: KubeObject })
      if (enough(events)) end.abort()
    }
    await client.call(path, { signal: end.signal, onLine }).catch((error: unknown) => {
      if (!end.signal.aborted) throw error
    })
    return events
  }

  beforeAll(async () => {
    cluster = await openFakeCluster()
    client = openBareClient(cluster.kubeconfig, 'default')
  }, 60_000)
  beforeEach(() => void Object.assign(cluster.switches, initialSwitches()))
  afterAll(() => cluster?.close(), 60_000)

  describe('who asks', () => {
    it('is unknown with a wrong token, and nobody without one', async () => {
      const wrong = await openBareClient(cluster.kubeconfig, 'default', { token: 'wrong' }).call(pods)
      expect(wrong).toMatchObject({ code: 401, body: { kind: 'Status', status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized', code: 401 } })
      const nobody = await openBareClient(cluster.kubeconfig, 'default', { token: undefined }).call(pods)
      const message = 'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"'
      expect(nobody).toMatchObject({ code: 403, body: { reason: 'Forbidden', message, details: { kind: 'pods' } } })
    })

    it('may come with a certificate, and may lose a token', async () => {
      const { certFile, keyFile } = cluster.issueCertificate('carl', ['team'])
      const carl = openBareClient(cluster.writeKubeconfig('carl', { 'client-certificate': certFile, 'client-key': keyFile }), 'default')
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} }
      const said = await carl.call('/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body: review })
      expect(said.body.status).toMatchObject({ userInfo: { username: 'carl', groups: ['team'] } })
      const token = cluster.addUser('tina')
      const tina = openBareClient(cluster.kubeconfig, 'default', { token })
      expect((await tina.call(pods)).code).toBe(200)
      cluster.removeToken(token)
      expect((await tina.call(pods)).code).toBe(401)
    })

    it('is forbidden what is denied, and told so before', async () => {
      cluster.switches.denied = [{ verb: 'create', resource: 'pods' }, { resource: 'pods/exec' }]
      expect(await make('denied')).toMatchObject({
        code: 403,
        body: { message: 'pods is forbidden: User "admin" cannot create resource "pods" in API group "" in the namespace "default"' },
      })
      const ask = async (resource: string, verb: string, subresource = ''): Promise<unknown> => {
        const body = {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { namespace: 'default', verb, resource, ...(subresource ? { subresource } : {}) } },
        }
        return ((await client.call('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body })).body.status as { allowed: boolean })
          .allowed
      }
      expect([await ask('pods', 'create'), await ask('pods', 'get', 'exec'), await ask('pods', 'delete')]).toEqual([false, false, true])
      cluster.switches.reviews = 'forbidden'
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } }
      expect((await client.call('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { method: 'POST', body: review })).code).toBe(403)
      cluster.switches.reviews = 'incomplete'
      const incomplete = await client.call('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { method: 'POST', body: review })
      expect(incomplete.body.status).toMatchObject({ incomplete: true })
    })
  })

  describe('objects', () => {
    it('get names, and are refused twice, in a namespace that is not there, and with fields that nobody knows', async () => {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { generateName: 'made-' }, stringData: { a: 'b' } }
      const made = await client.call(secrets, { method: 'POST', body: secret })
      expect(made).toMatchObject({
        code: 201,
        body: { metadata: { name: expect.stringMatching(/^made-[a-z0-9]{5}$/), uid: expect.any(String) }, data: { a: 'Yg==' }, type: 'Opaque' },
      })
      const again = await client.call(secrets, { method: 'POST', body: { ...secret, metadata: { name: made.body.metadata.name } } })
      expect(again).toMatchObject({ code: 409, body: { reason: 'AlreadyExists' } })
      const elsewhere = await client.call('/api/v1/namespaces/nowhere/pods', { method: 'POST', body: podOf('lost') })
      expect(elsewhere).toMatchObject({ code: 404, body: { message: 'namespaces "nowhere" not found' } })
      const odd = await client.call(`${pods}?fieldValidation=Strict`, { method: 'POST', body: podOf('odd', {}, { memory: 1 }) })
      expect(odd).toMatchObject({ code: 400, body: { message: expect.stringContaining('unknown field "spec.memory"') } })
    })

    it('are changed only in the version that was seen', async () => {
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'held' }, spec: { holderIdentity: 'one' } }
      const made = await client.call(leases, { method: 'POST', body })
      const mine = { ...body, metadata: made.body.metadata, spec: { holderIdentity: 'mine' } }
      expect((await client.call(`${leases}/held`, { method: 'PUT', body: mine })).code).toBe(200)
      expect(await client.call(`${leases}/held`, { method: 'PUT', body: mine })).toMatchObject({ code: 409, body: { reason: 'Conflict' } })
      const stale = { preconditions: { resourceVersion: made.body.metadata.resourceVersion } }
      expect((await client.call(`${leases}/held`, { method: 'DELETE', body: stale })).code).toBe(409)
      expect(await client.call(`${leases}/held`, { method: 'DELETE' })).toMatchObject({ code: 200, body: { status: 'Success' } })
      expect((await client.call(`${leases}/held`)).code).toBe(404)
    })

    it('are patched by merging, by operations and strategically', async () => {
      await client.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'patched', labels: { a: '1', b: '2' } } } })
      expect((await patch(`${secrets}/patched`, { metadata: { labels: { a: null, c: '3' } } })).body.metadata.labels).toEqual({ b: '2', c: '3' })
      const operations = [
        { op: 'test', path: '/metadata/labels/b', value: '2' },
        { op: 'replace', path: '/metadata/labels/b', value: '4' },
      ]
      expect((await patch(`${secrets}/patched`, operations, 'json')).body.metadata.labels).toEqual({ b: '4', c: '3' })
      expect((await patch(`${secrets}/patched`, operations, 'json')).code).toBe(422)
      await make('patched')
      const named = await patch(`${pods}/patched`, { spec: { containers: [{ name: 'main', image: 'other:1' }] } }, 'strategic-merge')
      expect((named.body as unknown as Pod).spec.containers).toMatchObject([{ name: 'main', image: 'other:1', imagePullPolicy: 'Never' }])
      expect((await patch(`${pods}/patched`, { spec: { nodeSelector: { a: 'b' } } })).code).toBe(422)
    })

    it('go with what owns them', async () => {
      const owner = await client.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'owner' } } })
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name: 'owner', uid: owner.body.metadata.uid }]
      await client.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'owned', ownerReferences } } })
      const gone = watch(`${secrets}?watch=true&fieldSelector=metadata.name%3Downed`, (events) => events.at(-1)?.type === 'DELETED')
      await client.call(`${secrets}/owner`, { method: 'DELETE' })
      expect((await gone).map(({ type }) => type)).toEqual(['ADDED', 'DELETED'])
    })

    it('come in pieces where a limit is set', async () => {
      const first = await client.call('/api/v1/namespaces?limit=2')
      const { continue: next, remainingItemCount } = first.body.metadata as unknown as { continue: string; remainingItemCount: number }
      expect(remainingItemCount).toBe(1)
      const rest = await client.call(`/api/v1/namespaces?limit=2&continue=${next}`)
      const names = [first, rest].flatMap(({ body }) => (body.items as KubeObject[]).map(({ metadata }) => metadata.name))
      expect(names).toEqual(['default', 'kube-node-lease', 'kube-system'])
    })
  })

  describe('a watch', () => {
    it('tells what comes, changes and goes, as the selector sees it', async () => {
      const seen = watch(`${secrets}?watch=true&labelSelector=seen%3Dyes`, (events) => events.length === 3)
      await client.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'watched' } } })
      for (const label of ['yes', 'yes', 'no'])
        await patch(`${secrets}/watched`, { metadata: { labels: { seen: label, at: label === 'yes' ? String(Math.random()) : '0' } } })
      expect((await seen).map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED'])
    })

    it('goes on from a version, sends bookmarks, ends when told so, and says when the version is too old', async () => {
      const { body } = await client.call(secrets)
      const from = body.metadata.resourceVersion
      await client.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'later' } } })
      const path = `${secrets}?watch=true&resourceVersion=${from}&allowWatchBookmarks=true`
      cluster.switches.watch.bookmarkEveryMs = 50
      const events = await watch(path, (all) => all.at(-1)?.type === 'BOOKMARK')
      expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual([
        ['ADDED', 'later'],
        ['BOOKMARK', undefined],
      ])
      cluster.switches.watch.endAfterMs = 50
      expect((await watch(path, () => false)).length).toBeGreaterThan(0)
      cluster.switches.watch.endAfterMs = undefined
      cluster.watches.expireAll()
      expect(await watch(path, () => false)).toMatchObject([{ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }])
      cluster.switches.watch.expireNext = 1
      expect(await watch(`${secrets}?watch=true`, () => false)).toMatchObject([{ type: 'ERROR', object: { code: 410 } }])
    })
  })

  describe('a pod', () => {
    const stateOf = (pod: Pod) => pod.status.containerStatuses?.[0]?.state

    it('goes from Pending to Running to its end', async () => {
      const seen = watch(
        `${pods}?watch=true&fieldSelector=metadata.name%3Dbrief`,
        (events) => (events.at(-1)?.object as Pod | undefined)?.status.phase === 'Succeeded',
      )
      await make('brief', { command: ['sh', '-c', 'sleep 0.1'] })
      const phases = (await seen).map(({ object }) => (object as Pod).status.phase)
      expect([...new Set(phases)]).toEqual(['Pending', 'Running', 'Succeeded'])
    })

    it('runs as the user that was asked for, on a root that cannot be written, with room in its volumes', async () => {
      const script = 'id -u; id -g; (echo x >/made) 2>/dev/null || echo read-only; echo y >/room/made; cat /room/made; grep NoNewPrivs /proc/self/status'
      await make(
        'tight',
        {
          command: ['sh', '-c', script],
          securityContext: { runAsUser: 1000, runAsGroup: 1000, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
          volumeMounts: [{ name: 'room', mountPath: '/room' }],
        },
        { volumes: [{ name: 'room', emptyDir: {} }], automountServiceAccountToken: false },
      )
      await cluster.waitForPod('tight', ({ status }) => status.phase === 'Succeeded')
      expect((await client.call(`${pods}/tight/log`)).text).toBe('1000\n1000\nread-only\ny\nNoNewPrivs:\t1\n')
    })

    it('has the token of its account unless that is turned off', async () => {
      const command = ['sh', '-c', 'ls /var/run/secrets/kubernetes.io/serviceaccount 2>&1']
      await make('trusted', { command })
      await make('plain', { command }, { automountServiceAccountToken: false })
      await cluster.waitForPod('trusted', ({ status }) => status.phase === 'Succeeded')
      await cluster.waitForPod('plain', ({ status }) => status.phase === 'Failed')
      expect((await client.call(`${pods}/trusted/log`)).text).toBe('namespace\ntoken\n')
    })

    it('is OOMKilled where its first process needs more memory than it may have', async () => {
      await make('hungry', { command: ['sh', '-c', 'exec tail /dev/zero'], resources: { limits: { memory: '32Mi' } } })
      const pod = await cluster.waitForPod('hungry', ({ status }) => status.phase === 'Failed')
      expect(stateOf(pod)?.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' })
    })

    it('waits for a secret that is not there yet', async () => {
      await make('waits', { command: ['sh', '-c', 'echo $V'], env: [{ name: 'V', valueFrom: { secretKeyRef: { name: 'late', key: 'v' } } }] })
      const pod = await cluster.waitForPod('waits', (own) => stateOf(own)?.waiting?.reason === 'CreateContainerConfigError')
      expect(stateOf(pod)?.waiting?.message).toBe('secret "late" not found')
      await client.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'late' }, stringData: { v: 'here' } } })
      await cluster.waitForPod('waits', ({ status }) => status.phase === 'Succeeded')
      expect((await client.call(`${pods}/waits/log`)).text).toBe('here\n')
    })

    it.each([
      ['unschedulable', (pod: Pod) => pod.status.conditions?.[0]?.reason === 'Unschedulable' && pod.spec.nodeName === undefined],
      ['image-never', (pod: Pod) => stateOf(pod)?.waiting?.reason === 'ErrImageNeverPull'],
      ['image-pull', (pod: Pod) => stateOf(pod)?.waiting?.reason === 'ImagePullBackOff'],
      ['start-error', (pod: Pod) => stateOf(pod)?.terminated?.reason === 'StartError' && pod.status.phase === 'Failed'],
      ['failed', (pod: Pod) => pod.status.phase === 'Failed' && pod.status.reason === 'UnexpectedAdmissionError'],
      ['evicted', (pod: Pod) => pod.status.phase === 'Failed' && pod.status.reason === 'Evicted'],
    ] as const)('does not run where it is to be %s', async (kind, holds) => {
      cluster.switches.podFaults = [{ kind, times: 1 }]
      await make(kind)
      await cluster.waitForPod(kind, holds)
      expect((await client.call(`${pods}/${kind}`, { method: 'DELETE' })).code).toBe(200)
    })

    it('does not run with an image that is not there, or a program that is not in it', async () => {
      await make('no-image', { image: 'missing:1' })
      const pod = await cluster.waitForPod('no-image', (own) => stateOf(own)?.waiting !== undefined && stateOf(own)?.waiting?.reason !== 'ContainerCreating')
      expect(stateOf(pod)?.waiting).toEqual({ reason: 'ErrImageNeverPull', message: 'Container image "missing:1" is not present with pull policy of Never' })
      await make('no-program', { command: ['no-such-program'] })
      const other = await cluster.waitForPod('no-program', ({ status }) => status.phase === 'Failed')
      expect(stateOf(other)?.terminated).toMatchObject({ reason: 'StartError', exitCode: 128, message: expect.stringContaining('no-such-program') })
    })

    it('is killed after its grace where it does not listen, and thrown out by its node at once', async () => {
      await make('deaf', { command: ['sleep', '1000'] })
      await cluster.waitForPod('deaf', ({ status }) => status.phase === 'Running')
      const [pid] = cluster.pidsOf('deaf')
      const from = cluster.store.version
      await client.call(`${pods}/deaf`, { method: 'DELETE' })
      expect(cluster.findPod('deaf')?.metadata.deletionTimestamp).toBeDefined()
      await watch(`${pods}?watch=true&fieldSelector=metadata.name%3Ddeaf&resourceVersion=${from}`, (events) => events.at(-1)?.type === 'DELETED')
      expect(existsSync(`/proc/${pid}`)).toBe(false)
      await make('thrown')
      await cluster.waitForPod('thrown', ({ status }) => status.phase === 'Running')
      cluster.evict('thrown')
      const pod = await cluster.waitForPod('thrown', (own) => stateOf(own)?.terminated !== undefined)
      expect([pod.status.phase, pod.status.reason, stateOf(pod)?.terminated?.exitCode]).toEqual(['Failed', 'Evicted', 137])
    })
  })

  describe('the custom resources of agent-sandbox', () => {
    it('become a pod, say Ready, are suspended and resumed, and take the pod with them', async () => {
      const extensions = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default'
      const sandboxes = '/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes'
      const apiVersion = 'extensions.agents.x-k8s.io/v1beta1'
      const template = { spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: cluster.image }] } }
      const isReady = ({ object }: { object: KubeObject }): boolean =>
        ((object.status as { conditions?: { type: string; status: string }[] } | undefined)?.conditions ?? []).some(
          ({ type, status }) => type === 'Ready' && status === 'True',
        )
      await client.call(`${extensions}/sandboxtemplates`, {
        method: 'POST',
        body: { apiVersion, kind: 'SandboxTemplate', metadata: { name: 'small' }, spec: { podTemplate: template } },
      })
      await client.call(`${extensions}/sandboxwarmpools`, {
        method: 'POST',
        body: { apiVersion, kind: 'SandboxWarmPool', metadata: { name: 'pool' }, spec: { replicas: 0, sandboxTemplateRef: { name: 'small' } } },
      })
      const spec = { warmPoolRef: { name: 'pool' }, env: [{ name: 'FROM', value: 'claim' }] }
      await client.call(`${extensions}/sandboxclaims`, { method: 'POST', body: { apiVersion, kind: 'SandboxClaim', metadata: { name: 'mine' }, spec } })
      await watch(`${extensions}/sandboxclaims?watch=true`, (events) => isReady(events.at(-1) as { object: KubeObject }))
      const execution = await client.exec('mine', ['sh', '-c', 'echo $FROM'])
      await execution.closed
      expect(execution.text(1)).toBe('claim\n')
      const uid = cluster.findPod('mine')?.metadata.uid
      let from = cluster.store.version
      const isGone = (): Promise<unknown> =>
        watch(`${pods}?watch=true&fieldSelector=metadata.name%3Dmine&resourceVersion=${from}`, (events) => events.at(-1)?.type === 'DELETED')
      await patch(`${sandboxes}/mine`, { spec: { operatingMode: 'Suspended' } })
      await isGone()
      await patch(`${sandboxes}/mine`, { spec: { operatingMode: 'Running' } })
      await cluster.waitForPod('mine', (pod) => pod.metadata.uid !== uid && pod.status.phase === 'Running')
      from = cluster.store.version
      await client.call(`${extensions}/sandboxclaims/mine`, { method: 'DELETE' })
      await isGone()
    })
  })

  describe('the way there', () => {
    it('refuses as many requests as it is told to', async () => {
      cluster.switches.refusals = [
        { status: 429, times: 2, retryAfterSeconds: 3 },
        { status: 500, times: 1 },
        { status: 503, html: true, times: 1 },
      ]
      const answers = [await client.call(pods), await client.call(pods), await client.call(pods), await client.call(pods), await client.call(pods)]
      expect(answers.map(({ code }) => code)).toEqual([429, 429, 500, 503, 200])
      expect(answers[0]).toMatchObject({ headers: { 'retry-after': '3' }, body: { reason: 'TooManyRequests', details: { retryAfterSeconds: 3 } } })
      expect(answers[3]?.text).toMatch(/^<html>/)
      expect(cluster.seen.slice(-5).map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(Array(5).fill('list pods'))
    })

    it('goes down and comes back on the same port, with all that was there', async () => {
      const before = (await client.call(pods)).body.items as unknown[]
      await cluster.link.down()
      await expect(client.call(pods)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      await cluster.link.up()
      expect((await client.call(pods)).body.items).toHaveLength(before.length)
    })

    it('swallows what is sent until it heals, and closes nothing', async () => {
      await make('far')
      await cluster.waitForPod('far', ({ status }) => status.phase === 'Running')
      const execution = await client.exec('far', ['sh', '-c', 'echo one; read x; echo two'], { stdin: true })
      await execution.heard(1, 'one')
      cluster.link.blackhole()
      execution.send(0, 'go\n')
      let isAnswered = false
      const asked = client.call(pods).then(() => {
        isAnswered = true
      })
      await new Promise((resolve) => setTimeout(resolve, 200))
      expect([isAnswered, execution.text(1), execution.socket.readyState]).toEqual([false, 'one\n', 1])
      cluster.link.heal()
      await Promise.all([asked, execution.closed])
      expect(execution.text(1)).toBe('one\ntwo\n')
    })

    it('is as slow as it is told to be, and can be cut', async () => {
      await make('slow')
      await cluster.waitForPod('slow', ({ status }) => status.phase === 'Running')
      cluster.link.bytesPerSecond = 200_000
      const before = performance.now()
      const execution = await client.exec('slow', ['sh', '-c', 'head -c 100000 /dev/zero'])
      await execution.closed
      expect(performance.now() - before).toBeGreaterThan(400)
      expect(execution.bytes(1)).toHaveLength(100_000)
      cluster.link.bytesPerSecond = undefined
      const other = await client.exec('slow', ['sh', '-c', 'echo up; sleep 60'])
      await other.heard(1, 'up')
      cluster.link.cut()
      expect(await other.closed).toBe(1006)
    })
  })
})

describe.skipIf(why !== undefined)('the end of the fake cluster', () => {
  const isThere = (pid: number): boolean => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))

  it('leaves no process, mount, folder or control group', async () => {
    const cluster = await openFakeCluster()
    const client = openBareClient(cluster.kubeconfig, 'default')
    for (const name of ['one', 'two']) {
      const container = { name: 'main', image: cluster.image, command: ['sleep', '1000'], resources: { limits: { memory: '64Mi' } } }
      await client.call(pods, { method: 'POST', body: { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [container] } } })
      await cluster.waitForPod(name, ({ status }) => status.phase === 'Running')
    }
    const execution = await client.exec('one', ['sh', '-c', '(sleep 1000 &) ; echo up; sleep 1000'])
    await execution.heard(1, 'up')
    const pids = [...cluster.pidsOf('one'), ...cluster.pidsOf('two')]
    expect(pids.filter(isThere)).toHaveLength(2)
    await cluster.close()
    await cluster.close()
    await execution.closed
    expect(pids.filter(isThere)).toEqual([])
    expect(existsSync(cluster.folder)).toBe(false)
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(cluster.folder)
    const groups = readFileSync('/proc/self/cgroup', 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, kind = '', path = ''] = /^\d+:(.*?):(.*)$/.exec(line) ?? []
        const folder = join('/sys/fs/cgroup', kind.replace(/^name=/, ''), path)
        return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(`fake-pod-${process.pid}-`)) : []
      })
    expect(groups).toEqual([])
  })
})
