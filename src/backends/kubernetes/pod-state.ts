import type { SiteState } from '../../core/channel.ts'
import type { ContainerStatus, Pod } from './resources.ts'

/** What is in the way of a pod that does not run yet. */
export interface Trouble {
  readonly why: string
  /** `never`: waiting changes nothing. `image`: that is because of the image. */
  readonly lasts: 'never' | 'image' | 'perhaps'
}

const hopeless = new Set(['ErrImageNeverPull', 'InvalidImageName'])
const noSuchImage = /not found|manifest unknown|does not exist|access denied|denied:|unauthorized|no such image|invalid reference/i
const hindering = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ImageInspectError',
  'RegistryUnavailable',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'CrashLoopBackOff',
])

export function isRunning(pod: Pod, container: string): boolean {
  return pod.status?.phase === 'Running' && statusOf(pod, container)?.state?.running !== undefined && pod.metadata.deletionTimestamp === undefined
}

export function statusOf(pod: Pod, container: string): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === container)
}

export function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

export function troubleOf(pod: Pod): Trouble | undefined {
  const { status } = pod
  if (hasEnded(pod)) return { why: `it ended before it ran: ${describeEnd(pod)}`, lasts: 'never' }
  for (const each of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason = '', message = '' } = each.state?.waiting ?? {}
    const why = message ? `${reason}: ${message}` : reason
    if (hopeless.has(reason)) return { why, lasts: 'image' }
    if (hindering.has(reason)) return { why, lasts: /Image/.test(reason) && noSuchImage.test(message) ? 'image' : 'perhaps' }
  }
  const unscheduled = status?.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  if (unscheduled) return { why: `${unscheduled.reason ?? 'not scheduled'}${unscheduled.message ? `: ${unscheduled.message}` : ''}`, lasts: 'perhaps' }
  return undefined
}

/** How a pod ended, in its own words. */
export function describeEnd(pod: Pod): string {
  const { status } = pod
  const words: string[] = []
  if (status?.reason) words.push(status.message ? `${status.reason}: ${status.message}` : status.reason)
  for (const each of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const end = each.state?.terminated
    if (!end || (end.exitCode === 0 && end.reason === 'Completed')) continue
    const how = [end.reason, end.exitCode === undefined ? undefined : `exit code ${end.exitCode}`, end.message?.trim()].filter(Boolean).join(', ')
    words.push(`container ${each.name}: ${how}`)
  }
  return words.join('; ') || `its phase is ${status?.phase ?? 'unknown'}`
}

/** Whether the pod that was opened still is what it was. `opened` is how its container looked then. */
export function judgePod(pod: Pod, container: string, opened: { readonly uid: string; readonly containerId: string | undefined }): SiteState {
  if (pod.metadata.uid !== opened.uid) return { kind: 'gone', why: 'it was deleted, and another pod has its name' }
  const status = statusOf(pod, container)
  const end = status?.state?.terminated ?? (status?.containerID !== opened.containerId ? status?.lastState?.terminated : undefined)
  const outOfMemory = end?.reason === 'OOMKilled' ? { outOfMemory: true } : {}
  // What was deleted ends, too; how it did is no news.
  if (pod.metadata.deletionTimestamp && !pod.status?.reason && !end?.reason?.startsWith('OOM') && (hasEnded(pod) || status?.state?.terminated))
    return { kind: 'gone', why: 'it was deleted' }
  if (hasEnded(pod)) return { kind: 'gone', why: describeEnd(pod), ...outOfMemory }
  if (status?.state?.terminated) return { kind: 'gone', why: describeEnd(pod), ...outOfMemory }
  if (opened.containerId !== undefined && status?.containerID !== undefined && status.containerID !== opened.containerId) {
    return { kind: 'gone', why: `container ${container} was started anew${end?.reason ? ` (${end.reason})` : ''}`, ...outOfMemory }
  }
  if (pod.status?.phase === 'Unknown' || pod.status?.reason === 'NodeLost') return { kind: 'unknown', why: pod.status.message ?? 'its node does not answer' }
  return { kind: 'up' }
}
