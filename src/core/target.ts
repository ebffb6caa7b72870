/*
 * Where commands run, as it is named in holdfast.json, on the command line and by the library. Everything in it may be shown and stored:
 * secrets are variables by name, never values.
 */

export interface TargetBasis {
  /** Absolute: where the workspace is there. */
  readonly root?: string | undefined
  /** The home directory that commands are to have; compared with the one that is found there when the target is opened. */
  readonly home?: string | undefined
  /** `never`: commands are started by a shell, with the limits of plain mode. Default `auto`. */
  readonly supervisor?: 'auto' | 'never' | undefined
}

export interface DockerTarget extends TargetBasis {
  readonly backend: 'docker'
  /** Default: `DOCKER_HOST`, the context, then the usual sockets of Docker and Podman. `unix:///path` or `tcp://host:port`. */
  readonly socket?: string | undefined
  /** A context of the docker command. */
  readonly context?: string | undefined
  /** Needed unless `container` is given. */
  readonly image?: string | undefined
  /** An existing container, by name or id; it is used as it is and never removed. */
  readonly container?: string | undefined
  /** Default `missing`. */
  readonly pull?: 'missing' | 'always' | 'never' | undefined
  /** `uid[:gid]` or a name; default: who runs Holdfast, so that files belong to the caller. */
  readonly user?: string | undefined
  /** Default `none`. */
  readonly network?: string | undefined
  /** Default: `mount` where the engine runs on this machine, else `copy`. */
  readonly workspace?: 'mount' | 'copy' | undefined
  /** Bytes; swap is not added. */
  readonly memory?: number | undefined
  readonly cpus?: number | undefined
  /** Processes and threads. */
  readonly pids?: number | undefined
  /** Default false. */
  readonly readOnly?: boolean | undefined
  /** Added after all were dropped. */
  readonly capabilities?: readonly string[] | undefined
  /** Paths of file systems in memory, each with its size in bytes; `/tmp` is always one where the root is read-only. */
  readonly tmpfs?: Readonly<Record<string, number>> | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** A container that nobody uses for so long ends and is removed. Default 10 minutes. */
  readonly idleMs?: number | undefined
}

export interface SshTarget extends TargetBasis {
  readonly backend: 'ssh'
  /** A host as ssh knows it: an alias of the person's configuration, or `user@host`. */
  readonly host: string
  readonly port?: number | undefined
  readonly user?: string | undefined
  /** Another configuration file for ssh (`-F`). */
  readonly config?: string | undefined
  /** Default 20 seconds. */
  readonly connectTimeoutMs?: number | undefined
}

export interface KubernetesTarget extends TargetBasis {
  readonly backend: 'kubernetes'
  /** Default: `KUBECONFIG`, then `~/.kube/config`, then what a pod is given. */
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
  /** Has no default. */
  readonly namespace: string
  /** Needed unless `pod` is given. */
  readonly image?: string | undefined
  /** An existing pod; it is used as it is and never deleted. */
  readonly pod?: string | undefined
  /** The very pod: another one that has its name by now is none. Written where a site is remembered; absent: whichever has the name. */
  readonly podUid?: string | undefined
  /** Default: the first one of the pod. */
  readonly container?: string | undefined
  /** What makes the pod: plain, or the custom resources of agent-sandbox. Default `pod`. */
  readonly provider?: 'pod' | 'agent-sandbox' | undefined
  /** Of the warm pool that an agent-sandbox claim names. */
  readonly warmPool?: string | undefined
  readonly runtimeClass?: string | undefined
  readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never' | undefined
  /** Quantities of Kubernetes, `500m`, `64Mi`; requests equal limits. */
  readonly resources?: { readonly cpu?: string | undefined; readonly memory?: string | undefined } | undefined
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  /** Default: none; the token of an account is mounted only where one is named. */
  readonly serviceAccount?: string | undefined
  /** Names of variables of Holdfast's environment that the pod gets from a Secret. */
  readonly secrets?: readonly string[] | undefined
  /** Merged into the pod last (JSON merge patch, RFC 7396). */
  readonly patch?: Readonly<Record<string, unknown>> | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** For test clusters only. */
  readonly skipTlsVerify?: boolean | undefined
  /** A pod that nobody uses for so long ends. Default 10 minutes. */
  readonly idleMs?: number | undefined
}

/** Somewhere else than on this machine. */
export type Target = DockerTarget | SshTarget | KubernetesTarget

/** The name of this machine, where a target is named. */
export const thisMachine = 'host'

/** How people know a place: `docker image busybox`, `ssh box`, `kubernetes pod web of tests`. Has no secret. */
export function targetTitle(target: Target): string {
  switch (target.backend) {
    case 'docker':
      return target.container === undefined ? `docker image ${target.image ?? '?'}` : `docker container ${shortId(target.container)}`
    case 'ssh':
      return `ssh ${target.user === undefined ? '' : `${target.user}@`}${target.host}`
    case 'kubernetes':
      return `kubernetes ${target.pod === undefined ? `image ${target.image ?? '?'}` : `pod ${target.pod}`} of ${target.namespace}`
    default:
      return target satisfies never
  }
}

/** An engine's own id as people know it; a name is left as it is. */
const shortId = (container: string): string => (/^[0-9a-f]{64}$/.test(container) ? container.slice(0, 12) : container)

/** The same text for targets that say the same, in whichever order. */
export function targetKey(target: Target): string {
  return JSON.stringify(sorted(target))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]))
}
