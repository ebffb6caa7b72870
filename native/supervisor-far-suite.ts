import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from 'vitest'
import { answers, requests } from '../src/supervisor/frames.ts'
import {
  allOf,
  type BareController,
  bytesOf,
  controllerOf,
  everything,
  type Field,
  numberOf,
  open,
  type SupervisorProgram,
  sh,
  textOf,
  until,
} from '../test/support/bare-supervisor.ts'
import { openWorld, type World } from '../test/support/world.ts'

/* What the supervisor promises where it is somewhere else: it is reached over a bridge, and the folders of runs are its own. */

interface Far extends AsyncDisposable {
  readonly world: World
  readonly socket: string
  readonly home: string
  /** A bridge of its own, greeted. */
  connect(): Promise<Bridged>
  /** A bridge that may not come to its work. */
  attempt(args?: readonly string[]): { readonly child: ChildProcess; readonly complaint: Promise<string>; readonly status: Promise<number | null> }
}

interface Bridged {
  readonly controller: BareController
  readonly bridge: ChildProcess
  readonly status: Promise<number | null>
  readonly welcome: { readonly pid: number; readonly home: string }
}

const greeting: readonly Field[] = [
  [1, 1],
  [2, 1],
]

function openFar(program: SupervisorProgram): Far {
  const world = openWorld()
  const socket = world.path('far', 'run', 's')
  const home = world.path('far', 'home')
  const supervisors = new Set<number>()
  const bridges: ChildProcess[] = []
  const attempt: Far['attempt'] = (args = ['--socket', socket, '--home', home, '--idle-ms', '300']) => {
    const [command = program.path, ...before] = [...(program.runner ?? []), program.path]
    const child = spawn(command, [...before, '--bridge', ...args], { env: { ...program.env }, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    bridges.push(child)
    let said = ''
    child.stderr.on('data', (piece) => {
      said += piece
    })
    child.stdin.on('error', () => {})
    const status = new Promise<number | null>((resolve) => child.on('exit', resolve))
    const closed = new Promise((resolve) => child.on('close', resolve))
    return { child, status, complaint: closed.then(() => said) }
  }
  return {
    world,
    socket,
    home,
    attempt,
    async connect() {
      const { child, status } = attempt()
      if (!child.stdout || !child.stdin) throw new Error('a bridge without streams')
      const controller = controllerOf(child.stdout, child.stdin, () => child.kill('SIGKILL'))
      const welcome = await controller.ask(requests.hello, greeting)
      supervisors.add(numberOf(welcome, 2))
      return { controller, bridge: child, status, welcome: { pid: numberOf(welcome, 2), home: textOf(welcome, 5) } }
    },
    async [Symbol.asyncDispose]() {
      for (const bridge of bridges) bridge.kill('SIGKILL')
      for (const pid of supervisors) kill(pid, 'SIGTERM')
      await until('every supervisor is over', () => ![...supervisors].some(isThere))
      await world[Symbol.asyncDispose]()
    },
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is over.
  }
}

function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
}

export function declareFarTests(program: SupervisorProgram): void {
  const test = (title: string, body: (far: Far) => Promise<void>): void =>
    it.concurrent(title, async () => {
      await using far = openFar(program)
      await body(far)
    }, 60_000)

  const terms = (far: Far, run: string, argv: readonly string[], more: readonly Field[] = []): Field[] => [
    [1, run],
    ...argv.map((argument) => [2, argument] as const),
    [3, 'PATH=/usr/bin:/bin'],
    // Others use the same ids at the same time: a mark of theirs must not be taken for ours.
    [3, `HOLDFAST_RUN=${basename(far.world.folder)}-${run}`],
    [22, `${basename(far.world.folder)}-${run}`],
    [4, '/'],
    [5, `${far.home}/runs/${run}`],
    [26, 1],
    ...more,
  ]

  test('a bridge starts a supervisor where none serves, in private folders, and others meet the same one', async (far) => {
    const bridged = await Promise.all(Array.from({ length: 5 }, () => far.connect()))
    expect(new Set(bridged.map(({ welcome }) => welcome.pid)).size).toBe(1)
    expect(bridged[0]?.welcome.home).toBe(far.home)
    for (const folder of ['far', 'far/run', 'far/home']) expect(statSync(far.world.path(folder)).mode & 0o777).toBe(0o700)
  })

  test('the end of the input ends the bridge and not the run, which the next one finds', async (far) => {
    const first = await far.connect()
    await first.controller.ask(requests.start, terms(far, 'a', ['/bin/cat'], [open]))
    first.controller.finish()
    expect(await first.status).toBe(0)
    const next = await far.connect()
    expect(next.welcome.pid).toBe(first.welcome.pid)
    expect(allOf(await next.controller.ask(requests.runs), 1)).toEqual(['a'])
  })

  test('a bridge that is killed takes nothing with it: output is read on from an offset, up to the true end', async (far) => {
    const first = await far.connect()
    first.controller.giveBack()
    await first.controller.ask(requests.start, terms(far, 'a', sh('echo before; read word; echo after; exit 7'), [open, everything]))
    await until('the beginning is there', () => first.controller.output('a').length > 0)
    first.bridge.kill('SIGKILL')
    await first.status
    const { controller } = await far.connect()
    controller.giveBack()
    await controller.ask(requests.watch, [[1, 'a'], everything, [21, 7], [21, 0]])
    controller.tell(requests.input, [
      [1, 'a'],
      [2, 'go\n'],
    ])
    expect((await controller.ended('a')).exitCode).toBe(7)
    expect(controller.output('a').toString()).toBe('after\n')
  })

  test('ten million bytes pass in both directions, every one', async (far) => {
    const { controller } = await far.connect()
    controller.giveBack()
    const bytes = randomBytes(10_000_000)
    await controller.ask(requests.start, terms(far, 'a', ['/bin/cat'], [open, everything]))
    for (let at = 0; at < bytes.length; at += 65_536) {
      const piece = bytes.subarray(at, at + 65_536)
      const said = await controller.ask(requests.input, [
        [1, 'a'],
        [2, piece],
      ])
      expect(said.type === answers.taken ? 'taken' : allOf(said, 1)).toBe('taken')
    }
    controller.tell(requests.endInput, [[1, 'a']])
    expect((await controller.ended('a')).exitCode).toBe(0)
    expect(controller.output('a').equals(bytes)).toBe(true)
  })

  test('a bridge that cannot come to its work says why on one line, and changes nothing', async (far) => {
    mkdirSync(far.world.path('taken'))
    writeFileSync(far.world.path('taken', 's'), 'mine')
    const { complaint, status } = far.attempt(['--socket', far.world.path('taken', 's', 'below'), '--home', far.home])
    expect(await status).toBe(1)
    expect(await complaint).toMatch(/^holdfast-supervisor: \S+: Not a directory\n$/)
    const long = far.attempt(['--socket', far.world.path('x'.repeat(120), 's'), '--home', far.home])
    expect(await long.status).toBe(1)
    expect(await long.complaint).toMatch(/^holdfast-supervisor: \S+: File name too long\n$/)
    // Without a home it starts no supervisor.
    const alone = far.attempt(['--socket', far.world.path('nobody')])
    expect(await alone.status).toBe(1)
    expect(await alone.complaint).toMatch(/^holdfast-supervisor: \S+: no supervisor serves there\n$/)
    expect(await far.attempt(['--home', far.home]).status).toBe(2)
    expect(readFileSync(far.world.path('taken', 's'), 'utf8')).toBe('mine')
  })

  test('the folder of a run is made with the files that it is given, for this user alone', async (far) => {
    const { controller } = await far.connect()
    const files: Field[] = [[27, 'script.sh'], [28, 'cat "$(dirname "$0")/data"; exit 3'], [27, 'data'], [28, Buffer.from([0, 255, 10])], everything]
    await controller.ask(requests.start, terms(far, 'a', ['sh', `${far.home}/runs/a/script.sh`], files))
    expect((await controller.ended('a')).exitCode).toBe(3)
    expect([...controller.output('a')]).toEqual([0, 255, 10])
    expect(statSync(`${far.home}/runs/a`).mode & 0o777).toBe(0o700)
    expect(statSync(`${far.home}/runs/a/script.sh`).mode & 0o777).toBe(0o600)
  })

  test('a folder that is not the one of the run in the home, or is there already, is refused, and what was not started leaves none', async (far) => {
    const { controller } = await far.connect()
    const refusal = async (fields: Field[]): Promise<string[]> => {
      const said = await controller.ask(requests.start, fields)
      return said.type === answers.failed ? [textOf(said, 2), textOf(said, 4)] : [String(said.type)]
    }
    const elsewhere = terms(far, 'a', ['/bin/true']).map((field): Field => (field[0] === 5 ? [5, far.world.path('elsewhere')] : field))
    expect(await refusal(elsewhere)).toEqual(['folder', 'EINVAL'])
    expect(
      await refusal(
        terms(
          far,
          'b',
          ['/bin/true'],
          [
            [27, '../b'],
            [28, 'x'],
          ],
        ),
      ),
    ).toEqual(['folder', 'EINVAL'])
    expect(
      await refusal(
        terms(
          far,
          'c',
          ['/no/such/program'],
          [
            [27, 'f'],
            [28, 'x'],
          ],
        ),
      ),
    ).toEqual(['program', 'ENOENT'])
    expect(readdirSync(`${far.home}/runs`)).toEqual([])
    mkdirSync(`${far.home}/runs/d`)
    writeFileSync(`${far.home}/runs/d/kept`, 'kept')
    expect(await refusal(terms(far, 'd', ['/bin/true']))).toEqual(['folder', 'EEXIST'])
    expect(readdirSync(`${far.home}/runs/d`)).toEqual(['kept'])
  })

  test('a run that is over is forgotten with its folder, one that is not is kept', async (far) => {
    const { controller } = await far.connect()
    const forget = async (run: string): Promise<string> => {
      const said = await controller.ask(requests.forget, [[1, run]])
      return said.type === answers.ok ? 'ok' : bytesOf(said, 1).toString()
    }
    await controller.ask(requests.start, terms(far, 'a', ['/bin/cat'], [open, everything]))
    expect(await forget('a')).toBe('busy')
    controller.tell(requests.endInput, [[1, 'a']])
    await controller.ended('a')
    expect(readdirSync(`${far.home}/runs/a`)).toContain('end.json')
    expect(await forget('a')).toBe('ok')
    expect(readdirSync(`${far.home}/runs`)).toEqual([])
    expect(await forget('a')).toBe('ok')
    expect(await forget('../home')).toBe('invalid')
  })
}
