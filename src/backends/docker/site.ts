import { existsSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Channel, Site, SiteState } from '../../core/channel.ts'
import { failure, hasReason, messageOf } from '../../core/errors.ts'
import { arrivalArgv, defaultIdleMs, madeHome, privateFolder } from '../../core/first-process.ts'
import { type DockerTarget, targetTitle } from '../../core/target.ts'
import {
  type ContainerRequest,
  containerBody,
  containerName,
  type EngineInfo,
  type EngineTraits,
  foldersToMake,
  labels,
  placeWorkspace,
  specHash,
  traitsOf,
} from './container.ts'
import { doorOf } from './door.ts'
import { type Environment, findEndpoints, isLocal } from './endpoint.ts'
import { type Engine, openEngine } from './engine.ts'
import { collectExec, openExec } from './exec.ts'
import { requireImage } from './image.ts'
import { type ContainerState, describeEnd, describeState, isOver } from './state.ts'
import { EngineRefusal, hasStatus, troubleOf } from './trouble.ts'

export interface DockerTools {
  readonly env: Environment
  /** The workspace on this machine, absolute. */
  readonly root: string
  /** Further folders of this machine that have to be visible at the same path. */
  readonly mounts: readonly string[]
  /** Who creates: a container that was never started is nobody's once its owner is gone. */
  readonly owner: string
  /** The same for the same home, root and target: a container of an earlier session is found by it. */
  readonly key: string
  readonly uid: number
  readonly gid: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Gets what a pull says, one line each. */
  readonly progress?: ((line: string) => void) | undefined
}

interface ContainerFacts {
  readonly Id: string
  readonly Created: string
  readonly State: ContainerState
  readonly Config: { readonly Image: string; readonly Labels: Readonly<Record<string, string>> | null; readonly WorkingDir?: string }
  readonly Mounts?: readonly { readonly Type: string; readonly Source?: string; readonly Destination: string }[] | null
}

/** For a container that is just ending to be gone. */
const goneWithinMs = 30_000
const arrivalMs = 60_000

/** Opens the container that the target names, the one that an earlier session left for this one, or a new one. */
export async function openDockerSite(target: DockerTarget, tools: DockerTools, signal: AbortSignal): Promise<Site> {
  if (!target.container && !target.image) {
    throw failure('invalid', { field: 'image', value: undefined, accepted: 'the name of an image; or container, the name of a container that is there' })
  }
  const engine = await openEngine(findEndpoints(target, tools.env, tools.uid), signal)
  return target.container ? adopt(engine, target, target.container, tools, signal) : create(engine, target, target.image ?? '', tools, signal)
}

async function adopt(engine: Engine, target: DockerTarget, name: string, tools: DockerTools, signal: AbortSignal): Promise<Site> {
  const title = targetTitle(target)
  // A whole id comes from where a site was remembered: what ran there is looked for.
  const isRemembered = /^[0-9a-f]{64}$/.test(name)
  let facts: ContainerFacts
  try {
    facts = await inspect(engine, name, signal)
  } catch (error) {
    if (hasStatus(error, 404) && isRemembered) throw failure('site_gone', { target: title, why: 'there is no such container any more' }, error)
    if (hasStatus(error, 404))
      throw failure('backend_missing', { target: title, what: `container ${name}`, help: 'docker ps -a lists those that are there' }, error)
    throw troubleOf(error, title, 'this container')
  }
  if (!facts.State.Running || facts.State.Paused) {
    // Whoever starts it again does not bring back what ran in it.
    if (isRemembered && isOver(facts.State)) throw failure('site_gone', { target: title, why: describeState(facts.State) })
    const help = facts.State.Paused ? `docker unpause ${name}` : `docker start ${name}`
    throw failure('backend_unavailable', { target: title, why: describeState(facts.State), help })
  }
  return siteOf(engine, target, facts, tools, signal)
}

async function create(engine: Engine, target: DockerTarget, ref: string, tools: DockerTools, signal: AbortSignal): Promise<Site> {
  const title = `docker image ${ref}`
  const image = await requireImage(engine, ref, target.pull ?? 'missing', tools, signal)
  const placement = placeWorkspace(target, isLocal(engine.endpoint), tools.root, tools.mounts)
  // Podman would make a folder that is missing, as root.
  const missing = isLocal(engine.endpoint) ? placement.mounts.find(({ from }) => !statSync(from, { throwIfNoEntry: false })) : undefined
  if (missing) throw failure('root_missing', { root: missing.from })
  const folders = isLocal(engine.endpoint) ? placement.mounts.map(({ from }) => identityOf(from)) : []
  const request: ContainerRequest = { target, image, placement, folders, uid: tools.uid, gid: tools.gid, owner: tools.owner, key: tools.key }
  const name = containerName(tools.key, specHash(request))
  const until = performance.now() + goneWithinMs
  for (;;) {
    const found = await findByName(engine, name, title, signal)
    const facts = found ?? (await createNew(engine, request, name, title, signal))
    if (facts === undefined) continue
    try {
      // Whoever finds one that was created and not started, starts it: the one who created it may be dead, and twice is harmless.
      if (facts.State.Status === 'created' || facts.State.Status === 'configured' || facts.State.Status === 'initialized') {
        await prepare(engine, request, facts.Id, title, signal)
      }
      if (facts.State.Paused) {
        throw failure('backend_unavailable', { target: title, why: 'its container is paused', help: `docker unpause ${name}` })
      }
      return await siteOf(engine, target, await inspect(engine, facts.Id, signal), tools, signal)
    } catch (error) {
      // It ended between the look and the use, as one does that nobody kept: the next round makes another one.
      const ended = hasReason(error, 'site_gone') || hasStatus(error, 404, 409)
      if (!ended || performance.now() > until) throw troubleOf(error, title, 'this container')
      await awaitGone(engine, facts.Id, until, signal)
    }
  }
}

/** The number of a folder that was removed is soon that of another. */
function identityOf(path: string): string {
  const { dev, ino, birthtimeNs } = statSync(path, { bigint: true })
  return `${dev}:${ino}:${birthtimeNs}`
}

async function inspect(engine: Engine, container: string, signal?: AbortSignal): Promise<ContainerFacts> {
  return engine.askJson<ContainerFacts>({ method: 'GET', path: `/containers/${encodeURIComponent(container)}/json`, signal })
}

async function findByName(engine: Engine, name: string, title: string, signal: AbortSignal): Promise<ContainerFacts | undefined> {
  try {
    const facts = await inspect(engine, name, signal)
    if (facts.State.Running || ['created', 'configured', 'initialized'].includes(facts.State.Status)) return facts
    // It has ended, and its removal is on the way, or was missed.
    await remove(engine, facts.Id)
    return undefined
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw troubleOf(error, title, 'a question for its container')
  }
}

/** Undefined where another one has just made it. */
async function createNew(engine: Engine, request: ContainerRequest, name: string, title: string, signal: AbortSignal): Promise<ContainerFacts | undefined> {
  const traits = await traitsOfEngine(engine, signal)
  if (traits.keepsAlive) await removeEnded(engine, signal).catch(() => {})
  let created: { readonly Id: string; readonly Warnings?: readonly string[] | null }
  try {
    created = await engine.askJson({
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body: containerBody(request, traits),
      timeoutMs: 120_000,
      signal,
    })
  } catch (error) {
    if (isNameTaken(error)) return undefined
    throw troubleOf(error, title, 'this container')
  }
  // A limit that is asked for and not kept would be a promise broken in silence. Swap that cannot be limited is none of these.
  const dropped = (created.Warnings ?? []).find((warning) => /discarded|not supported/i.test(warning) && !/swap/i.test(warning))
  if (dropped) {
    await remove(engine, created.Id)
    throw failure('backend_refused', { target: title, what: 'the limits of this container', why: dropped })
  }
  return inspect(engine, created.Id, signal)
}

/** Podman says 500 where Docker says 409. */
const isNameTaken = (error: unknown): boolean => error instanceof EngineRefusal && /already in use/i.test(error.message)

async function traitsOfEngine(engine: Engine, signal: AbortSignal): Promise<EngineTraits> {
  const { at } = engine.endpoint
  // Podman takes seconds to tell of itself, and its socket belongs to the account that it runs as.
  if (engine.product === 'podman' && 'socketPath' in at) {
    const rootless = (statSync(at.socketPath, { throwIfNoEntry: false })?.uid ?? 0) !== 0
    return { rootless, remapped: false, selinux: existsSync('/sys/fs/selinux/enforce'), keepsAlive: false }
  }
  return traitsOf(await engine.askJson<EngineInfo>({ method: 'GET', path: '/info', signal }))
}

/** Containers of ours that have ended, where the engine does not remove them itself. Who makes one clears up what is left of others. */
async function removeEnded(engine: Engine, signal: AbortSignal): Promise<void> {
  const filters = JSON.stringify({ label: [labels.key], status: ['exited', 'dead'] })
  const ended = await engine.askJson<readonly { readonly Id: string }[]>({ method: 'GET', path: '/containers/json', query: { all: '1', filters }, signal })
  await Promise.allSettled(ended.map(({ Id }) => remove(engine, Id)))
}

/** From created to running. What cannot be started is removed again. */
async function prepare(engine: Engine, request: ContainerRequest, id: string, title: string, signal: AbortSignal): Promise<void> {
  try {
    const archive = foldersToMake(request, await traitsOfEngine(engine, signal))
    if (archive) await engine.ask({ method: 'PUT', path: `/containers/${id}/archive`, query: { path: '/' }, archive, signal })
    await engine.ask({ method: 'POST', path: `/containers/${id}/start`, timeoutMs: 120_000, signal })
  } catch (error) {
    // The same by two at once: one of them may have started it, or removed it, in the meantime.
    const now = await inspect(engine, id).catch(() => undefined)
    if (now?.State.Running) return
    await remove(engine, id)
    if (hasStatus(error, 404) && /no such container|no container with/i.test(error.message)) throw error
    if (
      error instanceof EngineRefusal &&
      /bind source path does not exist|no such file or directory.*statfs|statfs .*no such file|Mounts denied|not shared from the host/i.test(error.message)
    ) {
      throw failure(
        'backend_refused',
        { target: title, what: 'a folder of this machine as a mount', why: `${error.message}; an engine elsewhere needs "workspace": "copy"` },
        error,
      )
    }
    if (error instanceof EngineRefusal && error.message.includes('/bin/sh')) {
      throw failure(
        'backend_missing',
        { target: title, what: 'shell /bin/sh in the image', why: error.message, help: 'use an image that has a POSIX shell' },
        error,
      )
    }
    throw troubleOf(error, title, 'this container')
  }
}

/** Ends and removes it, with its volumes. Being gone already is what was wanted. */
export async function remove(engine: Engine, id: string): Promise<void> {
  try {
    await engine.ask({ method: 'DELETE', path: `/containers/${id}`, query: { force: '1', v: '1' }, timeoutMs: 120_000 })
  } catch (error) {
    if (hasStatus(error, 404)) return
    if (!(error instanceof EngineRefusal && /already in progress|is being removed/i.test(error.message)))
      throw troubleOf(error, `docker container ${id.slice(0, 12)}`, 'its removal')
    await awaitGone(engine, id, performance.now() + goneWithinMs)
  }
}

async function awaitGone(engine: Engine, id: string, until: number, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const facts = await inspect(engine, id, signal).catch((error: unknown) => {
      if (hasStatus(error, 404)) return undefined
      throw troubleOf(error, `docker container ${id.slice(0, 12)}`, 'a question for it')
    })
    if (facts === undefined) return
    if (performance.now() > until) {
      throw failure('backend_unavailable', {
        target: `docker container ${id.slice(0, 12)}`,
        why: 'it ends, and is not gone after 30 s',
        help: 'see the log of the engine',
      })
    }
    await delay(100, undefined, { signal })
  }
}

async function siteOf(engine: Engine, target: DockerTarget, facts: ContainerFacts, tools: DockerTools, signal: AbortSignal): Promise<Site> {
  const id = facts.Id
  const own = facts.Config.Labels?.[labels.key] !== undefined
  const title = `container ${id.slice(0, 12)} of ${facts.Config.Image}`
  const { root, workspace } = own ? ownPlace(facts) : adoptedPlace(target, facts, tools.root)
  const user = own ? undefined : target.user
  const env = own ? await arrive() : []
  const idleMs = Number(facts.Config.Labels?.[labels.lease] ?? defaultIdleMs)
  let keptAt = performance.now()
  let closed = false
  const channels = new Set<Channel>()

  async function arrive(): Promise<readonly string[]> {
    const { exitCode, stdout, stderr } = await collectExec(engine, { container: id, argv: arrivalArgv, title, signal }, arrivalMs)
    if (exitCode === 9) throw failure('site_gone', { target: title, why: 'nobody used it for so long that it is just ending' })
    if (exitCode !== 0)
      throw failure('backend_unavailable', {
        target: title,
        why: `its folder ${privateFolder} cannot be used (${stderr.trim() || `status ${exitCode}`})`,
        help: 'remove the container',
      })
    return stdout.trim() === 'made' ? [`HOME=${madeHome}`] : []
  }

  function letGo(): void {
    closed = true
    for (const channel of channels) channel.close()
  }

  return {
    backend: 'docker',
    handle: { ...target, ...(target.context || target.socket ? {} : { socket: engine.endpoint.address }), container: id, root },
    title,
    root,
    workspace,
    privateFolders: own ? [privateFolder] : [],
    async open(request) {
      if (closed) throw failure('closed', {})
      const channel = await openExec(engine, { container: id, argv: request.argv, env, user, title, signal: request.signal })
      if (closed) channel.close()
      channels.add(channel)
      const gone = (): void => void channels.delete(channel)
      channel.ended.then(gone, gone)
      return channel
    },
    door: async (socket) => (isLocal(engine.endpoint) && !closed ? doorOf(facts.State.Pid ?? 0, socket) : undefined),
    examine: () => examine(engine, id, facts.Created),
    ...(own
      ? {
          async keep() {
            // An exec of its own each time: often enough is four times within a lease.
            if (closed || performance.now() - keptAt < idleMs / 4) return
            keptAt = performance.now()
            await collectExec(engine, { container: id, argv: arrivalArgv, title }, arrivalMs).catch(() => {})
          },
        }
      : {}),
    async close() {
      letGo()
    },
    async destroy() {
      letGo()
      if (own) await remove(engine, id)
    },
  }
}

function ownPlace({ Config }: ContainerFacts): Pick<Site, 'root' | 'workspace'> {
  return { root: Config.Labels?.[labels.root] ?? '/', workspace: Config.Labels?.[labels.workspace] === 'mounted' ? 'mounted' : 'copied' }
}

/** Of a container that somebody else made: the place where it has the workspace mounted, else where the target or the container says. */
function adoptedPlace(target: DockerTarget, { Config, Mounts }: ContainerFacts, root: string): Pick<Site, 'root' | 'workspace'> {
  const seen = (Mounts ?? []).flatMap(({ Type, Source, Destination }) => {
    if (Type !== 'bind' || !Source) return []
    const rest = posix.relative(Source, root)
    return rest.startsWith('..') ? [] : [posix.join(Destination, rest)]
  })
  const there = target.root ?? seen[0] ?? (Config.WorkingDir || '/')
  return { root: there, workspace: seen.includes(there) ? 'mounted' : 'own' }
}

async function examine(engine: Engine, id: string, created: string): Promise<SiteState> {
  try {
    const { State } = await engine.askJson<ContainerFacts>({ method: 'GET', path: `/containers/${id}/json`, timeoutMs: 20_000 })
    if (State.Running && !State.Paused) return { kind: 'up' }
    if (!isOver(State)) return { kind: 'unknown', why: describeState(State) }
    return { kind: 'gone', why: describeState(State), ...(State.OOMKilled ? { outOfMemory: true } : {}) }
  } catch (error) {
    if (hasStatus(error, 404)) return describeEnd(engine, id, created)
    return { kind: 'unknown', why: messageOf(error) }
  }
}
