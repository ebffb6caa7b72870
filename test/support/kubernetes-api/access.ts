import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { ApiError, unauthorized } from './api-status.ts'

export interface User {
  readonly name: string
  readonly groups?: readonly string[]
}

/** What is asked for, in the words of access control. `resource` has its subresource: `pods/exec`. */
export interface Attributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** What nobody may. What is left out is any. */
export interface Denial {
  readonly verb?: string
  readonly resource?: string
  readonly namespace?: string
  readonly user?: string
}

export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** Who asks, by token or by certificate. */
export function authenticate(request: IncomingMessage, tokens: ReadonlyMap<string, User>): User {
  const token = /^bearer +(\S+)/i.exec(request.headers.authorization ?? '')?.[1] ?? tokenOfSubprotocol(request)
  if (token !== undefined) {
    const user = tokens.get(token)
    if (!user) throw unauthorized()
    return user
  }
  const socket = request.socket as TLSSocket
  const subject = socket.authorized ? socket.getPeerCertificate?.()?.subject : undefined
  if (subject?.CN) return { name: [subject.CN].flat().join(','), groups: [subject.O ?? []].flat() }
  return anonymous
}

/** As browsers say it, who cannot set headers. */
function tokenOfSubprotocol(request: IncomingMessage): string | undefined {
  const encoded = /base64url\.bearer\.authorization\.k8s\.io\.([\w-]+)/.exec(request.headers['sec-websocket-protocol'] ?? '')?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64url').toString('utf8')
}

export function isAllowed(user: User, asked: Attributes, denials: readonly Denial[]): boolean {
  if (user.name === anonymous.name) return false
  return !denials.some(
    (denial) =>
      (denial.verb ?? asked.verb) === asked.verb &&
      (denial.resource ?? asked.resource) === asked.resource &&
      (denial.namespace ?? asked.namespace) === asked.namespace &&
      (denial.user ?? user.name) === user.name,
  )
}

export function forbidden(user: User, asked: Attributes, plural: string): ApiError {
  const { verb, group, resource, namespace, name } = asked
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
  const what = `User "${user.name}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`
  return new ApiError(403, 'Forbidden', `${plural}${group === '' ? '' : `.${group}`}${name ? ` "${name}"` : ''} is forbidden: ${what}`, {
    ...(name ? { name } : {}),
    ...(group === '' ? {} : { group }),
    kind: plural,
  })
}

export const forbiddenPath = (user: User, verb: string, path: string): ApiError =>
  new ApiError(403, 'Forbidden', `forbidden: User "${user.name}" cannot ${verb} path "${path}"`, {})

/** A token as long as real ones, the same for the same seed. */
export const makeToken = (seed: string): string => createHash('sha256').update(seed).digest('base64url')
