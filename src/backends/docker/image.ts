import { createInterface } from 'node:readline'
import { errnoOf, failure, HoldfastError } from '../../core/errors.ts'
import type { DockerTarget } from '../../core/target.ts'
import { type Environment, readDockerConfig } from './endpoint.ts'
import type { Engine } from './engine.ts'
import { EngineRefusal, hasStatus, troubleOf } from './trouble.ts'

export interface Image {
  /** What a container is created of. */
  readonly name: string
  readonly id: string
}

export interface PullTools {
  readonly env: Environment
  /** Gets what a pull says, one line each. */
  readonly progress?: ((line: string) => void) | undefined
}

/** A registry that says nothing for so long is not there; how long a pull takes in all is up to its size and the person. */
const silentMs = 90_000
const pullMs = 30 * 60_000

/** The image as the engine has it, pulled where the policy says so. */
export async function requireImage(
  engine: Engine,
  ref: string,
  pull: NonNullable<DockerTarget['pull']>,
  tools: PullTools,
  signal: AbortSignal,
): Promise<Image> {
  const found = pull === 'always' ? undefined : await findImage(engine, ref, signal)
  if (found) return found
  const target = `docker image ${ref}`
  if (pull === 'never') {
    throw failure('backend_missing', { target, what: `image ${ref} in the engine`, why: 'and "pull" is "never"', help: `docker pull ${ref}, or build it` })
  }
  await pullImage(engine, ref, pull, tools, signal)
  const pulled = await findImage(engine, ref, signal)
  if (pulled) return pulled
  throw failure('backend_missing', { target, what: `image ${ref} after it was pulled` })
}

async function findImage(engine: Engine, ref: string, signal: AbortSignal): Promise<Image | undefined> {
  // Podman gives what was built with it a name below localhost/.
  const names = engine.product === 'podman' && !hasRegistry(ref) ? [ref, `localhost/${ref}`] : [ref]
  for (const name of names) {
    try {
      const { Id, Os } = await engine.askJson<{ Id: string; Os?: string }>({ method: 'GET', path: `/images/${encodePath(name)}/json`, signal })
      if (Os && Os !== 'linux') throw failure('backend_refused', { target: `docker image ${ref}`, what: 'this image', why: `it is for ${Os}, not for Linux` })
      return { name, id: Id }
    } catch (error) {
      if (!hasStatus(error, 404)) throw troubleOf(error, `docker image ${ref}`, 'this image')
    }
  }
  return undefined
}

const encodePath = (name: string): string => name.split('/').map(encodeURIComponent).join('/')

function hasRegistry(ref: string): boolean {
  const [first = '', ...rest] = ref.split('/')
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
}

interface PullLine {
  readonly status?: string
  readonly id?: string
  readonly progress?: string
  readonly error?: string
}

async function pullImage(engine: Engine, ref: string, pull: 'missing' | 'always', { env, progress }: PullTools, signal: AbortSignal): Promise<void> {
  const target = `docker image ${ref}`
  const lastPart = ref.slice(ref.lastIndexOf('/') + 1)
  // Without a tag the engine would pull all there are.
  const whole = lastPart.includes(':') || lastPart.includes('@') ? ref : `${ref}:latest`
  const bound = AbortSignal.any([signal, AbortSignal.timeout(pullMs)])
  progress?.(`pulling ${whole}`)
  try {
    const body = await engine.stream({
      method: 'POST',
      path: '/images/create',
      query: { fromImage: whole },
      headers: credentialsFor(ref, env),
      timeoutMs: silentMs,
      signal: bound,
    })
    for await (const text of createInterface({ input: body, crlfDelay: Number.POSITIVE_INFINITY })) {
      const line = parseLine(text)
      if (line.error) throw new EngineRefusal(500, line.error)
      const words = [line.id, line.status, line.progress].filter(Boolean).join(' ')
      if (words) progress?.(words)
    }
    // A stream that broke ends the lines as if all were said.
    if (body.errored) throw body.errored
    if (!body.complete) throw failure('backend_unavailable', { target, why: 'the engine broke off the pull', help: 'try again' })
  } catch (error) {
    throw pullTrouble(error, ref, target, pull)
  }
}

function parseLine(text: string): PullLine {
  try {
    const line: unknown = JSON.parse(text)
    return typeof line === 'object' && line !== null ? line : {}
  } catch {
    return {}
  }
}

function pullTrouble(error: unknown, ref: string, target: string, pull: 'missing' | 'always'): unknown {
  if (error instanceof HoldfastError) return error
  if (!(error instanceof EngineRefusal)) {
    return failure('backend_unavailable', { target, why: `the pull broke off (${errnoOf(error) ?? String(error)})`, help: 'try again' }, error)
  }
  const why = error.message
  if (/no space left on device/i.test(why)) return failure('backend_exhausted', { target, why }, error)
  if (/dial tcp|no such host|lookup |connection refused|network is unreachable|i\/o timeout|tls handshake|pinging container registry|proxyconnect/i.test(why)) {
    const other = pull === 'always' ? '"pull": "missing" takes what the engine has; or' : 'bring the image there another way (docker load, docker build), or'
    const asked = pull === 'always' ? '"pull" is "always"' : 'it is not in the engine'
    const help = `${other} give the engine a way to the registry`
    return failure('backend_unavailable', { target, why: `${asked}, and the registry cannot be reached: ${why}`, help }, error)
  }
  if (/unauthorized|authentication required|denied/i.test(why)) {
    const help = `see whether the name is right; docker login, where the registry wants to know who asks`
    return failure('backend_missing', { target, what: `image ${ref} that this account may pull`, why, help }, error)
  }
  if (error.status === 404 || /manifest unknown|not found|does not exist|no matching manifest/i.test(why)) {
    return failure('backend_missing', { target, what: `image ${ref}`, why, help: 'see whether name and tag are right' }, error)
  }
  return failure('backend_unavailable', { target, why, help: 'see the log of the engine' }, error)
}

/** Of the person's settings, as far as they stand there; programs that keep credentials are not asked. */
function credentialsFor(ref: string, env: Environment): Readonly<Record<string, string>> {
  const { auths } = readDockerConfig(env)
  if (typeof auths !== 'object' || auths === null) return {}
  const registry = hasRegistry(ref) ? (ref.split('/')[0] ?? '') : 'https://index.docker.io/v1/'
  const entry = (auths as Record<string, { auth?: unknown } | undefined>)[registry]
  if (typeof entry?.auth !== 'string') return {}
  const [username = '', ...password] = Buffer.from(entry.auth, 'base64').toString('utf8').split(':')
  const credentials = JSON.stringify({ username, password: password.join(':'), serveraddress: registry })
  return { 'X-Registry-Auth': Buffer.from(credentials).toString('base64url') }
}
