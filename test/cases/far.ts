import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest'
import type { ExecInput, Holdfast, RunResult, Target } from '../../src/index.ts'
import { caseFile, caseText, describeCases, exited, fakeSecrets, logOf, runCli, runProgram, until } from './place.ts'

/*
 * The inputs of groups A to E and H on a place that is not this machine, by the library. What they are as commands of this machine is in the
 * files beside this one; here they show that no way to a place changes what becomes of them. Files and faults of the ways themselves
 * (B041, B074, B075, B088, B089) are in test/conformance/files.ts and in the tests of the backends.
 */

export interface FarPlace {
  readonly holdfast: Holdfast
  /** Also under the name `box`, for the command line. */
  readonly target: Target
  /** The folder here that Holdfast works in. */
  readonly root: string
  /** The variables that Holdfast was opened with. */
  readonly env: Readonly<Record<string, string>>
  /** Another Holdfast at the same place, as another process has it. */
  again(): Promise<Holdfast>
  close(): Promise<void>
}

export interface FarCases {
  open(): Promise<FarPlace>
  /** Whether a supervisor starts the commands. */
  readonly isSupervised: boolean
  /** Whether the first process there is ours. */
  readonly hasOwnInit: boolean
}

interface Bench extends FarCases {
  readonly far: FarPlace
  /** A case there, as a file or with arguments. */
  run(name: string, more?: ExecInput, words?: readonly string[]): Promise<RunResult>
  script(text: string, more?: ExecInput): Promise<RunResult>
  /** How many processes of a run live there, by the table of the place itself. */
  alive(run: RunResult): Promise<number>
  /** Whether there is such a program; says so where there is none. */
  has(program: string, test: TestContext): Promise<boolean>
}

interface Row {
  readonly title: string
  readonly body: (bench: Bench, test: TestContext) => Promise<void>
}

const rows: Row[] = []
const row = (title: string, body: Row['body']): void => void rows.push({ title, body })
/** Everything; else no rows that take long and have their like in test/conformance/backend.ts. */
const isWhole = process.env.HOLDFAST_TEST_ALL === '1'
const longRow: typeof row = (title, body) => {
  if (isWhole) row(title, body)
}

const rowMs = 90_000
const memoryProgram = fileURLToPath(new URL('memory-program.mjs', import.meta.url))
const library = fileURLToPath(new URL('../../dist/index.mjs', import.meta.url))

/** All rows at the same time, in one place. */
export function describeFarCases(name: string, suite: FarCases): void {
  describeCases(`cases: ${name}`, () => {
    let far: FarPlace

    beforeAll(async () => {
      far = await suite.open()
    }, rowMs)
    afterAll(() => far?.close(), rowMs)

    const benchOf = (): Bench => {
      const exec = (input: ExecInput): Promise<RunResult> => far.holdfast.exec({ target: far.target, ...input })
      const script: Bench['script'] = (text, more = {}) => exec({ script: text, ...more })
      const running = async (id: string): Promise<number> => {
        const found = await script(
          `for f in /proc/[0-9]*; do
            if tr '\\0' '\\n' < $f/environ 2>/dev/null | grep -q "^HOLDFAST_RUN=.*$WANTED" && ! grep -q '^State:.Z' $f/status; then echo alive; fi
          done 2>/dev/null; echo end`,
          { env: { WANTED: id } },
        )
        expect(logOf(found)).toMatch(/end\n$/)
        return logOf(found).split('alive').length - 1
      }
      return {
        ...suite,
        far,
        script,
        run: (file, more = {}, words) => (words ? exec({ argv: ['bash', '-c', caseText(file), file, ...words], ...more }) : script(caseText(file), more)),
        alive: ({ id }) => running(id),
        async has(program, test) {
          const isThere = (await script(`command -v ${program}`)).outcome?.exitCode === 0
          if (!isThere) test.skip(`no ${program} there`)
          return isThere
        },
      }
    }
    for (const { title, body } of rows) it.concurrent(title, async (test) => body(benchOf(), test), rowMs)
  })
}

/** As the shell of this machine does it. */
const plainly = (argv: readonly [string, ...string[]]) =>
  spawnSync(argv[0], argv.slice(1), { env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' }, maxBuffer: 10_000_000 })
const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
const rawOf = (run: RunResult, stream: 'stdout' | 'stderr' = 'stdout'): Buffer =>
  existsSync(run[stream].path) ? readFileSync(run[stream].path) : Buffer.alloc(0)

const readIfThere = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

// ---- A: pipes held open, time limits, what is left behind

longRow('B001, B002: a child that holds the pipes, silent or writing, delays no result and is named', async ({ run, script, alive }) => {
  // A program of busybox goes by its name.
  const holding = caseText('B001.sh').replace('exec -a b001-holder ', 'exec ')
  const [silent, writing, ended] = await Promise.all([script(holding), run('B002.sh'), script(holding, { leftovers: 'kill' })])
  expect([silent.outcome, logOf(silent), silent.leftovers.length]).toEqual([exited(0), 'start\ndone\n', 1])
  expect(silent.digest).toContain(String(silent.leftovers[0]?.pid))
  expect(silent.durationMs).toBeLessThan(15_000)
  expect([writing.outcome, logOf(writing).includes('Foreground done\n')]).toEqual([exited(0), true])
  expect(writing.durationMs).toBeLessThan(15_000)
  expect([ended.outcome, ended.leftovers, await alive(ended)]).toEqual([exited(0), [], 0])
})

longRow('B004, B008: at its limit a run ends with reader, writer and all output so far', async ({ run, alive }) => {
  const [fifo, halfLine] = await Promise.all([run('B004.sh', { timeoutMs: 4_000 }), run('B008.sh', { timeoutMs: 4_000 })])
  expect(fifo.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall' })
  expect(logOf(fifo)).toContain('child 1\nchild 2\n')
  expect(halfLine.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall' })
  expect(logOf(halfLine)).toBe('step 1 ok\nstep 2 ok\nstep 3 ok\nstep 4 ok\nstep 5 ok\nConnecting to 203.0.113.7 ...')
  expect(logOf(halfLine, 'stderr')).toBe('warning: on stderr\n')
  expect(await Promise.all([alive(fifo), alive(halfLine)])).toEqual([0, 0])
})

longRow('B005: a tree that ignores TERM is killed after the grace, at its limit and when it is canceled', async ({ run, alive, isSupervised }) => {
  const cancel = new AbortController()
  const [late, canceled] = await Promise.all([
    run('B005.sh', { timeoutMs: 3_000, graceMs: 500 }),
    run('B005.sh', { graceMs: 500, signal: cancel.signal, onOutput: () => cancel.abort() } as ExecInput),
  ])
  const killed = isSupervised ? { exitCode: 137, signal: 'SIGKILL' } : { exitCode: 137 }
  expect(late.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall', ...killed })
  expect(canceled.outcome).toMatchObject({ kind: 'canceled', limit: null, ...killed })
  for (const ended of [late, canceled]) expect([logOf(ended), await alive(ended)]).toEqual(['ignoring TERM\n', 0])
})

longRow('B007: a trap gets its chance before the kill', async ({ run, script, alive }) => {
  const ended = await run('B007.sh', { timeoutMs: 3_000, env: { B007_FILE: '/tmp/b007-sentinel' } })
  expect(ended.outcome).toEqual({ kind: 'timed_out', limit: 'wall', exitCode: 143, signal: null })
  expect(logOf(ended)).toBe('sentinel=/tmp/b007-sentinel\ncleanup ran\n')
  expect([logOf(await script('cat /tmp/b007-sentinel; rm /tmp/b007-sentinel')), await alive(ended)]).toEqual(['cleanup ran\n', 0])
})

longRow('B010: what a server has started ends with it, and its port is free', async ({ script, far, isSupervised, alive }) => {
  // The case without Node: who leads leaves at once, and the program that listens stays.
  const shape = `trap 'exit 0' TERM; sh -c 'n=$(command -v busybox); $n nc -l -p "$PORT"; :' & wait`
  const port = 20_000 + Math.floor(Math.random() * 10_000)
  const count = async (): Promise<string> =>
    logOf(await script(`grep -ciE ":$(printf %04X ${port}) 0+:0000 0A" /proc/net/tcp /proc/net/tcp6 | sed 's/.*://' | grep -c 1`))
  for (let round = 0; round < 2; round += 1) {
    const server = await script(shape, { env: { PORT: String(port) }, ...(isSupervised ? { detach: true } : { waitMs: 300 }) })
    await until('it listens', async () => (await count()) === '1\n', 30_000)
    expect(await far.holdfast.stop({ run: server.id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' }, leftovers: [] })
    expect([await count(), await alive(server)]).toEqual(['0\n', 0])
  }
})

row('B070: a child that ignores TERM does no later work, and the place is the same one as before', async ({ run, script, alive }) => {
  const before = logOf(await script('echo kept > /tmp/b070; mkdir b070-late b070-canceled; cat /proc/sys/kernel/random/boot_id; hostname'))
  const cancel = new AbortController()
  const ended = await Promise.all([
    run('B070.sh', { cwd: 'b070-late', timeoutMs: 2_000, graceMs: 300 }),
    run('B070.sh', { cwd: 'b070-canceled', graceMs: 300, signal: cancel.signal, onOutput: () => cancel.abort() } as ExecInput),
  ])
  expect(ended.map(({ outcome }) => outcome?.kind)).toEqual(['timed_out', 'canceled'])
  for (const each of ended) expect([logOf(each), await alive(each)]).toEqual(['armed\n', 0])
  const after = await script('cat /tmp/b070 && rm /tmp/b070 && ls -A b070-late b070-canceled; cat /proc/sys/kernel/random/boot_id; hostname')
  expect(logOf(after)).toBe(`kept\nb070-canceled:\n\nb070-late:\n${before}`)
})

row('B071: what loses its parent does not stay in the table of processes', async ({ run, hasOwnInit }, test) => {
  if (!hasOwnInit) return test.skip('the first process there is not ours')
  expect(logOf(await run('B071.sh'))).toMatch(/ zombies-under-pid1=0\n$/)
})

row('B082: a command that looks for its own text finds its own shell at most, and pkill ends nobody else', async ({ run, script, far }) => {
  const text = `${caseText('B082.sh').replace(/^exit 0$/m, '')}\n: b082-unique-text`
  const matching = (result: RunResult): number => Number(/ancestors that match: (\d+)/.exec(logOf(result))?.[1])
  const asArgument = await far.holdfast.exec({ target: far.target, argv: ['bash', '-c', text] })
  expect([matching(await script(text)), matching(asArgument) <= 1]).toEqual([0, true])
  const own = 'b082-own-text'
  const pkill = `p() { for f in /proc/[0-9]*; do tr '\\0' ' ' < $f/cmdline 2>/dev/null | grep -q "$1" && [ $f != /proc/$$ ] && kill -9 \${f#/proc/}; done 2>/dev/null; :; }`
  const spared = await far.holdfast.exec({ target: far.target, argv: ['bash', '-c', `${pkill}; p ${own}; echo survived`] })
  expect([spared.outcome, logOf(spared)]).toEqual([exited(0), 'survived\n'])
  expect((await run('B082.sh')).outcome).toEqual(exited(0))
})

// ---- B: stdin, prompts, editors

row('B011: without input a command reads end-of-file at once, and what is given arrives before it', async ({ run, isSupervised }) => {
  const background = isSupervised ? { detach: true, waitMs: 20_000 } : {}
  for (const more of [{}, background]) {
    const [none, given] = await Promise.all([run('B011.sh', more), run('B011.sh', { stdin: 'yes\nmore\n', ...more })])
    expect([none.outcome, given.outcome]).toEqual([exited(0), exited(0)])
    expect(logOf(none)).toMatch(/read-rc=1 answer=<>\ncat-rc=0\nwaited=[01]\n/)
    expect(logOf(given)).toMatch(/read-rc=0 answer=<yes>\ncat-rc=0\nwaited=[01]\n/)
  }
})

row('B012, B014, B032: git opens no editor but the one that a command names; a silent success says so', async ({ run, has }, test) => {
  if (!(await has('git', test))) return
  const [editor, named, silent] = await Promise.all([run('B012.sh', { timeoutMs: 60_000 }), run('B014.sh', { timeoutMs: 30_000 }), run('B032.sh')])
  expect([editor.outcome, /no editor|empty commit message/i.test(editor.digest), logOf(editor, 'stderr').includes('EDITOR-OPENED')]).toEqual([
    exited(1),
    true,
    false,
  ])
  expect([named.outcome, logOf(named)]).toEqual([exited(0), 'core.editor rc=0\nGIT_EDITOR rc=0\n'])
  // An image of a git alone has no templates, and git says so.
  const said = logOf(silent, 'stderr').replace(/^warning: templates not found .*\n/, '')
  expect([silent.outcome, silent.stdout.bytes, said]).toEqual([exited(0), 0, ''])
  if (silent.stderr.bytes === 0) expect(silent.digest).toMatch(/no output|empty/)
})

row('B015: there is no terminal to ask on', async ({ run }) => {
  const asked = await run('B015.sh', { idleTimeoutMs: 15_000 })
  expect(asked.outcome).toEqual(exited(1))
  expect(logOf(asked, 'stderr')).toContain('[sudo] password for dev: ')
  expect(asked.digest).toContain('a terminal is required')
})

row('B016 to B018: a script is what it is in the shell, finished or not', async ({ run, script }) => {
  for (const [name, status, out, err] of [
    ['B016.cmd', 0, 'hello\n  EOF\n', /warning: here-document/],
    ['B016b.cmd', 2, '', /unexpected EOF/],
    ['B017.cmd', 0, "body $HOME `x` it's\n", /^$/],
    ['B018.cmd', 0, 'ok\n', /^$/],
    ['B018b.cmd', 0, 'bg-ok\n', /^$/],
  ] as const) {
    const result = await run(name)
    expect([name, result.outcome, logOf(result)]).toEqual([name, exited(status), out])
    expect(logOf(result, 'stderr')).toMatch(err)
  }
  expect(logOf(await script('echo next'))).toBe('next\n')
})

row('B019: options, an exit and a closed stdout of one command mean nothing to the next', async ({ script }) => {
  interface Step {
    readonly exec: string
    readonly expectExit?: number
    readonly expectOut?: string
    readonly expectNot?: string
  }
  for (const step of JSON.parse(caseText('B019.seq.json')) as Step[]) {
    const result = await script(step.exec, { timeoutMs: 30_000 })
    if (step.expectExit === undefined) expect(result.outcome?.exitCode).not.toBe(0)
    else expect(result.outcome).toEqual(exited(step.expectExit))
    if (step.expectOut !== undefined) expect(logOf(result)).toBe(`${step.expectOut.trimEnd()}\n`)
    if (step.expectNot !== undefined) expect(logOf(result)).not.toContain(step.expectNot)
  }
})

// ---- C: output

longRow('B021, B022: much output, of lines or in one, costs little memory, and its end is shown and found', async ({ far }) => {
  for (const [name, status, bytes, last] of [
    ['B021.sh', 1, 52_428_827, 'ERROR: b021-needle-at-end'],
    ['B022.sh', 0, 20_971_534, 'b022-tail-ok'],
  ] as const) {
    const args = ['--expose-gc', memoryProgram, library, far.root, '0', 'bash', '-c', caseText(name)]
    const measured = await runProgram(process.execPath, args, { cwd: far.root, env: { ...far.env, MEMORY_TARGET: 'box' } })
    const { run, grewBytes } = measured.json<{ run: RunResult; grewBytes: number }>()
    expect([name, run.outcome, run.stdout.bytes, run.digest.includes(last)]).toEqual([name, exited(status), bytes, true])
    expect(grewBytes).toBeLessThan(64 * 1024 * 1024)
    expect((await far.holdfast.search({ query: last })).hits[0]).toMatchObject({ run: run.id, text: last, line: run.stdout.lines })
  }
})

longRow('B023: few long lines keep their beginning and their end', async ({ run }) => {
  const result = await run('B023.sh', { maxOutputBytes: 100_000 })
  expect([result.outcome, result.stdout.bytes, result.stdout.lines]).toEqual([exited(101), 200 * 4001 + 48, 201])
  expect(result.digest).toContain('error[E0999]: b023 build failed at src/lib.rs:7')
  expect(rawOf(result).length).toBeLessThanOrEqual(110_000)
})

row('B025: a character that is split over writes arrives whole', async ({ far }) => {
  const live = { stdout: '', stderr: '' }
  const bytewise = [...Buffer.from('€🔥é👩‍💻')].map((byte) => `printf '\\x${byte.toString(16)}'; printf '\\x${byte.toString(16)}' >&2; sleep 0.02`).join('; ')
  const result = await far.holdfast.exec({
    target: far.target,
    script: `${bytewise}; echo; cat | while IFS= read -r -N 1021 part || [ -n "$part" ]; do printf %s "$part"; done; echo >&2`,
    env: { LC_ALL: 'C' },
    stdin: '你'.repeat(50_000),
    onOutput: ({ stream, text }: { stream: 'stdout' | 'stderr'; text: string }) => {
      live[stream] += text
    },
  } as ExecInput)
  expect(result.outcome).toEqual(exited(0))
  expect([live.stdout === `€🔥é👩‍💻\n${'你'.repeat(50_000)}`, live.stdout === logOf(result), live.stderr]).toEqual([true, true, '€🔥é👩‍💻\n'])
})

row('B026, B027, B030, B084: bytes that are no text, escapes and marks of others are kept as they are', async ({ run, far }) => {
  for (const [name, status] of [
    ['B026.sh', 0],
    ['B027.sh', 0],
    ['B030.sh', 0],
    ['B084.sh', 9],
  ] as const) {
    const here = plainly(['bash', caseFile(name)])
    const result = await run(name)
    expect([name, result.outcome, rawOf(result).equals(here.stdout), rawOf(result, 'stderr').equals(here.stderr)]).toEqual([name, exited(status), true, true])
    const { text } = await far.holdfast.output({ run: result.id, maxBytes: 100_000 })
    expect(`${text}${result.digest}`).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  }
  for (const query of ['b026-word', 'b027-end']) expect((await far.holdfast.search({ query })).hits.length).toBeGreaterThan(0)
})

row('B027: a NUL is refused before anything is asked of the place', async ({ script, far }) => {
  for (const input of [{ script: 'a\0b' }, { argv: ['a\0b'] }, { argv: ['true'], cwd: 'a\0b' }, { argv: ['true'], env: { A: 'a\0b' } }] as ExecInput[])
    await expect(far.holdfast.exec({ target: far.target, ...input })).rejects.toMatchObject({ code: 'invalid_argument' })
  expect((await script('exit 0')).outcome).toEqual(exited(0))
})

row('B029: of progress frames the last one is shown', async ({ run, far }) => {
  const result = await run('B029.sh', {}, [])
  const { lines } = await far.holdfast.output({ run: result.id })
  // Which stream comes first is known under a supervisor alone.
  const of = (wanted: string) => lines.flatMap(({ stream, text }) => (stream === wanted ? [text] : []))
  expect([of('stderr'), of('stdout')]).toEqual([['Receiving objects: 100% (5000/5000), done.'], ['first', 'second', 'New']])
  expect(result.digest).toContain('Receiving objects: 100% (5000/5000), done.')
})

longRow('B031, B047: many at once that are over in milliseconds lose nothing and mix nothing up', async ({ run, script }) => {
  const results = await Promise.all(Array.from({ length: 20 }, () => run('B031.sh')))
  for (const result of results) {
    expect([result.outcome, result.stderr.bytes, result.stdout.bytes]).toEqual([exited(1), 20_035, 0])
    expect(logOf(result, 'stderr').endsWith('e\nb031: cannot find module left-pad\n')).toBe(true)
  }
  const ids = Array.from({ length: 20 }, (_, i) => String(i))
  await script(`mkdir b047 && cd b047 && mkdir ${ids.join(' ')}`)
  const body = `awk -v id="$ID" -v d="$PWD" 'BEGIN{for(i=0;i<2000;i++){print "out",id,i,d; if(i%10==0) print "err",id,i > "/dev/stderr"}}'; exit "$ID"`
  const many = await Promise.all(ids.map((ID) => script(body, { cwd: `b047/${ID}`, env: { ID } })))
  many.forEach((result, id) => {
    expect(result.outcome).toEqual(exited(id))
    expect(logOf(result)).toBe(Array.from({ length: 2_000 }, (_, n) => `out ${id} ${n} ${result.cwd}\n`).join(''))
    expect(logOf(result, 'stderr')).toBe(Array.from({ length: 200 }, (_, n) => `err ${id} ${n * 10}\n`).join(''))
  })
})

// ---- D: exit codes, signals, arguments, environment

row('B033: a pipeline ends with the code that the shell gives it', async ({ run, script }) => {
  const [head, last, asked] = await Promise.all([run('B033.cmd'), run('B033b.cmd'), script(`set -o pipefail; ${caseText('B033b.cmd')}`)])
  expect([head.outcome, last.outcome, asked.outcome]).toEqual([exited(0), exited(0), exited(3)])
})

longRow('B034: an end by a signal is one, and no time limit', async ({ run, isSupervised }) => {
  for (const name of ['KILL', 'SEGV', 'TERM', 'PIPE', 'ABRT'] as const) {
    const signal = `SIG${name}` as const
    const exitCode = 128 + constants.signals[signal]
    const result = await run('B034.sh', {}, [name])
    expect(result.outcome).toEqual(isSupervised ? { kind: 'signaled', signal, exitCode, limit: null } : exited(exitCode))
    expect(logOf(result)).toBe(`about to die by ${name}\n`)
  }
})

row('B036: a script of any size runs as it is', async ({ script }) => {
  for (const size of [131_072, 3_000_000]) {
    const [text, expected] = [[], ['expect']].map((more) => plainly([process.execPath, caseFile('B036.js'), String(size), ...more]).stdout.toString())
    expect(logOf(await script(text as string))).toBe(expected)
  }
})

row('B037: a variable that is too large is named, and the next command runs', async ({ script, run }) => {
  await expect(script('true', { env: { BIG: 'x'.repeat(200_000) } })).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringContaining('BIG'),
  })
  expect((await run('B037.sh')).outcome).toEqual(exited(126))
})

row('B039: a working directory that is gone is named, and a valid one works at once', async ({ script }) => {
  await script('mkdir b039')
  expect(logOf(await script('basename "$PWD"', { cwd: 'b039' }))).toBe('b039\n')
  await script('rmdir b039')
  await expect(script('echo hi', { cwd: 'b039' })).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('b039') })
  expect(logOf(await script('echo hi'))).toBe('hi\n')
  expect(logOf(await script('mkdir -p b039x && cd b039x && rmdir ../b039x && echo inside'))).toBe('inside\n')
  expect(logOf(await script('echo next'))).toBe('next\n')
})

row('B043: no secret of Holdfast is in a command or above it, and one that is passed on by its name is', async ({ run, script, far }) => {
  for (const [name, value] of Object.entries(fakeSecrets)) expect(far.env[name]).toBe(value)
  expect(logOf(await run('B043.sh'))).toMatch(/^secrets in own environment: 0; readable in ancestors: 0\n/)
  const passed = await script('test "$GH_TOKEN" = b043-c && echo passed', { passEnv: ['GH_TOKEN'] })
  expect(logOf(passed)).toBe('passed\n')
})

row('B076: quoting arrives as it was written', async ({ run }) => {
  const here = plainly(['bash', '-c', caseText('B076.cmd')]).stdout
  for (const result of [await run('B076.cmd'), await run('B076.cmd', {}, [])]) expect(rawOf(result).equals(here)).toBe(true)
})

longRow('B078: limits too long for a timer do not fire early', async ({ run }) => {
  for (const timeoutMs of [99_999_999_000, 2_147_483_648]) {
    const result = await run('B078.cmd', { timeoutMs })
    expect([result.outcome, logOf(result)]).toEqual([exited(0), 'b078-done\n'])
  }
})

row(
  'B085, B086: a run in the background answers whoever writes to it, and can be read by others once it is over',
  async ({ run, script, far, isSupervised }, test) => {
    if (!isSupervised) return test.skip('without a supervisor a run ends with whoever started it')
    const over = await run('B085.sh', { detach: true })
    const answering = 'echo ready; while IFS= read -r l; do if [ "$l" = BIG ]; then printf "%09000d\\n" 0; else echo "echo $l"; fi; done; exit 6'
    const { id } = await script(answering, { detach: true, interactive: true })
    await far.holdfast.input({ run: id, text: 'one', enter: true })
    await until('it has answered', async () => (await far.holdfast.output({ run: id })).text.endsWith('echo one\n'), 30_000)
    const other = await far.again()
    await other.input({ run: id, text: 'BIG', enter: true })
    for (const text of ['1', '2', '3', '4', '5']) await other.input({ run: id, text, enter: true })
    await other.input({ run: id, end: true })
    const [answered, quick] = await Promise.all([other.wait({ run: id }), other.wait({ run: over.id })])
    expect([answered.outcome, logOf(answered)]).toEqual([
      exited(6),
      `ready\necho one\n${'0'.repeat(9_000)}\n${[1, 2, 3, 4, 5].map((n) => `echo ${n}\n`).join('')}`,
    ])
    expect([quick.outcome, logOf(quick), logOf(quick, 'stderr')]).toEqual([exited(4), 'b085 quick result\n', 'b085 warning\n'])
  },
)

// ---- E, H: what is printed without end; input that ends

longRow('B049: a run that prints without end takes no more here than its limit and a tenth', async ({ run }) => {
  const maxOutputBytes = 2_000_000
  const result = await run('B049.sh', { maxOutputBytes })
  expect([result.outcome, result.stdout.bytes]).toEqual([exited(0), 150_000_000])
  expect(rawOf(result).length).toBeLessThan(1.1 * maxOutputBytes)
  expect(result.stdout.gap).toMatchObject({ bytes: result.stdout.droppedBytes })
  expect(rawOf(result).subarray(-200).toString()).toMatch(/restarting worker/)
})

row('B073: the input can be ended without losing the rest of the output and the status', async ({ run }) => {
  const bytes = Buffer.from(Array.from({ length: 1 << 20 }, (_, i) => (i * 31 + (i >> 8)) & 255))
  const [fed, none] = await Promise.all([
    run('B073.sh', {
      stdin: (async function* () {
        yield bytes
      })(),
    }),
    run('B073.sh'),
  ])
  expect([fed.outcome, logOf(fed), logOf(fed, 'stderr')]).toEqual([exited(0), 'bytes=1048576\nafter-eof\n', `${sha256(bytes).slice(0, 16)}\n`])
  expect([none.outcome, logOf(none)]).toEqual([exited(0), 'bytes=0\nafter-eof\n'])
})

// ---- what users of others complain about, as numbered in test/conformance/complaints.ts

row('complaint 27: kill -9 of whoever waits for a command makes up no end of it; under a supervisor it goes on to its true one', async (bench) => {
  const { script, far, isSupervised, alive } = bench
  await script('mkdir c27')
  let pid = 0
  const argv = ['sh', '-c', 'echo begun; until test -e c27/go; do sleep 0.1; done; echo over; exit 5']
  const killed = runCli(['exec', '--target', 'box', '--json', '--', ...argv], {
    cwd: far.root,
    env: far.env,
    onStart(own) {
      pid = own
    },
  })
  const runs = join(far.root, '.holdfast', 'runs')
  const begun = (id: string): boolean => readIfThere(join(runs, id, 'stdout.log')) === 'begun\n'
  const id = await until('it has begun', () => readdirSync(runs).find(begun), 60_000)
  process.kill(pid, 'SIGKILL')
  expect((await killed).signal).toBe('SIGKILL')
  const other = await far.again()
  if (isSupervised) {
    expect(await alive(await other.show({ run: id }))).toBeGreaterThan(0)
    await script('touch c27/go')
    const run = await other.wait({ run: id })
    expect([run.outcome, logOf(run)]).toEqual([exited(5), 'begun\nover\n'])
    return
  }
  const run = await other.wait({ run: id })
  expect([run.state, run.outcome, logOf(run)]).toMatchObject(['interrupted', { kind: 'lost', exitCode: null }, 'begun\n'])
  await script('touch c27/go')
  await until('it is over there', async () => (await alive(run)) === 0, 30_000)
})

row('complaint 42: commands, background runs, files and whoever comes later are in the same place, with the same network', async (bench) => {
  const { script, far, isSupervised } = bench
  const look = 'readlink /proc/self/ns/net; readlink /proc/self/ns/mnt; hostname; id -u; ls /sys/class/net; cat c42'
  const background = isSupervised ? { detach: true } : { waitMs: 0 }
  const [other] = await Promise.all([far.again(), far.holdfast.writeFile({ path: 'c42', content: 'by files\n', target: far.target })])
  const [first, started, second] = await Promise.all([script(look), script(look, background), other.exec({ target: far.target, script: look })])
  const later = await far.holdfast.wait({ run: started.id })
  expect(logOf(first)).toMatch(/^net:.*\nmnt:.*\n.*\n\d+\n(.*\n)*by files\n$/)
  expect([logOf(later), logOf(second)]).toEqual([logOf(first), logOf(first)])
  const owner = logOf(await script('stat -c %u c42; echo by a command > c42; ls /sys/class/net'))
  expect(owner.split('\n')[0]).toBe(logOf(first).split('\n')[3])
  expect((await other.readFile({ path: 'c42', target: far.target })).content).toBe('by a command\n')
  if (far.target.backend === 'docker') expect(owner.split('\n').slice(1)).toEqual(['lo', ''])
})
