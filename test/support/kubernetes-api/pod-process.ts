import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { errnoOf } from '../../../src/core/errors.ts'

/** What a container's processes are to be. */
export interface ProcessTerms {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly uid: number
  readonly gid: number
  readonly capabilities: bigint
  readonly noNewPrivileges: boolean
}

export interface Mount {
  readonly from: string
  readonly to: string
  readonly readOnly: boolean
  /** Whether a file is mounted. */
  readonly isFile?: boolean
}

export interface ContainerTerms extends ProcessTerms {
  /** A folder for this container alone. */
  readonly folder: string
  readonly imageRoot: string
  readonly mounts: readonly Mount[]
  readonly environment: Readonly<Record<string, string>>
  readonly hostname: string
  readonly readOnlyRoot: boolean
  readonly memoryBytes: number | undefined
  readonly stdin: boolean
}

/** Could not be started: the code that a runtime says, and why. */
export class StartError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export interface StartedProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** As this machine counts it. */
  readonly pid: number
  /** The status once it is over; 128 and the signal's number where a signal ended it. */
  readonly exited: Promise<number>
  /** Resolves when it is over and nobody has its output open any more. */
  readonly ended: Promise<void>
  readonly isOver: () => boolean
}

export interface RunningContainer extends StartedProcess {
  /** Ends nothing where it is over. */
  signal(name: NodeJS.Signals): void
  exec(terms: ProcessTerms): Promise<StartedProcess>
  /** How many of its processes the kernel has killed for lack of memory. */
  outOfMemoryKills(): number
  /** Removes what is not in its folder. Bounded in time. */
  forget(): Promise<void>
}

const source = fileURLToPath(new URL('pod-enter.c', import.meta.url))

/** Compiled once for all test files of a checkout. */
export function buildPodEnter(): string {
  const folder = fileURLToPath(new URL('../../../dist/test', import.meta.url))
  const program = join(folder, `pod-enter-${process.arch}`)
  if (existsSync(program) && statSync(program).mtimeMs >= statSync(source).mtimeMs) return program
  mkdirSync(folder, { recursive: true })
  const made = `${program}.${process.pid}`
  execFileSync('cc', ['-O1', '-Wall', '-Wextra', '-static', '-o', made, source], { stdio: ['ignore', 'ignore', 'inherit'] })
  renameSync(made, program)
  return program
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function setupScript(terms: ContainerTerms): string {
  const { folder, imageRoot, mounts, hostname, readOnlyRoot } = terms
  const lines = [
    'mount --make-rprivate /',
    `echo ${quoted(hostname)} >/proc/sys/kernel/hostname`,
    `cd ${quoted(folder)}`,
    'mkdir -p root upper work',
    // A file system that cannot be the upper layer of an overlay: a copy does, too.
    `mount -t overlay -o ${quoted(`lowerdir=${imageRoot},upperdir=${folder}/upper,workdir=${folder}/work`)} overlay root 2>/dev/null ||
      { mount --bind root root; cp -a ${quoted(imageRoot)}/. root/; }`,
    'mkdir -p root/proc root/dev root/etc root/run',
    'mount -t proc proc root/proc',
    'mount -t tmpfs -o mode=755,size=1m tmpfs root/dev',
    'for name in null zero full random urandom tty; do : >root/dev/$name; mount --bind /dev/$name root/dev/$name; done',
    'mkdir root/dev/pts root/dev/shm',
    'mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts root/dev/pts',
    'mount -t tmpfs -o mode=1777,size=64m tmpfs root/dev/shm',
    'ln -s pts/ptmx root/dev/ptmx; ln -s /proc/self/fd root/dev/fd',
    'ln -s /proc/self/fd/0 root/dev/stdin; ln -s /proc/self/fd/1 root/dev/stdout; ln -s /proc/self/fd/2 root/dev/stderr',
    ...mounts.flatMap(({ from, to, readOnly, isFile }) => {
      const place = quoted(`root${to}`)
      return [
        isFile ? `mkdir -p "$(dirname ${place})"; [ -e ${place} ] || : >${place}` : `mkdir -p ${place}`,
        `mount --bind ${quoted(from)} ${place}`,
        ...(readOnly ? [`mount -o remount,bind,ro ${place}`] : []),
      ]
    }),
    `mkdir -p ${quoted(`root${terms.cwd}`)}`,
    ...(readOnlyRoot ? ['mount -o remount,ro root'] : []),
  ]
  return lines.join('\n')
}

/** Starts the first process of a container, in namespaces and with a root of its own. */
export async function startContainer(terms: ContainerTerms): Promise<RunningContainer> {
  const enter = buildPodEnter()
  mkdirSync(terms.folder, { recursive: true })
  const environmentFile = join(terms.folder, 'environment')
  writeFileSync(
    environmentFile,
    Object.entries(terms.environment)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(''),
    { mode: 0o600 },
  )
  const group = makeMemoryGroup(terms)
  const common = ({ cwd, uid, gid, capabilities, noNewPrivileges, argv }: ProcessTerms): string[] => [
    cwd,
    String(uid),
    String(gid),
    capabilities.toString(16),
    noNewPrivileges ? '1' : '0',
    environmentFile,
    group ? join(group, 'cgroup.procs') : '',
    ...argv,
  ]
  let first: StartedProcess
  try {
    first = await start(enter, ['new', setupScript(terms), join(terms.folder, 'root'), ...common(terms)], terms.stdin)
  } catch (error) {
    await removeGroup(group)
    throw error
  }
  return {
    ...first,
    signal(name) {
      if (first.isOver()) return
      try {
        process.kill(first.pid, name)
      } catch (error) {
        // It has ended just now, and whoever started it does not know yet.
        if (errnoOf(error) !== 'ESRCH') throw error
      }
    },
    async exec(execTerms) {
      if (first.isOver()) throw new StartError(128, 'container not running')
      return start(enter, ['in', String(first.pid), ...common(execTerms)], true)
    },
    outOfMemoryKills: () => killsOf(group),
    forget: () => removeGroup(group),
  }
}

function start(enter: string, args: readonly string[], stdin: boolean): Promise<StartedProcess> {
  const child = spawn(enter, args, { cwd: '/', detached: true, env: {}, stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe'] })
  const report = child.stdio[3] as Readable
  for (const stream of [child.stdin, report]) stream?.on('error', () => {})
  // What nobody listens to yet when the process ends is thrown away by the runtime: somebody listens from the beginning.
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  child.stdout?.pipe(stdout)
  child.stderr?.pipe(stderr)
  let said = ''
  let isOver = false
  const exited = new Promise<number>((resolve) => {
    child.on('exit', (code) => {
      isOver = true
      resolve(code ?? 137)
    })
  })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    report.on('data', (piece) => {
      said += piece
    })
    report.on('close', () => {
      const [, code, why] = /^failed (\d+) ([\s\S]*)/m.exec(said) ?? []
      const pid = Number(/^pid (\d+)/m.exec(said)?.[1])
      if (code === undefined && pid > 0) resolve({ stdin: child.stdin as Writable, stdout, stderr, pid, exited, ended, isOver: () => isOver })
      else reject(new StartError(Number(code ?? 128), why ?? 'it could not be started'))
    })
  })
}

/** Version 1 and 2 of control groups name their files differently. Undefined: this machine lets us make none, and there is no limit. */
function makeMemoryGroup({ memoryBytes, hostname }: ContainerTerms): string | undefined {
  if (memoryBytes === undefined) return undefined
  try {
    const own = readFileSync('/proc/self/cgroup', 'utf8')
    const first = /^\d+:memory:(.*)$/m.exec(own)?.[1]
    const parent = first === undefined ? join('/sys/fs/cgroup', /^0::(.*)$/m.exec(own)?.[1] ?? '/') : join('/sys/fs/cgroup/memory', first)
    const group = join(parent, `fake-pod-${process.pid}-${hostname}-${Date.now()}`)
    mkdirSync(group)
    try {
      writeFileSync(join(group, first === undefined ? 'memory.max' : 'memory.limit_in_bytes'), String(memoryBytes))
      if (first === undefined && existsSync(join(group, 'memory.swap.max'))) writeFileSync(join(group, 'memory.swap.max'), '0')
    } catch (error) {
      rmdirSync(group)
      throw error
    }
    return group
  } catch {
    return undefined
  }
}

function killsOf(group: string | undefined): number {
  if (group === undefined) return 0
  const file = ['memory.oom_control', 'memory.events'].map((name) => join(group, name)).find((path) => existsSync(path))
  return file === undefined ? 0 : Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0)
}

async function removeGroup(group: string | undefined): Promise<void> {
  if (group === undefined) return
  for (let look = 0; look < 200; look += 1) {
    try {
      rmdirSync(group)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return
      // A last process of it is not quite gone.
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

/** Why pods cannot run here; undefined: they can. */
export function whyNoPods(): string | undefined {
  if (process.platform !== 'linux') return 'pods of the fake cluster need Linux'
  if (process.getuid?.() !== 0) return 'pods of the fake cluster need root'
  for (const name of ['cc', 'busybox', 'bash', 'openssl', 'mount']) {
    if (!['/usr/bin', '/bin', '/usr/local/bin', ...(process.env.PATH ?? '').split(':')].some((folder) => existsSync(join(folder, name))))
      return `there is no ${name} here`
  }
  return undefined
}
