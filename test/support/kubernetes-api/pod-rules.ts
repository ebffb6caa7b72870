import { badRequest, type Cause, invalid } from './api-status.ts'
import type { ContainerSpec, KubeObject, Pod, PodSpec } from './kube-object.ts'
import type { ResourceType } from './resources.ts'

const podFields = new Set(
  `activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases hostIPC
  hostNetwork hostPID hostUsers hostname imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName
  readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName
  setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes`.split(/\s+/),
)
const containerFields = new Set(
  `args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy resources restartPolicy securityContext
  startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir`.split(/\s+/),
)
const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const quantity = /^[+-]?(\d+|\d+\.\d*|\.\d+)(m|[kMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/
const labelKey = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const environmentName = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/

const required = (field: string): Cause => ({ reason: 'FieldValueRequired', message: 'Required value', field })
const wrong = (field: string, value: unknown, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
})
const unsupported = (field: string, value: unknown, known: readonly string[]): Cause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${known.map((own) => `"${own}"`).join(', ')}`,
  field,
})
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/** What is refused of any object, and of pods what a client may get wrong. */
export function validate(type: ResourceType, object: KubeObject): void {
  const causes = [
    ...metadataCauses(object, type.plural === 'namespaces'),
    ...(type.plural === 'pods' ? podCauses((object as Pod).spec) : []),
    ...(type.plural === 'secrets' ? secretCauses(object) : []),
    ...(type.plural === 'leases' ? leaseCauses(object) : []),
  ]
  if (causes.length > 0) throw invalid(type, object.metadata.name ?? '', causes)
}

function metadataCauses({ metadata }: KubeObject, isLabel: boolean): Cause[] {
  const causes: Cause[] = []
  const { name, generateName, labels = {}, annotations = {} } = metadata
  if (!name && !generateName) causes.push({ reason: 'FieldValueRequired', message: 'Required value: name or generateName is required', field: 'metadata.name' })
  else if (name && (name.length > (isLabel ? 63 : 253) || !(isLabel ? label : subdomain).test(name)))
    causes.push(wrong('metadata.name', name, isLabel ? labelText : subdomainText))
  for (const [key, value] of Object.entries(labels)) {
    if (!labelKey.test(key) || (key.split('/').at(-1) ?? '').length > 63)
      causes.push(
        wrong(
          'metadata.labels',
          key,
          "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
      )
    if (value.length > 63) causes.push(wrong('metadata.labels', value, 'must be no more than 63 characters'))
    else if (!labelValue.test(value)) causes.push(wrong('metadata.labels', value, labelValueText))
  }
  const size = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (size > 256 * 1024) causes.push({ reason: 'FieldValueTooLong', message: 'Too long: must have at most 262144 bytes', field: 'metadata.annotations' })
  return causes
}

function podCauses(spec: PodSpec | undefined): Cause[] {
  const causes: Cause[] = []
  if (!spec?.containers?.length) return [required('spec.containers')]
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => name))
  for (const [list, containers] of Object.entries({ containers: spec.containers, initContainers: spec.initContainers ?? [] })) {
    const names = new Set<string>()
    for (const [index, container] of containers.entries()) {
      const field = `spec.${list}[${index}]`
      causes.push(...containerCauses(container, field, volumes))
      if (names.has(container.name)) causes.push({ reason: 'FieldValueDuplicate', message: `Duplicate value: "${container.name}"`, field: `${field}.name` })
      names.add(container.name)
    }
  }
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    if (!volume.name) causes.push(required(`spec.volumes[${index}].name`))
    else if (!label.test(volume.name)) causes.push(wrong(`spec.volumes[${index}].name`, volume.name, labelText))
  }
  const policies = ['Always', 'OnFailure', 'Never']
  if (spec.restartPolicy !== undefined && !policies.includes(spec.restartPolicy)) causes.push(unsupported('spec.restartPolicy', spec.restartPolicy, policies))
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    causes.push(wrong('spec.terminationGracePeriodSeconds', spec.terminationGracePeriodSeconds, 'must be greater than or equal to 0'))
  return causes
}

function containerCauses(container: ContainerSpec, field: string, volumes: ReadonlySet<string>): Cause[] {
  const causes: Cause[] = []
  if (!container.name) causes.push(required(`${field}.name`))
  else if (!label.test(container.name)) causes.push(wrong(`${field}.name`, container.name, labelText))
  if (!container.image) causes.push(required(`${field}.image`))
  const policies = ['Always', 'IfNotPresent', 'Never']
  if (container.imagePullPolicy !== undefined && !policies.includes(container.imagePullPolicy))
    causes.push(unsupported(`${field}.imagePullPolicy`, container.imagePullPolicy, policies))
  for (const [index, variable] of (container.env ?? []).entries()) {
    if (!variable.name) causes.push(required(`${field}.env[${index}].name`))
    else if (!environmentName.test(variable.name))
      causes.push(
        wrong(
          `${field}.env[${index}].name`,
          variable.name,
          "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')",
        ),
      )
  }
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    if (!volumes.has(mount.name))
      causes.push({ reason: 'FieldValueNotFound', message: `Not found: "${mount.name}"`, field: `${field}.volumeMounts[${index}].name` })
    if (!mount.mountPath) causes.push(required(`${field}.volumeMounts[${index}].mountPath`))
  }
  for (const kind of ['limits', 'requests'] as const) {
    for (const [name, value] of Object.entries(container.resources?.[kind] ?? {})) {
      if (kind === 'requests' && bytesOf(value) > bytesOf(container.resources?.limits?.[name] ?? '1E')) {
        causes.push(wrong(`${field}.resources.requests`, value, `must be less than or equal to ${name} limit of ${container.resources?.limits?.[name]}`))
      }
    }
  }
  return causes
}

function secretCauses(object: KubeObject): Cause[] {
  const keys = Object.keys((object.data as Record<string, string> | undefined) ?? {})
  return keys
    .filter((key) => !/^[-._a-zA-Z0-9]+$/.test(key))
    .map((key) =>
      wrong(
        `data[${key}]`,
        key,
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ),
    )
}

function leaseCauses({ spec }: KubeObject): Cause[] {
  const { leaseDurationSeconds } = (spec ?? {}) as { leaseDurationSeconds?: number }
  if (leaseDurationSeconds === undefined || leaseDurationSeconds > 0) return []
  return [wrong('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0')]
}

const podBooleans = ['automountServiceAccountToken', 'enableServiceLinks', 'hostIPC', 'hostNetwork', 'hostPID', 'shareProcessNamespace'] as const

/** What cannot be read into the fields of a kind at all. `strict`: names that it does not have are refused. */
export function decode(type: ResourceType, object: KubeObject, strict: boolean): void {
  const version = type.group === '' ? type.version : `${type.group}/${type.version}`
  if (object.apiVersion !== version || object.kind !== type.kind) {
    throw badRequest(
      `${object.kind || 'the object'} in version "${object.apiVersion}" cannot be handled as a ${type.kind}: no kind "${object.kind}" is registered for version "${object.apiVersion}"`,
    )
  }
  if (typeof object.metadata !== 'object' || object.metadata === null)
    throw badRequest(`${type.kind} in version "${version}" cannot be handled as a ${type.kind}: metadata is missing`)
  for (const [field, values] of Object.entries({ labels: object.metadata.labels, annotations: object.metadata.annotations })) {
    const bad = Object.entries(values ?? {}).find(([, value]) => typeof value !== 'string')
    if (bad) throw cannotUnmarshal(type, typeof bad[1], `ObjectMeta.metadata.${field}`, 'string')
  }
  if (type.plural === 'secrets') {
    const bad = Object.values((object.data as Record<string, string> | undefined) ?? {}).some((text) => Buffer.from(text, 'base64').toString('base64') !== text)
    if (bad) throw badRequest(`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0`)
  }
  if (type.plural !== 'pods') return
  const { spec } = object as Pod
  if (spec === undefined) return
  for (const field of podBooleans) {
    const value: unknown = (spec as unknown as Record<string, unknown>)[field]
    if (value !== undefined && value !== null && typeof value !== 'boolean') throw cannotUnmarshal(type, typeof value, `PodSpec.spec.${field}`, 'bool')
  }
  for (const list of ['containers', 'initContainers'] as const) {
    if (spec[list] !== undefined && !Array.isArray(spec[list])) throw cannotUnmarshal(type, 'object', `PodSpec.spec.${list}`, `[]v1.Container`)
    for (const container of spec[list] ?? []) {
      for (const variable of container.env ?? []) {
        if (variable.value !== undefined && typeof variable.value !== 'string')
          throw cannotUnmarshal(type, typeof variable.value, `EnvVar.spec.${list}.env.value`, 'string')
      }
      for (const values of [container.resources?.limits, container.resources?.requests]) {
        for (const value of Object.values(values ?? {})) {
          if (!quantity.test(String(value))) {
            throw badRequest(
              `Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
            )
          }
        }
      }
    }
  }
  if (!strict) return
  const unknown = [
    ...Object.keys(spec)
      .filter((field) => !podFields.has(field))
      .map((field) => `spec.${field}`),
    ...(['containers', 'initContainers'] as const).flatMap((list) =>
      (spec[list] ?? []).flatMap((container, index) =>
        Object.keys(container)
          .filter((field) => !containerFields.has(field))
          .map((field) => `spec.${list}[${index}].${field}`),
      ),
    ),
  ]
  if (unknown.length > 0)
    throw badRequest(`Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`)
}

const cannotUnmarshal = (type: ResourceType, found: string, field: string, wanted: string) =>
  badRequest(
    `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: json: cannot unmarshal ${found} into Go struct field ${field} of type ${wanted}`,
  )

/** Fields that the server fills in. */
export function withDefaults(object: KubeObject): KubeObject {
  if (object.kind === 'Secret') {
    const { stringData, ...rest } = object
    const added = Object.entries((stringData as Record<string, string> | undefined) ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
    const data = { ...(object.data as object | undefined), ...Object.fromEntries(added) }
    return { ...rest, ...(Object.keys(data).length > 0 ? { data } : {}), type: object.type ?? 'Opaque' }
  }
  if (object.kind === 'Namespace') return { ...object, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }
  if (object.kind !== 'Pod') return object
  const pod = object as Pod
  const fill = (container: ContainerSpec): ContainerSpec =>
    ({
      ...container,
      resources: withRequests(container.resources ?? {}),
      imagePullPolicy: container.imagePullPolicy ?? (/:(?!latest$)[^/]*$/.test(container.image) ? 'IfNotPresent' : 'Always'),
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    }) as ContainerSpec
  const serviceAccountName = pod.spec.serviceAccountName ?? 'default'
  const spec: PodSpec = {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    serviceAccountName,
    serviceAccount: serviceAccountName,
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
    priority: 0,
    ...pod.spec,
    containers: pod.spec.containers.map(fill),
    ...(pod.spec.initContainers ? { initContainers: pod.spec.initContainers.map(fill) } : {}),
  }
  return { ...pod, spec: withAccountToken(spec), status: { phase: 'Pending', qosClass: qosOf(spec) } }
}

function withRequests(resources: NonNullable<ContainerSpec['resources']>): NonNullable<ContainerSpec['resources']> {
  if (!resources.limits) return resources
  return { ...resources, requests: { ...resources.limits, ...resources.requests } }
}

/** Unless it is turned off, a token is mounted into each container. */
function withAccountToken(spec: PodSpec): PodSpec {
  if (spec.automountServiceAccountToken === false) return spec
  const name = 'kube-api-access-fake0'
  const mount = (container: ContainerSpec): ContainerSpec => ({
    ...container,
    volumeMounts: [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
  })
  return {
    ...spec,
    containers: spec.containers.map(mount),
    volumes: [
      ...(spec.volumes ?? []),
      { name, projected: { defaultMode: 420, sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }] } },
    ],
  }
}

function qosOf({ containers }: PodSpec): string {
  const named = containers.map(({ resources = {} }) => resources)
  if (named.every(({ limits, requests }) => !limits && !requests)) return 'BestEffort'
  const isGuaranteed = named.every(
    ({ limits, requests }) =>
      limits?.cpu && limits.memory && limits.cpu === (requests?.cpu ?? limits.cpu) && limits.memory === (requests?.memory ?? limits.memory),
  )
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

/** Of a pod that exists, only little may be changed. */
export function validatePodUpdate(type: ResourceType, previous: Pod, next: Pod): void {
  const fixed = ({ containers, activeDeadlineSeconds: _, terminationGracePeriodSeconds: __, tolerations: ___, ...rest }: PodSpec) =>
    stable({ ...rest, containers: containers.map(({ image: ____, ...container }) => container) })
  if (fixed(previous.spec) !== fixed(next.spec)) {
    throw invalid(type, next.metadata.name, [
      {
        reason: 'FieldValueForbidden',
        message:
          'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
        field: 'spec',
      },
    ])
  }
}

const stable = (value: unknown): string =>
  JSON.stringify(value, (_, own) => (typeof own === 'object' && own !== null && !Array.isArray(own) ? Object.fromEntries(Object.entries(own).sort()) : own))

const units: Record<string, number> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** A quantity as a number: `64Mi` are 67108864. */
export function bytesOf(text: string): number {
  const [, digits = '0', unit = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)(\w*)$/.exec(text) ?? []
  return Number(digits) * (units[unit] ?? 1)
}
