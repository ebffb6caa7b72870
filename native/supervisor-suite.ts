import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { EndRecord } from '../src/core/end-record.ts'
import { readStat } from '../src/process/identity.ts'
import { answers, requests } from '../src/supervisor/frames.ts'
import {
  allOf,
  type BareSupervisor,
  bytesOf,
  numberOf,
  openSupervisor,
  processesWith,
  type Said,
  type SupervisorProgram,
  textOf,
  until,
} from '../test/support/bare-supervisor.ts'

/*
 * What the supervisor promises of commands, tried on the real program by frames as they are. Keys of fields are those of
 * docs/supervisor-protocol.md.
 */

const everything = [18, 1] as const
const tail = [18, 2] as const
const fed = [6, 1] as const
const open = [6, 2] as const

const sh = (script: string): string[] => ['/bin/sh', '-c', script]
/** A number that no other test has in its command lines. */
let counter = 0
const uniqueText = (): string => `supervisor-test-${process.pid}-${++counter}-`

const stop = (run: string, signal?: number, graceMs?: number) =>
  [[1, run], [2, 1], ...(signal === undefined ? [] : [[3, signal] as const]), ...(graceMs === undefined ? [] : [[4, graceMs] as const])] as const

export function declareRunTests(program: SupervisorProgram): void {
  const test = (title: string, body: (supervisor: BareSupervisor) => Promise<void>, ms = 30_000): void =>
    it.concurrent(
      title,
      async () => {
        await using supervisor = await openSupervisor(program)
        await body(supervisor)
      },
      ms,
    )

  test('a command ends with its exit code, and answer, file and frame tell the same', async (supervisor) => {
    using controller = await supervisor.connect()
    const started = await supervisor.start(controller, 'a', sh('echo out; echo err >&2; exit 7'))
    expect(started.type).toBe(answers.started)
    const record = await controller.ended('a')
    expect(record).toEqual(supervisor.record('a'))
    expect(record).toMatchObject({ version: 1, run: 'a', cut: null, exitCode: 7, signal: null, leftovers: [], confirmed: true, failures: [], late: false })
    expect(record.stdout).toEqual({ bytes: 4, lines: 1, droppedBytes: 0, gap: null })
    expect(record.peakMemoryBytes).toBeGreaterThan(100_000)
    expect(Date.parse(record.endedAt)).toBeGreaterThan(Date.now() - 60_000)
    expect(supervisor.file('a', 'stdout.log').toString()).toBe('out\n')
    expect(supervisor.file('a', 'stderr.log').toString()).toBe('err\n')
  })

  test('the first process is noted as long as the run goes on, and longer only where something was left behind', async (supervisor) => {
    using controller = await supervisor.connect()
    const started = await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    const noted = { pid: numberOf(started, 2), startTime: textOf(started, 3) }
    expect(JSON.parse(supervisor.file('a', 'process.json').toString())).toEqual(noted)
    await controller.ask(requests.endInput, [[1, 'a']])
    await controller.ended('a')
    expect(execFileSync('ls', [supervisor.folder('a')]).toString()).toBe('end.json\n')
    await supervisor.start(controller, 'b', sh('sleep 300 >/dev/null 2>&1 & echo $!'))
    const { leftovers } = await controller.ended('b')
    process.kill(leftovers[0]?.pid as number, 'SIGKILL')
    expect(execFileSync('ls', [supervisor.folder('b')]).toString()).toBe('end.json\nprocess.json\nstdout.log\n')
  })

  test('a command that a signal ended has that and no exit code', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('kill -SEGV $$'))
    expect(await controller.ended('a')).toMatchObject({ cut: null, exitCode: null, signal: 11 })
  })

  test('a silent command leaves records and no logs', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/true'])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    expect(execFileSync('ls', [supervisor.folder('a')]).toString()).toBe('end.json\n')
  })

  test('what cannot be started says at which stage, and records nothing', async (supervisor) => {
    using controller = await supervisor.connect()
    writeFileSync(supervisor.world.path('root', 'text'), 'no program')
    const refusals: [string, string[], (readonly [number, string])[], string, string][] = [
      ['missing', ['no-such-program'], [], 'program', 'ENOENT'],
      ['refused', [supervisor.world.path('root', 'text')], [], 'program', 'EACCES'],
      ['too-long', ['/bin/echo', 'x'.repeat(200_000)], [], 'program', 'E2BIG'],
      ['no-cwd', ['/bin/true'], [[4, '/no/such/folder']], 'cwd', 'ENOENT'],
      ['no-folder', ['/bin/true'], [[5, '/no/such/folder']], 'folder', 'ENOENT'],
    ]
    for (const [run, argv, terms, stage, errno] of refusals) {
      const said = await supervisor.start(controller, run, argv, terms)
      expect([said.type, textOf(said, 1), textOf(said, 2), textOf(said, 4)]).toEqual([answers.failed, run, stage, errno])
      expect(execFileSync('ls', ['-A', supervisor.folder(run)]).toString()).toBe('')
    }
    expect((await controller.ask(requests.runs)).fields).toEqual([])
  })

  test('impossible terms are refused by the name of the field, and the next command runs', async (supervisor) => {
    using controller = await supervisor.connect()
    const wrong: [string, string, (readonly [number, string | number])[], string[]][] = [
      ['run', 'no id!', [], ['/bin/true']],
      ['argument', 'a', [], []],
      ['argument', 'a', [], ['']],
      ['argument', 'a', [], ['/bin/echo', 'a\0b']],
      ['environment', 'a', [[3, 'NAME']], ['/bin/true']],
      ['environment', 'a', [[3, '=x']], ['/bin/true']],
      ['cwd', 'a', [[4, 'relative']], ['/bin/true']],
      ['stdin', 'a', [[6, 3]], ['/bin/true']],
      ['columns', 'a', [[9, 24]], ['/bin/true']],
      ['wall', 'a', [[11, 'soon']], ['/bin/true']],
      ['logBytes', 'a', [[14, 0]], ['/bin/true']],
      ['listen', 'a', [[18, 3]], ['/bin/true']],
      ['mark', 'a', [[22, 'a/b']], ['/bin/true']],
    ]
    for (const [field, run, terms, argv] of wrong) {
      const said = await controller.ask(requests.start, [...supervisor.terms('a', argv, terms), [1, run]])
      expect([said.type, textOf(said, 1), textOf(said, 3)]).toEqual([answers.error, 'invalid', field])
    }
    expect((await supervisor.start(controller, 'a', ['/bin/true'])).type).toBe(answers.started)
    await controller.ended('a')
  })

  test('an id that is in use is refused, and free again afterwards', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    expect(textOf(await supervisor.start(controller, 'a', ['/bin/true']), 1)).toBe('already_exists')
    await controller.ask(requests.endInput, [[1, 'a']])
    await controller.ended('a')
    expect((await supervisor.start(controller, 'a', ['/bin/true'])).type).toBe(answers.started)
  })

  test('without input a command reads end-of-file', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('wc -c'), [everything])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    expect(controller.output('a').toString().trim()).toBe('0')
    expect(
      textOf(
        await controller.ask(requests.input, [
          [1, 'a'],
          [2, 'x'],
        ]),
        1,
      ),
    ).toBe('no_such_run')
  })

  test('bytes that were given with the start are read, and that is all where it was said', async (supervisor) => {
    using controller = await supervisor.connect()
    const bytes = Buffer.alloc(1_000_000, 'all 256 \0\xff bytes', 'latin1')
    await supervisor.start(controller, 'a', ['/usr/bin/sha256sum'], [everything, fed, [7, bytes], [8, 1]])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    const { createHash } = await import('node:crypto')
    expect(controller.output('a').toString()).toContain(createHash('sha256').update(bytes).digest('hex'))
  })

  test('input waits for a command that does not read it, up to a bound', async (supervisor) => {
    using controller = await supervisor.connect()
    const started = await supervisor.start(controller, 'a', ['/bin/sleep', '300'], [open])
    const piece = Buffer.alloc(65_536, 'x')
    const said: Promise<Said>[] = []
    for (let at = 0; at < 40; at += 1)
      said.push(
        controller.ask(requests.input, [
          [1, 'a'],
          [2, piece],
        ]),
      )
    await controller.ask(requests.ping)
    // The pipe holds 64 KiB, the queue 1 MiB.
    const refused = controller.heard.filter((answer) => answer.type === answers.error && textOf(answer, 1) === 'input_full')
    expect(refused.length).toBe(40 - 17)
    expect(controller.heard.filter(({ type }) => type === answers.taken).length).toBe(1)
    process.kill(numberOf(started, 2), 'SIGKILL')
    // Nobody reads it any more: then it counts as taken.
    expect((await Promise.all(said)).filter(({ type }) => type === answers.taken).length).toBe(17)
    expect(await controller.ended('a')).toMatchObject({ signal: 9 })
  })

  test('input reaches a command piece by piece, in order, until its end, and not after it', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [everything, open])
    for (const word of ['one\n', 'two\n', 'three\n'])
      expect(
        (
          await controller.ask(requests.input, [
            [1, 'a'],
            [2, word],
          ])
        ).type,
      ).toBe(answers.taken)
    await until('cat has answered', () => controller.output('a').toString() === 'one\ntwo\nthree\n')
    expect(numberOf(await controller.ask(requests.status, [[1, 'a']]), 11)).toBe(1)
    expect((await controller.ask(requests.endInput, [[1, 'a']])).type).toBe(answers.ok)
    const late = await controller.ask(requests.input, [
      [1, 'a'],
      [2, 'four'],
    ])
    expect(['input_closed', 'no_such_run']).toContain(textOf(late, 1))
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0, stdout: { bytes: 14, lines: 3 } })
  })

  test('a large input comes out of cat as it went in', async (supervisor) => {
    using controller = await supervisor.connect()
    const sent = Buffer.alloc(3_000_000)
    for (let at = 0; at < sent.length; at += 1) sent[at] = (at * 7) ^ (at >> 8)
    await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    for (let at = 0; at < sent.length; at += 65_536) {
      const said = await controller.ask(requests.input, [
        [1, 'a'],
        [2, sent.subarray(at, at + 65_536)],
      ])
      expect(said.type).toBe(answers.taken)
    }
    controller.tell(requests.endInput, [[1, 'a']])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0, stdout: { bytes: sent.length } })
    expect(supervisor.file('a', 'stdout.log').equals(sent)).toBe(true)
  })

  test('a command that closes its input does not make writers wait', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('exec <&-; echo closed; sleep 300'), [everything, open])
    await until('it has closed it', () => controller.output('a').toString() === 'closed\n')
    expect(
      (
        await controller.ask(requests.input, [
          [1, 'a'],
          [2, 'x'],
        ])
      ).type,
    ).toBe(answers.taken)
    expect(numberOf(await controller.ask(requests.status, [[1, 'a']]), 11)).toBe(0)
    await controller.ask(requests.stop, stop('a'))
  })

  test('/dev/stdout and /dev/stderr can be opened', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('echo a > /dev/stdout; echo b > /dev/stderr; echo c >> /dev/stdout; echo d | tee /dev/stderr'), [everything])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    expect(controller.output('a', 1).toString()).toBe('a\nc\nd\n')
    expect(controller.output('a', 2).toString()).toBe('b\nd\n')
  })

  test('the order in which both streams came is recorded', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('printf 1; read x; printf 22 >&2; read x; printf 333; read x; printf 4444 >&2'), [everything, open])
    for (const length of [1, 3, 6]) {
      await until(`${length} bytes came`, () => controller.output('a', 1).length + controller.output('a', 2).length === length)
      await controller.ask(requests.input, [
        [1, 'a'],
        [2, '\n'],
      ])
    }
    await controller.ended('a')
    expect([...supervisor.file('a', 'order.log')]).toEqual([0x31, 1, 2, 3, 4])
  })

  test('the wall limit ends a tree that ignores TERM by force, once the grace is over', async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    const script = `trap '' TERM; (trap '' TERM; while :; do sleep 300; done; : ${text}) & echo ready; while :; do sleep 300; done; : ${text}`
    await supervisor.start(controller, 'a', sh(script), [
      [11, 300],
      [13, 200],
    ])
    const record = await controller.ended('a')
    expect(record).toMatchObject({ cut: { kind: 'timed_out', limit: 'wall', afterMs: 300 }, exitCode: null, signal: 9, leftovers: [], confirmed: true })
    expect(record.durationMs).toBeGreaterThanOrEqual(500)
    expect(record.durationMs).toBeLessThan(5_000)
    expect(record.stdout.bytes).toBe(6)
    expect(processesWith(text)).toEqual([])
  })

  test('what TERM ends has no need of the grace', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(
      controller,
      'a',
      ['/bin/sleep', '300'],
      [
        [11, 100],
        [13, 20_000],
      ],
    )
    expect(await controller.ended('a')).toMatchObject({ cut: { limit: 'wall' }, signal: 15, confirmed: true })
  })

  test('the idle limit ends a command that went silent, and none that goes on printing', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; sleep 300'), [[12, 400]])
    const record = await controller.ended('a')
    expect(record.cut).toMatchObject({ kind: 'timed_out', limit: 'idle' })
    expect((record.cut as { afterMs: number }).afterMs).toBeGreaterThanOrEqual(400)
    expect(record.stdout).toMatchObject({ bytes: 12, lines: 6 })
    expect(record.durationMs).toBeGreaterThanOrEqual(900)
  })

  test('a command that stops itself is ended all the same', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('kill -STOP $$; sleep 300'), [
      [11, 200],
      [13, 5_000],
    ])
    expect(await controller.ended('a')).toMatchObject({ cut: { limit: 'wall' }, signal: 15 })
  })

  test('a stop is answered when the tree is gone, and all who asked get the answer', async (supervisor) => {
    using controller = await supervisor.connect()
    using other = await supervisor.connect()
    await supervisor.start(controller, 'a', sh("trap 'echo cleaning; sleep 0.2; exit 3' TERM; echo ready; while :; do sleep 0.02; done"), [everything])
    await until('it is ready', () => controller.output('a').length > 0)
    const asked = [controller.ask(requests.stop, stop('a')), other.ask(requests.stop, stop('a')), controller.ask(requests.stop, stop('a'))]
    for (const said of await Promise.all(asked)) {
      expect(said.type).toBe(answers.done)
      expect(numberOf(said, 2)).toBe(0)
    }
    expect(await controller.ended('a')).toMatchObject({ cut: { kind: 'canceled' }, exitCode: 3, signal: null, confirmed: true })
    expect(controller.output('a').toString()).toBe('ready\ncleaning\n')
  })

  test('a stop may begin with another signal, and KILL cuts the grace of an earlier one short', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh("trap 'echo INT' INT; trap '' TERM; echo ready; while :; do sleep 0.02; done"), [everything])
    await until('it is ready', () => controller.output('a').length > 0)
    const polite = controller.ask(requests.stop, stop('a', 2, 60_000))
    await until('it got INT', () => controller.output('a').toString().includes('INT'))
    const before = performance.now()
    await controller.ask(requests.stop, stop('a', 9))
    expect(numberOf(await polite, 2)).toBe(0)
    expect(performance.now() - before).toBeLessThan(10_000)
    expect(await controller.ended('a')).toMatchObject({ cut: { kind: 'canceled' }, signal: 9 })
  })

  test('processes that left group, session, parent and environment are ended', async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    const sleeper = `sh -c 'trap "" HUP; sleep 300; : ${text}'`
    const script = `(setsid env -i PATH="$PATH" ${sleeper} </dev/null >/dev/null 2>&1 &) & (env -i PATH="$PATH" setsid ${sleeper} &) & setsid ${sleeper} & sleep 0.3; echo ready; wait; sleep 300`
    await supervisor.start(controller, 'a', sh(script), [everything])
    await until('it is ready', () => controller.output('a').length > 0)
    await until('all are there', () => processesWith(text).length >= 4)
    expect(numberOf(await controller.ask(requests.stop, stop('a', 9)), 2)).toBe(0)
    expect(processesWith(text)).toEqual([])
    expect(await controller.ended('a')).toMatchObject({ confirmed: true, leftovers: [] })
  })

  test('what is left behind is named, prints on into the log, and the record says so once it lets go', async (supervisor) => {
    using controller = await supervisor.connect()
    const gate = supervisor.world.path('gate')
    const script = `(while [ ! -e ${gate} ]; do sleep 0.02; done; echo late) & echo now; exit 5`
    await supervisor.start(controller, 'a', sh(script), [everything])
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 5, late: false, confirmed: true, stdout: { bytes: 4 } })
    expect(record.leftovers.length).toBeGreaterThan(0)
    expect(record.leftovers[0]).toMatchObject({ name: 'sh', startTime: expect.stringMatching(/^[0-9a-f]{8}:\d+$/) })
    expect(record.durationMs).toBeLessThan(2_000)
    const watched = await controller.ask(requests.watch, [[1, 'a'], everything])
    expect([watched.type, numberOf(watched, 2)]).toEqual([answers.status, 3])
    expect(allOf(await controller.ask(requests.runs), 1)).toEqual(['a'])
    expect(textOf(await controller.ask(requests.quit), 1)).toBe('busy')
    writeFileSync(gate, '')
    await until('the record is late', () => supervisor.record('a')?.late === true)
    expect(supervisor.record('a')).toEqual({ ...record, stdout: { ...record.stdout, bytes: 9, lines: 2 }, late: true })
    expect(supervisor.file('a', 'stdout.log').toString()).toBe('now\nlate\n')
    expect(textOf(await controller.ask(requests.status, [[1, 'a']]), 1)).toBe('no_such_run')
  })

  test('a leftover that holds the pipes is ended by a stop', async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    await supervisor.start(controller, 'a', sh(`sh -c 'sleep 300; : ${text}' & echo now`))
    expect((await controller.ended('a')).leftovers.length).toBeGreaterThan(0)
    expect(processesWith(text).length).toBeGreaterThan(0)
    expect(numberOf(await controller.ask(requests.stop, stop('a')), 2)).toBe(0)
    expect(processesWith(text)).toEqual([])
    await until('the record is late', () => supervisor.record('a')?.late === true)
  })

  test('a leftover that let go of the pipes is ended by a stop, and forgotten with that', async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    await supervisor.start(controller, 'a', sh(`setsid sh -c 'sleep 300; : ${text}' >/dev/null 2>&1 & sleep 0.1; echo now`))
    const record = await controller.ended('a')
    expect(record.leftovers.map(({ name }) => name)).toContain('sh')
    expect(allOf(await controller.ask(requests.runs), 1)).toEqual([])
    expect(textOf(await controller.ask(requests.watch, [[1, 'a']]), 1)).toBe('no_such_run')
    // Such a process is no reason to look at all others at the end of each further run.
    await supervisor.start(controller, 'b', ['/bin/true'])
    expect((await controller.ended('b')).leftovers).toEqual([])
    expect((await controller.ask(requests.tree, [[1, 'a']])).fields.length).toBeGreaterThan(0)
    expect(numberOf(await controller.ask(requests.stop, stop('a')), 2)).toBe(0)
    expect(processesWith(text)).toEqual([])
    expect(textOf(await controller.ask(requests.stop, stop('a')), 1)).toBe('no_such_run')
  })

  test('what is left behind is ended where the run asks for that, and ended politely first', async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    const script = `(trap 'echo bye; exit' TERM; echo there; while :; do sleep 0.02; done; : ${text}) & while ! test -s ${supervisor.folder('a')}/stdout.log; do sleep 0.02; done`
    await supervisor.start(controller, 'a', sh(script), [[15, 1]])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0, cut: null, leftovers: [], confirmed: true, late: false })
    expect(supervisor.file('a', 'stdout.log').toString()).toBe('there\nbye\n')
    expect(processesWith(text)).toEqual([])
  })

  test('a stop while the output of a command that has ended is still read ends what goes on, and its exit stays the cause', async (supervisor) => {
    using controller = await supervisor.connect()
    const text = uniqueText()
    await supervisor.start(controller, 'a', sh(`(trap '' TERM; while :; do echo x; sleep 0.01; done; : ${text}) & exit 2`))
    const deadline = performance.now() + 5_000
    while (numberOf(await controller.ask(requests.status, [[1, 'a']]), 2) === 1 && performance.now() < deadline);
    expect(numberOf(await controller.ask(requests.stop, stop('a', 15, 100)), 2)).toBe(0)
    expect(await controller.ended('a')).toMatchObject({ exitCode: 2, cut: null, leftovers: [], confirmed: true, late: false })
    expect(processesWith(text)).toEqual([])
  })

  test('output that comes after the exit is part of the run as long as somebody is at work', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('(i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo late) & exit 0'))
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0, stdout: { bytes: 5 }, leftovers: [] })
  })

  test('a writer without end does not hold up the end of its run', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('yes & sleep 0.1; exit 4'), [[14, 100_000]])
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 4, leftovers: [{ name: 'yes' }] })
    expect(numberOf(await controller.ask(requests.stop, stop('a')), 2)).toBe(0)
    await until('the record is late', () => supervisor.record('a')?.late === true)
    const late = supervisor.record('a') as EndRecord
    expect(late.stdout.bytes).toBeGreaterThan(100_000)
    expect(late.stdout.gap?.bytes).toBe(late.stdout.droppedBytes)
    expect(supervisor.file('a', 'stdout.log').length).toBeLessThan(101_000)
  })

  test('the end does not run after what somebody who was left behind goes on printing', async (supervisor) => {
    using controller = await supervisor.connect()
    controller.giveBack()
    await supervisor.start(controller, 'a', sh('yes & sleep 0.1; exit 4'), [[14, 10_000_000], everything, [19, 5_000]])
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 4, leftovers: [{ name: 'yes' }] })
    expect(controller.pieces('a', 1).every(({ offset, bytes }) => offset + bytes.length <= record.stdout.bytes)).toBe(true)
    await controller.ask(requests.stop, stop('a'))
  })

  test('whoever listens to everything gets each byte once and in order', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 50000; seq 1 20000 >&2'), [everything])
    await controller.ended('a')
    for (const stream of [1, 2] as const) {
      let next = 0
      for (const { offset, bytes } of controller.pieces('a', stream)) {
        expect(offset).toBe(next)
        expect(bytes.length).toBeLessThanOrEqual(65_536)
        next += bytes.length
      }
      expect(controller.output('a', stream).equals(supervisor.file('a', stream === 1 ? 'stdout.log' : 'stderr.log'))).toBe(true)
    }
  })

  test('nothing is sent beyond the window, and what is given back is filled from the log', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 60000; read x'), [everything, [19, 10_000], open])
    await until('all is in the log', () => supervisor.file('a', 'stdout.log').length === 348_894)
    await controller.ask(requests.ping)
    expect(controller.output('a').length).toBe(10_000)
    while (controller.output('a').length < 348_894) {
      const before = controller.output('a').length
      controller.tell(requests.ack, [
        [1, 'a'],
        [2, 10_000],
      ])
      await until('more came', () => controller.output('a').length > before)
      expect(controller.output('a').length - before).toBeLessThanOrEqual(10_000)
    }
    expect(controller.output('a').equals(supervisor.file('a', 'stdout.log'))).toBe(true)
    controller.tell(requests.endInput, [[1, 'a']])
    await controller.ended('a')
  })

  test('a listener that gives back what it got has all of it before the end, also where the run was faster', async (supervisor) => {
    using controller = await supervisor.connect()
    controller.giveBack()
    await supervisor.start(controller, 'a', sh('seq 1 200000'), [everything, [19, 50_000]])
    await controller.ended('a')
    expect(controller.output('a').equals(supervisor.file('a', 'stdout.log'))).toBe(true)
  })

  test('the end does not wait for a listener that gives nothing back, nor for one that does not read', async (supervisor) => {
    using controller = await supervisor.connect()
    using deaf = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 300000; read x'), [everything, [19, 1_000], open])
    deaf.pause()
    deaf.tell(requests.watch, [[1, 'a'], everything, [19, 2 ** 40], [21, 0], [21, 0]])
    controller.tell(requests.endInput, [[1, 'a']])
    await controller.ended('a')
    expect(controller.output('a').length).toBe(1_000)
    expect(supervisor.record('a')).toMatchObject({ exitCode: 1, stdout: { lines: 300_000 } })
    deaf.resume()
    await deaf.ended('a')
  })

  test('a listener to the tail gets the newest bytes and is told what it missed by their offset', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 400000; read x; seq 1 3'), [tail, [20, 100], open])
    await until('all is in the log', () => supervisor.file('a', 'stdout.log').length === 2_688_895)
    await until('the newest came', () => controller.output('a').toString().endsWith('\n400000\n'))
    const pieces = controller.pieces('a', 1)
    const log = supervisor.file('a', 'stdout.log')
    let end = 0
    let jumps = 0
    for (const { offset, bytes } of pieces) {
      expect(offset).toBeGreaterThanOrEqual(end)
      if (offset > end) jumps += 1
      end = offset + bytes.length
      expect(bytes.equals(log.subarray(offset, end))).toBe(true)
    }
    expect(end).toBe(2_688_895)
    expect(jumps).toBeGreaterThan(0)
    controller.tell(requests.input, [
      [1, 'a'],
      [2, '\n'],
    ])
    await controller.ended('a')
    expect(controller.output('a').toString().endsWith('\n1\n2\n3\n')).toBe(true)
  })

  test('whoever comes later listens from the offset that it names, or from now', async (supervisor) => {
    using controller = await supervisor.connect()
    using later = await supervisor.connect()
    using last = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('printf 0123456789; printf abcdef >&2; read x; printf XYZ'), [everything, open])
    await until('all came', () => controller.output('a', 1).length + controller.output('a', 2).length === 16)
    const status = await later.ask(requests.watch, [[1, 'a'], everything, [21, 7], [21, 4]])
    expect([numberOf(status, 2), numberOf(status, 6), numberOf(status, 8), numberOf(status, 11)]).toEqual([1, 10, 6, 1])
    await last.ask(requests.watch, [[1, 'a'], everything])
    await controller.ask(requests.input, [
      [1, 'a'],
      [2, '\n'],
    ])
    expect(await later.ended('a')).toEqual(await controller.ended('a'))
    await last.ended('a')
    expect(later.pieces('a', 1)[0]?.offset).toBe(7)
    expect(later.output('a', 1).toString()).toBe('789XYZ')
    expect(later.output('a', 2).toString()).toBe('ef')
    expect(last.output('a', 1).toString()).toBe('XYZ')
    expect(last.output('a', 2).toString()).toBe('')
  })

  test('whoever listens no more is told nothing more', async (supervisor) => {
    using controller = await supervisor.connect()
    using other = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('echo one; read x; echo two'), [everything, open])
    await other.ask(requests.watch, [
      [1, 'a'],
      [18, 0],
    ])
    await until('the first line came', () => controller.output('a').length > 0)
    expect((await controller.ask(requests.unwatch, [[1, 'a']])).type).toBe(answers.ok)
    await controller.ask(requests.input, [
      [1, 'a'],
      [2, '\n'],
    ])
    await other.ended('a')
    await controller.ask(requests.ping)
    expect(controller.output('a').toString()).toBe('one\n')
    expect(controller.heard.some(({ type }) => type === answers.ended)).toBe(false)
  })

  test('when its controller goes a run goes on, one that is bound to it is canceled, and fed input ends', async (supervisor) => {
    const controller = await supervisor.connect()
    using watcher = await supervisor.connect()
    await supervisor.start(controller, 'free', ['/bin/cat'], [open])
    await supervisor.start(controller, 'fed', sh('cat; echo over'), [fed])
    await supervisor.start(controller, 'bound', ['/bin/sleep', '300'], [[16, 1]])
    for (const run of ['free', 'fed', 'bound']) await watcher.ask(requests.watch, [[1, run], everything])
    controller.close()
    expect(await watcher.ended('bound')).toMatchObject({ cut: { kind: 'canceled' }, signal: 15 })
    expect(await watcher.ended('fed')).toMatchObject({ cut: null, exitCode: 0, stdout: { bytes: 5 } })
    expect(numberOf(await watcher.ask(requests.status, [[1, 'free']]), 2)).toBe(1)
    expect(
      (
        await watcher.ask(requests.input, [
          [1, 'free'],
          [2, 'still here\n'],
        ])
      ).type,
    ).toBe(answers.taken)
    watcher.tell(requests.endInput, [[1, 'free']])
    expect(await watcher.ended('free')).toMatchObject({ exitCode: 0, stdout: { bytes: 11 } })
  })

  test('a signal goes to the whole tree, and the tree can be listed', async (supervisor) => {
    using controller = await supervisor.connect()
    const script = "trap 'echo got it' USR1; (trap 'echo child too; exit' USR1; echo ready; while :; do sleep 0.01; done) & wait; wait; echo done"
    const started = await supervisor.start(controller, 'a', sh(script), [everything])
    await until('it is ready', () => controller.output('a').length > 0)
    const listed = allOf(await controller.ask(requests.tree, [[1, 'a']]), 2)
    expect(listed[0]).toMatch(new RegExp(`^${numberOf(started, 2)} ${textOf(started, 3)} \\d+ [01] sh$`))
    expect(listed.length).toBeGreaterThanOrEqual(2)
    expect(
      numberOf(
        await controller.ask(requests.signal, [
          [1, 'a'],
          [2, 10],
        ]),
        2,
      ),
    ).toBeGreaterThanOrEqual(2)
    await controller.ended('a')
    expect(controller.output('a').toString()).toContain('got it')
    expect(controller.output('a').toString()).toContain('child too')
  })

  test('a pseudo-terminal has a size, which can be changed, takes keys and ends its input', async (supervisor) => {
    using controller = await supervisor.connect()
    const script = 'test -t 0 && test -t 1 && test -t 2 && stty size; trap \'stty size\' WINCH; echo ready; while read line; do echo "<$line>"; done; echo over'
    await supervisor.start(controller, 'a', ['/bin/bash', '-c', script], [everything, open, [9, 31], [10, 97]])
    await until('it is ready', () => controller.output('a').toString().includes('ready'))
    expect(controller.output('a').toString()).toContain('31 97')
    expect(
      (
        await controller.ask(requests.resize, [
          [1, 'a'],
          [9, 12],
          [10, 34],
        ])
      ).type,
    ).toBe(answers.ok)
    expect(
      (
        await controller.ask(requests.input, [
          [1, 'a'],
          [2, 'word\n'],
        ])
      ).type,
    ).toBe(answers.taken)
    await until('it answered', () => controller.output('a').toString().includes('<word>'))
    await until('it saw the new size', () => controller.output('a').toString().includes('12 34'))
    controller.tell(requests.input, [
      [1, 'a'],
      [2, 'unfinished'],
    ])
    controller.tell(requests.endInput, [[1, 'a']])
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 0, stderr: { bytes: 0 } })
    expect(controller.output('a').toString()).toContain('over')
  })

  test('a pseudo-terminal without input is at its end at once', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('test -t 0 && cat; echo over'), [everything, [9, 24], [10, 80]])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    expect(controller.output('a').toString()).toContain('over')
  })

  test('keys of a pseudo-terminal interrupt', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('echo ready; exec sleep 300'), [everything, open, [9, 24], [10, 80]])
    await until('it is ready', () => controller.output('a').toString().includes('ready'))
    controller.tell(requests.input, [
      [1, 'a'],
      [2, '\x03'],
    ])
    expect(await controller.ended('a')).toMatchObject({ signal: 2, cut: null })
  })

  test('only a pseudo-terminal has a size', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    expect(
      textOf(
        await controller.ask(requests.resize, [
          [1, 'a'],
          [9, 12],
          [10, 34],
        ]),
        1,
      ),
    ).toBe('invalid')
    expect(
      textOf(
        await controller.ask(requests.resize, [
          [1, 'a'],
          [9, 0],
          [10, 34],
        ]),
        3,
      ),
    ).toBe('rows')
  })

  test('a log at its limit keeps head and tail and states the gap', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 100000'), [[14, 10_000]])
    const { stdout } = await controller.ended('a')
    expect(stdout.bytes).toBe(588_895)
    expect(stdout.gap?.bytes).toBe(stdout.droppedBytes)
    const log = supervisor.file('a', 'stdout.log').toString()
    expect(log.startsWith('1\n2\n3\n')).toBe(true)
    expect(log).toContain('[holdfast: ')
    expect(log.endsWith('\n99999\n100000\n')).toBe(true)
  })

  test('sixty-four commands at once all end, and none leaves a zombie or a descriptor', async (supervisor) => {
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    await supervisor.start(controller, 'first', ['/bin/true'])
    await controller.ended('first')
    const before = execFileSync('ls', [`/proc/${pid}/fd`]).toString()
    const runs = Array.from({ length: 64 }, (_, at) => `run-${at}`)
    const started = runs.map((run, at) => supervisor.start(controller, run, sh(`echo ${at}; (sleep 0.05; exit 9) & wait; exit ${at}`)))
    for (const said of await Promise.all(started)) expect(said.type).toBe(answers.started)
    for (const [at, run] of runs.entries())
      expect(await controller.ended(run)).toMatchObject({ exitCode: at, stdout: { bytes: `${at}\n`.length }, leftovers: [] })
    expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()).toBe('')
    expect(execFileSync('ls', [`/proc/${pid}/fd`]).toString()).toBe(before)
  })

  test('what loses its parent is waited for', async (supervisor) => {
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    await supervisor.start(controller, 'a', sh('for i in 1 2 3 4 5; do (setsid sh -c "sleep 0.1" >/dev/null 2>&1 &); done; sleep 0.4'))
    await controller.ended('a')
    await until('no child is left', () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim() === '')
  })

  test('memory does not follow the output', async (supervisor) => {
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    const peak = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
    await supervisor.start(controller, 'small', sh('seq 1 1000'), [tail])
    await controller.ended('small')
    const before = peak()
    await supervisor.start(controller, 'large', ['/bin/dd', 'if=/dev/zero', 'bs=65536', 'count=4096', 'status=none'], [tail, [14, 8_000_000]])
    expect(await controller.ended('large')).toMatchObject({ exitCode: 0, stdout: { bytes: 268_435_456 } })
    expect(peak() - before).toBeLessThan(program.endsByItself ? 100_000 : 3_000)
  }, 60_000)

  test('a full disk costs the log and not the command, and the last bytes are in the record', async (supervisor) => {
    using controller = await supervisor.connect()
    const terms = supervisor.terms('a', sh('echo to nowhere; echo err >&2; exit 3'), [everything])
    rmSync(supervisor.folder('a'), { recursive: true })
    mkdirSync(supervisor.folder('a'))
    // Something is in the way of the log.
    mkdirSync(`${supervisor.folder('a')}/stdout.log`)
    await controller.ask(requests.start, terms)
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 3, failures: [{ stream: 'stdout', errno: 'EISDIR' }], stderr: { bytes: 4, droppedBytes: 0 } })
    expect(Buffer.from(record.unsaved?.stdout ?? '', 'base64').toString()).toBe('to nowhere\n')
    expect(record.stdout).toMatchObject({ bytes: 11, lines: 1, droppedBytes: 11 })
    expect(controller.output('a').toString()).toBe('to nowhere\n')
  })

  test('an end record that cannot be written is told and written later', async (supervisor) => {
    using controller = await supervisor.connect()
    const terms = supervisor.terms('a', ['/bin/true'])
    mkdirSync(`${supervisor.folder('a')}/end.json`)
    await controller.ask(requests.start, terms)
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    rmSync(`${supervisor.folder('a')}/end.json`, { recursive: true })
    await until('it is written', () => supervisor.record('a')?.exitCode === 0)
  })

  test('a command runs in a session of its own with the mark and the environment that it was given', async (supervisor) => {
    using controller = await supervisor.connect()
    const started = await supervisor.start(controller, 'a', sh('echo "$HOLDFAST_RUN $PWD"; cut -d" " -f4-7 /proc/$$/stat; umask; ls /proc/$$/fd'), [everything])
    await controller.ended('a')
    const pid = numberOf(started, 2)
    const [first, ids, mask, ...descriptors] = controller.output('a').toString().trim().split('\n')
    expect(first).toBe(`${supervisor.mark('a')} ${supervisor.world.root}`)
    expect(ids).toBe(`${await supervisor.innerPid()} ${pid} ${pid} 0`)
    expect(descriptors).toEqual(['0', '1', '2'])
    expect(Number.parseInt(mask ?? '', 8)).toBe(process.umask())
  })

  test('no text of the supervisor can be found by who looks for processes', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(
      controller,
      'a',
      sh(
        ': a text to look for; p=$PPID; while [ $p -gt 1 ]; do tr "\\0" " " < /proc/$p/cmdline; tr "\\0" " " < /proc/$p/environ; p=$(cut -d" " -f4 /proc/$p/stat); [ "$p" = ' +
          `${process.pid}` +
          ' ] && break; done',
      ),
      [everything],
    )
    await controller.ended('a')
    expect(controller.output('a').toString()).not.toMatch(/socket|holdfast|PATH|look for/)
  })

  test('files and folders of a run are for its user alone', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('echo a; echo b >&2; echo c'))
    await controller.ended('a')
    const modes = execFileSync('sh', ['-c', `stat -c %a ${supervisor.folder('a')}/*`]).toString()
    expect(new Set(modes.trim().split('\n'))).toEqual(new Set(['600']))
    chmodSync(supervisor.folder('a'), 0o700)
  })

  test('the first process is told by pid and start time', async (supervisor) => {
    using controller = await supervisor.connect()
    const started = await supervisor.start(controller, 'a', ['/bin/cat'], [open])
    expect(readStat(numberOf(started, 2))?.startTime).toBe(textOf(started, 3))
    expect(bytesOf(await controller.ask(requests.status, [[1, 'a']]), 4).toString()).toBe(textOf(started, 3))
  })
}
