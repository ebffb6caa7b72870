import { messageOf } from '../../core/errors.ts'
import { defaultIdleMs } from '../../core/first-process.ts'
import type { KubernetesTarget } from '../../core/target.ts'
import type { Api } from './api.ts'
import { ApiError, isApiError, toFailure } from './api-error.ts'
import { listOurs } from './pod.ts'
import { annotations, selector } from './pod-spec.ts'
import { describeEnd, hasEnded } from './pod-state.ts'
import { type Pod, pathOf, type Resource } from './resources.ts'
import { connect, type KubernetesTools } from './site.ts'

export interface ReapedPod {
  /** The uid. */
  readonly id: string
  readonly name: string
  readonly image: string
  readonly why: string
}

export interface ReapedPods {
  /** What is gone; with `dryRun`, what would be. */
  readonly removed: readonly ReapedPod[]
  /** Pods of ours that are left as they are. */
  readonly kept: readonly ReapedPod[]
  /** Refused deletes among them. */
  readonly problems: readonly string[]
}

/** All that a reaper has of a cluster. */
export interface ReaperFace {
  readonly namespace: string
  list(kind: 'pods' | 'secrets'): Promise<readonly Pod[]>
  /** Rejects with `conflict` where it is not what it was when it was listed. */
  delete(kind: 'pods' | 'secrets', object: Resource): Promise<'gone' | 'changed'>
}

/** From create to start takes minutes at most; whoever needs so long is not coming back. */
const halfMadeMs = 15 * 60_000
/** A pod of ours ends by itself when its lease is over, unless a run goes on in it: no run may take longer than this. */
const overdueMs = 24 * 3_600_000

/** Removes pods of ours in one namespace that have ended, or that nobody uses, and Secrets of ours without a pod. */
export async function reapKubernetes(
  target: Pick<KubernetesTarget, 'namespace' | 'kubeconfig' | 'context' | 'skipTlsVerify'>,
  tools: Pick<KubernetesTools, 'env' | 'userHome' | 'now' | 'accountFolder'>,
  { dryRun }: { readonly dryRun: boolean },
  signal?: AbortSignal,
): Promise<ReapedPods> {
  const { api } = connect(target, tools)
  try {
    return await reap(faceOf(api, target.namespace, signal), { now: (tools.now ?? Date.now)(), dryRun })
  } catch (error) {
    throw toFailure(error, `kubernetes namespace ${target.namespace}`)
  } finally {
    api.close()
  }
}

export async function reap(face: ReaperFace, { now, dryRun }: { readonly now: number; readonly dryRun: boolean }): Promise<ReapedPods> {
  const removed: ReapedPod[] = []
  const kept: ReapedPod[] = []
  const problems: string[] = []
  const end = async (kind: 'pods' | 'secrets', object: Resource, shown: ReapedPod): Promise<void> => {
    try {
      const answer = dryRun ? 'gone' : await face.delete(kind, object)
      if (answer === 'gone') removed.push(shown)
      else kept.push({ ...shown, why: 'was used again just now' })
    } catch (error) {
      problems.push(`${kind === 'pods' ? 'pod' : 'secret'} ${shown.name}: ${messageOf(error)}`)
    }
  }
  const pods = await face.list('pods')
  for (const pod of pods) {
    const { ended, why } = judge(pod, now)
    const shown = { id: pod.metadata.uid ?? '', name: pod.metadata.name, image: pod.spec?.containers?.[0]?.image ?? '', why }
    if (ended) await end('pods', pod, shown)
    else kept.push(shown)
  }
  const secrets = await face.list('secrets').catch((error: unknown) => {
    // Who makes no Secrets needs no right to see them.
    if (!isApiError(error, 403)) problems.push(`secrets: ${messageOf(error)}`)
    return []
  })
  const names = new Set(pods.map(({ metadata }) => metadata.name))
  for (const secret of secrets) {
    if (names.has(secret.metadata.name) || ageOf(secret, now) < halfMadeMs) continue
    await end('secrets', secret, { id: secret.metadata.uid ?? '', name: secret.metadata.name, image: '', why: 'is a Secret of a pod that is gone' })
  }
  return { removed, kept, problems }
}

const ageOf = ({ metadata }: Resource, now: number): number => now - Date.parse(metadata.creationTimestamp ?? '')

function judge(pod: Pod, now: number): { readonly ended: boolean; readonly why: string } {
  if (pod.metadata.deletionTimestamp) return { ended: false, why: 'is being deleted' }
  if (hasEnded(pod)) return { ended: true, why: `has ended (${describeEnd(pod)})` }
  if (pod.status?.phase !== 'Running') {
    return ageOf(pod, now) > halfMadeMs ? { ended: true, why: 'was never started' } : { ended: false, why: 'is just being made' }
  }
  const leaseMs = Number(pod.metadata.annotations?.[annotations.lease] ?? defaultIdleMs)
  const silentMs = now - Date.parse(pod.metadata.annotations?.[annotations.kept] ?? pod.metadata.creationTimestamp ?? '')
  const why = `was last used ${Math.max(0, Math.round(silentMs / 1000))} s ago, and ends after ${Math.round(leaseMs / 1000)} s, or with its last run`
  return { ended: silentMs > leaseMs + overdueMs, why }
}

function faceOf(api: Api, namespace: string, signal: AbortSignal | undefined): ReaperFace {
  return {
    namespace,
    list: (kind) => listOurs<Pod>(api, pathOf(kind, namespace), `list ${kind}`, selector, signal),
    async delete(kind, { metadata: { name, uid, resourceVersion } }) {
      // Whoever came to it in between has changed it.
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion }, gracePeriodSeconds: 0 }
      try {
        await api.ask({ method: 'DELETE', path: pathOf(kind, namespace, name), body, asked: `delete ${kind}`, signal })
        return 'gone'
      } catch (error) {
        if (isApiError(error, 404)) return 'gone'
        if (isApiError(error, 409)) return 'changed'
        throw error instanceof ApiError ? toFailure(error, `kubernetes namespace ${namespace}`) : error
      }
    },
  }
}
