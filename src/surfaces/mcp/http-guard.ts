import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface HttpRefusal {
  readonly status: 401 | 403
  readonly why: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Why a request is not answered, or undefined. A web page that a person has open may send requests to this machine, also under a name of its
 * own that leads here (DNS rebinding), so the names that stand in `Host` and `Origin` are looked at before the token is.
 */
export function refusalOf(headers: IncomingHttpHeaders, own: { readonly host: string; readonly token: string }): HttpRefusal | undefined {
  const { host = '', origin, authorization = '' } = headers
  if (isLoopback(own.host) && !isLoopback(hostnameOf(`http://${host}`)))
    return forbidden(`Host is ${JSON.stringify(host)}; accepted: localhost or a loopback address`)
  if (origin !== undefined && !isLoopback(hostnameOf(origin)) && hostnameOf(origin) !== hostnameOf(`http://${host}`))
    return forbidden(`Origin is ${JSON.stringify(origin)}; pages of other hosts are not answered`)
  const given = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (given !== undefined && isEqual(given, own.token)) return undefined
  const why = given === undefined ? 'the header Authorization: Bearer TOKEN is missing' : 'the token is another one'
  return { status: 401, why, headers: { 'www-authenticate': 'Bearer realm="holdfast"' } }
}

const forbidden = (why: string): HttpRefusal => ({ status: 403, why, headers: {} })

/** Whether only this machine can be meant. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

function hostnameOf(url: string): string {
  try {
    return new URL(url).hostname
  } catch {
    return ''
  }
}

/** Takes the same time wherever they differ. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
