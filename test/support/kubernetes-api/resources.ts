/** A kind of object that the server knows. */
export interface ResourceType {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources?: readonly {
    readonly name: string
    readonly kind: string
    readonly group?: string
    readonly version?: string
    readonly verbs: readonly string[]
  }[]
  /** Of a custom resource: patched without knowledge of its fields. */
  readonly custom?: boolean
}

const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const status = (kind: string) => ({ name: 'status', kind, verbs: ['get', 'patch', 'update'] })

const core = (plural: string, kind: string, more: Partial<ResourceType> = {}): ResourceType => ({
  group: '',
  version: 'v1',
  plural,
  singular: kind.toLowerCase(),
  kind,
  namespaced: true,
  verbs: all,
  ...more,
})

const custom = (group: string, version: string, plural: string, kind: string): ResourceType => ({
  ...core(plural, kind, { subresources: [status(kind)], custom: true }),
  group,
  version,
})

/** In the versions of agent-sandbox's own release files. */
const agentSandbox = ['v1alpha1', 'v1beta1'].flatMap((version) => [
  custom('agents.x-k8s.io', version, 'sandboxes', 'Sandbox'),
  custom('extensions.agents.x-k8s.io', version, 'sandboxclaims', 'SandboxClaim'),
  custom('extensions.agents.x-k8s.io', version, 'sandboxtemplates', 'SandboxTemplate'),
  custom('extensions.agents.x-k8s.io', version, 'sandboxwarmpools', 'SandboxWarmPool'),
])

const review = (group: string, plural: string, kind: string, namespaced = false): ResourceType => ({
  ...core(plural, kind, { namespaced, verbs: ['create'] }),
  group,
})

export const baseTypes: readonly ResourceType[] = [
  core('namespaces', 'Namespace', { namespaced: false, shortNames: ['ns'], subresources: [status('Namespace')] }),
  core('nodes', 'Node', { namespaced: false, shortNames: ['no'], subresources: [status('Node')] }),
  core('pods', 'Pod', {
    shortNames: ['po'],
    categories: ['all'],
    subresources: [
      status('Pod'),
      { name: 'exec', kind: 'PodExecOptions', verbs: ['create', 'get'] },
      { name: 'attach', kind: 'PodAttachOptions', verbs: ['create', 'get'] },
      { name: 'log', kind: 'Pod', verbs: ['get'] },
    ],
  }),
  core('secrets', 'Secret'),
  core('configmaps', 'ConfigMap', { shortNames: ['cm'] }),
  core('events', 'Event', { shortNames: ['ev'] }),
  core('serviceaccounts', 'ServiceAccount', { shortNames: ['sa'] }),
  { ...core('leases', 'Lease'), group: 'coordination.k8s.io' },
  review('authorization.k8s.io', 'selfsubjectaccessreviews', 'SelfSubjectAccessReview'),
  review('authorization.k8s.io', 'selfsubjectrulesreviews', 'SelfSubjectRulesReview'),
  review('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview'),
  review('authentication.k8s.io', 'selfsubjectreviews', 'SelfSubjectReview'),
  { ...core('runtimeclasses', 'RuntimeClass', { namespaced: false }), group: 'node.k8s.io' },
]

export const sandboxTypes: readonly ResourceType[] = agentSandbox

export const apiVersionOf = ({ group, version }: ResourceType): string => (group === '' ? version : `${group}/${version}`)

/** Where the objects of a type are stored: all versions of a group share them. */
export const storageKey = ({ group, plural }: ResourceType): string => `${plural}.${group}`
