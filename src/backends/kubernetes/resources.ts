/* The parts of objects of Kubernetes that are looked at here. */

export interface Metadata {
  readonly name: string
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly creationTimestamp?: string | undefined
  readonly deletionTimestamp?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  readonly ownerReferences?: readonly { readonly uid?: string; readonly kind?: string; readonly name?: string }[] | undefined
}

export interface Resource {
  readonly kind?: string | undefined
  readonly metadata: Metadata
}

export interface List<T extends Resource> {
  readonly metadata?: { readonly resourceVersion?: string | undefined; readonly continue?: string | undefined } | undefined
  readonly items?: readonly T[] | undefined
}

export interface Condition {
  readonly type?: string | undefined
  readonly status?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

interface Waiting {
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

interface Terminated {
  readonly exitCode?: number | undefined
  readonly signal?: number | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

export interface ContainerStatus {
  readonly name: string
  readonly containerID?: string | undefined
  readonly restartCount?: number | undefined
  readonly state?: { readonly waiting?: Waiting; readonly running?: object; readonly terminated?: Terminated } | undefined
  readonly lastState?: { readonly terminated?: Terminated } | undefined
}

export interface Pod extends Resource {
  readonly spec?:
    | {
        readonly containers?: readonly { readonly name: string; readonly image?: string; readonly workingDir?: string }[] | undefined
        readonly nodeName?: string | undefined
      }
    | undefined
  readonly status?:
    | {
        readonly phase?: string | undefined
        readonly reason?: string | undefined
        readonly message?: string | undefined
        readonly conditions?: readonly Condition[] | undefined
        readonly containerStatuses?: readonly ContainerStatus[] | undefined
        readonly initContainerStatuses?: readonly ContainerStatus[] | undefined
      }
    | undefined
}

export interface ClusterEvent extends Resource {
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly lastTimestamp?: string | undefined
}

/** Custom resources of agent-sandbox. */
export interface Sandboxed extends Resource {
  readonly status?:
    | { readonly conditions?: readonly Condition[] | undefined; readonly sandbox?: { readonly name?: string; readonly Name?: string } | undefined }
    | undefined
}

export function pathOf(resource: string, namespace: string, name?: string, group = '/api/v1'): string {
  const parts = ['namespaces', namespace, resource, ...(name === undefined ? [] : [name])]
  return `${group}/${parts.map(encodeURIComponent).join('/')}`
}
