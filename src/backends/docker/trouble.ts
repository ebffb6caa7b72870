import { readFileSync, statSync } from 'node:fs'
import { errnoOf, failure, type HoldfastError, messageOf } from '../../core/errors.ts'
import type { Endpoint } from './endpoint.ts'

/** What an engine answered in the place of what it was asked for. */
export class EngineRefusal extends Error {
  constructor(
    readonly status: number,
    /** The engine's own words. */
    message: string,
  ) {
    super(message)
  }
}

export const hasStatus = (error: unknown, ...statuses: readonly number[]): error is EngineRefusal =>
  error instanceof EngineRefusal && statuses.includes(error.status)

/** The connection could not be made, or broke: what to do about it follows from the errno. */
export function unreachable(endpoint: Endpoint, error: unknown): HoldfastError {
  const errno = errnoOf(error)
  const target = `the engine at ${endpoint.address}`
  const named = endpoint.namedBy === 'the usual places' ? '' : ` (named by ${endpoint.namedBy})`
  if ('socketPath' in endpoint.at) {
    const path = endpoint.at.socketPath
    if (errno === 'ENOENT') {
      const why = `there is no socket ${path}${named}, so neither Docker nor Podman runs here`
      const help = 'start one (systemctl start docker; or podman system service --time=0), or name its socket with "socket" or DOCKER_HOST'
      return failure('backend_unavailable', { target, why, help }, error)
    }
    if (errno === 'ECONNREFUSED') {
      const why = `the socket ${path}${named} is there, and nobody listens: the daemon is not running`
      return failure('backend_unavailable', { target, why, help: 'start it (systemctl start docker; or podman system service --time=0)' }, error)
    }
    if (errno === 'EACCES' || errno === 'EPERM') {
      const group = groupOf(path)
      const why = `this account may not use the socket ${path}${named}${group ? `, which belongs to the group ${group}` : ''}`
      const help = `${group && group !== 'root' ? `join the group (sudo usermod -aG ${group} "$USER", then log in again)` : 'ask whoever runs the engine'}, or use rootless Docker or Podman`
      return failure('backend_denied', { target, why, help }, error)
    }
    if (errno === 'ENOTSOCK') return failure('backend_unavailable', { target, why: `${path}${named} is no socket`, help: 'name a socket' }, error)
  }
  if (errno?.startsWith('ERR_TLS') || /certificate|self.signed|ssl|tls/i.test(messageOf(error))) {
    const help = 'set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH to the folder with ca.pem, cert.pem and key.pem'
    return failure('backend_unauthenticated', { target, why: messageOf(error), help }, error)
  }
  return failure('backend_unavailable', { target, why: `${errno ?? messageOf(error)}${named}`, help: 'see whether the engine runs (docker info)' }, error)
}

/** The name of the group of a file, its number where it has none. */
function groupOf(path: string): string | undefined {
  const gid = statSync(path, { throwIfNoEntry: false })?.gid
  if (gid === undefined) return undefined
  try {
    const line = readFileSync('/etc/group', 'utf8')
      .split('\n')
      .find((each) => each.split(':')[2] === String(gid))
    return line?.split(':')[0] ?? String(gid)
  } catch {
    return String(gid)
  }
}

/** An error of any kind as one of ours; `what` was asked of `target`. */
export function troubleOf(error: unknown, target: string, what: string): unknown {
  if (!(error instanceof EngineRefusal)) return error
  const why = error.message
  if (/no space left on device|disk quota exceeded/i.test(why)) return failure('backend_exhausted', { target, why }, error)
  if (error.status === 401) return failure('backend_unauthenticated', { target, why }, error)
  if (error.status === 403) return failure('backend_denied', { target, why }, error)
  // Podman says so with other statuses, too, where one is removed meanwhile.
  if (/no such container|no container with/i.test(why)) return failure('site_gone', { target, why: 'there is no such container any more' }, error)
  // It was forgotten between its making and its start, by an engine that was started anew.
  if (/no such exec/i.test(why)) return failure('backend_unavailable', { target, why: `${what}: ${why}`, help: 'try again' }, error)
  if (error.status < 500 || isAboutTheRequest(why)) return failure('backend_refused', { target, what, why }, error)
  return failure('backend_unavailable', { target, why: `${what}: ${why}`, help: 'see the log of the engine' }, error)
}

/** Podman answers 500, and Docker at times, where the request itself is what is wrong. */
const isAboutTheRequest = (why: string): boolean =>
  /invalid|unknown (?:flag|capability|user)|no such file or directory|executable file not found|permission denied|not supported|unable to find|network .* not found|no matching entries|does not exist/i.test(
    why,
  )
