import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, existsSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OutputResult, RunResult, RunSummary } from '../../src/app/api.ts'
import { end, until } from '../cases/place.ts'
import { type FaultyHoldfast, faultySupervisor } from '../support/faulty-holdfast.ts'
import type { Random } from '../support/random.ts'
import { openWorld, type World } from '../support/world.ts'

/** What steps.sh does; see there. */
export type StepsKind = 'plain' | 'silent' | 'endless' | 'mid-line' | 'stubborn' | 'leaving' | 'reading' | 'nested'

/** A step at which a controller is ended; see fault-hook.mjs. */
export interface ControllerFault {
  readonly step: 'send' | 'receive' | 'spawn' | 'print' | 'writeFileSync'
  readonly what: string
  readonly count?: number
  readonly when: 'before' | 'after'
}

export interface Ended {
  readonly status: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Controller {
  readonly pid: number
  readonly ended: Promise<Ended>
  /** Resolves once it has printed something. */
  printed(): Promise<void>
  /** Writes to its standard input. */
  write(text: string): void
  endInput(): void
}

export interface Hit {
  readonly point: string
  /** What the supervisor knew there. */
  readonly number: number
  readonly pid: number
}

/** What fresh-look.mjs found. */
export interface FreshLook {
  readonly first: RunResult
  readonly waited: RunResult
  readonly shown: RunResult
  readonly output: OutputResult
  readonly listed: readonly RunSummary[]
  readonly next: RunResult
  readonly timesMs: Readonly<Record<string, number>>
  readonly error?: { readonly message: string }
}

/** A world with a command that goes step by step, controllers that are ended at a step, and a supervisor that is. */
export interface FaultyPlace extends AsyncDisposable {
  readonly world: World
  readonly lineBytes: number
  /** Something that runs `steps`, and answers with JSON. */
  start(how: 'cli' | 'library' | 'mcp', kind: StepsKind, options?: StartOptions): Controller
  /** The command line, with a bound of its own. */
  cli(args: readonly string[], fault?: ControllerFault): Controller
  /** The supervisor sends itself the signal when it passes the point for the `count`th time from now on. */
  arm(point: string, count?: number, signal?: 'SIGKILL' | 'SIGSTOP'): void
  /** Resolves once the armed point was passed. */
  hit(): Promise<Hit>
  /** Resolves once the controller was at its step, or has handled a frame of that type. */
  controllerHit(frame?: string): Promise<void>
  /** The first half is printed. */
  waiting(): Promise<void>
  /** Lets the command print its second half. */
  open(word?: string): void
  passed(): string
  /** What the command surely wrote, by streams. */
  printed(): { readonly stdout: Buffer; readonly stderr: Buffer }
  /** The ids that have a folder. */
  runs(): string[]
  run(): Promise<string>
  runFolder(id: string): string
  /** The end of the run is recorded. */
  ended(id: string): Promise<void>
  look(run: string): Promise<FreshLook>
  /** Living processes of this place besides the supervisor. */
  processes(): Living[]
  /** Living processes of the supervisor; the outer one first. */
  supervisors(): Living[]
  /** 0 while it is not noted. */
  firstProcess(run: string): number
}

export interface StartOptions {
  /** In each half. */
  readonly lines?: number
  readonly flags?: readonly string[]
  /** For the library and MCP: more of the input of exec. */
  readonly input?: Readonly<Record<string, unknown>>
  readonly mcpFlags?: readonly string[]
  readonly fault?: ControllerFault
}

export interface Living {
  readonly pid: number
  readonly parent: number
  /** Itself, or the one around it. */
  readonly isSupervisor: boolean
  readonly command: string
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const hook = here('../support/fault-hook.mjs')
const steps = here('steps.sh')
/** The longest that anything here may take by itself, also where the machine is busy with other things: what hangs takes longer. */
export const boundMs = 20_000
export const idleMs = 400

export function openFaultyPlace(holdfast: FaultyHoldfast, random: Random): FaultyPlace {
  const world = openWorld()
  const shared = world.path('steps')
  mkdirSync(shared)
  spawnSync('mkfifo', [join(shared, 'gate')])
  // Open for reading, too, so that neither side waits for the other.
  const gate = openSync(join(shared, 'gate'), constants.O_RDWR | constants.O_NONBLOCK)
  writeFileSync(join(world.root, 'holdfast.json'), JSON.stringify({ supervisor: { idleMs: `${idleMs}ms` } }))
  const faultFile = holdfast.prepare(world)
  const usualLines = random.int(5, 40)
  const width = random.int(1, 300)
  const command = (kind: StepsKind, lines = usualLines): string[] => ['bash', steps, shared, kind, String(lines), String(width)]
  const children: ChildProcess[] = []

  function begin(args: readonly string[], fault: ControllerFault | undefined): Controller {
    const env = fault ? { ...world.env, HOLDFAST_TEST_FAULT: JSON.stringify({ count: 1, ...fault, hit: world.path('controller-hit') }) } : world.env
    const child = spawn(process.execPath, [...(fault ? ['--import', hook] : []), ...args], { cwd: world.root, env, stdio: 'pipe' })
    const pid = child.pid as number
    children.push(child)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.stdin.on('error', () => {})
    const ended = new Promise<Ended>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${args.join(' ')} did not end: ${stdout}${stderr}`)), 3 * boundMs)
      child.once('close', (status, signal) => {
        clearTimeout(timer)
        resolve({ status, signal, stdout, stderr })
      })
    })
    ended.catch(() => {})
    return {
      pid,
      ended,
      printed: () => until('the controller has printed', () => stdout !== '', boundMs).then(() => {}),
      write: (text) => void child.stdin.write(text),
      endInput: () => void child.stdin.end(),
    }
  }

  function startMcp(argv: readonly string[], { fault, input, mcpFlags = [] }: StartOptions): Controller {
    const server = begin([holdfast.cli, 'mcp', ...mcpFlags], fault)
    const send = (message: object): void => server.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'faults', version: '1' } } })
    send({ method: 'notifications/initialized' })
    send({ id: 1, method: 'tools/call', params: { name: 'exec', arguments: { argv, ...input } } })
    return server
  }

  function start(how: 'cli' | 'library' | 'mcp', kind: StepsKind, options: StartOptions = {}): Controller {
    const argv = command(kind, options.lines)
    if (how === 'mcp') return startMcp(argv, options)
    if (how === 'library') {
      const input = JSON.stringify({ argv, ...options.input })
      return begin([here('../support/library-controller.mjs'), holdfast.library, world.root, input], options.fault)
    }
    const controller = begin([holdfast.cli, 'exec', '--json', ...(options.flags ?? []), '--', ...argv], options.fault)
    if (!options.flags?.includes('--stdin')) controller.endInput()
    return controller
  }

  const passed = (): string => readOr(join(shared, 'passed'), '').toString()
  const runsFolder = world.path('root', '.holdfast', 'runs')
  const runs = (): string[] => (existsSync(runsFolder) ? readdirSync(runsFolder).filter((name) => /^[0-9a-z]{12}$/.test(name)) : [])
  const supervisors = (): Living[] => livingIn(world.folder).filter(({ isSupervisor }) => isSupervisor)

  return {
    world,
    lineBytes: 'second  000000 \n'.length + 16 + width,
    start,
    cli: (args, fault) => begin([holdfast.cli, ...args], fault),
    arm(point, count = 1, signal = 'SIGKILL') {
      writeFileSync(`${faultFile}.new`, `${point} ${count} ${signal === 'SIGKILL' ? 9 : 19}\n`)
      renameSync(`${faultFile}.new`, faultFile)
    },
    async hit() {
      const text = await until('the supervisor passed the point', () => readOr(`${faultFile}.hit`, '').toString(), boundMs)
      const [point = '', number = '', pid = ''] = text.trim().split(' ')
      return { point, number: Number(number), pid: Number(pid) }
    },
    controllerHit: (frame) =>
      until(`the controller was at its step ${frame ?? ''}`, () => existsSync(world.path(frame ? `controller-hit.${frame}` : 'controller-hit')), boundMs).then(
        () => {},
      ),
    waiting: () => until('the first half was printed', () => passed().includes('waiting'), boundMs).then(() => {}),
    open: (word = 'go') => void writeSync(gate, `${word}\n`),
    passed,
    printed: () => ({ stdout: readOr(join(shared, 'printed.1')), stderr: readOr(join(shared, 'printed.2')) }),
    runs,
    run: () => until('the run has a folder', () => runs()[0], boundMs),
    runFolder: (id) => join(runsFolder, id),
    ended: (id) => until('the end is recorded', () => existsSync(join(runsFolder, id, 'end.json')), boundMs).then(() => {}),
    async look(run) {
      const looking = begin([here('../support/fresh-look.mjs'), holdfast.library, world.root, run], undefined)
      const { stdout, stderr } = await looking.ended
      const found = JSON.parse(stdout || 'null') as FreshLook | null
      if (!found || found.error) throw new Error(`the fresh look failed: ${JSON.stringify(found?.error)} ${stderr}`)
      return found
    },
    processes: () => livingIn(world.folder).filter(({ isSupervisor }) => !isSupervisor),
    supervisors() {
      const found = supervisors()
      return found.sort((a, b) => Number(b.pid === a.parent) - Number(a.pid === b.parent))
    },
    firstProcess: (run) => JSON.parse(readOr(join(runsFolder, run, 'process.json'), '{}').toString()).pid ?? 0,
    async [Symbol.asyncDispose]() {
      closeSync(gate)
      for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      // Only after a test that failed is anything there; what its supervisor leaves comes to light after the supervisor.
      for (let left = livingIn(world.folder), round = 0; left.length > 0 && round < 100; left = livingIn(world.folder), round += 1) {
        for (const { pid } of left) end(pid)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      await world[Symbol.asyncDispose]()
    },
  }
}

function readOr(path: string, otherwise: string | Buffer = Buffer.alloc(0)): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.from(otherwise)
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

export const isAlive = ({ pid }: Living): boolean => parentOf(pid) !== undefined

/** Undefined where it is dead, also where nobody waited for it. */
function parentOf(pid: number): number | undefined {
  const stat = readOr(`/proc/${pid}/stat`).toString('latin1')
  const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === '' || state === 'Z' || state === 'X' ? undefined : Number(parent)
}

/** Living processes that have to do with the folder: by their environment, their own folder or what they have open. */
function livingIn(folder: string): Living[] {
  const within = (path: string): boolean => path.startsWith(`${folder}/`) || path === folder
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!(pid > 0) || pid === process.pid) return []
    const parent = parentOf(pid)
    if (parent === undefined) return []
    // It is asked for once: of a process that is just ending it is gone before the process is.
    const program = linkOf(`/proc/${pid}/exe`)
    const isOurs = within(program) || within(linkOf(`/proc/${pid}/cwd`)) || readOr(`/proc/${pid}/environ`).includes(`${folder}/`) || openFiles(pid).some(within)
    if (!isOurs) return []
    const command = readOr(`/proc/${pid}/cmdline`).toString().replaceAll('\0', ' ').trim()
    return [{ pid, parent, isSupervisor: program.endsWith(`/${faultySupervisor}`), command: command || readOr(`/proc/${pid}/comm`).toString().trim() }]
  })
}

function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
  } catch {
    return []
  }
}
