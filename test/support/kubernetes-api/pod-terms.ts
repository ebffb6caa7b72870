import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerSpec, KubeObject, Pod, SecurityContext, Volume } from './kube-object.ts'
import type { ContainerTerms, Mount } from './pod-process.ts'
import { bytesOf } from './pod-rules.ts'
import { fieldOf } from './selectors.ts'

/** Something that the pod names is not there (yet). `event`: how the kubelet says it. */
export class NotYet extends Error {
  readonly isVolume: boolean

  constructor(message: string, isVolume: boolean) {
    super(message)
    this.isVolume = isVolume
  }
}

export interface PodPlace {
  readonly folder: string
  readonly imageRoot: string
  find(kind: 'Secret' | 'ConfigMap', namespace: string, name: string): KubeObject | undefined
}

/** Fields of the pod's spec made into what a process is started with. */
export function termsOf(pod: Pod, container: ContainerSpec, place: PodPlace): ContainerTerms {
  const security: SecurityContext = { ...pod.spec.securityContext, ...container.securityContext }
  const image = { command: ['/bin/idle'], cwd: '/workspace' }
  const argv = container.command ? [...container.command, ...(container.args ?? [])] : (container.args ?? image.command)
  const environment = environmentOf(pod, container, place)
  const uid = security.runAsUser ?? 0
  return {
    argv: argv.map((text) => expand(text, environment)),
    cwd: container.workingDir ?? image.cwd,
    uid,
    gid: security.runAsGroup ?? 0,
    capabilities: capabilitiesOf(security),
    noNewPrivileges: security.allowPrivilegeEscalation === false,
    folder: join(place.folder, container.name),
    imageRoot: place.imageRoot,
    mounts: mountsOf(pod, container, place),
    environment: { HOME: uid === 1000 ? '/home/user' : uid === 0 ? '/root' : '/', ...environment },
    hostname: pod.spec.hostname ?? pod.metadata.name,
    readOnlyRoot: security.readOnlyRootFilesystem === true,
    memoryBytes: container.resources?.limits?.memory === undefined ? undefined : bytesOf(container.resources.limits.memory),
    stdin: container.stdin === true,
  }
}

const decoded = (text: string): string => Buffer.from(text, 'base64').toString('utf8')

function dataOf(place: PodPlace, kind: 'Secret' | 'ConfigMap', namespace: string, name: string, optional: boolean, isVolume: boolean): Record<string, string> {
  const found = place.find(kind, namespace, name)
  if (!found) {
    if (optional) return {}
    throw new NotYet(`${kind.toLowerCase()} "${name}" not found`, isVolume)
  }
  const data = (found.data as Record<string, string> | undefined) ?? {}
  return kind === 'Secret' ? Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decoded(value)])) : data
}

function environmentOf(pod: Pod, container: ContainerSpec, place: PodPlace): Record<string, string> {
  const { namespace = '' } = pod.metadata
  const result: Record<string, string> = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOSTNAME: pod.spec.hostname ?? pod.metadata.name,
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  }
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    const data = {
      ...(secretRef ? dataOf(place, 'Secret', namespace, secretRef.name, secretRef.optional === true, false) : {}),
      ...(configMapRef ? dataOf(place, 'ConfigMap', namespace, configMapRef.name, configMapRef.optional === true, false) : {}),
    }
    for (const [key, value] of Object.entries(data)) result[prefix + key] = value
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    if (!valueFrom) {
      result[name] = expand(value ?? '', result)
      continue
    }
    const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom
    const reference = secretKeyRef ?? configMapKeyRef
    if (reference) {
      const kind = secretKeyRef ? 'Secret' : 'ConfigMap'
      const found = dataOf(place, kind, namespace, reference.name, reference.optional === true, false)[reference.key]
      if (found !== undefined) result[name] = found
      else if (reference.optional !== true) throw new NotYet(`couldn't find key ${reference.key} in ${kind} ${namespace}/${reference.name}`, false)
    } else if (fieldRef) result[name] = String(fieldOf(pod, fieldRef.fieldPath) ?? '')
  }
  return result
}

/** `$(NAME)` in values and arguments; `$$(NAME)` is that text. */
function expand(text: string, environment: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$|\(([-._a-zA-Z0-9]+)\))/g, (whole, kind: string, name: string | undefined) =>
    kind === '$' ? '$' : name === undefined ? whole : (environment[name] ?? whole),
  )
}

/** What containers have by default, as Docker and containerd agree. */
const defaultCapabilities = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'SETGID',
  'SETUID',
  'SETPCAP',
  'NET_BIND_SERVICE',
  'NET_RAW',
  'SYS_CHROOT',
  'MKNOD',
  'AUDIT_WRITE',
  'SETFCAP',
]
const capabilityNames =
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP'.split(
    ' ',
  )

function capabilitiesOf({ privileged, capabilities = {} }: SecurityContext): bigint {
  if (privileged) return 0xffff_ffffffn
  const plain = (name: string): string => name.toUpperCase().replace(/^CAP_/, '')
  const dropped = (capabilities.drop ?? []).map(plain)
  const added = (capabilities.add ?? []).map(plain)
  const kept = [
    ...(dropped.includes('ALL') ? [] : defaultCapabilities.filter((name) => !dropped.includes(name))),
    ...(added.includes('ALL') ? capabilityNames : added),
  ]
  return kept.reduce((mask, name) => (capabilityNames.includes(name) ? mask | (1n << BigInt(capabilityNames.indexOf(name))) : mask), 0n)
}

function mountsOf(pod: Pod, container: ContainerSpec, place: PodPlace): Mount[] {
  const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]))
  return (container.volumeMounts ?? []).map(({ name, mountPath, subPath, readOnly }) => {
    const volume = volumes.get(name) as Volume
    const from = folderOf(pod, volume, place)
    const within = subPath === undefined ? from : join(from, subPath)
    if (subPath !== undefined && volume.emptyDir) mkdirSync(within, { recursive: true })
    return { from: within, to: mountPath, readOnly: readOnly === true || Boolean(volume.secret ?? volume.configMap ?? volume.projected) }
  })
}

function folderOf(pod: Pod, volume: Volume, place: PodPlace): string {
  if (volume.hostPath) return volume.hostPath.path
  const folder = join(place.folder, 'volumes', volume.name)
  mkdirSync(folder, { recursive: true })
  const files = filesOf(pod, volume, place)
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text)
    chmodSync(join(folder, name), volume.secret?.defaultMode ?? volume.configMap?.defaultMode ?? 0o644)
  }
  chmodSync(folder, 0o777)
  const { fsGroup } = pod.spec.securityContext ?? {}
  if (fsGroup !== undefined) {
    chownSync(folder, 0, fsGroup)
    chmodSync(folder, 0o2777)
  }
  return folder
}

function filesOf(pod: Pod, { secret, configMap, projected }: Volume, place: PodPlace): Record<string, string> {
  const { namespace = '' } = pod.metadata
  if (secret) return dataOf(place, 'Secret', namespace, secret.secretName, secret.optional === true, true)
  if (configMap) return dataOf(place, 'ConfigMap', namespace, configMap.name, configMap.optional === true, true)
  return projected ? { token: `token-of-${pod.metadata.uid}`, namespace } : {}
}
