import type { Channel, Site, SiteState } from '../../core/channel.ts'
import { failure, HoldfastError, messageOf } from '../../core/errors.ts'
import { arrivalArgv, defaultIdleMs, madeHome, privateFolder } from '../../core/first-process.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import { type KubernetesTarget, targetKey } from '../../core/target.ts'
import { type Api, openApi } from './api.ts'
import { isApiError, toFailure } from './api-error.ts'
import { claimOf, removeClaim, renewClaim, requireClaimedPod } from './claim.ts'
import { openConnection } from './connection.ts'
import { openExec } from './exec.ts'
import { type Access, findAccess } from './kubeconfig.ts'
import { containerOf, getPod, LastingRefusal, type Making, type Patience, randomKey, removePod, removeSecret, requirePod, usualPatience } from './pod.ts'
import { annotations, checkTarget, defaultRoot, labels, manager, podName } from './pod-spec.ts'
import { describeEnd, hasEnded, isRunning, judgePod, statusOf } from './pod-state.ts'
import { type Pod, pathOf } from './resources.ts'
import { askRights, claimRights, podRights, type Rights, refuseRights, secretRights } from './rights.ts'

export interface KubernetesTools {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The home directory of the person; default: HOME of the environment. */
  readonly userHome?: string | undefined
  /** Who makes the pod; for people. */
  readonly owner: string
  /** The same for the same home, root and target: a pod of an earlier session is found by it. Absent: a pod of its own. */
  readonly key?: string | undefined
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined
  /** The values of variables; default: those of the environment. */
  readonly secretsOf?: ((names: readonly string[]) => Readonly<Record<string, string | undefined>>) | undefined
  /** Gets what is in the way of the pod, one line each. */
  readonly progress?: ((line: string) => void) | undefined
  readonly patience?: Patience | undefined
  /** Where a pod finds its service account. */
  readonly accountFolder?: string | undefined
}

export interface KubernetesSite extends Site {
  /** What was said of the rights when it was opened; undefined for an existing pod, where the attempt says it. */
  readonly rights: Rights | undefined
}

const defaultLivenessMs = 45_000
const livenessVariable = 'HOLDFAST_K8S_LIVENESS_MS'
const arrivalMs = 60_000
const maxArrivalBytes = 64 * 1024
const examineMs = 20_000
/** As long as a refusal is taken for lasting: nobody is asked again meanwhile. */
const refusedMs = 5 * 60_000

/** What was refused for good, by server and target. */
const refusals = new Map<string, { readonly failure: HoldfastError; readonly at: number }>()

/** Opens the pod that the target names, the one that an earlier session left for this one, or a new one. */
export async function openKubernetesSite(target: KubernetesTarget, tools: KubernetesTools, signal: AbortSignal): Promise<KubernetesSite> {
  checkTarget(target)
  const livenessMs = readLiveness(tools.env[livenessVariable])
  const { api, access } = connect(target, tools)
  const refused = refusals.get(refusalKey(api, target))
  if (refused && monotonicMs() - refused.at < refusedMs) {
    api.close()
    throw refused.failure
  }
  const title = target.pod ? `kubernetes pod ${target.namespace}/${target.pod}` : `kubernetes namespace ${target.namespace}`
  try {
    const opening = { api, access, target, tools, livenessMs, title, signal }
    return target.pod ? await adopt(opening, target.pod) : await make(opening)
  } catch (error) {
    api.close()
    if (error instanceof LastingRefusal) {
      refusals.set(refusalKey(api, target), { failure: error.failure, at: monotonicMs() })
      throw error.failure
    }
    if (signal.aborted && !(error instanceof HoldfastError)) throw failure('canceled_before_start', {}, error)
    throw toFailure(error, title)
  }
}

/** Forgets what was refused: somebody says that things have changed. */
export function forgetRefusals(): void {
  refusals.clear()
}

const refusalKey = ({ server, from }: Api, target: KubernetesTarget): string => `${server.href} ${from} ${targetKey(target)}`

export function connect(
  target: Pick<KubernetesTarget, 'kubeconfig' | 'context' | 'skipTlsVerify'>,
  tools: Pick<KubernetesTools, 'env' | 'userHome' | 'now' | 'accountFolder'>,
): { api: Api; access: Access } {
  const userHome = tools.userHome ?? tools.env.HOME
  const access = findAccess({ env: tools.env, userHome, file: target.kubeconfig, context: target.context, accountFolder: tools.accountFolder })
  const connection = openConnection({ access, skipTlsVerify: target.skipTlsVerify, env: tools.env, userHome, now: tools.now })
  return { api: openApi(connection), access }
}

function readLiveness(text: string | undefined): number {
  if (text === undefined || text === '') return defaultLivenessMs
  const value = Number(text)
  if (Number.isFinite(value) && value >= 1000) return value
  throw failure('invalid', { field: livenessVariable, value: text, accepted: 'at least 1000, in milliseconds' })
}

interface Opening {
  readonly api: Api
  readonly access: Access
  readonly target: KubernetesTarget
  readonly tools: KubernetesTools
  readonly livenessMs: number
  readonly title: string
  readonly signal: AbortSignal
}

async function adopt(opening: Opening, name: string): Promise<KubernetesSite> {
  const { api, target, title, signal } = opening
  const pod = await getPod(api, target.namespace, name, signal)
  const container = containerOf(target, pod)
  if (target.podUid !== undefined && pod.metadata.uid !== target.podUid)
    throw failure('site_gone', { target: title, why: 'it was deleted, and another pod has its name' })
  if (hasEnded(pod)) throw failure('site_gone', { target: title, why: describeEnd(pod) })
  if (!isRunning(pod, container)) {
    const why = pod.metadata.deletionTimestamp ? 'it is being deleted' : `its container ${container} does not run (phase ${pod.status?.phase ?? 'unknown'})`
    throw failure('backend_unavailable', { target: title, why, help: `see kubectl describe pod ${name} -n ${target.namespace}` })
  }
  return siteOf(opening, pod, undefined, target.provider === 'agent-sandbox' ? await claimOf(api, pod, signal) : undefined)
}

async function make(opening: Opening): Promise<KubernetesSite> {
  const { api, target, tools, title, signal } = opening
  const isClaim = target.provider === 'agent-sandbox'
  const wanted = isClaim ? claimRights : [...podRights, ...(target.secrets?.length ? secretRights : [])]
  const secrets = readSecrets(target.secrets ?? [], tools)
  const rights = await askRights(api, target.namespace, wanted, signal)
  const refused = refuseRights(rights, wanted, title, target.namespace)
  if (refused) throw refused
  const key = tools.key ?? randomKey()
  const making: Making = {
    api,
    target,
    title,
    name: podName(key, target),
    owner: tools.owner,
    key,
    now: tools.now ?? Date.now,
    secrets,
    patience: tools.patience ?? usualPatience,
    progress: tools.progress,
    signal,
  }
  for (let attempt = 1; ; attempt += 1) {
    const pod = isClaim ? await requireClaimedPod(making, leaseOf(target)) : await requirePod(making)
    try {
      return await siteOf(opening, pod, rights, isClaim ? making.name : undefined)
    } catch (error) {
      // It was just ending when we came: the next one is new.
      if (attempt >= 3 || !(error instanceof HoldfastError) || error.details.reason !== 'site_gone') throw error
      await removePod(api, pod, signal)
    }
  }
}

const leaseOf = ({ idleMs }: KubernetesTarget): number => idleMs ?? defaultIdleMs

function readSecrets(names: readonly string[], { secretsOf, env }: KubernetesTools): Readonly<Record<string, string>> {
  const values = secretsOf?.(names) ?? env
  return Object.fromEntries(
    names.map((name) => {
      const value = values[name]
      if (!value)
        throw failure('invalid', {
          field: `secrets: ${name}`,
          value: undefined,
          accepted: 'a variable that is set in the environment of Holdfast, and not empty',
        })
      return [name, value]
    }),
  )
}

/** Ours: Holdfast made it, and may end it. */
function isOurs({ metadata }: Pod): boolean {
  return metadata.labels?.[labels.managedBy] === manager && metadata.annotations?.[annotations.lease] !== undefined
}

async function siteOf(
  { api, access, target, tools, livenessMs, signal }: Opening,
  pod: Pod,
  rights: Rights | undefined,
  claim: string | undefined,
): Promise<KubernetesSite> {
  const { name, uid = '' } = pod.metadata
  const { namespace } = target
  const title = `kubernetes pod ${namespace}/${name}`
  const container = containerOf(target, pod)
  const ours = isOurs(pod)
  const opened = { uid, containerId: statusOf(pod, container)?.containerID }
  const leaseMs = Number(pod.metadata.annotations?.[annotations.lease] ?? leaseOf(target))
  const now = tools.now ?? Date.now
  const channels = new Set<Channel>()
  let closed = false
  let keptAt = monotonicMs()
  let halfClose: boolean | undefined
  const exec = async (argv: readonly [string, ...string[]], asked?: AbortSignal): Promise<Channel> => {
    const channel = await openExec(api, { namespace, pod: name, container, argv, target: title, livenessMs, signal: asked })
    halfClose = channel.canEndInput
    return channel
  }

  const arrive = async (): Promise<boolean> => {
    const { exitCode, stdout, stderr } = await collect(await exec(arrivalArgv, signal))
    if (exitCode === 9) throw failure('site_gone', { target: title, why: 'nobody used it for so long that it is just ending' })
    if (exitCode !== 0) {
      throw failure('backend_unavailable', {
        target: title,
        why: `its folder ${privateFolder} cannot be used (${stderr.trim() || `status ${exitCode}`})`,
        help: 'delete the pod',
      })
    }
    return stdout.trim() === 'made'
  }
  const needsHome = ours && (await arrive())

  /** The word of the reaper and of people; what ends the pod looks at a file inside. */
  const annotate = async (): Promise<void> => {
    const body = { metadata: { annotations: { [annotations.kept]: new Date(now()).toISOString() } } }
    await api.ask({
      method: 'PATCH',
      path: pathOf('pods', namespace, name),
      contentType: 'application/merge-patch+json',
      body,
      asked: 'patch pods',
      repeatable: true,
    })
  }
  const letGo = (): void => {
    closed = true
    for (const channel of channels) channel.close()
  }

  return {
    backend: 'kubernetes',
    handle: {
      ...target,
      ...(target.kubeconfig === undefined && access.file !== undefined ? { kubeconfig: access.file } : {}),
      ...(target.context === undefined && access.context !== undefined ? { context: access.context } : {}),
      pod: name,
      podUid: uid,
      container,
      root: rootOf(target, pod, container),
    },
    title,
    root: rootOf(target, pod, container),
    // Whoever made the pod says what is in it.
    workspace: ours || claim !== undefined ? 'copied' : 'own',
    privateFolders: ours ? [privateFolder] : [],
    rights,
    /** As the last exec found it. */
    get halfClose() {
      return halfClose
    },
    async open(request) {
      if (closed) throw failure('closed', {})
      const channel = await exec(needsHome ? ['env', `HOME=${madeHome}`, ...request.argv] : request.argv, request.signal)
      channels.add(channel)
      const gone = (): void => void channels.delete(channel)
      channel.ended.then(gone, gone)
      if (closed) channel.close()
      return channel
    },
    examine: () => examine(api, namespace, name, container, opened),
    ...(ours || claim
      ? {
          async keep() {
            if (closed || monotonicMs() - keptAt < leaseMs / 4) return
            keptAt = monotonicMs()
            await Promise.allSettled(claim ? [renewClaim(api, namespace, claim, now(), leaseMs)] : [arrive(), annotate()])
          },
        }
      : {}),
    async close() {
      letGo()
      api.close()
    },
    async destroy() {
      letGo()
      try {
        if (claim) await removeClaim(api, namespace, claim)
        else if (ours) await Promise.all([removePod(api, pod), ...(target.secrets?.length ? [removeSecret(api, namespace, name)] : [])])
      } catch (error) {
        throw toFailure(error, title)
      } finally {
        api.close()
      }
    },
  }
}

/** Of a pod that somebody else made: where the target or its container says. */
function rootOf(target: KubernetesTarget, pod: Pod, container: string): string {
  const made = pod.metadata.annotations?.[annotations.root]
  const workingDir = pod.spec?.containers?.find(({ name }) => name === container)?.workingDir
  return target.root ?? made ?? workingDir ?? (target.provider === 'agent-sandbox' ? defaultRoot : '/')
}

async function examine(
  api: Api,
  namespace: string,
  name: string,
  container: string,
  opened: { uid: string; containerId: string | undefined },
): Promise<SiteState> {
  try {
    return judgePod(await getPod(api, namespace, name, AbortSignal.timeout(examineMs)), container, opened)
  } catch (error) {
    if (isApiError(error, 404)) return { kind: 'gone', why: 'it was deleted' }
    return { kind: 'unknown', why: messageOf(toFailure(error, `kubernetes pod ${namespace}/${name}`)) }
  }
}

/** A short program to its end. */
async function collect(channel: Channel): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const timer = setTimeout(() => channel.close(), arrivalMs)
  const texts = [channel.stdout, channel.stderr].map(async (stream) => {
    let text = ''
    for await (const part of stream as AsyncIterable<Buffer>) if (text.length < maxArrivalBytes) text += part.toString('utf8')
    return text
  })
  try {
    const [status, stdout = '', stderr = ''] = await Promise.all([channel.ended, ...texts])
    return { exitCode: 'exitCode' in status ? status.exitCode : 128, stdout, stderr }
  } finally {
    clearTimeout(timer)
    channel.close()
  }
}
