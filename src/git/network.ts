import { failure } from '../core/errors.ts'
import type { OwnEnvironment } from './environment.ts'
import type { GitCall } from './git.ts'
import { commandAt, type Setting, takesProgram } from './settings.ts'

/** A setting as `git config --list --show-scope` tells of it. */
export interface ScopedSetting {
  readonly scope: string
  /** Section and last part in small letters. */
  readonly name: string
  readonly value: string
}

/** The output of `git config --list --show-scope -z`. */
export function parseScoped(text: string): ScopedSetting[] {
  const parts = text.split('\0')
  const settings: ScopedSetting[] = []
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [name, ...value] = (parts[index + 1] as string).split('\n')
    settings.push({ scope: parts[index] as string, name: name as string, value: value.join('\n') })
  }
  return settings
}

const isOfPerson = ({ scope }: ScopedSetting): boolean => scope === 'system' || scope === 'global'

export interface Network {
  readonly settings: readonly Setting[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * How a remote is spoken to. Who may log in, with which program and through which proxy is said by the settings of the machine and of the
 * person; a repository says where the remote is, and may add a header (`http.<url>.extraHeader`, as checkouts of CI do) and an authority
 * of its own. Whoever can write its configuration gets no program started and no credential sent elsewhere by it. Rejects with
 * `unsafe_config` where a setting cannot be overruled.
 */
export function networkOf(all: readonly ScopedSetting[], call: Pick<GitCall, 'args' | 'cwd' | 'gitDir'>, ownEnv: OwnEnvironment): Network {
  const person = all.filter(isOfPerson)
  const own = all.filter(({ scope }) => scope === 'local' || scope === 'worktree')
  const unsafe = own.filter(({ name }) => isUnsafe(name, call.args))
  if (unsafe.length > 0) throw failure('unsafe_config', { path: call.gitDir ?? call.cwd, names: [...new Set(unsafe.map(({ name }) => name))] })
  const last = (name: string): string | undefined => person.findLast((setting) => setting.name === name)?.value
  const settings: Setting[] = [
    ...own.flatMap(({ name }) => overruled(name, last, ownEnv)),
    // An empty one forgets all before it, whatever address they are for.
    ['credential.helper', ''],
    ...person.flatMap(({ name, value }): Setting[] => (/^credential\.(?:.+\.)?helper$/s.test(name) ? [[name, value]] : [])),
    // A server that takes a connection and then says nothing; bytes per second, seconds.
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', '20'],
  ]
  const proxy = last('core.gitproxy')
  const env = {
    GIT_SSH_COMMAND: sshCommand(last('core.sshcommand')),
    GIT_ALLOW_PROTOCOL: protocolsOf(person).join(':'),
    ...(proxy && !/\sfor\s/.test(proxy) ? { GIT_PROXY_COMMAND: proxy } : {}),
  }
  return { settings, env }
}

/** The program on the other side is named by its first setting, which ours is not. Some commands have an option for it. */
function isUnsafe(name: string, args: readonly string[]): boolean {
  const setting = /^remote\..*\.([^.]+)$/s.exec(name)?.[1]
  const command = args[commandAt(args)]
  return setting === 'vcs' || (setting === 'receivepack' && command === 'push') || (setting === 'uploadpack' && !takesProgram(command))
}

/** Settings that send a request elsewhere, weaken the look at who answers, or write files; with what they are where nobody sets them. */
const weakening: Readonly<Record<string, string>> = {
  sslverify: 'true',
  curloptresolve: '',
  cookiefile: '',
  savecookies: 'false',
  followredirects: 'initial',
  delegation: 'none',
  emptyauth: 'auto',
  proactiveauth: 'none',
}

function overruled(name: string, last: (name: string) => string | undefined, ownEnv: OwnEnvironment): Setting[] {
  const setting = /^http\.(?:.+\.)?([^.]+)$/s.exec(name)?.[1] ?? (/^remote\..+\.proxy$/s.test(name) ? 'proxy' : undefined)
  if (setting === undefined) return []
  const usual = setting === 'proxy' ? (ownEnv.https_proxy ?? ownEnv.HTTPS_PROXY ?? '') : weakening[setting]
  return usual === undefined ? [] : [[name, last(name) ?? last(`http.${setting}`) ?? usual]]
}

/** ssh that asks nobody, gives up on a host that does not answer, and leaves no shared connection behind. Seconds. */
const sshOptions = '-oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15 -oServerAliveCountMax=2 -oControlMaster=no'

function sshCommand(configured: string | undefined): string {
  if (configured === undefined || configured.trim() === '') return `ssh ${sshOptions}`
  // Another program may not know the options.
  const program = /^(?:"([^"]+)"|'([^']+)'|(\S+))/.exec(configured.trim())
  const path = program?.[1] ?? program?.[2] ?? program?.[3] ?? ''
  return /(?:^|\/)ssh$/.test(path) ? `${configured.trim()} ${sshOptions}` : configured
}

/** What starts no program that a repository names: what git speaks itself, and what the person allowed. */
function protocolsOf(person: readonly ScopedSetting[]): string[] {
  const allowed = person.flatMap(({ name, value }) => (value === 'always' ? (/^protocol\.([a-z0-9+-]+)\.allow$/.exec(name)?.[1] ?? []) : []))
  return [...new Set(['file', 'git', 'http', 'https', 'ssh', ...allowed])].filter((name) => name !== 'ext')
}
