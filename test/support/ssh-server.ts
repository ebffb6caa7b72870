import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SshTarget } from '../../src/core/target.ts'
import { readStat } from '../../src/process/identity.ts'

/** A real sshd on the loopback, for an account of its own. */
export interface SshServer extends AsyncDisposable {
  readonly port: number
  readonly account: string
  readonly uid: number
  readonly gid: number
  /** The home directory of the account. */
  readonly home: string
  /** Where keys and configurations are. */
  readonly folder: string
  /** The key that the account lets in. */
  readonly key: string
  readonly hostKey: string
  readonly knownHosts: string
  /** A configuration for ssh that leads there under the name `box`; `more` are lines in its Host, in the place of those that are usual. */
  config(name: string, more?: readonly string[]): string
  /** The account as a target. */
  target(more?: Partial<SshTarget>): SshTarget
  /** Folders for the account, made with all above them. */
  mkdir(path: string): string
  log(): string
  /** Ends sshd with all its connections, as a machine that goes down does; what was started lives on. Harmless where none serves. */
  stop(): Promise<void>
  /** Harmless where one serves. */
  start(): Promise<void>
}

export interface SshServerSettings {
  /** Lines of sshd_config. */
  readonly sshd?: readonly string[]
  readonly shell?: string
  /** Files below the home directory. */
  readonly files?: Readonly<Record<string, string>>
}

const daemon = '/usr/sbin/sshd'

/** Why there can be no server here; undefined where there can. */
export function refuseSshServer(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'making an account takes root on Linux'
  if (spawnSync(daemon, ['-?']).error) return 'there is no sshd here'
  if (spawnSync('ssh', ['-V']).error) return 'there is no ssh here'
  return spawnSync('useradd', ['-D']).error ? 'there is no useradd here' : undefined
}

/** Like `refuseSshServer`, and says which tests are skipped. */
export function hasSshServer(tests: string): boolean {
  const why = refuseSshServer()
  if (why) console.warn(`skipped: ${tests}: ${why}`)
  return why === undefined
}

/** The rows that every place passes are passed over ssh here, by the code that other ways share; without need they are not tried twice. */
export const isTriedOverSsh = (): boolean => refuseSshServer() === undefined && process.env.HOLDFAST_TEST_ALL !== '1'

export async function openSshServer({ sshd = [], shell = '/bin/bash', files = {} }: SshServerSettings = {}): Promise<SshServer> {
  sweepAccounts()
  // Not in the folder of a world, which nobody else may enter.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-ssh-')))
  chmodSync(folder, 0o755)
  const path = (name: string): string => join(folder, name)
  const home = path('home')
  const account = makeAccount(home, shell)
  const [uid, gid] = ['-u', '-g'].map((which) => Number(execFileSync('id', [which, account], { encoding: 'utf8' }))) as [number, number]
  const own = (name: string, text: string, mode: number): void => {
    writeFileSync(name, text, { mode })
    chownSync(name, uid, gid)
  }
  const mkdir = (name: string): string => {
    if (name === home) mkdirSync(home, { mode: 0o700 })
    else mkdirSync(name, { recursive: true })
    chownSync(name, uid, gid)
    return name
  }
  mkdir(home)
  for (const [name, text] of Object.entries(files)) {
    const parts = name.split('/').slice(0, -1)
    for (let at = 1; at <= parts.length; at += 1) mkdir(join(home, ...parts.slice(0, at)))
    own(join(home, name), text, 0o644)
  }
  for (const name of ['host-key', 'key']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', path(name)])
  own(path('authorized'), readFileSync(path('key.pub'), 'utf8'), 0o644)
  const port = await freePort()
  const hostKey = readFileSync(path('host-key.pub'), 'utf8').split(' ').slice(0, 2).join(' ')
  writeFileSync(path('known-hosts'), `[127.0.0.1]:${port} ${hostKey}\n`)
  writeFileSync(path('sshd-config'), sshdConfig({ port, folder, more: sshd }))
  // Where sshd goes as nobody before anybody is let in.
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  let running: ChildProcess | undefined
  const start = async (): Promise<void> => {
    if (!running) {
      const started = spawn(daemon, ['-D', '-f', path('sshd-config'), '-E', path('log')], { detached: true, stdio: 'ignore' })
      running = started
      started.once('exit', () => {
        if (running === started) running = undefined
      })
    }
    await answering(port)
  }
  const stop = async (): Promise<void> => {
    const pid = running?.pid
    if (!running || pid === undefined) return
    const over = new Promise((resolve) => running?.once('exit', resolve))
    const served = childrenOf(pid)
    running.kill('SIGKILL')
    // Those that hold connections, not what they started.
    for (const child of [...served, ...served.flatMap(childrenOf)].filter((each) => readStat(each)?.name === 'sshd')) kill(child)
    await over
    running = undefined
  }
  await start()
  const config = (name: string, more: readonly string[] = []): string => {
    const given = new Set(more.map((line) => line.split(' ')[0]))
    const ours = [
      'HostName 127.0.0.1',
      `Port ${port}`,
      `User ${account}`,
      `IdentityFile ${path('key')}`,
      'IdentitiesOnly yes',
      `UserKnownHostsFile ${path('known-hosts')}`,
    ]
    const lines = [...more, ...ours.filter((line) => !given.has(line.split(' ')[0]))]
    writeFileSync(path(name), `Host box\n${lines.map((line) => `  ${line}\n`).join('')}`)
    return path(name)
  }
  const usual = config('config')
  return {
    port,
    account,
    uid,
    gid,
    home,
    folder,
    key: path('key'),
    hostKey,
    knownHosts: path('known-hosts'),
    config,
    target: (more = {}) => ({ backend: 'ssh', host: 'box', config: usual, ...more }),
    mkdir,
    log: () => readFileSync(path('log'), 'utf8'),
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      removeAccount(account, uid)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function sshdConfig({ port, folder, more }: { port: number; folder: string; more: readonly string[] }): string {
  const lines = [
    // The first one counts.
    ...more,
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(folder, 'host-key')}`,
    `AuthorizedKeysFile ${join(folder, 'authorized')}`,
    'UsePAM no',
    'StrictModes no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PidFile none',
    'MaxStartups 100',
    'LogLevel VERBOSE',
    'Subsystem sftp internal-sftp',
  ]
  return `${lines.join('\n')}\n`
}

/** Its name says who made it, so that it goes also where that process was killed. */
function makeAccount(home: string, shell: string): string {
  for (let at = 0; ; at += 1) {
    const name = `hfssh-${process.pid}-${at}`
    const { status, stderr } = spawnSync('useradd', ['-M', '-d', home, '-s', shell, '-p', '*', name], { encoding: 'utf8' })
    if (status === 0) return name
    // 9: there is one of that name. 1: somebody else holds the lock of the file.
    if ((status !== 9 && status !== 1) || at > 50) throw new Error(`useradd: ${stderr}`)
  }
}

function sweepAccounts(): void {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name = '', , uid] = line.split(':')
    const maker = /^hfssh-(\d+)-\d+$/.exec(name)?.[1]
    if (maker !== undefined && readStat(Number(maker)) === undefined) removeAccount(name, Number(uid))
  }
}

function removeAccount(name: string, uid: number): void {
  // All that is left of it; nobody else has its number.
  for (const pid of processesOf(uid)) kill(pid)
  spawnSync('userdel', ['-f', name])
}

function processesOf(uid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '-U', String(uid)], { encoding: 'utf8' })
  return (stdout.match(/\d+/g) ?? []).map(Number)
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return (stdout.match(/\d+/g) ?? []).map(Number)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is over already.
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function answering(port: number): Promise<void> {
  const deadline = performance.now() + 20_000
  while (performance.now() < deadline) {
    const there = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, '127.0.0.1')
      socket.once('data', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => resolve(false))
    })
    if (there) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('sshd does not answer')
}
