import { join } from 'node:path'
import { refusePrivateFolder, temporaryFolder } from '../../process/private-folder.ts'

/** What the backend needs of this machine. */
export interface SshTools {
  /** The environment of whoever uses Holdfast; ssh gets what it needs of it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** `XDG_RUNTIME_DIR`, if there is one: sockets of connections are below it. */
  readonly runtimeFolder: string | undefined
  /** How long a connection stays without anything to do. Default 10 minutes. */
  readonly idleMs?: number | undefined
  /** How long login files of the account may take. Default 60 seconds. */
  readonly loginMs?: number | undefined
  /** How often a silent server is asked whether it is there; after three questions without an answer the path to it is dead. Default 10 seconds. */
  readonly aliveMs?: number | undefined
  /** How long the ssh that holds a connection may take to greet, which it does at once unless it was stopped. Default 10 seconds. */
  readonly greetMs?: number | undefined
}

/**
 * What ssh, and what it starts on the way (a jump host's ssh, a ProxyCommand, a Match exec), may see: who and where the person is, agents,
 * tickets, proxies of the network, and which profile of a cloud is meant. No variable of the locale: many configurations send those to the
 * server, and the commands there have the locale of their account.
 */
const passedOn = [
  'HOME',
  'PATH',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'SSH_AUTH_SOCK',
  'SSH_SK_PROVIDER',
  'SSH_TPM_AUTH_SOCK',
  'GNUPGHOME',
  'KRB5CCNAME',
  'KRB5_CONFIG',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_HOME',
  'XDG_CACHE_HOME',
  'XDG_DATA_HOME',
  'DBUS_SESSION_BUS_ADDRESS',
  'AWS_PROFILE',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'CLOUDSDK_CONFIG',
  'CLOUDSDK_ACTIVE_CONFIG_NAME',
  'AZURE_CONFIG_DIR',
  'TELEPORT_HOME',
  'VAULT_ADDR',
]

export function sshEnvironment(env: SshTools['env']): Record<string, string> {
  const chosen: Record<string, string> = {}
  for (const name of passedOn) {
    const value = env[name]
    if (value !== undefined) chosen[name] = value
  }
  // Nobody is there to be asked, so no window is opened either.
  return { ...chosen, SSH_ASKPASS_REQUIRE: 'never' }
}

/** sockaddr_un has 104 bytes where it has fewest; a name of ours and the one that ssh adds for a moment go after the folder. */
const maxFolderBytes = 60

/** The private folder for sockets of connections, shared by all Holdfast processes of the person; else why there is none. */
export function connectionsFolder(runtimeFolder: string | undefined): { readonly path: string } | { readonly why: string } {
  const parents = [temporaryFolder(), temporaryFolder('/tmp')]
  if (runtimeFolder?.startsWith('/')) parents.unshift(join(runtimeFolder, 'holdfast'))
  const problems: string[] = []
  for (const parent of parents) {
    const path = join(parent, 'ssh')
    const problem =
      Buffer.byteLength(path) > maxFolderBytes ? `${path} is too long for the path of a socket` : (refusePrivateFolder(parent) ?? refusePrivateFolder(path))
    if (problem === undefined) return { path }
    problems.push(problem)
  }
  return { why: `there is no private folder for its connections: ${problems.join('; ')}` }
}
