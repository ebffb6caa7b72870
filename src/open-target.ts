import { createHash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { accessSync, constants, existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { delimiter, join } from 'node:path'
import type { FarPlace, OpenTargetRequest, ReapedSites } from './app/far.ts'
import type { BackendName } from './core/backend.ts'
import type { Site } from './core/channel.ts'
import { failure, hasReason, messageOf } from './core/errors.ts'
import { type DockerTarget, type KubernetesTarget, type Target, targetKey } from './core/target.ts'
import { identifySelf, isAlive } from './process/identity.ts'

/** How the sites of targets are opened: the only place that knows the backends that are somewhere else. Each is loaded when it is asked for. */

export interface TargetBasis {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The home of the project. */
  readonly home: string
  /** The folder of this machine that keeps a run. */
  folderOf(run: string): string
  /** Another way to open sites, for tests. */
  readonly openSite?: ((request: OpenTargetRequest) => Promise<Site>) | undefined
}

export async function openTarget(request: OpenTargetRequest, basis: TargetBasis): Promise<FarPlace> {
  const { target, tree, isLook, signal } = request
  // All that are opened at the same time listen to it.
  setMaxListeners(0, signal)
  const site = await (basis.openSite?.(request) ?? openSite(request, basis))
  try {
    const [{ openRemote }, { supervisorFor }] = await Promise.all([import('./remote/open.ts'), import('./supervisor/program.ts')])
    const never = basis.env.HOLDFAST_SUPERVISOR === 'never'
    const place = await openRemote({
      site,
      target: never ? { ...target, supervisor: 'never' } : target,
      programFor: supervisorFor,
      folderOf: basis.folderOf,
      mounted: site.workspace === 'mounted' && !isLook ? tree : undefined,
      signal,
    })
    try {
      if (!isLook) await proveRoot(place, target)
      return place
    } catch (error) {
      await place.close()
      throw error
    }
  } catch (error) {
    await site.close()
    throw error
  }
}

/** That the workspace is where it is said to be is found now, the same for commands and files. A copy makes its folder where it is missing. */
async function proveRoot({ site, files }: Pick<FarPlace, 'site' | 'files'>, { root }: Target): Promise<void> {
  if (site.workspace === 'copied') return
  const { title } = site
  await files.stat('.').catch((error: unknown) => {
    if (!hasReason(error, 'root_missing')) throw error
    throw root === undefined
      ? failure('backend_missing', { target: title, what: `folder ${site.root}`, help: `make it there, or name another one as "root" of the target` })
      : failure('target_mismatch', { target: title, field: 'root', declared: root, found: 'no folder' })
  })
}

async function openSite({ target, tree, mounts, onStep, signal }: OpenTargetRequest, { env, home }: TargetBasis): Promise<Site> {
  const common = { env, runtimeFolder: env.XDG_RUNTIME_DIR }
  const made = {
    root: tree,
    mounts,
    owner: ownerText(),
    key: siteKey(home, tree, target),
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    now: Date.now,
    progress: onStep,
  }
  switch (target.backend) {
    case 'docker':
      return (await import('./backends/docker/site.ts')).openDockerSite(target, { ...common, ...made }, signal)
    case 'ssh':
      return (await import('./backends/ssh/site.ts')).openSshSite(target, common, signal)
    case 'kubernetes':
      return (await import('./backends/kubernetes/site.ts')).openKubernetesSite(target, { ...common, ...made }, signal)
    default:
      return target satisfies never
  }
}

/** Who makes a site, as it stands in a label: this process on this machine. */
function ownerText(): string {
  const { pid, startTime } = identifySelf()
  return `${pid}@${startTime}@${hostname()}`
}

/** Whether an owner lives; undefined where that is a process of another machine, or not to be read. */
function ownerLives(text: string): boolean | undefined {
  const [pid, startTime, host] = text.split('@')
  return startTime !== undefined && host === hostname() && /^\d{1,10}$/.test(pid ?? '') ? isAlive({ pid: Number(pid), startTime }) : undefined
}

/** The same for the same home, tree and target on this machine. */
function siteKey(home: string, tree: string, target: Target): string {
  return createHash('sha256')
    .update(JSON.stringify([hostname(), home, tree, targetKey(target)]))
    .digest('hex')
    .slice(0, 24)
}

const examineMs = 5_000
const reapMs = 30_000

type FarBackend = Exclude<BackendName, 'host'>
type Env = TargetBasis['env']

/** What keeps a backend from being used here, as far as that is told without a target. */
export async function examineBackend(backend: FarBackend, env: Env): Promise<{ usable: boolean; detail: string }> {
  try {
    return { usable: true, detail: await lookAt(backend, env) }
  } catch (error) {
    return { usable: false, detail: messageOf(error) }
  }
}

async function lookAt(backend: FarBackend, env: Env): Promise<string> {
  switch (backend) {
    case 'docker': {
      const [{ findEndpoints }, { openEngine }] = await Promise.all([import('./backends/docker/endpoint.ts'), import('./backends/docker/engine.ts')])
      const { endpoint } = await openEngine(findEndpoints({}, env, process.getuid?.() ?? 0), AbortSignal.timeout(examineMs))
      return `an engine answers at ${endpoint.address}`
    }
    case 'ssh': {
      const program = findProgram('ssh', env.PATH ?? '')
      if (program === undefined) throw new Error('ssh is not on the PATH; install it (Debian: apt install openssh-client)')
      return program
    }
    case 'kubernetes': {
      const named = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '')
      const files = named.length > 0 ? named : [join(env.HOME ?? '/', '.kube', 'config')]
      const found = files.find((path) => existsSync(path))
      if (found === undefined && env.KUBERNETES_SERVICE_HOST === undefined) throw new Error(`there is no kubeconfig at ${files.join(', ')}, and this is no pod`)
      return found ?? 'what this pod is given'
    }
    default:
      return backend satisfies never
  }
}

function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** Each engine, and each namespace of a cluster, once. */
export async function reapSites(targets: readonly Target[], dryRun: boolean, env: Env): Promise<ReapedSites> {
  const places = new Map<string, Target>()
  for (const target of targets) {
    if (target.backend === 'docker') {
      const key = JSON.stringify(['docker', await engineOf(target, env)])
      // One that names no engine has others to fall back on.
      if (!places.has(key) || target.socket === undefined) places.set(key, target)
    }
    if (target.backend === 'kubernetes') places.set(JSON.stringify(['kubernetes', await clusterOf(target, env), target.namespace]), target)
  }
  const all = await Promise.all([...places.values()].map((target) => reapAt(target, dryRun, env)))
  return { removed: all.flatMap(({ removed }) => removed), kept: all.flatMap(({ kept }) => kept), problems: all.flatMap(({ problems }) => problems) }
}

/** The same for the same engine, whoever names it. */
async function engineOf({ socket, context }: DockerTarget, env: Env): Promise<unknown> {
  try {
    const { findEndpoints } = await import('./backends/docker/endpoint.ts')
    return findEndpoints({ socket, context }, env, process.getuid?.() ?? 0)[0].address
  } catch {
    // What is wrong with it is told by whoever asks it.
    return [socket, context]
  }
}

/** The same for the same way to a cluster, also where one names it and another one finds it. */
async function clusterOf({ kubeconfig, context }: KubernetesTarget, env: Env): Promise<unknown> {
  try {
    const { findAccess } = await import('./backends/kubernetes/kubeconfig.ts')
    const access = findAccess({ env, userHome: env.HOME, file: kubeconfig, context })
    return [access.file, access.context]
  } catch {
    return [kubeconfig, context]
  }
}

async function reapAt(target: Target, dryRun: boolean, env: Env): Promise<ReapedSites> {
  const { backend } = target
  const signal = AbortSignal.timeout(reapMs)
  try {
    const found = await askReaper(target, dryRun, env, signal)
    const named = (sites: readonly { name: string; why: string }[]) => sites.map(({ name, why }) => ({ backend, name, why }))
    return { removed: named(found.removed), kept: named(found.kept), problems: found.problems }
  } catch (error) {
    return { removed: [], kept: [], problems: [`what is left at ${backend} could not be looked for: ${messageOf(error)}`] }
  }
}

async function askReaper(target: Target, dryRun: boolean, env: Env, signal: AbortSignal) {
  if (target.backend === 'docker') {
    const { reapDocker } = await import('./backends/docker/reap.ts')
    return reapDocker(target, { env, uid: process.getuid?.() ?? 0, now: Date.now, isAlive: ownerLives }, { dryRun }, signal)
  }
  if (target.backend === 'kubernetes') {
    const { reapKubernetes } = await import('./backends/kubernetes/reap.ts')
    return reapKubernetes(target, { env, now: Date.now }, { dryRun }, signal)
  }
  return { removed: [], kept: [], problems: [] }
}
