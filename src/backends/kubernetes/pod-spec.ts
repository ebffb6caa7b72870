import { createHash } from 'node:crypto'
import { failure } from '../../core/errors.ts'
import { defaultIdleMs, firstCommand, privateFolder } from '../../core/first-process.ts'
import { type KubernetesTarget, targetKey } from '../../core/target.ts'

/** Of the pods, Secrets and claims that we make. */
export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  /** What it serves, as a hash; the next session with the same key finds it again. */
  key: 'dev.holdfast.key',
} as const

export const annotations = {
  /** Who made it. */
  owner: 'dev.holdfast.owner',
  /** For how long nobody may use it, in ms. */
  lease: 'dev.holdfast.lease',
  /** When it was last known to be in use. */
  kept: 'dev.holdfast.kept',
  root: 'dev.holdfast.root',
} as const

export const manager = 'holdfast'
export const selector = `${labels.managedBy}=${manager}`
export const defaultRoot = '/workspace'
export const mainContainer = 'main'

export interface PodRequest {
  readonly target: KubernetesTarget
  readonly name: string
  readonly owner: string
  readonly key: string
  readonly now: number
}

/** What is wrong with a target by itself, told before anybody is asked. */
export function checkTarget(target: KubernetesTarget): void {
  const isName = (value: string): boolean => value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)
  const refuse = (field: string, value: unknown, accepted: string): Error => failure('invalid', { field, value, accepted })
  if (!target.namespace) throw refuse('namespace', undefined, 'the namespace that the pod is to be in; it has no default')
  if (!isName(target.namespace) || target.namespace.includes('.'))
    throw refuse('namespace', target.namespace, 'small letters, digits and - (a name of Kubernetes)')
  if (target.pod !== undefined && !isName(target.pod)) throw refuse('pod', target.pod, 'small letters, digits, - and . (a name of Kubernetes)')
  if (target.provider === 'agent-sandbox') {
    if (target.pod === undefined && !target.warmPool) throw refuse('warmPool', undefined, 'the name of a SandboxWarmPool, which says what its pods are made of')
    if (target.secrets?.length)
      throw refuse('secrets', target.secrets, 'none: agent-sandbox would put their values into the claim; name them in the SandboxTemplate of the pool')
  } else if (target.pod === undefined && !target.image) {
    throw refuse('image', undefined, 'the name of an image; or pod, the name of a pod that is there')
  }
  if (target.root !== undefined && !target.root.startsWith('/')) throw refuse('root', target.root, 'an absolute path')
  if (target.idleMs !== undefined && !(Number.isFinite(target.idleMs) && target.idleMs >= 1000))
    throw refuse('idleMs', target.idleMs, 'at least 1000, in milliseconds')
  for (const name of target.secrets ?? []) if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw refuse('secrets', name, 'names of variables')
}

const hashOf = (text: string, length: number): string => createHash('sha256').update(text).digest('hex').slice(0, length)
export const keyHash = (key: string): string => hashOf(key, 24)

/** The same for the same key and target: two that make it at once make one. */
export function podName(key: string, target: KubernetesTarget): string {
  return `holdfast-${hashOf(key, 12)}-${hashOf(targetKey(target), 8)}`
}

export function podBody(request: PodRequest): Record<string, unknown> {
  const { target, name, owner, key, now } = request
  const root = target.root ?? defaultRoot
  const idleMs = target.idleMs ?? defaultIdleMs
  const quantities = Object.fromEntries(Object.entries(target.resources ?? {}).filter(([, quantity]) => quantity !== undefined))
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { ...target.labels, [labels.managedBy]: manager, [labels.key]: keyHash(key) },
      annotations: {
        [annotations.owner]: owner,
        [annotations.lease]: String(idleMs),
        [annotations.kept]: new Date(now).toISOString(),
        [annotations.root]: root,
      },
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 2,
      automountServiceAccountToken: target.serviceAccount !== undefined,
      enableServiceLinks: false,
      ...(target.serviceAccount ? { serviceAccountName: target.serviceAccount } : {}),
      ...(target.runtimeClass ? { runtimeClassName: target.runtimeClass } : {}),
      ...(target.nodeSelector ? { nodeSelector: target.nodeSelector } : {}),
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: mainContainer,
          image: target.image,
          ...(target.imagePullPolicy ? { imagePullPolicy: target.imagePullPolicy } : {}),
          command: firstCommand(idleMs),
          workingDir: root,
          ...(Object.keys(quantities).length > 0 ? { resources: { requests: quantities, limits: quantities } } : {}),
          ...(target.secrets?.length
            ? { env: target.secrets.map((variable) => ({ name: variable, valueFrom: { secretKeyRef: { name, key: variable } } })) }
            : {}),
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [
            { name: 'workspace', mountPath: root },
            { name: 'holdfast', mountPath: privateFolder },
          ],
        },
      ],
      volumes: [
        { name: 'workspace', emptyDir: {} },
        { name: 'holdfast', emptyDir: {} },
      ],
    },
  }
  return mergePatch(body, target.patch ?? {}) as Record<string, unknown>
}

/** RFC 7396: objects are merged, null removes, all else replaces. */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged: Record<string, unknown> = isObject(value) ? { ...value } : {}
  for (const [name, each] of Object.entries(patch)) {
    if (each === null) delete merged[name]
    else merged[name] = mergePatch(merged[name], each)
  }
  return merged
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
