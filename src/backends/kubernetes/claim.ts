import { failure } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import type { Api } from './api.ts'
import { isApiError } from './api-error.ts'
import { awaitRunning, getPod, type Making } from './pod.ts'
import { annotations, keyHash, labels, manager } from './pod-spec.ts'
import { type Condition, type Pod, pathOf, type Resource, type Sandboxed } from './resources.ts'
import { followObject } from './watch.ts'

/*
 * The custom resources of agent-sandbox: a SandboxClaim takes a Sandbox out of a warm pool, and that has a pod.
 */

export const claimGroup = '/apis/extensions.agents.x-k8s.io/v1beta1'
const sandboxGroup = '/apis/agents.x-k8s.io/v1beta1'
/** On a Sandbox that took over a pod of the pool; else its pod has its own name. */
const podNameAnnotation = 'agents.x-k8s.io/pod-name'
/** On the pod, so that who finds it knows the claim. */
const claimAnnotation = 'dev.holdfast.claim'

/** The pod of the claim of this name, made where it is not there, once it runs. */
export async function requireClaimedPod(making: Making, leaseMs: number): Promise<Pod> {
  const { api, target, title, name, patience, signal } = making
  const body = {
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxClaim',
    metadata: {
      name,
      labels: { ...target.labels, [labels.managedBy]: manager, [labels.key]: keyHash(making.key) },
      annotations: { [annotations.owner]: making.owner },
    },
    spec: {
      warmPoolRef: { name: target.warmPool },
      // The controller ends it when nobody renews it, also when every Holdfast is dead.
      lifecycle: { shutdownTime: leaseEnd(making.now(), leaseMs), shutdownPolicy: 'Delete' },
      additionalPodMetadata: { labels: { [labels.key]: keyHash(making.key) }, annotations: { [claimAnnotation]: name } },
    },
  }
  let isNew = true
  try {
    await api.ask({ method: 'POST', path: pathOf('sandboxclaims', target.namespace, undefined, claimGroup), body, asked: 'create sandboxclaims', signal })
  } catch (error) {
    if (isApiError(error, 404) && !error.status.details?.name) {
      const what = 'resource sandboxclaims (extensions.agents.x-k8s.io/v1beta1)'
      throw failure('backend_missing', { target: title, what, help: 'install agent-sandbox with its extensions, or leave out provider' }, error)
    }
    if (!isApiError(error, 409)) throw error
    isNew = false
  }
  try {
    return await awaitClaimed(making, patience.startMs)
  } catch (error) {
    if (isNew) await removeClaim(api, target.namespace, name).catch(() => {})
    throw error
  }
}

async function awaitClaimed(making: Making, startMs: number): Promise<Pod> {
  const { api, target, title, name, progress, patience } = making
  const begun = monotonicMs()
  let last: Condition | undefined
  const tooLong = new AbortController()
  let since: number | undefined
  const deadline = setInterval(() => {
    if (monotonicMs() - begun > startMs || (since !== undefined && monotonicMs() - since > patience.troubleMs)) tooLong.abort()
  }, 250)
  const signal = AbortSignal.any([making.signal, tooLong.signal])
  try {
    const followed = { path: pathOf('sandboxclaims', target.namespace, undefined, claimGroup), name, resource: 'sandboxclaims' }
    for await (const claim of followObject<Sandboxed>(api, followed, signal)) {
      if (!claim || claim.metadata.deletionTimestamp) throw failure('site_gone', { target: title, why: `SandboxClaim ${name} was deleted before it was ready` })
      const ready = claim.status?.conditions?.find(({ type }) => type === 'Ready')
      const sandbox = claim.status?.sandbox?.name ?? claim.status?.sandbox?.Name
      if (ready?.status === 'True' && sandbox) {
        const pod = await getPod(api, target.namespace, await podOf(api, target.namespace, sandbox, signal), signal)
        return await awaitRunning({ ...making, signal }, pod)
      }
      if (ready && ready.message !== last?.message) progress?.(`claim ${name}: ${ready.reason}: ${ready.message}`)
      last = ready ?? last
      since = ready && isTrouble(ready) ? (since ?? monotonicMs()) : undefined
    }
    throw failure('canceled_before_start', {})
  } catch (error) {
    if (making.signal.aborted) throw failure('canceled_before_start', {}, error)
    if (!tooLong.signal.aborted) throw error
    throw failure('backend_unavailable', {
      target: title,
      why: `SandboxClaim ${name} is not ready${last ? `: ${last.reason}: ${last.message}` : ` after ${Math.round(startMs / 1000)} s`}`,
      help: `see kubectl describe sandboxclaim -n ${target.namespace}`,
    })
  } finally {
    clearInterval(deadline)
    tooLong.abort()
  }
}

/** Not just a pod that is still starting. */
const isTrouble = ({ reason = '', message = '' }: Condition): boolean =>
  /error|fail|notfound|invalid|expired/i.test(reason) || /not found|forbidden/i.test(message)

async function podOf(api: Api, namespace: string, sandbox: string, signal: AbortSignal): Promise<string> {
  const { metadata } = await api.ask<Sandboxed>({ method: 'GET', path: pathOf('sandboxes', namespace, sandbox, sandboxGroup), asked: 'get sandboxes', signal })
  return metadata.annotations?.[podNameAnnotation] || sandbox
}

const leaseEnd = (now: number, leaseMs: number): string => new Date(Math.ceil((now + leaseMs) / 1000) * 1000).toISOString().replace('.000Z', 'Z')

export async function renewClaim(api: Api, namespace: string, name: string, now: number, leaseMs: number): Promise<void> {
  const path = pathOf('sandboxclaims', namespace, name, claimGroup)
  const body = { spec: { lifecycle: { shutdownTime: leaseEnd(now, leaseMs) } } }
  await api.ask({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body, asked: 'patch sandboxclaims', repeatable: true })
}

export async function removeClaim(api: Api, namespace: string, name: string): Promise<void> {
  await api.ask({ method: 'DELETE', path: pathOf('sandboxclaims', namespace, name, claimGroup), asked: 'delete sandboxclaims' }).catch((error: unknown) => {
    if (!isApiError(error, 404)) throw error
  })
}

/** The claim of ours that a pod belongs to; undefined: it is somebody else's. */
export async function claimOf(api: Api, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  const namespace = pod.metadata.namespace ?? ''
  const ownerOf = ({ metadata }: Resource, kind: string): string | undefined => metadata.ownerReferences?.find((owner) => owner.kind === kind)?.name
  const find = (resource: string, name: string, group: string): Promise<Resource> =>
    api.ask<Resource>({ method: 'GET', path: pathOf(resource, namespace, name, group), asked: `get ${resource}`, signal })
  try {
    const sandbox = ownerOf(pod, 'Sandbox')
    const name = pod.metadata.annotations?.[claimAnnotation] ?? (sandbox && ownerOf(await find('sandboxes', sandbox, sandboxGroup), 'SandboxClaim'))
    if (!name) return undefined
    const claim = await find('sandboxclaims', name, claimGroup)
    return claim.metadata.labels?.[labels.managedBy] === manager ? name : undefined
  } catch (error) {
    // Who may not look leaves it alone.
    if (isApiError(error, 403) || isApiError(error, 404)) return undefined
    throw error
  }
}
