import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { readStat } from '../src/process/identity.ts'
import { answers, requests } from '../src/supervisor/frames.ts'
import {
  bytesOf,
  everything,
  numberOf,
  open,
  type Said,
  type SupervisorProgram,
  sh,
  stopOf,
  testsWith,
  textOf,
  until,
} from '../test/support/bare-supervisor.ts'

/* What the supervisor promises of commands: how they start, what they are given, what is recorded of them. Keys of fields are those of docs/supervisor-protocol.md. */

const fed = [6, 1] as const

export function declareCommandTests(program: SupervisorProgram): void {
  const test = testsWith(program)

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
    await controller.ask(requests.stop, stopOf('a'))
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

  test('a command that closes its pseudo-terminal goes on, may open it again, and ends as it wants to', async (supervisor) => {
    using controller = await supervisor.connect()
    const gate = supervisor.world.path('gate')
    const script = `echo before; exec </dev/null >/dev/null 2>&1; while ! [ -e ${gate} ]; do sleep 0.02; done; echo again >/dev/tty; exit 4`
    await supervisor.start(controller, 'a', sh(script), [everything, [9, 24], [10, 80]])
    await until('it has closed it', () => controller.output('a').toString() === 'before\r\n')
    for (let round = 0; round < 20; round += 1) {
      await supervisor.start(
        controller,
        `b${round}`,
        ['/bin/sh', '-c', 'exec <&- >&- 2>&-; exit 7'],
        [
          [9, 24],
          [10, 80],
        ],
      )
      expect(await controller.ended(`b${round}`)).toMatchObject({ exitCode: 7, signal: null })
    }
    writeFileSync(gate, '')
    expect(await controller.ended('a')).toMatchObject({ exitCode: 4, signal: null })
    expect(controller.output('a').toString()).toBe('before\r\nagain\r\n')
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

  test('a command has the mode mask, the limits and the nice value of whoever asks for it', async (supervisor) => {
    using controller = await supervisor.connect()
    const look = sh('umask; ulimit -t; ulimit -Hc; ulimit -c; ulimit -f; nice')
    const terms = [everything, [23, 0o27], [24, 'cpu 77 88'], [24, 'core 0 4096'], [24, 'fsize unlimited unlimited'], [24, 'unheard-of 1 2'], [25, 23]] as const
    await supervisor.start(controller, 'a', look, terms)
    await controller.ended('a')
    expect(controller.output('a').toString().split('\n')).toEqual(['0027', '77', '8', '0', 'unlimited', '3', ''])
    // What the supervisor was started with, where it is not said.
    await supervisor.start(controller, 'b', look, [everything])
    await controller.ended('b')
    const usual = execFileSync('/bin/sh', ['-c', 'umask; ulimit -t; ulimit -Hc; ulimit -c; ulimit -f; nice'], { encoding: 'utf8' })
    expect(controller.output('b').toString()).toBe(usual)
    for (const [field, value] of [
      [24, 'cpu'],
      [24, 'cpu 1'],
      [24, 'cpu 2 1'],
      [24, 'cpu 1 2 '],
      [24, 'cpu -1 2'],
      [24, `cpu 1 ${'2'.repeat(100)}`],
      [23, 0o1000],
      [25, 40],
    ] as const) {
      const refused = await supervisor.start(controller, 'c', ['/bin/true'], [[field, value]])
      expect([value, refused.type, textOf(refused, 1)]).toEqual([value, answers.error, 'invalid'])
    }
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
