import { createHash } from 'node:crypto'
import { isAbsolute, posix } from 'node:path'
import { failure } from '../../core/errors.ts'
import { defaultIdleMs, firstCommand, privateFolder } from '../../core/first-process.ts'
import { isInside } from '../../core/paths.ts'
import type { DockerTarget } from '../../core/target.ts'
import type { Image } from './image.ts'
import { type TarFolder, tarOfFolders } from './tar.ts'

/** Labels of a container of ours. They cannot change once it is there. */
export const labels = {
  /** Who created it: a container that was never started is nobody's once that process is gone. */
  owner: 'dev.holdfast.owner',
  /** What it serves; the next session with the same key finds it again. */
  key: 'dev.holdfast.key',
  /** What it was made of, as a hash. */
  spec: 'dev.holdfast.spec',
  /** For how long nobody may use it, in ms. */
  lease: 'dev.holdfast.lease',
  root: 'dev.holdfast.root',
  workspace: 'dev.holdfast.workspace',
} as const

export interface Placement {
  /** Absolute, at the site. */
  readonly root: string
  readonly workspace: 'mounted' | 'copied'
  /** Folders of this machine, each at its path there. */
  readonly mounts: readonly { readonly from: string; readonly to: string }[]
}

/** Where the workspace is in a container, and what is mounted. */
export function placeWorkspace(target: DockerTarget, local: boolean, root: string, mounts: readonly string[]): Placement {
  const there = posix.normalize(target.root ?? root)
  if (!isAbsolute(there)) throw failure('invalid', { field: 'root', value: target.root, accepted: 'an absolute path' })
  if (there === '/' || isInside(privateFolder, there) || isInside('/proc', there) || isInside('/sys', there)) {
    throw failure('invalid', { field: 'root', value: there, accepted: 'a folder that is not the one of the system' })
  }
  if ((target.workspace ?? (local ? 'mount' : 'copy')) === 'copy') return { root: there, workspace: 'copied', mounts: [] }
  const wanted = [{ from: root, to: there }, ...mounts.map((path) => ({ from: path, to: path }))]
  return { root: there, workspace: 'mounted', mounts: wanted.filter((mount, at) => !wanted.some((other, i) => i < at && shows(other, mount))) }
}

type Mount = Placement['mounts'][number]
/** Whether the first one brings what the second one would. */
const shows = (first: Mount, second: Mount): boolean =>
  isInside(first.to, second.to) && second.from === posix.join(first.from, posix.relative(first.to, second.to))

export interface ContainerRequest {
  readonly target: DockerTarget
  readonly image: Image
  readonly placement: Placement
  /** Which folders are mounted: one that was removed and made anew is another, and a container that is there has the old one. */
  readonly folders: readonly string[]
  readonly uid: number
  readonly gid: number
  readonly owner: string
  readonly key: string
}

/** What an engine says of itself that the body of a container depends on. */
export interface EngineTraits {
  /** The user that is root there is the caller here. */
  readonly rootless: boolean
  /** The users there are others here, unless a container says no. */
  readonly remapped: boolean
  readonly selinux: boolean
  /** Containers run on while the engine is started anew (live-restore). */
  readonly keepsAlive: boolean
}

/** The answer of Docker to a question for itself, as far as it matters. */
export interface EngineInfo {
  readonly SecurityOptions?: readonly string[] | null
  readonly LiveRestoreEnabled?: boolean
}

export function traitsOf({ SecurityOptions, LiveRestoreEnabled }: EngineInfo): EngineTraits {
  const has = (name: string): boolean => (SecurityOptions ?? []).some((option) => option.split(',').includes(`name=${name}`))
  return { rootless: has('rootless'), remapped: has('userns'), selinux: has('selinux'), keepsAlive: LiveRestoreEnabled === true }
}

/** The same for the same wish, whoever asks: what of it a container was made for. */
export function specHash({ target, image, placement, folders, uid, gid }: ContainerRequest): string {
  // Where the engine is, and what a session does with the container, is none of what it was made of.
  const without: readonly string[] = ['root', 'home', 'supervisor', 'socket', 'context', 'pull', 'container'] satisfies (keyof DockerTarget)[]
  const wish = Object.fromEntries(Object.entries(target).filter(([name]) => !without.includes(name)))
  return hashOf(JSON.stringify([1, sorted(wish), image.id, placement, folders, uid, gid]))
}

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** One name for one wish: who comes second finds it taken, and with it the container of who came first. */
export const containerName = (key: string, spec: string): string => `holdfast-${hashOf(key)}-${spec}`

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  )
}

/** The user of a container: `uid:gid`, or a name of the image. */
export function userOf({ target, uid, gid }: ContainerRequest, { rootless }: EngineTraits): string {
  return target.user ?? (rootless ? '0:0' : `${uid}:${gid}`)
}

export function containerBody(request: ContainerRequest, traits: EngineTraits): unknown {
  const { target, image, placement, owner, key } = request
  const idleMs = target.idleMs ?? defaultIdleMs
  const foreign = Object.keys(target.labels ?? {}).find((name) => name.startsWith('dev.holdfast.'))
  if (foreign) throw failure('invalid', { field: 'labels', value: foreign, accepted: 'labels that do not begin with dev.holdfast.' })
  const inMemory = memoryFolders(request)
  return {
    Image: image.name,
    Entrypoint: firstCommand(idleMs),
    Cmd: [],
    User: userOf(request, traits),
    WorkingDir: '/',
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      ...target.labels,
      [labels.owner]: owner,
      [labels.key]: hashOf(key),
      [labels.spec]: specHash(request),
      [labels.lease]: String(idleMs),
      [labels.root]: placement.root,
      [labels.workspace]: placement.workspace,
    },
    HostConfig: {
      // Docker removes such a container also when it is itself started anew, whether or not that goes on.
      AutoRemove: !traits.keepsAlive,
      NetworkMode: target.network ?? 'none',
      ReadonlyRootfs: target.readOnly === true,
      CapDrop: ['ALL'],
      ...(target.capabilities?.length ? { CapAdd: target.capabilities } : {}),
      // Labels of SELinux are left as they are: to change those of a workspace would be seen outside.
      SecurityOpt: ['no-new-privileges', ...(traits.selinux ? ['label=disable'] : [])],
      ...(traits.remapped ? { UsernsMode: 'host' } : {}),
      ...(target.memory ? { Memory: target.memory, MemorySwap: target.memory } : {}),
      ...(target.cpus ? { NanoCpus: Math.round(target.cpus * 1e9) } : {}),
      ...(target.pids ? { PidsLimit: target.pids } : {}),
      Tmpfs: inMemory,
      // The first process says nothing, and what a log driver of the engine might do with that is not ours to choose.
      LogConfig: { Type: 'none' },
      Mounts: placement.mounts.map(({ from, to }) => ({ Type: 'bind', Source: from, Target: to, BindOptions: { Propagation: 'rprivate' } })),
    },
  }
}

function memoryFolders({ target, placement }: ContainerRequest): Readonly<Record<string, string>> {
  const options = (mode: string, size?: number): string => ['rw', 'exec', 'nosuid', 'nodev', `mode=${mode}`, ...(size ? [`size=${size}`] : [])].join(',')
  const folders = Object.fromEntries(Object.entries(target.tmpfs ?? {}).map(([path, size]) => [posix.normalize(path), options('1777', size)]))
  if (!target.readOnly) return folders
  return {
    '/tmp': options('1777'),
    [privateFolder]: options('1777'),
    ...(placement.workspace === 'copied' ? { [placement.root]: options('1777') } : {}),
    ...folders,
  }
}

/** The folders that have to be made before the first process starts, as an archive for `/`; undefined where all are in memory. */
export function foldersToMake(request: ContainerRequest, traits: EngineTraits): Buffer | undefined {
  const { target, placement } = request
  if (target.readOnly) return undefined
  const [uid, gid] = idsOf(userOf(request, traits))
  const folders: TarFolder[] = [{ path: privateFolder.slice(1), mode: 0o1777, uid: 0, gid: 0 }]
  if (placement.workspace === 'copied') {
    folders.push({ path: placement.root.slice(1), mode: uid === undefined ? 0o1777 : 0o755, uid: uid ?? 0, gid: gid ?? 0 })
  }
  return tarOfFolders(folders)
}

/** Of a user that is given as numbers; undefined of a name, which only the image knows. */
function idsOf(user: string): readonly [uid: number | undefined, gid: number | undefined] {
  const [, uid, gid] = /^(\d+)(?::(\d+))?$/.exec(user) ?? []
  return uid === undefined ? [undefined, undefined] : [Number(uid), Number(gid ?? 0)]
}
