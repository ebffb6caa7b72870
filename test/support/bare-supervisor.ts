import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { basename, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { it } from 'vitest'
import type { EndRecord } from '../../src/core/end-record.ts'
import { answers, type Frame, FrameReader, FrameWriter, requests } from '../../src/supervisor/frames.ts'
import { openWorld, type World } from './world.ts'

/** A field of a frame: a number, a text or bytes under its key. */
export type Field = readonly [key: number, value: number | string | Uint8Array]

/** A frame that came, taken apart. */
export interface Said {
  readonly type: number
  readonly tag: number
  readonly fields: readonly (readonly [key: number, bytes: Buffer])[]
}

/** What a controller of these tests waits for at most. */
const boundMs = 25_000

export const textOf = (said: Said, key: number): string => bytesOf(said, key).toString('utf8')
export const numberOf = (said: Said, key: number): number => Number(bytesOf(said, key).readBigUInt64LE())
export const allOf = (said: Said, key: number): string[] => said.fields.filter(([own]) => own === key).map(([, bytes]) => bytes.toString('utf8'))

export function bytesOf(said: Said, key: number): Buffer {
  const found = said.fields.findLast(([own]) => own === key)
  if (!found) throw new Error(`answer ${said.type} has no field ${key}`)
  return found[1]
}

/** One connection that says frames as they are and keeps all that it hears. */
export interface BareController extends Disposable {
  /** All but output. */
  readonly heard: readonly Said[]
  /** Resolves when the other side has closed. */
  readonly closed: Promise<void>
  say(bytes: Uint8Array): void
  tell(type: number, fields: readonly Field[], tag?: number): void
  /** Resolves to the answer with its tag. */
  ask(type: number, fields?: readonly Field[]): Promise<Said>
  /** Resolves to the first frame, also one that came already, for which this holds. */
  hear(what: string, holds: (said: Said) => boolean): Promise<Said>
  ended(run: string): Promise<EndRecord>
  /** What was told of a stream so far, by offset. */
  pieces(run: string, stream: 1 | 2): { readonly offset: number; readonly bytes: Buffer }[]
  output(run: string, stream?: 1 | 2): Buffer
  /** From now on, answers each piece of output by giving its window back. */
  giveBack(): void
  /** Stops and goes on reading. */
  pause(): void
  resume(): void
  /** Says no more, and still hears. */
  finish(): void
  close(): void
}

export function buildFrame(type: number, fields: readonly Field[], tag = 0): Buffer {
  const writer = new FrameWriter().begin(type, tag)
  for (const [key, value] of fields) {
    if (typeof value === 'number') writer.number(key, value)
    else if (typeof value === 'string') writer.text(key, value)
    else writer.raw(key, value)
  }
  if (!writer.end()) throw new Error('the frame is too large')
  return writer.take() as Buffer
}

export function controllerOf(input: Readable, output: Writable, end: () => void): BareController {
  const heard: Said[] = []
  const outputs = new Map<string, { offset: number; bytes: Buffer }[]>()
  const piecesOf = (run: string, stream: number): { offset: number; bytes: Buffer }[] => {
    const key = `${stream} ${run}`
    const found = outputs.get(key) ?? []
    outputs.set(key, found)
    return found
  }
  const takeOutput = (said: Said): void => {
    const bytes = bytesOf(said, 4)
    piecesOf(textOf(said, 1), numberOf(said, 2)).push({ offset: numberOf(said, 3), bytes })
    if (!givesBack) return
    self.tell(requests.ack, [
      [1, textOf(said, 1)],
      [2, bytes.length],
    ])
  }
  const waiting = new Set<() => void>()
  let lastTag = 0
  let givesBack = false
  let isClosed = false
  const wake = (): void => {
    for (const look of [...waiting]) look()
  }
  const reader = new FrameReader((frame) => {
    const said = takeApart(frame)
    if (said.type === answers.output) takeOutput(said)
    else heard.push(said)
    wake()
  })
  const closed = new Promise<void>((resolve) => {
    const close = (): void => {
      isClosed = true
      wake()
      resolve()
    }
    input.on('close', close).on('end', close)
  })
  input.on('data', (piece: Buffer) => reader.push(piece)).on('error', () => {})
  output.on('error', () => {})
  const self: BareController = {
    heard,
    closed,
    say: (bytes) => void output.write(bytes),
    tell: (type, fields, tag = 0) => self.say(buildFrame(type, fields, tag)),
    ask(type, fields = []) {
      lastTag += 1
      const tag = lastTag
      self.tell(type, fields, tag)
      return self.hear(`an answer to request ${type}`, (said) => said.tag === tag)
    },
    hear: (what, holds) =>
      new Promise((resolve, reject) => {
        const settle = (settled: () => void): void => {
          clearTimeout(timer)
          waiting.delete(look)
          settled()
        }
        const look = (): void => {
          const found = heard.find(holds)
          if (found) settle(() => resolve(found))
          else if (isClosed) settle(() => reject(new Error(`the connection was closed before ${what}`)))
        }
        const timer = setTimeout(() => settle(() => reject(new Error(`no ${what} within ${boundMs} ms`))), boundMs)
        waiting.add(look)
        look()
      }),
    async ended(run) {
      const said = await self.hear(`end of ${run}`, ({ type, fields }) => type === answers.ended && fields[0]?.[1].toString() === run)
      return JSON.parse(textOf(said, 2)) as EndRecord
    },
    pieces: piecesOf,
    output: (run, stream = 1) => Buffer.concat(self.pieces(run, stream).map(({ bytes }) => bytes)),
    giveBack() {
      givesBack = true
    },
    pause: () => void input.pause(),
    resume: () => void input.resume(),
    finish: () => void output.end(),
    close: end,
    [Symbol.dispose]: end,
  }
  return self
}

function takeApart(frame: Frame): Said {
  const fields: [number, Buffer][] = []
  while (frame.next()) fields.push([frame.key, frame.bytes()])
  if (frame.malformed) throw new Error('the fields of an answer do not add up')
  return { type: frame.type, tag: frame.tag, fields }
}

/** The terms of a START besides run, argv, environment, cwd and folder. */
export type Terms = readonly Field[]

/** The real program on a socket of its own. */
export interface BareSupervisor extends AsyncDisposable {
  readonly world: World
  readonly socket: string
  /** The first word that it printed. */
  readonly said: string
  readonly outerPid: number
  /** Pid of the process that serves. */
  innerPid(): Promise<number>
  /** A connection that was greeted. */
  connect(): Promise<BareController>
  /** One that said nothing yet. */
  dial(): Promise<BareController>
  folder(run: string): string
  /** What the processes of a run carry. */
  mark(run: string): string
  /** The fields of START for a run in a new folder. */
  terms(run: string, argv: readonly string[], terms?: Terms): Field[]
  start(controller: BareController, run: string, argv: readonly string[], terms?: Terms): Promise<Said>
  /** A file of the run's folder; empty where there is none. */
  file(run: string, name: string): Buffer
  record(run: string): EndRecord | undefined
  /** Starts the program once more on the same socket; resolves to what it printed. */
  again(): Promise<{ readonly said: string; readonly status: number | null; readonly pid: number }>
  /** Resolves when the outer process is over, to its exit status. */
  readonly over: Promise<number | null>
}

export interface SupervisorProgram {
  readonly path: string
  /** What runs it. */
  readonly runner?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whether it gets to its own end after each test, so that what it still holds then is found. */
  readonly endsByItself?: boolean
}

export const packedProgram: SupervisorProgram = { path: fileURLToPath(new URL(`../../dist/native/holdfast-supervisor-linux-${process.arch}`, import.meta.url)) }

export async function openSupervisor(program: SupervisorProgram, args: readonly string[] = []): Promise<BareSupervisor> {
  const world = openWorld()
  const place = world.path('socket')
  mkdirSync(place, { mode: 0o700 })
  const socket = join(place, 's')
  const begun = [begin(program, socket, args)]
  const first = begun[0] as Begun
  const said = await first.said
  const dial = async (): Promise<BareController> => {
    const connection = await new Promise<Socket>((resolve, reject) => {
      const made = connect({ path: socket, allowHalfOpen: true }, () => resolve(made))
      made.on('error', reject)
    })
    return controllerOf(connection, connection, () => connection.destroy())
  }
  const greet = async (): Promise<BareController> => {
    const controller = await dial()
    await controller.ask(requests.hello, hello)
    return controller
  }
  const folder = (run: string): string => world.path('runs', run)
  const self: BareSupervisor = {
    world,
    socket,
    said,
    outerPid: first.pid,
    over: first.over,
    async innerPid() {
      using controller = await dial()
      return numberOf(await controller.ask(requests.hello, hello), 2)
    },
    connect: greet,
    dial,
    folder,
    mark: (run) => `${basename(world.folder)}-${run}`,
    terms(run, argv, terms = []) {
      mkdirSync(folder(run), { recursive: true, mode: 0o700 })
      // Others use the same ids at the same time: a mark of theirs must not be taken for ours.
      const mark = self.mark(run)
      const environment = Object.entries({ ...world.env, HOLDFAST_RUN: mark }).map(([name, value]) => [3, `${name}=${value}`] as const)
      return [[1, run], ...argv.map((argument) => [2, argument] as const), ...environment, [4, world.root], [5, folder(run)], [22, mark], ...terms]
    },
    start: (controller, run, argv, terms) => controller.ask(requests.start, self.terms(run, argv, terms)),
    file: (run, name) => (existsSync(join(folder(run), name)) ? readFileSync(join(folder(run), name)) : Buffer.alloc(0)),
    record(run) {
      const text = self.file(run, 'end.json').toString('utf8')
      return text === '' ? undefined : (JSON.parse(text) as EndRecord)
    },
    async again() {
      const next = begin(program, socket, args)
      begun.push(next)
      const word = await next.said
      return { said: word, status: word === 'ready' ? null : await next.over, pid: next.pid }
    },
    async [Symbol.asyncDispose]() {
      if (program.endsByItself) await endPolitely(begun)
      for (const each of begun) if (!each.isOver()) end(each.pid, 'SIGKILL')
      for (const pid of processesIn(world.folder)) end(pid, 'SIGKILL')
      await until('everything of the test is over', () => processesIn(world.folder).length === 0)
      await world[Symbol.asyncDispose]()
    },
  }
  return self
}

const hello: readonly Field[] = [
  [1, 1],
  [2, 1],
]

interface Begun {
  readonly pid: number
  readonly said: Promise<string>
  readonly over: Promise<number | null>
  isOver(): boolean
}

function begin(program: SupervisorProgram, socket: string, args: readonly string[]): Begun {
  const [command = program.path, ...before] = [...(program.runner ?? []), program.path]
  const child = spawn(command, [...before, '--socket', socket, ...args], {
    env: { PATH: process.env.PATH ?? '', ...program.env },
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let complaint = ''
  child.stdout.on('data', (piece) => {
    said += piece
  })
  child.stderr.on('data', (piece) => {
    complaint += piece
  })
  const over = new Promise<number | null>((resolve) => child.on('exit', resolve))
  return {
    pid: child.pid as number,
    over,
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    said: new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the supervisor said nothing: ${complaint}`)), boundMs)
      child.stdout.on('close', () => {
        clearTimeout(timer)
        resolve(said.trim() || complaint.trim())
      })
      child.on('error', reject)
    }),
  }
}

/** The second time, it does not wait for any grace. */
async function endPolitely(begun: readonly Begun[]): Promise<void> {
  for (let time = 0; time < 2; time += 1) {
    for (const each of begun) if (!each.isOver()) end(each.pid, 'SIGTERM')
    const deadline = performance.now() + (time === 0 ? 100 : 5_000)
    while (begun.some((each) => !each.isOver()) && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is over.
  }
}

/** Living processes that have something to do with the folder: it is in their environment, their working folder or their command line. */
function processesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        if (/^State:\s+Z/m.test(readFileSync(`/proc/${name}/status`, 'latin1'))) return false
        if (readlinkSync(`/proc/${name}/cwd`).startsWith(folder)) return true
        return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${name}/${file}`, 'latin1').includes(folder)) || holds(name, folder)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** The supervisor shows nothing of itself but its lock. */
function holds(pid: string, folder: string): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  })
}

/** The pids of the living processes whose command line has this text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(text) && !/^State:\s+Z/m.test(readFileSync(`/proc/${name}/status`, 'latin1'))
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Waits until something holds; what it is stands in the error of the one who waited for too long. */
export async function until(what: string, holds: () => boolean, ms = boundMs): Promise<void> {
  const deadline = performance.now() + ms
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Some seconds are enough for a build, where nothing else is done meanwhile. */
export const mostBuildMs = 600_000

/** Builds the program with sanitizers, or with the points of native/fault.h. */
export function buildVariant(variant: 'sanitize' | 'faults', out: string): void {
  const script = fileURLToPath(new URL('../../scripts/build-supervisor', import.meta.url))
  const { status, stderr } = spawnSync(script, [`--${variant}`, '--required', '--out', out], { encoding: 'utf8', timeout: mostBuildMs })
  if (status !== 0) throw new Error(stderr)
}

/** Fields of START and WATCH. */
export const everything = [18, 1] as const
export const open = [6, 2] as const

export const sh = (script: string): string[] => ['/bin/sh', '-c', script]

let counter = 0
/** A text that no other test has in its command lines. */
export const uniqueText = (): string => `supervisor-test-${process.pid}-${++counter}-`

/** The fields of a STOP that cancels. */
export const stopOf = (run: string, signal?: number, graceMs?: number): Field[] => [
  [1, run],
  [2, 1],
  ...(signal === undefined ? [] : [[3, signal] as const]),
  ...(graceMs === undefined ? [] : [[4, graceMs] as const]),
]

/** Declares tests that each have a supervisor of their own; they wait side by side. */
export function testsWith(program: SupervisorProgram): (title: string, body: (supervisor: BareSupervisor) => Promise<void>, args?: readonly string[]) => void {
  return (title, body, args = []) =>
    it.concurrent(title, async () => {
      await using supervisor = await openSupervisor(program, args)
      await body(supervisor)
    }, 60_000)
}
