import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export const engineKinds = ['docker', 'podman'] as const
export type EngineKind = (typeof engineKinds)[number]

/** A real engine of a test file's own: its data, its socket and its processes are below one folder, and gone when it is closed. */
export interface TestEngine {
  readonly kind: EngineKind
  /** For `DOCKER_HOST`. */
  readonly address: string
  readonly socketPath: string
  /** Built from local files: busybox, bash and git. */
  readonly image: string
  readonly folder: string
  /** What a person's shell has, with this engine. */
  readonly env: Readonly<Record<string, string>>
  readonly pid: number
  /** One request to its API, past the client under test. */
  api(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly json: unknown; readonly text: string }>
  /** The names of all containers. */
  containers(): Promise<string[]>
  /** Ends the daemon without a word, as a crash does; containers of Docker end with it or not, as they like. */
  kill(): void
  start(): Promise<void>
  close(): Promise<void>
}

// Podman takes no other tag for what it imports.
const image = 'holdfast/busybash:latest'
/** A daemon on a busy machine takes its time. */
const readyMs = 60_000

/** Why there can be no such engine here; undefined: there can. Says which tests are skipped for it. */
export function whyNoEngine(kind: EngineKind, tests: string): string | undefined {
  const lacking = (kind === 'docker' ? ['dockerd'] : ['podman', 'runc'])
    .concat('busybox')
    .filter((name) => spawnSync(name, ['--help'], { stdio: 'ignore' }).error)
  const why =
    process.platform !== 'linux'
      ? 'this is not Linux'
      : process.getuid?.() !== 0
        ? 'it takes root'
        : lacking.length > 0
          ? `there is no ${lacking.join(', ')} here`
          : undefined
  if (why) console.warn(`skipped: ${tests} on ${kind}: ${why}`)
  return why
}

/** `keepsAlive`: containers of Docker run on while the daemon is started anew. */
export async function startEngine(kind: EngineKind, { keepsAlive = false }: { readonly keepsAlive?: boolean } = {}): Promise<TestEngine> {
  // Sockets have short names at most.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hfe-')))
  const socketPath = join(folder, 's')
  writeFileSync(join(folder, 'daemon.json'), JSON.stringify({ 'live-restore': keepsAlive }))
  let { daemon, driver } = await startDaemon(kind, folder, socketPath, kind === 'docker' ? ['overlay2', 'vfs'] : ['overlay', 'vfs'])
  const engine: TestEngine = {
    kind,
    address: `unix://${socketPath}`,
    socketPath,
    image,
    folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, DOCKER_HOST: `unix://${socketPath}` },
    get pid() {
      return daemon.pid ?? 0
    },
    api: (method, path, body) => ask(socketPath, method, path, body === undefined ? undefined : Buffer.from(JSON.stringify(body)), 'application/json'),
    async containers() {
      const { json } = await engine.api('GET', '/containers/json?all=1')
      return (json as { Names: string[] }[]).map(({ Names }) => (Names[0] ?? '').replace(/^\//, ''))
    },
    kill: () => void daemon.kill('SIGKILL'),
    async start() {
      await exitOf(daemon)
      await forgetHelper(join(folder, 'e/containerd/containerd.pid'))
      // With another one it would know nothing of what is there.
      ;({ daemon, driver } = await startDaemon(kind, folder, socketPath, [driver]))
    },
    async close() {
      try {
        const { json } = await engine.api('GET', '/containers/json?all=1').catch(() => ({ json: [] }))
        await Promise.all((json as { Id: string }[]).map(({ Id }) => engine.api('DELETE', `/containers/${Id}?force=1&v=1`).catch(() => undefined)))
      } finally {
        daemon.kill('SIGTERM')
        await Promise.race([exitOf(daemon), delay(15_000, undefined, { ref: false })])
        daemon.kill('SIGKILL')
        endProcessesOf(folder)
        unmountBelow(folder)
        rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
      }
    },
  }
  try {
    await importImage(socketPath)
  } catch (error) {
    await engine.close()
    throw error
  }
  return engine
}

async function startDaemon(
  kind: EngineKind,
  folder: string,
  socketPath: string,
  drivers: readonly string[],
): Promise<{ readonly daemon: ChildProcess; readonly driver: string }> {
  let log = ''
  for (const driver of drivers) {
    const { file, args, env } = kind === 'docker' ? dockerCommand(folder, socketPath, driver) : podmanCommand(folder, socketPath, driver)
    rmSync(socketPath, { force: true })
    // Its folder, since what watches a container of Podman's leaves a file `oom` where it was started.
    const child = spawn(file, args, {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    log = ''
    const keep = (piece: Buffer): void => {
      log = (log + piece.toString('utf8')).slice(-4_096)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    const until = performance.now() + readyMs
    while (child.exitCode === null && child.signalCode === null && performance.now() < until) {
      if ((await ask(socketPath, 'GET', '/_ping').catch(() => undefined))?.status === 200) return { daemon: child, driver }
      await delay(50)
    }
    child.kill('SIGKILL')
    await exitOf(child)
  }
  throw new Error(`no ${kind} could be started:\n${log}`)
}

/** The helper of a daemon that was killed dies with it, a moment later; a next daemon would wait for one that nobody has buried yet. */
async function forgetHelper(pidFile: string): Promise<void> {
  if (!existsSync(pidFile)) return
  const status = `/proc/${readFileSync(pidFile, 'utf8').trim()}/status`
  const lives = (): boolean => {
    try {
      return !/^State:\s+[ZX]/m.test(readFileSync(status, 'utf8'))
    } catch {
      return false
    }
  }
  while (lives()) await delay(20)
  rmSync(pidFile, { force: true })
}

interface DaemonCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

function dockerCommand(folder: string, socketPath: string, driver: string): DaemonCommand {
  // An empty configuration of its own: that of the machine is for its own daemon.
  const config = join(folder, 'daemon.json')
  const places = ['--data-root', join(folder, 'd'), '--exec-root', join(folder, 'e'), '--pidfile', join(folder, 'pid'), '--config-file', config]
  return { file: 'dockerd', args: [...places, '-H', `unix://${socketPath}`, '--storage-driver', driver, '--bridge=none', '--iptables=false'] }
}

function podmanCommand(folder: string, socketPath: string, driver: string): DaemonCommand {
  const config = join(folder, 'containers.conf')
  // What a machine without systemd and without the right to raise limits takes.
  writeFileSync(
    config,
    `[containers]\ndefault_ulimits=["nofile=4096:4096","nproc=4096:4096"]\n[engine]\ncgroup_manager="cgroupfs"\nevents_logger="file"\nruntime="runc"\n`,
  )
  const places = ['--root', join(folder, 'd'), '--runroot', join(folder, 'e'), '--tmpdir', join(folder, 't'), '--storage-driver', driver]
  return { file: 'podman', args: [...places, 'system', 'service', '--time=0', `unix://${socketPath}`], env: { CONTAINERS_CONF: config } }
}

const exitOf = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
  })

/** Shims, monitors and what they hold: they name the folder on their command line, and nothing else of this machine does. */
function endProcessesOf(folder: string): void {
  const { stdout } = spawnSync('grep', ['-lsFe', `${folder}/`, '--', ...listPids().map((pid) => `/proc/${pid}/cmdline`)], { encoding: 'utf8' })
  for (const [, pid] of stdout.matchAll(/\/proc\/(\d+)\//g)) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // Gone by itself.
    }
  }
}

const listPids = (): string[] =>
  spawnSync('ls', ['/proc'], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))

function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
  for (const path of mounts.reverse()) spawnSync('umount', ['-l', path], { stdio: 'ignore' })
}

async function importImage(socketPath: string): Promise<void> {
  const query = `fromSrc=-&repo=${encodeURIComponent(image.split(':')[0] ?? '')}&tag=${image.split(':')[1]}&changes=${encodeURIComponent('ENV PATH=/bin:/usr/bin')}`
  const { status, text } = await ask(socketPath, 'POST', `/images/create?${query}`, readFileSync(imageArchive()), 'application/x-tar')
  if (status !== 200 || text.includes('"error"')) throw new Error(`the image was not taken: ${text}`)
}

/** A root file system of what is on this machine, kept beside what else is made once for a checkout. */
function imageArchive(): string {
  const archive = join(process.cwd(), 'node_modules/.cache/holdfast-test-image.tar')
  mkdirSync(dirname(archive), { recursive: true })
  if (existsSync(archive)) return archive
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-image-'))
  try {
    for (const name of ['bin', 'usr/bin', 'etc', 'root', 'proc', 'sys', 'dev', 'var/tmp']) mkdirSync(join(folder, name), { recursive: true })
    mkdirSync(join(folder, 'tmp'))
    spawnSync('chmod', ['1777', join(folder, 'tmp'), join(folder, 'var/tmp')])
    copyProgram('busybox', folder, '/bin')
    const busybox = join(folder, 'bin/busybox')
    for (const applet of spawnSync(busybox, ['--list'], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((name) => name && name !== 'busybox')) {
      symlinkSync('busybox', join(folder, 'bin', applet))
    }
    for (const program of ['bash', 'git']) copyProgram(program, folder)
    writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
    writeFileSync(join(folder, 'etc/group'), 'root:x:0:\n')
    const made = `${archive}.${process.pid}`
    const { status, stderr } = spawnSync('tar', ['-C', folder, '--owner=0', '--group=0', '-cf', made, '.'], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`no archive of the image: ${stderr}`)
    spawnSync('mv', ['-f', made, archive])
    return archive
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A program with the libraries that it is linked with; where it is not there, neither is it in the image. */
function copyProgram(name: string, folder: string, to = '/usr/bin'): void {
  const path = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
  if (!path) return
  const real = realpathSync(path)
  const libraries = spawnSync('ldd', [real], { encoding: 'utf8' }).stdout.match(/\/[^ )]+/g) ?? []
  for (const [from, at] of [[real, `${to}/${name}`], ...libraries.map((library) => [library, library])] as [string, string][]) {
    mkdirSync(dirname(join(folder, at)), { recursive: true })
    cpSync(realpathSync(from), join(folder, at))
  }
  if (name === 'bash') symlinkSync('/usr/bin/bash', join(folder, 'bin/bash'))
}

function ask(socketPath: string, method: string, path: string, body?: Uint8Array, type?: string): Promise<{ status: number; json: unknown; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = body ? { 'Content-Type': type, 'Content-Length': body.length } : {}
    const sent = request({ socketPath, method, path: path === '/_ping' ? path : `/v1.40${path}`, agent: false, headers, timeout: 60_000 }, (message) => {
      const pieces: Buffer[] = []
      message.on('data', (piece: Buffer) => pieces.push(piece))
      message.once('error', reject)
      message.once('end', () => {
        const text = Buffer.concat(pieces).toString('utf8')
        let json: unknown
        try {
          json = JSON.parse(text)
        } catch {
          json = undefined
        }
        resolve({ status: message.statusCode ?? 0, json, text })
      })
    })
    sent.once('timeout', () => sent.destroy(new Error(`no answer to ${method} ${path}`)))
    sent.once('error', reject)
    sent.end(body)
  })
}
