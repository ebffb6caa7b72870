import type { KubeObject } from './kube-object.ts'
import { timestamp } from './kube-object.ts'
import type { ResourceRequests } from './resource-requests.ts'
import { baseTypes, type ResourceType, sandboxTypes } from './resources.ts'
import { fieldOf } from './selectors.ts'
import type { Change, Store } from './store.ts'

/** What of the control plane a client can notice: namespaces empty themselves, and what is owned goes with its owner. */
export function beginControllers(store: Store, requests: ResourceRequests, types: readonly ResourceType[]): () => void {
  const namespaceType = baseTypes.find(({ plural }) => plural === 'namespaces') as ResourceType
  const accountType = baseTypes.find(({ plural }) => plural === 'serviceaccounts') as ResourceType
  const timers = new Set<NodeJS.Timeout>()
  const later = (act: () => void, ms = 1): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      act()
    }, ms)
    timers.add(timer)
  }
  const finish = (name: string): void => {
    if (!store.find(namespaceType, undefined, name)) return
    if (requests.empty(name) === 0) store.remove(namespaceType, undefined, name)
    else later(() => finish(name), 20)
  }
  const unique = types.filter(
    (type, index) => type.verbs.includes('list') && types.findIndex((own) => own.plural === type.plural && own.group === type.group) === index,
  )
  const collect = ({ metadata: { uid } }: KubeObject): void => {
    for (const type of unique) {
      for (const object of store.list(type)) {
        const owners = object.metadata.ownerReferences ?? []
        if (!owners.some((owner) => owner.uid === uid)) continue
        if (owners.length > 1) store.update(type, { ...object, metadata: { ...object.metadata, ownerReferences: owners.filter((owner) => owner.uid !== uid) } })
        else requests.discard(type, object)
      }
    }
  }
  const look = (change: Change): void => {
    const { kind, type, object } = change
    // At once: a pod may be made right after its namespace.
    if (kind === 'ADDED' && type.plural === 'namespaces') {
      const metadata = { name: 'default', namespace: object.metadata.name }
      store.create(accountType, { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    }
    if (kind === 'DELETED') later(() => collect(object))
    else if (type.plural === 'namespaces' && object.metadata.deletionTimestamp) later(() => finish(object.metadata.name))
    else if (object.metadata.deletionTimestamp && type.plural !== 'pods' && (object.metadata.finalizers ?? []).length === 0) {
      later(
        () => void (store.find(type, object.metadata.namespace, object.metadata.name) && store.remove(type, object.metadata.namespace, object.metadata.name)),
      )
    } else if (sandboxTypes.some((own) => own.plural === type.plural)) later(() => reconcileSandbox(store, requests, type, object))
  }
  const forget = store.onChange(look)
  return () => {
    forget()
    for (const timer of timers) clearTimeout(timer)
  }
}

/**
 * As much of agent-sandbox as its clients see: a claim gets a sandbox, which is one of its pool and has a name of its own, a sandbox has a pod,
 * whose name stands in an annotation of it, and both say `Ready` when the pod does. A sandbox that is suspended has no pod.
 */
function reconcileSandbox(store: Store, requests: ResourceRequests, type: ResourceType, changed: KubeObject): void {
  const { namespace, name } = changed.metadata
  const object = store.find(type, namespace, name)
  if (!object) return
  if (type.plural === 'sandboxclaims') claim(store, object)
  else if (type.plural === 'sandboxes') sandbox(store, requests, type, object)
}

const sandboxType = sandboxTypes.find(({ plural }) => plural === 'sandboxes') as ResourceType
const claimType = sandboxTypes.find(({ plural }) => plural === 'sandboxclaims') as ResourceType
const podType = baseTypes.find(({ plural }) => plural === 'pods') as ResourceType
const podNameAnnotation = 'agents.x-k8s.io/pod-name'
const owner = ({ apiVersion, kind, metadata }: KubeObject) => [
  { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: true },
]

function claim(store: Store, object: KubeObject): void {
  const { namespace, name } = object.metadata
  const template = findTemplate(store, object)
  if (typeof template === 'string') {
    setStatus(store, claimType, object, {}, false, 'TemplateNotFound', template)
    return
  }
  const pool = fieldOf(object, 'spec.warmPoolRef.name')
  // With variables of its own it is made anew.
  const isWarm = typeof pool === 'string' && ((fieldOf(object, 'spec.env') as object[] | undefined) ?? []).length === 0
  const sandboxName = isWarm ? `${pool}-${(object.metadata.uid ?? '').slice(0, 5)}` : name
  const found = store.find(sandboxType, namespace, sandboxName)
  if (!found) {
    store.create(sandboxType, {
      apiVersion: object.apiVersion.replace('extensions.', ''),
      kind: 'Sandbox',
      metadata: {
        name: sandboxName,
        ...(namespace === undefined ? {} : { namespace }),
        ...(sandboxName === name ? {} : { annotations: { [podNameAnnotation]: `${sandboxName}-pod` } }),
        labels: { 'agents.x-k8s.io/claim-uid': object.metadata.uid ?? '' },
        ownerReferences: owner(object),
      },
      spec: { operatingMode: 'Running', podTemplate: withEnvironment(template, (fieldOf(object, 'spec.env') as object[] | undefined) ?? []) },
    })
    return
  }
  const isReady =
    (fieldOf(found, 'status.conditions') as { type: string; status: string }[] | undefined)?.some((own) => own.type === 'Ready' && own.status === 'True') ===
    true
  setStatus(
    store,
    claimType,
    object,
    { sandbox: { name: sandboxName, podIPs: fieldOf(found, 'status.podIPs') ?? [] } },
    isReady,
    isReady ? 'DependenciesReady' : 'SandboxNotReady',
    '',
  )
}

function findTemplate(store: Store, object: KubeObject): KubeObject | string {
  const find = (plural: string, name: unknown): KubeObject | undefined => {
    const type = sandboxTypes.find((own) => own.plural === plural) as ResourceType
    return typeof name === 'string' ? store.find(type, object.metadata.namespace, name) : undefined
  }
  const poolName = fieldOf(object, 'spec.warmPoolRef.name') ?? fieldOf(object, 'spec.warmPool')
  const pool = find('sandboxwarmpools', poolName)
  const reference = fieldOf(object, 'spec.sandboxTemplateRef.name') ?? fieldOf(pool, 'spec.sandboxTemplateRef.name')
  const template = find('sandboxtemplates', reference)
  if (template) return fieldOf(template, 'spec.podTemplate') as KubeObject
  return pool ? `SandboxTemplate "${reference}" not found` : `SandboxWarmPool "${poolName}" not found`
}

function withEnvironment(template: KubeObject, added: readonly object[]): object {
  const spec = template.spec as { containers: { env?: object[] }[] }
  return { ...template, spec: { ...spec, containers: spec.containers.map((container) => ({ ...container, env: [...(container.env ?? []), ...added] })) } }
}

function sandbox(store: Store, requests: ResourceRequests, type: ResourceType, object: KubeObject): void {
  const { namespace, name } = object.metadata
  const template = fieldOf(object, 'spec.podTemplate') as
    | { metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }; spec: object }
    | undefined
  const podName = object.metadata.annotations?.[podNameAnnotation] ?? name
  const pod = store.find(podType, namespace, podName)
  const isSuspended = fieldOf(object, 'spec.operatingMode') === 'Suspended' || fieldOf(object, 'spec.replicas') === 0
  if (isSuspended) {
    if (pod && !pod.metadata.deletionTimestamp) requests.discard(podType, pod)
    setStatus(store, type, object, {}, false, 'SandboxSuspended', 'the sandbox is suspended')
    return
  }
  if (!pod && template) {
    requests.makeOwned(podType, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: podName,
        ...(namespace === undefined ? {} : { namespace }),
        labels: { ...template.metadata?.labels, 'agents.x-k8s.io/sandbox-name-hash': name.slice(0, 63) },
        ...(template.metadata?.annotations ? { annotations: template.metadata.annotations } : {}),
        ownerReferences: owner(object),
      },
      spec: template.spec,
    })
    return
  }
  const isReady =
    (fieldOf(pod, 'status.conditions') as { type: string; status: string }[] | undefined)?.some((own) => own.type === 'Ready' && own.status === 'True') === true
  const podIPs = ((fieldOf(pod, 'status.podIPs') as { ip: string }[] | undefined) ?? []).map(({ ip }) => ip)
  setStatus(
    store,
    type,
    object,
    { podIPs, selector: `agents.x-k8s.io/sandbox-name-hash=${name}` },
    isReady,
    isReady ? 'DependenciesReady' : 'DependenciesNotReady',
    isReady ? 'Pod is Ready' : 'Pod is not ready',
  )
}

/** When a pod or a sandbox changes, what owns it is looked at again. */
export function followOwned(store: Store, requests: ResourceRequests): () => void {
  return store.onChange(({ object }) => {
    for (const { kind, name, uid } of object.metadata.ownerReferences ?? []) {
      const type = sandboxTypes.find((own) => own.kind === kind)
      if (!type) continue
      setTimeout(() => {
        const found = store.find(type, object.metadata.namespace, name)
        if (found?.metadata.uid === uid) reconcileSandbox(store, requests, type, found)
      }, 1)
    }
  })
}

function setStatus(store: Store, type: ResourceType, object: KubeObject, fields: object, isReady: boolean, reason: string, message: string): void {
  const status = isReady ? 'True' : 'False'
  const before = (fieldOf(object, 'status.conditions') as { type: string; status: string; lastTransitionTime: string }[] | undefined)?.find(
    (own) => own.type === 'Ready',
  )
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : timestamp()
  const ready = { type: 'Ready', status, reason, message, lastTransitionTime, observedGeneration: 1 }
  store.update(type, { ...object, status: { ...fields, conditions: [ready] } })
}
