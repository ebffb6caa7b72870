import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { EndRecord } from '../src/core/end-record.ts'
import { answers, requests } from '../src/supervisor/frames.ts'
import {
  allOf,
  everything,
  numberOf,
  open,
  processesWith,
  type SupervisorProgram,
  sh,
  stopOf,
  testsWith,
  textOf,
  uniqueText,
  until,
} from '../test/support/bare-supervisor.ts'

/* What the supervisor promises of the end of a run: limits, stops, signals, what is left behind. Keys of fields are those of docs/supervisor-protocol.md. */

const fed = [6, 1] as const

export function declareEndingTests(program: SupervisorProgram): void {
  const test = testsWith(program)

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
    const asked = [controller.ask(requests.stop, stopOf('a')), other.ask(requests.stop, stopOf('a')), controller.ask(requests.stop, stopOf('a'))]
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
    const polite = controller.ask(requests.stop, stopOf('a', 2, 60_000))
    await until('it got INT', () => controller.output('a').toString().includes('INT'))
    const before = performance.now()
    await controller.ask(requests.stop, stopOf('a', 9))
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
    expect(numberOf(await controller.ask(requests.stop, stopOf('a', 9)), 2)).toBe(0)
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
    expect(numberOf(await controller.ask(requests.stop, stopOf('a')), 2)).toBe(0)
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
    expect(numberOf(await controller.ask(requests.stop, stopOf('a')), 2)).toBe(0)
    expect(processesWith(text)).toEqual([])
    expect(textOf(await controller.ask(requests.stop, stopOf('a')), 1)).toBe('no_such_run')
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
    expect(numberOf(await controller.ask(requests.stop, stopOf('a', 15, 100)), 2)).toBe(0)
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
    expect(numberOf(await controller.ask(requests.stop, stopOf('a')), 2)).toBe(0)
    await until('the record is late', () => supervisor.record('a')?.late === true)
    const late = supervisor.record('a') as EndRecord
    expect(late.stdout.bytes).toBeGreaterThan(100_000)
    expect(late.stdout.gap?.bytes).toBe(late.stdout.droppedBytes)
    expect(supervisor.file('a', 'stdout.log').length).toBeLessThan(101_000)
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
}
