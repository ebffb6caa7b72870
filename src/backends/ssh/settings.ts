import { createHash } from 'node:crypto'
import { failure, messageOf } from '../../core/errors.ts'
import type { SshTarget } from '../../core/target.ts'
import { askProgram } from '../../process/ask-program.ts'
import { configFault, type Place } from './faults.ts'
import { type SshTools, sshEnvironment } from './tools.ts'

export const defaultConnectTimeoutMs = 20_000
/** A path that is dead is noticed after three questions without an answer, ten seconds each, so within 40; a stall of ten seconds is survived. */
const defaultAliveMs = 10_000
const aliveQuestions = 3
const settingsMs = 15_000
/** Goes into the names of connections: versions that use them differently do not meet. */
const generation = 1

/** How ssh is called for a target. */
export interface SshCall {
  /** `ssh` and the options of every call, without those about the connection that is shared. */
  readonly argv: readonly [string, ...string[]]
  /** Further options where a command is to be run. */
  readonly forSessions: readonly string[]
  readonly host: string
  readonly env: Readonly<Record<string, string>>
  /** Tells everything that decides where a connection leads, as who, and how. */
  readonly key: string
  readonly place: Place
  readonly connectTimeoutMs: number
}

/** Reads the person's configuration the way ssh does. Rejects where ssh cannot be used as it is, or the configuration not be read. */
export async function readSettings(target: SshTarget, tools: SshTools, signal: AbortSignal | undefined): Promise<SshCall> {
  refuseTarget(target)
  const connectTimeoutMs = target.connectTimeoutMs ?? defaultConnectTimeoutMs
  const title = titleOf(target)
  const argv = ['ssh', ...choicesOf(target), ...optionsFor(connectTimeoutMs, tools.aliveMs ?? defaultAliveMs)] as [string, ...string[]]
  const env = sshEnvironment(tools.env)
  // With a command, without which it refuses to go into the background, should the person have wanted that.
  const said = await ask([...argv, '-G', '--', target.host, 'true'], env, title, signal)
  const settings = parseSettings(said)
  const more: string[] = []
  // A key that has changed is never taken for the old one, whatever else is trusted.
  if (/^(?:no|off|false)$/.test(settings.get('stricthostkeychecking') ?? '')) more.push('StrictHostKeyChecking=accept-new')
  // Known since OpenSSH 8.7.
  if (settings.has('stdinnull')) more.push('StdinNull=no')
  if (settings.has('forkafterauthentication')) more.push('ForkAfterAuthentication=no')
  const hostname = settings.get('hostname') ?? target.host
  const port = Number(settings.get('port') ?? 22)
  const jump = settings.get('proxyjump')
  const key = createHash('sha256')
    .update(JSON.stringify([generation, target.config, said]))
    .digest('hex')
    .slice(0, 16)
  return {
    argv: [...argv, ...more.flatMap((option) => ['-o', option])],
    // Cannot be said beside -N.
    forSessions: settings.has('sessiontype') ? ['-o', 'SessionType=default'] : [],
    host: target.host,
    env,
    key,
    place: {
      title,
      host: target.host,
      hostname,
      port,
      user: settings.get('user') ?? '',
      jump: jump === 'none' ? undefined : jump,
      byHand: ['ssh', ...choicesOf(target), target.host].join(' '),
    },
    connectTimeoutMs,
  }
}

export const titleOf = ({ host, user, port }: SshTarget): string => `ssh ${user ? `${user}@` : ''}${host}${port ? `:${port}` : ''}`

function refuseTarget({ host, user, port, root, config }: SshTarget): void {
  const isWord = (text: string): boolean => text !== '' && !text.startsWith('-') && [...text].every((c) => c > ' ' && c !== '\u007f')
  if (!isWord(host)) throw failure('invalid', { field: 'host', value: host, accepted: 'a host as ssh knows it: an alias, a name, or user@host' })
  if (user !== undefined && !isWord(user)) throw failure('invalid', { field: 'user', value: user, accepted: 'the name of an account' })
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
    throw failure('invalid', { field: 'port', value: port, accepted: 'a number from 1 to 65535' })
  }
  if (root !== undefined && !root.startsWith('/')) throw failure('invalid', { field: 'root', value: root, accepted: 'an absolute path there' })
  if (config !== undefined && !config.startsWith('/')) {
    throw failure('invalid', { field: 'config', value: config, accepted: 'the absolute path of a configuration file for ssh' })
  }
}

function choicesOf({ user, port, config }: SshTarget): string[] {
  return [...(config ? ['-F', config] : []), ...(port ? ['-p', String(port)] : []), ...(user ? ['-l', user] : [])]
}

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/** What the person set for sessions at a terminal has no say here; what says where to go, as who and how does. */
function optionsFor(connectTimeoutMs: number, aliveMs: number): string[] {
  return [
    'BatchMode=yes',
    `ConnectTimeout=${seconds(connectTimeoutMs)}`,
    `ServerAliveInterval=${seconds(aliveMs)}`,
    `ServerAliveCountMax=${aliveQuestions}`,
    'ForwardAgent=no',
    'ForwardX11=no',
    'ClearAllForwardings=yes',
    'Tunnel=no',
    'PermitLocalCommand=no',
    'RemoteCommand=none',
    'RequestTTY=no',
    'EscapeChar=none',
  ].flatMap((option) => ['-o', option])
}

async function ask(argv: readonly [string, ...string[]], env: Record<string, string>, title: string, signal: AbortSignal | undefined): Promise<string> {
  const answer = await askProgram({ argv, cwd: '/', env, timeoutMs: settingsMs, maxBytes: 1_000_000, signal }).catch((error: unknown) => {
    throw failure(
      'backend_unavailable',
      {
        target: title,
        why: `ssh cannot be started on this machine (${messageOf(error)})`,
        help: 'install the OpenSSH client, and see that ssh is on the PATH',
      },
      error,
    )
  })
  if (answer.cut === 'canceled') throw failure('canceled_before_start', {})
  if (answer.cut !== undefined) {
    throw failure('backend_unavailable', {
      target: title,
      why: `ssh -G gave no settings within ${settingsMs / 1000} seconds`,
      help: 'see what in the configuration of ssh takes so long: a Match exec, perhaps',
    })
  }
  if (answer.code !== 0) throw configFault(answer.stderr, title)
  return answer.stdout
}

function parseSettings(text: string): Map<string, string> {
  return new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const space = line.indexOf(' ')
      return space === -1 ? [] : [[line.slice(0, space), line.slice(space + 1)]]
    }),
  )
}
