import { readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { errnoOf, failure, messageOf } from '../../core/errors.ts'

/*
 * Which cluster, and who asks: the files of kubectl, read and merged as it does it, or what a pod is given.
 */

export interface Cluster {
  readonly server: string
  readonly caFile?: string | undefined
  readonly caData?: string | undefined
  readonly skipTlsVerify: boolean
  readonly tlsServerName?: string | undefined
  readonly proxyUrl?: string | undefined
  /** What exec plugins are told under `config`. */
  readonly execConfig?: unknown
}

export interface ExecPlugin {
  readonly apiVersion: string
  /** Absolute, or found on PATH. */
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly provideClusterInfo: boolean
  readonly interactiveMode: string | undefined
  readonly installHint: string | undefined
}

export interface User {
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly certificateFile?: string | undefined
  readonly certificateData?: string | undefined
  readonly keyFile?: string | undefined
  readonly keyData?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly exec?: ExecPlugin | undefined
  /** The name of an auth-provider, which nothing supports any more. */
  readonly authProvider?: string | undefined
  readonly impersonate?: { readonly user?: string; readonly uid?: string; readonly groups: readonly string[]; readonly extra: Record<string, string[]> }
}

export interface Context {
  readonly cluster: string
  readonly user: string
  readonly namespace?: string | undefined
}

/** All that the files say. The paths in it are absolute. */
export interface Kubeconfig {
  readonly clusters: ReadonlyMap<string, Cluster>
  readonly users: ReadonlyMap<string, User>
  readonly contexts: ReadonlyMap<string, Context>
  readonly currentContext: string
  /** Those that were read. */
  readonly files: readonly string[]
}

/** One cluster as one user sees it. */
export interface Access {
  readonly cluster: Cluster
  readonly user: User
  readonly namespace: string | undefined
  /** Where it is from, for sentences: `context dev of /home/me/.kube/config`. */
  readonly from: string
  /** What names the same again, whatever the current context is by then. */
  readonly context?: string | undefined
  readonly file?: string | undefined
}

export interface KubeconfigRequest {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The home directory of the person; undefined: there is none. */
  readonly userHome: string | undefined
  /** A file of its own, in the place of all others. */
  readonly file?: string | undefined
  readonly context?: string | undefined
  /** Where a pod finds what it is given. */
  readonly accountFolder?: string | undefined
}

const maxFileBytes = 16 * 1024 * 1024
const execExtension = 'client.authentication.k8s.io/exec'

/** The cluster and the user that the target means. */
export function findAccess(request: KubeconfigRequest): Access {
  const config = readKubeconfig(request)
  if (config.contexts.size === 0 && config.clusters.size === 0 && request.context === undefined) {
    const inside = inClusterAccess(request)
    if (inside) return inside
  }
  const where = config.files.join(', ')
  const name = request.context ?? config.currentContext
  if (!name) {
    throw failure('backend_unavailable', {
      target: 'kubernetes',
      why: config.files.length > 0 ? `${where} has no current-context` : `no cluster is configured: ${nothingRead(request)}`,
      help:
        config.files.length > 0 ? 'choose one with kubectl config use-context, or name it as context of the target' : 'name a kubeconfig, or set KUBECONFIG',
    })
  }
  const context = config.contexts.get(name)
  if (!context) {
    const known = [...config.contexts.keys()].sort()
    throw failure('invalid', {
      field: 'context',
      value: name,
      accepted: known.length > 0 ? `${known.join(', ')} (of ${where})` : `a context of ${where || 'a kubeconfig'}, which has none`,
    })
  }
  const cluster = config.clusters.get(context.cluster)
  if (!cluster?.server)
    throw broken(where, `context ${name} names the cluster ${JSON.stringify(context.cluster)}, which ${cluster ? 'has no server' : 'is not there'}`)
  const user = context.user ? config.users.get(context.user) : {}
  if (!user) throw broken(where, `context ${name} names the user ${JSON.stringify(context.user)}, which is not there`)
  return {
    cluster,
    user,
    namespace: context.namespace,
    from: `context ${name} of ${where}`,
    context: name,
    file: config.files.length === 1 ? config.files[0] : undefined,
  }
}

function nothingRead({ env, userHome, file }: KubeconfigRequest): string {
  if (file) return `${file} is empty`
  if (env.KUBECONFIG) return `there is none of the files of KUBECONFIG (${env.KUBECONFIG})`
  return `KUBECONFIG is not set, ${userHome ? `${join(userHome, '.kube', 'config')} is not there` : 'there is no home directory'}, and this is not a pod`
}

/** All files in their order; of each name the first one that has it counts, as a whole. */
export function readKubeconfig(request: KubeconfigRequest): Kubeconfig {
  const clusters = new Map<string, Cluster>()
  const users = new Map<string, User>()
  const contexts = new Map<string, Context>()
  let currentContext = ''
  const files: string[] = []
  for (const path of pathsOf(request)) {
    const text = readConfigFile(path, request.file !== undefined)
    if (text === undefined) continue
    files.push(path)
    const { config, fault } = parseConfig(text)
    if (fault) throw broken(path, fault)
    const folder = dirname(path)
    for (const [name, value] of named(config, 'clusters', 'cluster', path)) if (!clusters.has(name)) clusters.set(name, toCluster(value, folder))
    for (const [name, value] of named(config, 'users', 'user', path)) if (!users.has(name)) users.set(name, toUser(value, folder))
    for (const [name, value] of named(config, 'contexts', 'context', path)) {
      if (!contexts.has(name))
        contexts.set(name, { cluster: textOf(value, 'cluster') ?? '', user: textOf(value, 'user') ?? '', namespace: textOf(value, 'namespace') })
    }
    currentContext ||= textOf(config, 'current-context') ?? ''
  }
  return { clusters, users, contexts, currentContext, files }
}

function pathsOf({ env, userHome, file }: KubeconfigRequest): string[] {
  if (file) return [absolute(file, userHome)]
  const listed = env.KUBECONFIG
  if (listed) return [...new Set(listed.split(delimiter).filter((path) => path !== ''))].map((path) => resolve(path))
  return userHome ? [join(userHome, '.kube', 'config')] : []
}

function absolute(path: string, userHome: string | undefined): string {
  return path.startsWith('~/') && userHome ? join(userHome, path.slice(2)) : resolve(path)
}

function readConfigFile(path: string, isNamed: boolean): string | undefined {
  try {
    if (statSync(path).size > maxFileBytes) throw new Error(`it has more than ${maxFileBytes} bytes`)
    return readFileSync(path, 'utf8')
  } catch (error) {
    const errno = errnoOf(error)
    if (!isNamed && (errno === 'ENOENT' || errno === 'ENOTDIR')) return undefined
    throw failure('invalid', { field: 'kubeconfig', value: path, accepted: `a file that can be read (${errno ?? messageOf(error)})` })
  }
}

type Fields = Readonly<Record<string, unknown>>

/** JSON is YAML, too. What is wrong is told by its place: the text may hold secrets. */
function parseConfig(text: string): { config: Fields; fault?: string } {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' })
  const error = document.errors[0]
  if (error) {
    const line = text.slice(0, error.pos[0]).split('\n').length
    return { config: {}, fault: `line ${line} is no YAML (${error.code.toLowerCase().replaceAll('_', ' ')})` }
  }
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  if (value === null || value === undefined) return { config: {} }
  return isFields(value) ? { config: value } : { config: {}, fault: 'it is no mapping' }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The entries of one of the lists `[{name, cluster: {…}}]`; of the same name in one file the last one counts. */
function named(config: Fields, list: string, field: string, path: string): Map<string, Fields> {
  const entries = config[list] ?? []
  if (!Array.isArray(entries)) throw broken(path, `${list} is no list`)
  const found = new Map<string, Fields>()
  for (const entry of entries) {
    if (!isFields(entry) || typeof entry.name !== 'string') throw broken(path, `an entry of ${list} has no name`)
    const value = entry[field]
    found.set(entry.name, isFields(value) ? value : {})
  }
  return found
}

function toCluster(value: Fields, folder: string): Cluster {
  const extension = Array.isArray(value.extensions) ? value.extensions.find((each) => isFields(each) && each.name === execExtension) : undefined
  return {
    server: textOf(value, 'server') ?? '',
    caFile: below(folder, textOf(value, 'certificate-authority')),
    caData: textOf(value, 'certificate-authority-data'),
    skipTlsVerify: value['insecure-skip-tls-verify'] === true,
    tlsServerName: textOf(value, 'tls-server-name'),
    proxyUrl: textOf(value, 'proxy-url'),
    ...(isFields(extension) ? { execConfig: extension.extension } : {}),
  }
}

function toUser(value: Fields, folder: string): User {
  const provider = value['auth-provider']
  const groups = value['as-groups']
  const asUser = textOf(value, 'as')
  const asUid = textOf(value, 'as-uid')
  const impersonates = asUser !== undefined || asUid !== undefined || (Array.isArray(groups) && groups.length > 0)
  return {
    token: textOf(value, 'token'),
    tokenFile: below(folder, textOf(value, 'tokenFile')),
    certificateFile: below(folder, textOf(value, 'client-certificate')),
    certificateData: textOf(value, 'client-certificate-data'),
    keyFile: below(folder, textOf(value, 'client-key')),
    keyData: textOf(value, 'client-key-data'),
    username: textOf(value, 'username'),
    password: textOf(value, 'password'),
    exec: isFields(value.exec) ? toPlugin(value.exec, folder) : undefined,
    authProvider: isFields(provider) ? (textOf(provider, 'name') ?? 'unnamed') : undefined,
    ...(impersonates
      ? {
          impersonate: {
            ...(asUser ? { user: asUser } : {}),
            ...(asUid ? { uid: asUid } : {}),
            groups: Array.isArray(groups) ? groups.map(String) : [],
            extra: isFields(value['as-user-extra'])
              ? Object.fromEntries(Object.entries(value['as-user-extra']).map(([name, values]) => [name, Array.isArray(values) ? values.map(String) : []]))
              : {},
          },
        }
      : {}),
  }
}

function toPlugin(value: Fields, folder: string): ExecPlugin {
  const command = textOf(value, 'command') ?? ''
  const variables = Array.isArray(value.env) ? value.env.filter(isFields) : []
  return {
    apiVersion: textOf(value, 'apiVersion') ?? '',
    // A name alone is looked for on PATH.
    command: command.includes('/') ? (below(folder, command) as string) : command,
    args: Array.isArray(value.args) ? value.args.map(String) : [],
    env: Object.fromEntries(variables.map((each) => [String(each.name), String(each.value ?? '')])),
    provideClusterInfo: value.provideClusterInfo === true,
    interactiveMode: textOf(value, 'interactiveMode'),
    installHint: textOf(value, 'installHint'),
  }
}

/** Relative to the file that names it. */
function below(folder: string, path: string | undefined): string | undefined {
  return path === undefined || isAbsolute(path) ? path : join(folder, path)
}

function broken(path: string, why: string): Error {
  return failure('invalid', { field: 'kubeconfig', value: path, accepted: `a kubeconfig that is whole: ${why}` })
}

export const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** What a pod is given of its own cluster. Its token changes: it is read anew. */
function inClusterAccess({ env, accountFolder: folder = accountFolder }: KubeconfigRequest): Access | undefined {
  const host = env.KUBERNETES_SERVICE_HOST
  const port = env.KUBERNETES_SERVICE_PORT
  const tokenFile = join(folder, 'token')
  if (!host || !port || readIfThere(tokenFile) === undefined) return undefined
  const caFile = join(folder, 'ca.crt')
  return {
    cluster: {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      caFile: readIfThere(caFile) === undefined ? undefined : caFile,
      skipTlsVerify: false,
    },
    user: { tokenFile },
    namespace: readIfThere(join(folder, 'namespace'))?.trim() || undefined,
    from: 'the service account of this pod',
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
