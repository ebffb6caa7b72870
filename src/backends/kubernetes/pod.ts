import { randomBytes } from 'node:crypto'
import { failure, type HoldfastError } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import type { KubernetesTarget } from '../../core/target.ts'
import type { Api } from './api.ts'
import { isApiError } from './api-error.ts'
import { keyHash, labels, mainContainer, manager, podBody } from './pod-spec.ts'
import { hasEnded, isRunning, type Trouble, troubleOf } from './pod-state.ts'
import { type ClusterEvent, type List, type Pod, pathOf, type Resource } from './resources.ts'
import { followObject } from './watch.ts'

export interface Patience {
  /** For a pod to run, all in all. */
  readonly startMs: number
  /** With something in the way that may pass. */
  readonly troubleMs: number
}

export const usualPatience: Patience = { startMs: 5 * 60_000, troubleMs: 60_000 }
/** For a pod that is just ending to be gone. */
const goneMs = 60_000
const cleanUpMs = 15_000

export interface Making {
  readonly api: Api
  readonly target: KubernetesTarget
  readonly title: string
  readonly name: string
  readonly owner: string
  readonly key: string
  readonly now: () => number
  readonly secrets: Readonly<Record<string, string>>
  readonly patience: Patience
  readonly progress: ((line: string) => void) | undefined
  readonly signal: AbortSignal
}

/** An error that waiting and asking again will not change. */
export class LastingRefusal extends Error {
  constructor(readonly failure: HoldfastError) {
    super(failure.message)
  }
}

export async function getPod(api: Api, namespace: string, name: string, signal?: AbortSignal): Promise<Pod> {
  return api.ask<Pod>({ method: 'GET', path: pathOf('pods', namespace, name), asked: 'get pods', signal })
}

/** The pod of this name, made where it is not there, once it runs. Others may do the same at the same time: there is one. */
export async function requirePod(making: Making): Promise<Pod> {
  const { api, target, name, title, signal } = making
  for (const begun = monotonicMs(); ; ) {
    const present = await getPod(api, target.namespace, name, signal).catch((error: unknown) => {
      if (isApiError(error, 404)) return undefined
      throw error
    })
    if (present && (hasEnded(present) || present.metadata.deletionTimestamp)) {
      if (monotonicMs() - begun > goneMs) {
        throw failure('backend_unavailable', {
          target: title,
          why: `pod ${name} of before is not gone after ${goneMs / 1000} s`,
          help: 'look at it with kubectl describe pod',
        })
      }
      await removePod(api, present, signal)
      await awaitGone(api, present, signal)
      continue
    }
    if (present) return awaitRunning(making, present)
    const made = await createPod(making)
    if (made) return awaitRunning(making, made, true)
  }
}

/** Undefined: somebody else was quicker. */
async function createPod(making: Making): Promise<Pod | undefined> {
  const { api, target, name, owner, key, now, secrets, signal } = making
  const needsSecret = Object.keys(secrets).length > 0
  // Before the pod, which would wait for it.
  if (needsSecret) await createSecret(making)
  try {
    const pod = await api.ask<Pod>({
      method: 'POST',
      path: pathOf('pods', target.namespace),
      body: podBody({ target, name, owner, key, now: now() }),
      asked: 'create pods',
      // The name is ours: twice the same makes one.
      repeatable: true,
      signal,
    })
    if (needsSecret) await bindSecret(making, pod)
    return pod
  } catch (error) {
    if (isApiError(error, 409)) return undefined
    // It may have been made before the connection broke.
    if (needsSecret || signal.aborted) await cleanUp(api, target.namespace, name)
    throw error
  }
}

async function createSecret({ api, target, name, key, secrets, signal }: Making): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: { [labels.managedBy]: manager, [labels.key]: keyHash(key) } },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(secrets).map(([variable, value]) => [variable, Buffer.from(value).toString('base64')])),
  }
  const path = pathOf('secrets', target.namespace)
  await api.ask({ method: 'POST', path, body, asked: 'create secrets', signal }).catch(async (error: unknown) => {
    if (!isApiError(error, 409)) throw error
    // Of an earlier pod, or of one that is just being made: the same values but for what changed meanwhile.
    await api.ask({
      method: 'PATCH',
      path: `${path}/${name}`,
      contentType: 'application/merge-patch+json',
      body: { data: body.data },
      asked: 'patch secrets',
      signal,
    })
  })
}

/** It goes with the pod. Where that cannot be said, it is removed by us. */
async function bindSecret({ api, target, name, signal }: Making, pod: Pod): Promise<void> {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name, uid: pod.metadata.uid }]
  const path = pathOf('secrets', target.namespace, name)
  const body = { metadata: { ownerReferences } }
  await api.ask({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body, asked: 'patch secrets', repeatable: true, signal }).catch(() => {})
}

/** Follows a pod until it runs. What can never run is removed again where it was just made. */
export async function awaitRunning(making: Making, pod: Pod, isNew = false): Promise<Pod> {
  const { api, target, title, patience, progress, signal } = making
  const name = pod.metadata.name
  const container = containerOf(target, pod)
  const begun = monotonicMs()
  const ender = new AbortController()
  const stop = (): void => ender.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  let trouble: (Trouble & { since: number }) | undefined
  const deadline = setInterval(
    () => {
      const now = monotonicMs()
      if (now - begun > patience.startMs || (trouble && now - trouble.since > patience.troubleMs)) ender.abort(new TooLong())
    },
    Math.min(1_000, patience.troubleMs / 4),
  )
  let shown = ''
  try {
    for await (const state of followObject<Pod>(api, { path: pathOf('pods', target.namespace), name, resource: 'pods' }, ender.signal)) {
      if (!state || state.metadata.uid !== pod.metadata.uid) throw failure('site_gone', { target: title, why: `pod ${name} was deleted before it ran` })
      if (isRunning(state, container)) return state
      const found = troubleOf(state)
      if (found && found.why !== shown) progress?.(`pod ${name}: ${found.why}`)
      shown = found?.why ?? shown
      if (found && found.lasts !== 'perhaps') throw new LastingRefusal(refusalOf(making, found))
      trouble = found && { ...found, since: trouble?.since ?? monotonicMs() }
    }
    throw failure('canceled_before_start', {})
  } catch (error) {
    // Before the pod is gone.
    const warning = ender.signal.aborted && !signal.aborted && !trouble ? await lastWarning(api, pod) : undefined
    if (isNew || troubleIsLasting(error)) await cleanUp(api, target.namespace, name, pod.metadata.uid)
    if (signal.aborted) throw failure('canceled_before_start', {}, error)
    if (!ender.signal.aborted) throw error
    if (trouble) throw refusalOf(making, trouble)
    const seconds = Math.round(patience.startMs / 1000)
    throw failure('backend_unavailable', {
      target: title,
      why: `the pod did not run within ${seconds} s${warning ? `: ${warning}` : ''}`,
      help: `see kubectl describe pod -n ${target.namespace}, and the nodes of the cluster`,
    })
  } finally {
    clearInterval(deadline)
    signal.removeEventListener('abort', stop)
    ender.abort()
  }
}

class TooLong extends Error {}

/** What only the events of a pod say, like a volume that cannot be mounted. Who may not see them does without. */
async function lastWarning(api: Api, { metadata: { name, uid, namespace = '' } }: Pod): Promise<string | undefined> {
  const fieldSelector = `involvedObject.name=${name},involvedObject.uid=${uid},type=Warning`
  const query = { fieldSelector, limit: 50 }
  const signal = AbortSignal.timeout(cleanUpMs)
  const events = await api
    .ask<List<ClusterEvent>>({ method: 'GET', path: pathOf('events', namespace), query, asked: 'list events', signal })
    .catch(() => undefined)
  const timeOf = ({ lastTimestamp, metadata }: ClusterEvent): string => lastTimestamp ?? metadata.creationTimestamp ?? ''
  const last = events?.items?.reduce<ClusterEvent | undefined>((latest, each) => (latest && timeOf(latest) > timeOf(each) ? latest : each), undefined)
  return last && [last.reason, last.message].filter(Boolean).join(': ')
}

const troubleIsLasting = (error: unknown): boolean => error instanceof LastingRefusal

function refusalOf({ title, target }: Making, { why, lasts }: Trouble): HoldfastError {
  if (lasts === 'image')
    return failure('backend_missing', {
      target: title,
      what: `image ${target.image ?? 'of the pod'} for the node`,
      why,
      help: 'push the image, correct its name, or give the namespace the right to pull it',
    })
  if (/insufficient|exceeded quota|too many pods|outof/i.test(why)) return failure('backend_exhausted', { target: title, why })
  return failure('backend_refused', { target: title, what: 'the pod', why })
}

export function containerOf(target: KubernetesTarget, pod: Pod): string {
  const names = pod.spec?.containers?.map(({ name }) => name) ?? []
  if (target.container === undefined) return names.includes(mainContainer) ? mainContainer : (names[0] ?? mainContainer)
  if (names.includes(target.container)) return target.container
  throw failure('invalid', { field: 'container', value: target.container, accepted: `a container of pod ${pod.metadata.name}: ${names.join(', ')}` })
}

/** Being gone already is what was wanted. */
export async function removePod(api: Api, pod: Pod, signal?: AbortSignal): Promise<void> {
  const { name, uid, namespace = '' } = pod.metadata
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid },
    // What has ended already has nothing to put in order.
    ...(hasEnded(pod) ? { gracePeriodSeconds: 0 } : {}),
  }
  await api.ask({ method: 'DELETE', path: pathOf('pods', namespace, name), body, asked: 'delete pods', signal }).catch((error: unknown) => {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error
  })
}

async function awaitGone(api: Api, { metadata: { name, uid, namespace = '' } }: Pod, signal: AbortSignal): Promise<void> {
  const ender = AbortSignal.any([signal, AbortSignal.timeout(goneMs)])
  try {
    for await (const state of followObject<Pod>(api, { path: pathOf('pods', namespace), name, resource: 'pods' }, ender)) {
      if (!state || state.metadata.uid !== uid) return
    }
  } catch (error) {
    if (signal.aborted || !ender.aborted) throw error
  }
}

/** Removes what was made, for whom nobody waits; what cannot be removed is the reaper's. */
export async function cleanUp(api: Api, namespace: string, name: string, uid?: string): Promise<void> {
  const signal = AbortSignal.timeout(cleanUpMs)
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, ...(uid ? { preconditions: { uid } } : {}) }
  await Promise.allSettled([
    api.ask({ method: 'DELETE', path: pathOf('pods', namespace, name), body, asked: 'delete pods', signal }),
    removeSecret(api, namespace, name, signal),
  ])
}

/** Of a pod of ours that has one. */
export async function removeSecret(api: Api, namespace: string, name: string, signal?: AbortSignal): Promise<void> {
  await api.ask({ method: 'DELETE', path: pathOf('secrets', namespace, name), asked: 'delete secrets', signal }).catch((error: unknown) => {
    if (!isApiError(error, 404)) throw error
  })
}

export async function listOurs<T extends Resource>(api: Api, path: string, asked: string, labelSelector: string, signal?: AbortSignal): Promise<T[]> {
  const found: T[] = []
  let next: string | undefined
  do {
    const list: List<T> = await api.ask<List<T>>({ method: 'GET', path, query: { labelSelector, limit: 500, continue: next }, asked, signal })
    found.push(...(list.items ?? []))
    next = list.metadata?.continue || undefined
  } while (next !== undefined)
  return found
}

export const randomKey = (): string => randomBytes(12).toString('hex')
