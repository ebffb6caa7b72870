import { readFileSync } from 'node:fs'
import { errnoOf, failure, messageOf } from '../../core/errors.ts'
import { monotonicMs } from '../../core/monotonic.ts'
import { askProgram } from '../../process/ask-program.ts'
import type { Access, Cluster, ExecPlugin, User } from './kubeconfig.ts'

/** What one request is signed with. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>
  /** PEM. */
  readonly certificate: Buffer | undefined
  readonly key: Buffer | undefined
  /** Tells these from earlier ones. */
  readonly generation: number
}

export interface CredentialSource {
  current(): Promise<Credentials>
  /** Gets new ones where that is possible and nobody did since those. Resolves to whether the request is worth being made again. */
  renew(refused: Credentials): Promise<boolean>
}

export interface CredentialTools {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly userHome: string | undefined
  readonly now?: (() => number) | undefined
}

const target = 'kubernetes'
/** As long as client-go trusts what it read from a token file. */
const tokenFileMs = 10_000
const pluginTimeoutMs = 60_000
const maxPluginBytes = 1024 * 1024
const pluginVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']

export function openCredentials(access: Access, tools: CredentialTools): CredentialSource {
  const { user, cluster } = access
  if (user.authProvider !== undefined) {
    throw failure('backend_unauthenticated', {
      target,
      why: `the kubeconfig has the auth-provider ${user.authProvider}, which Kubernetes removed in version 1.26`,
      help: 'use an exec plugin or a token in its place; the documentation of the cluster says which',
    })
  }
  if (user.exec) return openPlugin(user.exec, user, cluster, tools)
  return openFixed(user)
}

function openFixed(user: User): CredentialSource {
  const certificate = pem(user.certificateData, user.certificateFile, 'client-certificate')
  const key = pem(user.keyData, user.keyFile, 'client-key')
  let generation = 0
  let token = user.token
  let readAt = Number.NEGATIVE_INFINITY
  const read = (): void => {
    if (!user.tokenFile || monotonicMs() - readAt < tokenFileMs) return
    try {
      const text = readFileSync(user.tokenFile, 'utf8').trim()
      if (text !== token) generation += 1
      token = text
    } catch (error) {
      // What was read before counts as long as it is accepted.
      if (token === undefined) throw unreadable('tokenFile', user.tokenFile, error)
    }
    readAt = monotonicMs()
  }
  return {
    async current() {
      read()
      return { headers: headersOf(user, token), certificate, key, generation }
    },
    async renew(refused) {
      readAt = Number.NEGATIVE_INFINITY
      read()
      return generation !== refused.generation
    },
  }
}

function headersOf(user: User, token: string | undefined): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  if (token) headers.authorization = `Bearer ${token}`
  else if (user.username !== undefined) headers.authorization = `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`
  const as = user.impersonate
  if (as?.user) headers['impersonate-user'] = as.user
  if (as?.uid) headers['impersonate-uid'] = as.uid
  if (as && as.groups.length > 0) headers['impersonate-group'] = [...as.groups]
  for (const [name, values] of Object.entries(as?.extra ?? {})) headers[`impersonate-extra-${encodeURIComponent(name)}`] = values
  return headers
}

/** What is in the file itself outranks a path. */
export function pem(data: string | undefined, file: string | undefined, field: string): Buffer | undefined {
  if (data !== undefined) return Buffer.from(data, 'base64')
  if (file === undefined) return undefined
  try {
    return readFileSync(file)
  } catch (error) {
    throw unreadable(field, file, error)
  }
}

function unreadable(field: string, path: string, error: unknown): Error {
  return failure('invalid', { field: `${field} of the kubeconfig`, value: path, accepted: `a file that can be read (${errnoOf(error) ?? messageOf(error)})` })
}

interface PluginAnswer {
  readonly token: string | undefined
  readonly certificate: Buffer | undefined
  readonly key: Buffer | undefined
  /** In milliseconds since 1970; undefined: until they are refused. */
  readonly expiresAt: number | undefined
}

function openPlugin(plugin: ExecPlugin, user: User, cluster: Cluster, tools: CredentialTools): CredentialSource {
  if (!plugin.command) throw refuse(plugin, 'its command is missing')
  if (!pluginVersions.includes(plugin.apiVersion))
    throw refuse(plugin, `its apiVersion is ${JSON.stringify(plugin.apiVersion)}; accepted: ${pluginVersions.join(', ')}`)
  if (plugin.interactiveMode === 'Always')
    throw refuse(plugin, 'it wants to talk to a person (interactiveMode: Always), and nobody is here', 'log in with it by hand, or use a token')
  const now = tools.now ?? Date.now
  let generation = 0
  let answer: PluginAnswer | undefined
  let asking: Promise<PluginAnswer> | undefined
  const ask = (): Promise<PluginAnswer> => {
    // Requests at the same time share one start of the program.
    asking ??= askPlugin(plugin, cluster, tools)
      .then((fresh) => {
        generation += 1
        answer = fresh
        return fresh
      })
      .finally(() => {
        asking = undefined
      })
    return asking
  }
  return {
    async current() {
      const valid = answer && (answer.expiresAt === undefined || answer.expiresAt > now()) ? answer : await ask()
      return { headers: headersOf(user, valid.token ?? user.token), certificate: valid.certificate, key: valid.key, generation }
    },
    async renew(refused) {
      if (refused.generation === generation) await ask()
      return true
    },
  }
}

async function askPlugin(plugin: ExecPlugin, cluster: Cluster, tools: CredentialTools): Promise<PluginAnswer> {
  const info = {
    kind: 'ExecCredential',
    apiVersion: plugin.apiVersion,
    spec: { interactive: false, ...(plugin.provideClusterInfo ? { cluster: toldCluster(cluster) } : {}) },
  }
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries({ ...tools.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) }))
    if (value !== undefined) env[name] = value
  const said = await askProgram({
    argv: [plugin.command, ...plugin.args],
    cwd: tools.userHome ?? '/',
    env,
    timeoutMs: pluginTimeoutMs,
    maxBytes: maxPluginBytes,
  }).catch((error: unknown) => {
    const why = errnoOf(error) === 'ENOENT' ? 'there is no such program' : (errnoOf(error) ?? messageOf(error))
    throw refuse(plugin, `it cannot be started: ${why}`, plugin.installHint?.trim() || undefined)
  })
  if (said.cut) throw refuse(plugin, said.cut === 'time' ? `it gave no answer within ${pluginTimeoutMs / 1000} s` : 'it said too much')
  // What it prints on standard output may be a secret, and is shown to nobody.
  if (said.code !== 0)
    throw refuse(
      plugin,
      `it ended with ${said.code === null ? 'a signal' : `exit code ${said.code}`}${lastLine(said.stderr)}`,
      plugin.installHint?.trim() || undefined,
    )
  return readAnswer(plugin, said.stdout)
}

function toldCluster(cluster: Cluster): Record<string, unknown> {
  const ca = pem(cluster.caData, cluster.caFile, 'certificate-authority')
  return {
    server: cluster.server,
    ...(cluster.tlsServerName ? { 'tls-server-name': cluster.tlsServerName } : {}),
    ...(cluster.skipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca ? { 'certificate-authority-data': ca.toString('base64') } : {}),
    ...(cluster.proxyUrl ? { 'proxy-url': cluster.proxyUrl } : {}),
    config: cluster.execConfig ?? null,
  }
}

function readAnswer(plugin: ExecPlugin, text: string): PluginAnswer {
  let said: { apiVersion?: unknown; kind?: unknown; status?: Record<string, unknown> }
  try {
    said = JSON.parse(text) as typeof said
  } catch {
    throw refuse(plugin, 'it printed no ExecCredential')
  }
  if (said?.kind !== 'ExecCredential') throw refuse(plugin, 'it printed no ExecCredential')
  if (said.apiVersion !== plugin.apiVersion) throw refuse(plugin, `it answers as ${String(said.apiVersion)}, and ${plugin.apiVersion} was asked for`)
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = said.status ?? {}
  const has = (value: unknown): value is string => typeof value === 'string' && value !== ''
  if (has(clientCertificateData) !== has(clientKeyData)) throw refuse(plugin, 'it gave a client certificate without its key, or a key alone')
  if (!has(token) && !has(clientCertificateData)) throw refuse(plugin, 'it gave neither a token nor a client certificate')
  const expiresAt = has(expirationTimestamp) ? Date.parse(expirationTimestamp) : Number.NaN
  return {
    token: has(token) ? token : undefined,
    certificate: has(clientCertificateData) ? Buffer.from(clientCertificateData) : undefined,
    key: has(clientKeyData) ? Buffer.from(clientKeyData) : undefined,
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  }
}

function lastLine(text: string): string {
  const line = text.trim().split('\n').at(-1)?.trim() ?? ''
  return line ? `: ${line.slice(0, 300)}` : ''
}

function refuse(plugin: ExecPlugin, why: string, help?: string): Error {
  return failure('backend_unauthenticated', {
    target,
    why: `the exec plugin ${plugin.command || 'of the kubeconfig'}: ${why}`,
    help: help ?? 'run kubectl auth whoami, and log in with what it asks for',
  })
}
