import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { answers, requests } from '../src/supervisor/frames.ts'
import {
  allOf,
  type BareController,
  type BareSupervisor,
  buildFrame,
  controllerOf,
  everything,
  numberOf,
  open,
  openSupervisor,
  processesWith,
  type Said,
  type SupervisorProgram,
  sh,
  textOf,
  uniqueText,
  until,
} from '../test/support/bare-supervisor.ts'
import { random } from '../test/support/random.ts'
import { openWorld } from '../test/support/world.ts'

/* What the supervisor promises of itself: its connections, its life and its death. */

const kill = (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal)

/** A frame whose header says what it likes. */
function header(length: number, type: number, zeros = 0): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32LE(length, 0)
  bytes[4] = type
  bytes[6] = zeros
  bytes.writeUInt32LE(77, 8)
  return bytes
}

/** Goes on as long as it is alive and answers. */
async function expectUnharmed(supervisor: BareSupervisor, controller: BareController, run: string): Promise<void> {
  const word = uniqueText()
  expect(
    (
      await controller.ask(requests.input, [
        [1, run],
        [2, `${word}\n`],
      ])
    ).type,
  ).toBe(answers.taken)
  await until('the command answers', () => controller.output(run).toString().includes(word))
  using other = await supervisor.connect()
  expect((await other.ask(requests.ping)).type).toBe(answers.ok)
}

/** A new socket is there a moment before anybody listens at it. */
async function connectOnceReady(supervisor: BareSupervisor): Promise<BareController> {
  for (;;) {
    try {
      return await supervisor.connect()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
    }
  }
}

export function declareLifeTests(program: SupervisorProgram): void {
  const test = (title: string, args: readonly string[], body: (supervisor: BareSupervisor) => Promise<void>, by: SupervisorProgram = program): void =>
    it.concurrent(title, async () => {
      await using supervisor = await openSupervisor(by, args)
      await body(supervisor)
    }, 60_000)

  test('what is wrong within a frame is answered, and the connection goes on', [], async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
    const wrong: [string, number, Buffer][] = [
      ['unknown_type', 99, Buffer.alloc(0)],
      ['unknown_type', 0, Buffer.alloc(0)],
      ['unknown_type', answers.ok, Buffer.alloc(0)],
      ['malformed', requests.start, Buffer.from([1, 255, 255, 0, 0, 1])],
      ['malformed', requests.ping, Buffer.from([1])],
      ['invalid', requests.start, Buffer.alloc(0)],
      ['invalid', requests.status, Buffer.alloc(0)],
      [
        'invalid',
        requests.stop,
        buildFrame(requests.stop, [
          [1, 'a'],
          [2, 4],
        ]).subarray(12),
      ],
      [
        'invalid',
        requests.stop,
        buildFrame(requests.stop, [
          [1, 'a'],
          [3, 65],
        ]).subarray(12),
      ],
      ['invalid', requests.signal, buildFrame(requests.signal, [[1, 'a']]).subarray(12)],
      [
        'invalid',
        requests.signal,
        buildFrame(requests.signal, [
          [1, 'a'],
          [2, 'KILL'],
        ]).subarray(12),
      ],
      ['invalid', requests.input, buildFrame(requests.input, [[1, 'a']]).subarray(12)],
      [
        'invalid',
        requests.input,
        buildFrame(requests.input, [
          [1, 'a'],
          [2, Buffer.alloc(65_537)],
        ]).subarray(12),
      ],
      [
        'invalid',
        requests.watch,
        buildFrame(requests.watch, [
          [1, 'a'],
          [18, 1],
          [21, 'x'],
        ]).subarray(12),
      ],
      ['invalid', requests.hello, Buffer.alloc(0)],
      ['no_such_run', requests.watch, buildFrame(requests.watch, [[1, 'b']]).subarray(12)],
      ['no_such_run', requests.stop, buildFrame(requests.stop, [[1, 'b']]).subarray(12)],
    ]
    for (const [at, [code, type, payload]] of wrong.entries()) {
      const bytes = Buffer.concat([header(payload.length, type), payload])
      bytes.writeUInt32LE(1_000 + at, 8)
      controller.say(bytes)
      const said = await controller.hear(`an error to ${code}`, ({ tag }) => tag === 1_000 + at)
      expect([said.type, textOf(said, 1), at]).toEqual([answers.error, code, at])
    }
    await expectUnharmed(supervisor, controller, 'a')
  })

  test('what is wrong with a stream of frames is said, and that connection closed', [], async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
    const wrong: [string, Buffer, boolean][] = [
      ['too_large', header(4 * 1024 * 1024 + 1, requests.ping), true],
      ['too_large', header(0xffff_ffff, requests.start), true],
      ['malformed', header(0, requests.ping, 1), true],
      ['malformed', header(0, requests.ping), false],
      ['malformed', buildFrame(requests.stop, [[1, 'a']], 77), false],
      ['malformed', Buffer.concat([header(1, requests.hello), Buffer.from([1])]), false],
      [
        'unsupported_version',
        buildFrame(
          requests.hello,
          [
            [1, 2],
            [2, 9],
          ],
          77,
        ),
        false,
      ],
      ['malformed', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), false],
    ]
    for (const [code, bytes, greeted] of wrong) {
      using other = greeted ? await supervisor.connect() : await supervisor.dial()
      other.say(bytes)
      const said = await other.hear(`an error to ${code}`, ({ type }) => type === answers.error)
      expect(textOf(said, 1)).toBe(code)
      await other.closed
    }
    await expectUnharmed(supervisor, controller, 'a')
  })

  test('a connection that ends in the middle of a frame is forgotten', [], async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
    const whole = buildFrame(requests.stop, [[1, 'a']], 5)
    for (let length = 0; length < whole.length; length += 3) {
      using other = await supervisor.connect()
      other.say(whole.subarray(0, length))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expectUnharmed(supervisor, controller, 'a')
  })

  test('frames that are said at once, by who says no more, are all handled', [], async (supervisor) => {
    using watcher = await supervisor.connect()
    using controller = await supervisor.connect()
    const frames = Array.from({ length: 12 }, (_, at) => buildFrame(requests.start, supervisor.terms(`run-${at}`, sh(`echo ${at}`)), at + 1))
    controller.say(Buffer.concat(frames))
    controller.finish()
    await until('all have ended', () => frames.every((_, at) => supervisor.record(`run-${at}`)?.exitCode === 0))
    expect(allOf(await watcher.ask(requests.runs), 1)).toEqual([])
  })

  test('random bytes and damaged frames end no command', [], async (supervisor) => {
    const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000)
    const numbers = random(seed)
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'kept', ['/bin/cat'], [everything, open])
    // Whatever is damaged names another run than the one that has to be unharmed, and asks for nothing that ends the supervisor.
    const kinds = Object.values(requests).filter((type) => type !== requests.quit)
    for (let round = 0; round < 150; round += 1) {
      using other = await supervisor.connect()
      const frames: Buffer[] = []
      for (let count = numbers.int(1, 6); count > 0; count -= 1) {
        const fields = Array.from({ length: numbers.int(0, 6) }, () => {
          const key = numbers.int(0, 24)
          if (key === 1) return [1, 'fuzz'] as const
          return [
            key,
            numbers.int(0, 2) === 0 ? numbers.int(0, 100) : Buffer.from(Array.from({ length: numbers.int(0, 40) }, () => numbers.int(0, 255))),
          ] as const
        })
        const frame = buildFrame(kinds[numbers.int(0, kinds.length - 1)] as number, [[1, 'fuzz'], ...fields], numbers.int(0, 9))
        for (let damage = numbers.int(0, 2); damage > 0; damage -= 1) frame[numbers.int(0, frame.length - 1)] = numbers.int(0, 255)
        // A damaged type must not become QUIT, nor a damaged id the one of the kept run.
        if (frame[4] === requests.quit) frame[4] = requests.ping
        frames.push(frame.subarray(0, numbers.int(0, 9) === 0 ? numbers.int(0, frame.length) : frame.length))
      }
      other.say(Buffer.concat(frames))
      await Promise.race([other.closed, other.hear('anything', () => true), new Promise((resolve) => setTimeout(resolve, 5))]).catch(() => {})
    }
    await expectUnharmed(supervisor, controller, 'kept').catch((error: unknown) => {
      throw new Error(`HOLDFAST_SEED=${seed}`, { cause: error })
    })
  })

  test('whoever never reads is closed once too much waits, and hinders nobody', [], async (supervisor) => {
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
    const before = socketsOf(pid)
    using deaf = await supervisor.connect()
    deaf.pause()
    const many = Buffer.concat(Array.from({ length: 20_000 }, () => header(0, 99)))
    for (let at = 0; at < 60; at += 1) deaf.say(many)
    await expectUnharmed(supervisor, controller, 'a')
    await until('it was closed', () => socketsOf(pid) === before)
    await expectUnharmed(supervisor, controller, 'a')
  })

  const poor = { ...program, runner: ['/bin/sh', '-c', 'ulimit -n 200; exec "$0" "$@"'] }

  test(
    'without descriptors to spare it starts nothing and takes no connection, and what runs keeps its logs',
    [],
    async (supervisor) => {
      using controller = await supervisor.connect()
      const pid = await supervisor.innerPid()
      const runs = Array.from({ length: 60 }, (_, at) => `run-${at}`)
      const said = await Promise.all(runs.map((run) => supervisor.start(controller, run, sh('read x; echo out; echo err >&2'), [open])))
      const started = runs.filter((_, at) => said[at]?.type === answers.started)
      const refused = said.filter(({ type }) => type === answers.failed)
      expect(started.length).toBeGreaterThan(10)
      expect(started.length + refused.length).toBe(60)
      for (const answer of refused) expect([textOf(answer, 2), textOf(answer, 4)]).toEqual(['pipes', 'EMFILE'])
      const many = await Promise.all(Array.from({ length: 120 }, () => supervisor.dial()))
      const last = await many.at(-1)?.hear('a refusal', ({ type }) => type === answers.error)
      expect(textOf(last as Said, 1)).toBe('exhausted')
      for (const run of started) controller.tell(requests.endInput, [[1, run]])
      const whole = { exitCode: 0, failures: [], stdout: { bytes: 4 }, stderr: { bytes: 4 }, leftovers: [] }
      for (const run of started) expect(await controller.ended(run)).toMatchObject(whole)
      for (const each of many) each.close()
      await until('there is room again', () => readdirSync(`/proc/${pid}/fd`).length < 20)
      await supervisor.start(controller, 'again', ['/bin/true'])
      expect(await controller.ended('again')).toMatchObject({ exitCode: 0 })
    },
    poor,
  )

  test('there is one supervisor at a socket', [], async (supervisor) => {
    expect(supervisor.said).toBe('ready')
    expect(await supervisor.again()).toMatchObject({ said: 'taken', status: 0 })
    using controller = await supervisor.connect()
    expect((await controller.ask(requests.ping)).type).toBe(answers.ok)
  })

  it.concurrent('a folder that others may enter is refused, and so are a link, a file and a path that is too long', async () => {
    await using world = openWorld()
    const refuse = async (socket: string): Promise<string> => {
      const child = spawn(program.path, ['--socket', socket], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...program.env } })
      let text = ''
      child.stderr.on('data', (piece) => {
        text += piece
      })
      const status = await new Promise((resolve) => child.on('close', resolve))
      expect(status).toBe(1)
      expect(text.trim().split('\n').length).toBe(1)
      return text
    }
    mkdirSync(world.path('private'), { mode: 0o700 })
    mkdirSync(world.path('shared'))
    chmodSync(world.path('shared'), 0o750)
    symlinkSync(world.path('private'), world.path('link'))
    expect(await refuse(world.path('shared', 's'))).toContain('0700')
    expect(await refuse(world.path('link', 's'))).toContain('is no folder')
    expect(await refuse(world.path('missing', 's'))).toContain('No such file')
    expect(await refuse('relative/s')).toContain('absolute')
    expect(await refuse(join(world.path('private'), 'x'.repeat(108)))).toContain('longer')
    writeFileSync(world.path('private', 's'), 'precious')
    expect(await refuse(world.path('private', 's'))).toContain('is no socket')
    expect(readFileSync(world.path('private', 's'), 'utf8')).toBe('precious')
  })

  test('it ends when nobody needs it any more, and takes its socket along', ['--idle-ms', '150'], async (supervisor) => {
    const text = uniqueText()
    const controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh(`setsid sh -c 'sleep 300; : ${text}' >/dev/null 2>&1 & sleep 0.6; echo done`))
    controller.close()
    await until('the run is over', () => supervisor.record('a') !== undefined)
    expect(supervisor.record('a')).toMatchObject({ exitCode: 0, stdout: { bytes: 5 } })
    expect(await supervisor.over).toBe(0)
    expect(existsSync(supervisor.socket)).toBe(false)
    // What a run left behind lives on: it was reported, and nobody asked for its end.
    expect(processesWith(text).length).toBeGreaterThan(0)
    for (const pid of processesWith(text)) kill(pid, 'SIGKILL')
  })

  test('it stays for a controller, for a run and for what holds the pipes of one', ['--idle-ms', '50'], async (supervisor) => {
    const controller = await supervisor.connect()
    const gate = supervisor.world.path('gate')
    await supervisor.start(controller, 'a', sh(`(while [ ! -e ${gate} ]; do sleep 0.02; done; echo late) & echo now`))
    await controller.ended('a')
    controller.close()
    await new Promise((resolve) => setTimeout(resolve, 300))
    using again = await supervisor.connect()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(allOf(await again.ask(requests.runs), 1)).toEqual(['a'])
    writeFileSync(gate, '')
    await until('the late line is recorded', () => supervisor.record('a')?.late === true)
    again.close()
    expect(await supervisor.over).toBe(0)
    expect(supervisor.file('a', 'stdout.log').toString()).toBe('now\nlate\n')
  })

  test('it ends when it is asked to and holds no run', [], async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    expect(textOf(await controller.ask(requests.quit), 1)).toBe('busy')
    controller.tell(requests.endInput, [[1, 'a']])
    await controller.ended('a')
    expect((await controller.ask(requests.quit)).type).toBe(answers.ok)
    await controller.closed
    expect(await supervisor.over).toBe(0)
  })

  for (const whom of ['inner', 'outer'] as const) {
    test(`SIGTERM to its ${whom} process cancels and records all runs, and tells so`, [], async (supervisor) => {
      using controller = await supervisor.connect()
      const text = uniqueText()
      await supervisor.start(controller, 'a', sh("trap 'echo cleaned; exit 6' TERM; echo ready; while :; do sleep 0.02; done"), [everything])
      await supervisor.start(controller, 'b', sh(`trap '' TERM; echo ready; while :; do sleep 0.02; done; : ${text}`), [everything, [13, 300]])
      await supervisor.start(controller, 'c', sh(`sh -c 'sleep 300; : ${text}' & echo now`))
      await controller.ended('c')
      await until('both are ready', () => controller.output('a').length > 0 && controller.output('b').length > 0)
      kill(whom === 'inner' ? await supervisor.innerPid() : supervisor.outerPid, 'SIGTERM')
      expect(await controller.ended('a')).toMatchObject({ cut: { kind: 'canceled' }, exitCode: 6, stdout: { bytes: 14 } })
      expect(await controller.ended('b')).toMatchObject({ cut: { kind: 'canceled' }, signal: 9, confirmed: true })
      await controller.closed
      expect(await supervisor.over).toBe(0)
      expect(supervisor.record('a')).toMatchObject({ exitCode: 6 })
      expect(supervisor.record('c')).toMatchObject({ exitCode: 0, late: true })
      expect(existsSync(supervisor.socket)).toBe(false)
      for (const pid of processesWith(text)) kill(pid, 'SIGKILL')
    })
  }

  test('a second SIGTERM does not wait for the grace', [], async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh("trap 'echo got it' TERM; echo ready; while :; do sleep 0.02; done"), [everything, [13, 600_000]])
    await until('it is ready', () => controller.output('a').length > 0)
    const pid = await supervisor.innerPid()
    kill(pid, 'SIGTERM')
    await until('it got the first', () => controller.output('a').toString().includes('got it'))
    expect(textOf(await supervisor.start(controller, 'b', ['/bin/true']), 1)).toBe('busy')
    kill(pid, 'SIGTERM')
    expect(await controller.ended('a')).toMatchObject({ signal: 9 })
    expect(await supervisor.over).toBe(0)
  })

  test('when its inner process is killed its commands are ended, what they printed is kept, and the next one starts at once', [], async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    const stubborn = `trap '' TERM HUP; while :; do sleep 0.05; done; : ${text}`
    await supervisor.start(
      controller,
      'a',
      sh(`echo kept; env -i PATH="$PATH" setsid sh -c "${stubborn}" >/dev/null 2>&1 & sh -c "${stubborn}" & sleep 300; : ${text}`),
      [everything],
    )
    await until('all are there', () => controller.output('a').length > 0 && processesWith(text).length >= 3)
    const inner = await supervisor.innerPid()
    // It gets to its work only when the next one serves already.
    kill(supervisor.outerPid, 'SIGSTOP')
    kill(inner, 'SIGKILL')
    await controller.closed
    const next = await supervisor.again()
    expect(next.said).toBe('ready')
    expect(processesWith(text).length).toBeGreaterThan(0)
    kill(supervisor.outerPid, 'SIGCONT')
    using other = await supervisor.connect()
    expect(allOf(await other.ask(requests.runs), 1)).toEqual([])
    await supervisor.start(other, 'b', sh('echo next'), [everything])
    expect(await other.ended('b')).toMatchObject({ exitCode: 0 })
    expect(await supervisor.over).toBe(1)
    expect(processesWith(text)).toEqual([])
    expect(supervisor.record('a')).toBeUndefined()
    expect(supervisor.file('a', 'stdout.log').toString()).toBe('kept\n')
    // The new one has nothing to do with the end of the old one.
    expect((await other.ask(requests.ping)).type).toBe(answers.ok)
  })

  test('when its outer process is killed it goes on', [], async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
    kill(supervisor.outerPid, 'SIGKILL')
    await supervisor.over
    await expectUnharmed(supervisor, controller, 'a')
    controller.tell(requests.endInput, [[1, 'a']])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
  })

  test('a lock that somebody removed does not let two serve at one socket unseen', [], async (supervisor) => {
    rmSync(`${supervisor.socket}.lock`)
    // The folder was cleaned: whoever comes next serves there, and the first one is out of reach.
    expect((await supervisor.again()).said).toBe('ready')
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    expect((await controller.ask(requests.ping)).type).toBe(answers.ok)
    expect(pid).not.toBe(0)
  })

  for (const [what, remove] of Object.entries<(supervisor: BareSupervisor) => void>({
    socket: ({ socket }) => rmSync(socket),
    lock: ({ socket }) => rmSync(`${socket}.lock`),
    'folder of both': ({ socket }) => rmSync(dirname(socket), { recursive: true }),
  })) {
    test(`a ${what} that somebody removed is made anew while somebody needs it, or else the supervisor ends`, [], async (supervisor) => {
      const { socket } = supervisor
      const isThere = (): boolean => existsSync(socket) && existsSync(`${socket}.lock`)
      const controller = await supervisor.connect()
      await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
      controller.close()
      remove(supervisor)
      await until('it can be found again', isThere)
      expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700)
      const other = await connectOnceReady(supervisor)
      expect((await supervisor.again()).said).toBe('taken')
      expect(allOf(await other.ask(requests.runs), 1)).toEqual(['a'])
      other.tell(requests.endInput, [[1, 'a']])
      await until('the run is over', () => supervisor.record('a') !== undefined)
      remove(supervisor)
      await until('it can be found by who is connected', isThere)
      // What is there may still be in the making; whoever is answered afterwards is answered when that is done.
      await other.ask(requests.ping)
      other.close()
      await other.closed
      remove(supervisor)
      expect(await supervisor.over).toBe(0)
      expect(isThere()).toBe(false)
    })
  }

  test('where another one has taken its place it does not take that back, and ends when its runs are over', [], async (supervisor) => {
    const controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    const first = await supervisor.innerPid()
    // Else it may look before the other one is there.
    kill(first, 'SIGSTOP')
    rmSync(dirname(supervisor.socket), { recursive: true })
    mkdirSync(dirname(supervisor.socket), { mode: 0o700 })
    expect((await supervisor.again()).said).toBe('ready')
    kill(first, 'SIGCONT')
    const second = statSync(supervisor.socket).ino
    // It looks every two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(statSync(supervisor.socket).ino).toBe(second)
    expect((await controller.ask(requests.ping)).type).toBe(answers.ok)
    controller.tell(requests.endInput, [[1, 'a']])
    await until('the run is over', () => supervisor.record('a') !== undefined)
    controller.close()
    expect(await supervisor.over).toBe(0)
    using other = await supervisor.connect()
    expect((await other.ask(requests.ping)).type).toBe(answers.ok)
  })

  it.concurrent('it ends when its home is removed, as soon as nobody needs it', async () => {
    await using world = openWorld()
    const home = world.path('served')
    mkdirSync(home)
    await using supervisor = await openSupervisor(program, ['--home', home])
    const controller = await supervisor.connect()
    rmSync(home, { recursive: true })
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect((await controller.ask(requests.ping)).type).toBe(answers.ok)
    controller.close()
    expect(await supervisor.over).toBe(0)
    expect(existsSync(supervisor.socket)).toBe(false)
  }, 60_000)

  it.concurrent('over standard input and output it serves one controller, and ends when the runs are over', async () => {
    await using world = openWorld()
    mkdirSync(world.path('runs'))
    const [command = program.path, ...args] = [...(program.runner ?? []), program.path, '--stdio']
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH ?? '', ...program.env } })
    const over = new Promise<number | null>((resolve) => child.on('exit', resolve))
    using controller = controllerOf(child.stdout, child.stdin, () => child.stdin.end())
    expect(
      (
        await controller.ask(requests.hello, [
          [1, 1],
          [2, 1],
        ])
      ).type,
    ).toBe(answers.welcome)
    const terms = (run: string, argv: string[]) => {
      mkdirSync(world.path('runs', run))
      return [
        [1, run],
        ...argv.map((argument) => [2, argument] as const),
        [3, `PATH=${process.env.PATH}`],
        [4, '/'],
        [5, world.path('runs', run)],
        everything,
      ] as const
    }
    await controller.ask(requests.start, terms('a', sh('seq 1 100000; exit 3')))
    expect(await controller.ended('a')).toMatchObject({ exitCode: 3 })
    expect(controller.output('a').length).toBe(588_895)
    await controller.ask(requests.start, terms('b', sh('sleep 0.5; echo later')))
    controller.close()
    expect(await over).toBe(0)
    expect(readFileSync(world.path('runs', 'b', 'stdout.log'), 'utf8')).toBe('later\n')
    expect(JSON.parse(readFileSync(world.path('runs', 'b', 'end.json'), 'utf8'))).toMatchObject({ exitCode: 0 })
  })

  it.concurrent('wrong arguments are refused, and its version is told', async () => {
    const say = async (...args: string[]): Promise<[number | null, string]> => {
      const child = spawn(program.path, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...program.env } })
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (piece) => {
          text += piece
        })
      return [await new Promise<number | null>((resolve) => child.on('close', resolve)), text]
    }
    expect(await say('--version')).toEqual([0, expect.stringMatching(/^holdfast-supervisor \S+ protocol 1\n$/)])
    for (const args of [[], ['--socket'], ['--socket', '/tmp/s', '--stdio'], ['--stdio', '--idle-ms', '-1'], ['--what']]) {
      const [status, text] = await say(...args)
      expect(status).toBe(2)
      expect(text).toMatch(/^usage: holdfast-supervisor /)
    }
  })

  test('its build is told in greeting, with who it is', [], async (supervisor) => {
    using controller = await supervisor.dial()
    const said = await controller.ask(requests.hello, [
      [1, 0],
      [2, 7],
      [200, 'what a later version may say'],
    ])
    expect(said.type).toBe(answers.welcome)
    expect(numberOf(said, 1)).toBe(1)
    expect(textOf(said, 3)).toMatch(/^[0-9a-f]{8}:\d+$/)
    expect(textOf(said, 4)).not.toBe('')
  })
}

/** How many sockets a process has. */
function socketsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}
