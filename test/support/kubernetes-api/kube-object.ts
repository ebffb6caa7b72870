/** Objects of the API as far as this server looks into them; everything else in them is kept as it came. */
export interface Metadata {
  name: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean; blockOwnerDeletion?: boolean }[]
  finalizers?: string[]
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: Metadata
  [field: string]: unknown
}

export interface EnvironmentVariable {
  name: string
  value?: string
  valueFrom?: {
    secretKeyRef?: { name: string; key: string; optional?: boolean }
    configMapKeyRef?: { name: string; key: string; optional?: boolean }
    fieldRef?: { fieldPath: string }
  }
}

export interface SecurityContext {
  runAsUser?: number
  runAsGroup?: number
  fsGroup?: number
  readOnlyRootFilesystem?: boolean
  allowPrivilegeEscalation?: boolean
  privileged?: boolean
  capabilities?: { add?: string[]; drop?: string[] }
}

export interface ContainerSpec {
  name: string
  image: string
  imagePullPolicy?: string
  command?: string[]
  args?: string[]
  workingDir?: string
  env?: EnvironmentVariable[]
  envFrom?: { prefix?: string; secretRef?: { name: string; optional?: boolean }; configMapRef?: { name: string; optional?: boolean } }[]
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[]
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> }
  securityContext?: SecurityContext
  stdin?: boolean
  tty?: boolean
}

export interface Volume {
  name: string
  emptyDir?: { medium?: string; sizeLimit?: string }
  secret?: { secretName: string; optional?: boolean; defaultMode?: number }
  configMap?: { name: string; optional?: boolean; defaultMode?: number }
  hostPath?: { path: string; type?: string }
  projected?: unknown
}

export interface PodSpec {
  containers: ContainerSpec[]
  initContainers?: ContainerSpec[]
  volumes?: Volume[]
  restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  terminationGracePeriodSeconds?: number
  activeDeadlineSeconds?: number
  automountServiceAccountToken?: boolean
  serviceAccountName?: string
  nodeName?: string
  nodeSelector?: Record<string, string>
  runtimeClassName?: string
  hostNetwork?: boolean
  hostname?: string
  securityContext?: SecurityContext
  [field: string]: unknown
}

export interface ContainerState {
  waiting?: { reason: string; message?: string }
  running?: { startedAt: string }
  terminated?: { exitCode: number; reason: string; message?: string; startedAt: string | null; finishedAt: string; containerID?: string; signal?: number }
}

export interface ContainerStatus {
  name: string
  image: string
  imageID: string
  containerID?: string
  ready: boolean
  started?: boolean
  restartCount: number
  state: ContainerState
  lastState: ContainerState
}

export interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason?: string
  message?: string
  lastProbeTime?: string | null
  lastTransitionTime?: string
}

export interface PodStatus {
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  reason?: string
  message?: string
  conditions?: Condition[]
  containerStatuses?: ContainerStatus[]
  initContainerStatuses?: ContainerStatus[]
  hostIP?: string
  podIP?: string
  podIPs?: { ip: string }[]
  startTime?: string
  qosClass?: string
}

export interface Pod extends KubeObject {
  spec: PodSpec
  status: PodStatus
}

/** Whole seconds, as the API writes times. */
export const timestamp = (at: Date = new Date()): string => at.toISOString().replace(/\.\d+Z$/, 'Z')
