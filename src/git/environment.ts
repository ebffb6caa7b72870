import { isAbsolute, join } from 'node:path'
import type { GitCall } from './git.ts'

export type OwnEnvironment = Readonly<Record<string, string | undefined>>

type EnvironmentOf = Pick<GitCall, 'reads' | 'ceiling' | 'indexFile' | 'config'>

/** What every process of git gets, built from empty: no variable that git or a program it starts would take for an order. */
function baseEnvironment(call: EnvironmentOf, ownEnv: OwnEnvironment): Record<string, string> {
  return {
    PATH: searchPath(ownEnv.PATH),
    // Messages are read by what they say, so they come in one language.
    LC_ALL: 'C.UTF-8',
    LANG: 'C.UTF-8',
    // Nobody is asked for anything. An empty name is no program, and keeps git from looking for another.
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_EDITOR: 'true',
    GIT_SEQUENCE_EDITOR: 'true',
    GIT_PAGER: 'cat',
    // Parents of commits that a file says, in place of those that they have.
    GIT_GRAFT_FILE: '/dev/null',
    // Where the first setting counts, only a variable goes before it (git, connect.c).
    GIT_PROXY_COMMAND: '',
    // A folder of templates may hold hooks and settings for clones of submodules.
    GIT_TEMPLATE_DIR: '',
    ...(call.reads ? { GIT_OPTIONAL_LOCKS: '0' } : {}),
    ...(call.ceiling ? { GIT_CEILING_DIRECTORIES: call.ceiling } : {}),
    ...(call.indexFile ? { GIT_INDEX_FILE: call.indexFile } : {}),
  }
}

/**
 * For a call that stays on this machine: no home, no settings of the person, no secret. No transport starts, also not the one by which git
 * fetches by itself what a partial clone lacks; with the setting `protocol.file.allow=always` folders of this machine are a remote.
 */
export function localEnvironment(call: EnvironmentOf, ownEnv: OwnEnvironment): Record<string, string> {
  return {
    ...baseEnvironment(call, ownEnv),
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_SSH_COMMAND: 'false',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: call.config?.includes('protocol.file.allow=always') ? 'file' : 'none',
  }
}

/** What the person's own way to a remote may need: helpers for credentials, the agent of ssh, proxies, authorities. No variable that is a secret. */
const forNetwork = [
  ...['HOME', 'USER', 'LOGNAME', 'TMPDIR', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'],
  ...['SSH_AUTH_SOCK', 'GNUPGHOME', 'KRB5CCNAME', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'CURL_CA_BUNDLE'],
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
] as const

/** For a call over the network, before it is known what the configuration of the person adds. */
export function networkEnvironment(call: EnvironmentOf, ownEnv: OwnEnvironment): Record<string, string> {
  const passed = forNetwork.flatMap((name) => (ownEnv[name] ? [[name, ownEnv[name]]] : []))
  return { ...(Object.fromEntries(passed) as Record<string, string>), ...baseEnvironment(call, ownEnv) }
}

/** Where the person's own settings of git are; undefined without a home. */
export function personFolders({ HOME, XDG_CONFIG_HOME }: OwnEnvironment): { readonly home: string; readonly config: string } | undefined {
  if (!HOME || !isAbsolute(HOME)) return undefined
  return { home: HOME, config: XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? join(XDG_CONFIG_HOME, 'git') : join(HOME, '.config', 'git') }
}

/** Without parts that depend on where git works: there a repository could have its own `ssh`. */
function searchPath(path: string | undefined): string {
  const folders = (path ?? '').split(':').filter(isAbsolute)
  return folders.length > 0 ? folders.join(':') : '/usr/local/bin:/usr/bin:/bin'
}
