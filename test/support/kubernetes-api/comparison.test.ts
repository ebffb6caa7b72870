import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { besideRealCluster, type Cluster, openCluster, whyNoRealCluster } from '../kubernetes-cluster.ts'
import { type Call, type ExecAsk, openBareClient } from './bare-client.ts'

const why = whyNoRealCluster()
if (why !== undefined) console.warn(`skipped: the fake cluster beside a real one: ${why}`)

/** Asked of both clusters; what they answer has to be the same. */
type Ask = (cluster: Cluster) => Promise<unknown>
type Row = readonly [title: string, ask: Ask]

const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))

function kubectl(words: string, input?: object): Row {
  const title = `kubectl ${words}${input === undefined ? '' : ` < ${JSON.stringify(input)}`}`
  return [
    title,
    async (cluster) => {
      const { code, text, stderr } = await cluster.kubectl(words.split(' '), input === undefined ? undefined : JSON.stringify(input))
      return { code, text, stderr }
    },
  ]
}

/** A script in a pod, by kubectl. */
function exec(script: string, { pod = 'box', input }: { pod?: string; input?: string } = {}): Row {
  return [
    `kubectl exec ${pod} -- sh -c ${script}`,
    async (cluster) => {
      const { code, text, stderr } = await cluster.kubectl(['exec', ...(input === undefined ? [] : ['-i']), pod, '--', 'sh', '-c', script], input)
      return { code, text, stderr }
    },
  ]
}

/** A request with nothing in between; `path` is below the namespace, or absolute. */
function raw(path: string, call: Call = {}, more: { readonly as?: (cluster: Cluster) => Promise<string> } = {}): Row {
  return [
    `${call.method ?? 'GET'} ${path}${call.body === undefined ? '' : ` ${JSON.stringify(call.body)}`}`,
    async (cluster) => {
      const stranger = more.as && { token: await more.as(cluster), cert: undefined, key: undefined }
      const client = openBareClient(cluster.kubeconfig, cluster.namespace, stranger)
      const { code, headers, body, text } = await client.call(path.startsWith('/') ? path : `/api/v1/namespaces/${cluster.namespace}/${path}`, call)
      const { kind, reason, message, details } = (body ?? {}) as Record<string, unknown>
      return { code, type: headers['content-type'], ...(kind === 'Status' ? { reason, message, details } : body ? { kind } : { text }) }
    },
  ]
}

/** A program in a pod, over the older protocol. */
function bare(title: string, pod: string, argv: readonly string[], ask: ExecAsk = {}): Row {
  return [
    `exec over WebSocket: ${title}`,
    async (cluster) => {
      try {
        const execution = await openBareClient(cluster.kubeconfig, cluster.namespace).exec(pod, argv, { protocols: ['v4.channel.k8s.io'], ...ask })
        const closed = await execution.closed
        const status = JSON.parse(execution.text(3) || '{}') as { message?: string }
        // The one is Docker and the other containerd.
        const message = status.message?.replace(/Error executing in Docker Container: |error executing command \[.*\], exit code /, 'exit code ')
        return { closed, out: execution.text(1), err: execution.text(2), status: { ...status, message } }
      } catch (error) {
        return String(error)
      }
    },
  ]
}

const pod = (name: string, container: object, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'local/busybash:1', imagePullPolicy: 'Never', ...container }], ...spec },
})

interface PodState {
  readonly phase?: string
  readonly reason?: string
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[]
  readonly containerStatuses?: readonly {
    readonly state: Record<string, { reason?: string; message?: string; exitCode?: number }>
    readonly restartCount: number
  }[]
}

/** What becomes of a pod: its state once that is one that stays. */
function fate(title: string, container: object, spec: object = {}): Row {
  const name = title.replaceAll(' ', '-')
  return [
    `a pod with ${title}`,
    async (cluster) => {
      const body = pod(name, container, { ...(cluster.patch.spec as object), ...spec })
      const made = await cluster.kubectl(['create', '-f', '-'], JSON.stringify(body))
      if (made.code !== 0) return made.stderr
      let state: object = {}
      await expect
        .poll(async () => (state = settled(JSON.parse((await cluster.kubectl(['get', 'pod', name, '-o', 'json'])).text).status)), settling)
        .not.toEqual({})
      return state
    },
  ]
}

const settling = { timeout: 60_000, interval: 300 }

function settled({ phase, reason, conditions = [], containerStatuses = [] }: PodState): object {
  const [{ state = {}, restartCount = 0 } = {}] = containerStatuses
  const { waiting, terminated } = state
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') return { phase, scheduled: scheduled.reason }
  if (waiting && waiting.reason !== 'ContainerCreating') return { phase, reason, restartCount, waiting: { reason: waiting.reason, message: waiting.message } }
  // The words for the start that failed are those of the runtime.
  if (terminated && phase !== 'Running' && phase !== 'Pending')
    return { phase, reason, restartCount, why: terminated.reason?.replace('ContainerCannotRun', 'StartError') }
  return {}
}

/** Somebody without any rights. */
async function stranger({ kubectl: say, namespace, fake }: Cluster): Promise<string> {
  const name = `system:serviceaccount:${namespace}:stranger`
  if (fake) {
    fake.switches.denied.push({ user: name })
    return fake.addUser(name)
  }
  await say(['create', 'serviceaccount', 'stranger'])
  const made = await say(['create', 'token', 'stranger'])
  if (made.code === 0) return made.text.trim()
  const secret = await say(['get', 'serviceaccount', 'stranger', '-o', 'jsonpath={.secrets[0].name}'])
  return Buffer.from((await say(['get', 'secret', secret.text, '-o', 'jsonpath={.data.token}'])).text, 'base64').toString()
}

const secret = (data: object, more: object = {}): object => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys', ...more }, ...data })
const lease = (leaseDurationSeconds: number): object => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'held' },
  spec: { holderIdentity: 'me', leaseDurationSeconds, renewTime: '2030-01-01T00:00:00.000000Z' },
})
const mayI = (verb: string, resource: string): Call => ({
  method: 'POST',
  body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: { verb, resource, namespace: 'default' } } },
})
const deletion = (preconditions: object): Call => ({ method: 'DELETE', body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions } })
const patch = (body: unknown, type = 'application/merge-patch+json'): Call => ({ method: 'PATCH', body, headers: { 'content-type': type } })

const rows: readonly Row[] = [
  kubectl('get pods'),
  kubectl('get pod done'),
  kubectl('get pods -o name'),
  kubectl('get pod nobody'),
  kubectl('get pods -l app=none'),
  kubectl('get pods -n nowhere'),
  kubectl('get nothings'),
  kubectl('get pods -l ==='),
  kubectl('get pods --field-selector=metadata.none=x'),
  kubectl('get pod box -o jsonpath={.status.phase},{.status.qosClass},{.spec.nodeName},{.status.containerStatuses[*].state},{.spec.containers[*].resources}'),
  kubectl('get pod done -o jsonpath={.status.phase},{.status.containerStatuses[*].state.terminated.exitCode},{.status.containerStatuses[*].ready}'),
  kubectl('logs done'),
  kubectl('logs nobody'),
  kubectl('logs box -c other'),
  kubectl('logs pair -c one'),
  kubectl('logs done --previous'),
  kubectl('exec nobody -- true'),
  kubectl('exec box -c other -- true'),
  kubectl('exec done -- true'),
  kubectl('exec -n nowhere box -- true'),
  kubectl('exec box -- no-such-program'),
  kubectl('exec box -- /etc/passwd'),
  kubectl('exec pair -- true'),
  kubectl('exec pair -c two -- echo two'),
  exec('echo out; echo err >&2; exit 9'),
  exec('kill -9 $$'),
  exec('exit 255'),
  exec('wc -c; echo after', { input: 'some input\n' }),
  exec('cat'),
  kubectl(`cp nobody:/file ${join(folder, 'copied')}`),
  kubectl('attach done'),
  kubectl('delete pod nobody'),
  kubectl('delete pod nobody --ignore-not-found'),
  kubectl('create -f -', pod('box', {})),
  kubectl('create -n nowhere -f -', pod('box', {})),
  kubectl('create -f -', pod('other', {}, { runtimeClassName: 'none' })),
  kubectl('create -f -', pod('other', {}, { serviceAccountName: 'none' })),
  kubectl('create --validate=false -f -', pod('other', { imagePullPolicy: 'Maybe' })),
  kubectl('create --validate=false -f -', pod('other', { name: 'A b', volumeMounts: [{ name: 'none', mountPath: '/v' }] })),
  kubectl('create --validate=false -f -', pod('other', { env: [{ name: '1 a', value: 'x' }] })),
  kubectl('create namespace Bad_Name'),
  kubectl('apply -f -', secret({ stringData: { TOKEN: 'x' } }, { labels: { app: 'a' } })),
  kubectl('apply -f -', secret({ stringData: { TOKEN: 'y' } }, { labels: { app: 'a' } })),
  kubectl('get secret keys'),
  kubectl('get secret keys -o jsonpath={.data},{.type},{.metadata.labels}'),
  kubectl('describe secret keys'),
  kubectl('create -f -', secret({ data: { 'TO KEN': 'eA==' } })),
  kubectl('delete secret keys'),
  kubectl('apply -f -', lease(60)),
  kubectl('get lease held'),
  kubectl('patch lease held --type=merge -p {"spec":{"holderIdentity":"you"}}'),
  kubectl('get lease held -o jsonpath={.spec}'),
  kubectl('delete lease held'),
  kubectl('create -f -', lease(-1)),
  kubectl('auth can-i create pods'),
  kubectl('auth can-i create pods --subresource=exec'),
  kubectl('label pod box tier=low'),
  kubectl('label pod box tier=high'),
  kubectl('annotate pod box note=x'),
  kubectl('patch pod box --type=merge -p {"metadata":{"name":"other"}}'),
  kubectl('patch pod box --type=merge -p {"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}'),
  kubectl('patch pod box --type=json -p [{"op":"remove","path":"/metadata/labels/none"}]'),
  kubectl('wait --for=condition=Ready pod/done --timeout=1s'),
  raw('nothings'),
  raw('pods/box/nothing'),
  raw('/apis/none.example.org/v1/things'),
  raw('pods', { method: 'PUT', body: {} }),
  raw('pods/box', { method: 'POST', body: {} }),
  raw('pods', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }),
  raw('pods', { method: 'POST', body: { metadata: { name: 'other' } } }),
  raw('secrets', { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata: {} } }),
  raw('secrets', { method: 'POST', body: secret({}, { resourceVersion: '5' }) }),
  raw('pods', { method: 'POST', body: { ...pod('other', {}), metadata: { name: 'other', namespace: 'else' } } }),
  raw('pods/box', deletion({ uid: 'aaaaaaaa-0000-0000-0000-000000000000' })),
  raw('pods/box', deletion({ resourceVersion: '1' })),
  raw('secrets/nobody', { method: 'DELETE' }),
  raw('pods/nobody', patch({})),
  raw('pods', { headers: { authorization: 'Bearer nonsense' } }),
  raw('pods?limit=x'),
  raw('pods?watch=1&timeoutSeconds=1&resourceVersion=x'),
  raw('pods?watch=1&timeoutSeconds=1&resourceVersion=999999999'),
  raw('pods/pair/log'),
  raw('pods/box/log?tailLines=x'),
  raw('pods/box/exec?command=true&stdout=1'),
  raw('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', mayI('create', 'pods')),
  ...[
    ['pods', {}],
    ['pods/box', {}],
    ['pods/box/exec?command=true&stdout=1', {}],
    ['pods', { method: 'POST', body: pod('other', {}) }],
    ['pods/box', { method: 'DELETE' }],
    ['pods/box', patch({})],
    ['secrets', { method: 'POST', body: secret({}) }],
    ['/api/v1/namespaces', {}],
  ].map(([path, call]): Row => {
    const [title, ask] = raw(path as string, call as Call, { as: stranger })
    return [`without rights: ${title}`, ask]
  }),
  bare('a pod that is not there', 'nobody', ['true']),
  bare('a container that is not there', 'box', ['true'], { container: 'other' }),
  bare('one of two that is not named', 'pair', ['true']),
  bare('a pod that is over', 'done', ['true']),
  bare('a protocol that is not spoken', 'box', ['true'], { protocols: ['v9.channel.k8s.io'] }),
  bare('an exit code', 'box', ['sh', '-c', 'echo out; echo err >&2; exit 9']),
  bare('a signal', 'box', ['sh', '-c', 'kill $$']),
  bare('126', 'box', ['sh', '-c', 'exit 126']),
  bare('a program that is not there', 'box', ['no-such-program']),
  bare('a program that is none', 'box', ['/etc/passwd']),
  bare('a long command line', 'box', ['true', 'x'.repeat(100_000)]),
  fate('an image that is not there', { image: 'local/none:1' }),
  fate('a secret that is not there', { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'none', key: 'TOKEN' } } }] }),
  fate('no node', {}, { nodeSelector: { no: 'such' } }),
  fate('a command that is not there', { command: ['/no/such'] }),
  fate('a command that fails', { command: ['sh', '-c', 'exit 3'] }),
  fate('too little memory', { command: ['sh', '-c', 'exec tail /dev/zero'], resources: { limits: { memory: '32Mi' } } }),
]

describe.skipIf(why !== undefined)('the fake cluster, beside a real one, answers the same to', () => {
  let real: Cluster
  let fake: Cluster

  beforeAll(async () => {
    real = await openCluster()
    fake = await besideRealCluster(real)
    for (const cluster of [real, fake]) {
      const container = { image: cluster.image, imagePullPolicy: 'Never' }
      await cluster.openPod('box')
      await cluster.openPod('pair', {}, { containers: ['one', 'two'].map((name) => ({ name, ...container })) })
      const over = pod('done', { ...container, command: ['sh', '-c', 'echo over; exit 3'] }, cluster.patch.spec as object)
      await cluster.kubectl(['create', '-f', '-'], JSON.stringify(over))
      await cluster.kubectl(['wait', '--for=jsonpath={.status.phase}=Failed', 'pod/done', '--timeout=60s'])
    }
  }, 180_000)
  afterAll(async () => {
    await Promise.all([real?.close(), fake?.close(), rm(folder, { recursive: true, force: true })])
  }, 60_000)

  it.each(rows)('%s', { timeout: 120_000 }, async (_, ask) => {
    const [wanted, found] = await Promise.all([real, fake].map(async (cluster) => JSON.parse(leveled(JSON.stringify(await ask(cluster))))))
    expect(found).toEqual(wanted)
  })
})

/** Without what is of its cluster alone, and of its moment. */
function leveled(text: string): string {
  return (
    text
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z/g, 'TIME')
      // Newer servers begin with it.
      .replace(/unable to parse requirement: /g, '')
      .replace(/ResourceVersion in record \(\d+\)/g, 'ResourceVersion in record (N)')
      .replace(/(?<=\s)\d+m?\d*s(?=\b)/g, 'AGE')
      .replace(/127\.0\.0\.1:\d+/g, 'SERVER')
  )
}
