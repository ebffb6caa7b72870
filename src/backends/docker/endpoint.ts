import { createHash } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../../core/errors.ts'
import type { DockerTarget } from '../../core/target.ts'

/** Variables as they are handed in; nothing here looks at those of the process. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface TlsMaterial {
  readonly ca: Buffer | undefined
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
  readonly verify: boolean
}

/** Where an engine listens. */
export interface Endpoint {
  /** `unix:///path` or `tcp://host:port`. */
  readonly address: string
  /** Who named it, for people: `DOCKER_HOST`, `the context box`. */
  readonly namedBy: string
  readonly at: { readonly socketPath: string } | { readonly host: string; readonly port: number; readonly tls: TlsMaterial | undefined }
}

/** Whether the engine sees the files of this machine, as far as its address tells. */
export const isLocal = ({ at }: Endpoint): boolean => 'socketPath' in at

/** The places to try, in their order: one where somebody named it, else the usual ones that are there. */
export function findEndpoints(target: Pick<DockerTarget, 'socket' | 'context'>, env: Environment, uid: number): readonly [Endpoint, ...Endpoint[]] {
  if (target.socket) return [parseAddress(target.socket, 'socket', env)]
  if (target.context) return [contextEndpoint(target.context, env)]
  if (env.DOCKER_HOST) return [parseAddress(env.DOCKER_HOST, 'DOCKER_HOST', env)]
  const context = env.DOCKER_CONTEXT || currentContext(env)
  if (context && context !== 'default') return [contextEndpoint(context, env)]
  const usual = usualSockets(env, uid)
  const [first, ...others] = [...usual.filter(isUsable), ...usual.filter((path) => isThere(path) && !isUsable(path))].map(socketEndpoint)
  return [first ?? socketEndpoint(usual[0] ?? '/var/run/docker.sock'), ...others]
}

const socketEndpoint = (socketPath: string): Endpoint => ({ address: `unix://${socketPath}`, namedBy: 'the usual places', at: { socketPath } })

function usualSockets(env: Environment, uid: number): readonly string[] {
  const runtime = env.XDG_RUNTIME_DIR || `/run/user/${uid}`
  const desktop = env.HOME ? [join(env.HOME, '.docker/run/docker.sock')] : []
  return ['/var/run/docker.sock', join(runtime, 'docker.sock'), ...desktop, '/run/podman/podman.sock', join(runtime, 'podman/podman.sock')]
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() === true
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return isThere(path)
  } catch {
    return false
  }
}

function parseAddress(text: string, namedBy: string, env: Environment, tls = tlsOf(env)): Endpoint {
  const invalid = (accepted: string) => failure('invalid', { field: namedBy, value: text, accepted })
  const [, scheme, rest = ''] = /^([a-z]+):\/\/(.*)$/.exec(text.startsWith('/') ? `unix://${text}` : text) ?? []
  if (scheme === 'unix') {
    if (!rest.startsWith('/')) throw invalid('unix:// with an absolute path')
    return { address: `unix://${rest}`, namedBy, at: { socketPath: rest } }
  }
  if (scheme === 'tcp' || scheme === 'http' || scheme === 'https') {
    const [, host, port] = /^(\[[0-9a-fA-F:]+\]|[^/:]+)(?::(\d+))?\/?$/.exec(rest) ?? []
    if (!host) throw invalid('tcp://host:port')
    const secure = scheme === 'https' && !tls ? { ca: undefined, cert: undefined, key: undefined, verify: true } : tls
    return { address: `tcp://${rest}`, namedBy, at: { host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? (secure ? 2376 : 2375)), tls: secure } }
  }
  if (scheme === 'ssh') throw invalid('unix:///path or tcp://host:port; for a machine behind ssh use the backend ssh, or forward its socket (ssh -L)')
  throw invalid('unix:///path or tcp://host:port')
}

function tlsOf(env: Environment): TlsMaterial | undefined {
  if (!env.DOCKER_TLS_VERIFY) return undefined
  return readTls(env.DOCKER_CERT_PATH || configFolder(env), true)
}

function readTls(folder: string, verify: boolean): TlsMaterial {
  const read = (name: string): Buffer | undefined => {
    try {
      return readFileSync(join(folder, name))
    } catch {
      return undefined
    }
  }
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem'), verify }
}

export const configFolder = (env: Environment): string => env.DOCKER_CONFIG || join(env.HOME || '/', '.docker')

/** What the docker command keeps of the person's settings; nothing where there is none, or it is no JSON. */
export function readDockerConfig(env: Environment): { readonly currentContext?: unknown; readonly auths?: unknown } {
  try {
    const config: unknown = JSON.parse(readFileSync(join(configFolder(env), 'config.json'), 'utf8'))
    return typeof config === 'object' && config !== null ? config : {}
  } catch {
    return {}
  }
}

function currentContext(env: Environment): string | undefined {
  const { currentContext: name } = readDockerConfig(env)
  return typeof name === 'string' ? name : undefined
}

interface ContextFile {
  readonly Endpoints?: { readonly docker?: { readonly Host?: string; readonly SkipTLSVerify?: boolean } }
}

/** A context lies in a folder that is named by the SHA-256 of its name. */
function contextEndpoint(name: string, env: Environment): Endpoint {
  const id = createHash('sha256').update(name).digest('hex')
  const path = join(configFolder(env), 'contexts/meta', id, 'meta.json')
  let docker: { readonly Host?: string; readonly SkipTLSVerify?: boolean } | undefined
  try {
    docker = (JSON.parse(readFileSync(path, 'utf8')) as ContextFile).Endpoints?.docker
  } catch {
    throw failure('invalid', { field: 'context', value: name, accepted: 'a context of the docker command (docker context ls)' })
  }
  if (!docker?.Host) throw failure('invalid', { field: 'context', value: name, accepted: 'a context with an endpoint for docker' })
  const folder = join(configFolder(env), 'contexts/tls', id, 'docker')
  const tls = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readTls(folder, docker.SkipTLSVerify !== true) : undefined
  return parseAddress(docker.Host, `the context ${name}`, env, tls)
}
