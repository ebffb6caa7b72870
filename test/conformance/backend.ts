import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest'
import type { Capabilities } from '../../src/core/backend.ts'
import { type HoldfastError, toHoldfastError } from '../../src/core/errors.ts'
import { identify } from '../../src/process/identity.ts'
import { until } from '../support/clock.ts'
import { type Bench, openBench, type Place, signalNumber } from './bench.ts'

/**
 * What every backend must do, as rows with ids. A row runs real commands (POSIX shell and its usual programs) through
 * the engine. A row that a backend is known to break is listed by it, with the reason: it runs and must fail, and the
 * day it passes, the suite asks to have it taken off the list.
 */
interface Requirement {
  readonly id: string
  readonly sentence: string
  readonly body: (bench: Bench, test: TestContext) => Promise<void>
  /** Why the row says nothing about a backend with these capabilities; undefined: it applies. */
  readonly unless?: (capabilities: Capabilities) => string | undefined
}

const requirements: Requirement[] = []

function requirement(id: string, sentence: string, body: Requirement['body'], unless?: Requirement['unless']): void {
  requirements.push(unless ? { id, sentence, body, unless } : { id, sentence, body })
}

export interface BackendSuite {
  /** Opens a place of its own for each row. */
  open(): Promise<Place>
  /** Ids of rows that fail, each with the reason. */
  readonly knownFailures?: Readonly<Record<string, string>>
}

export function describeBackend(name: string, { open, knownFailures = {} }: BackendSuite): void {
  describe(`the backend ${name}`, () => {
    let place: Place
    let bench: Bench

    beforeEach(async () => {
      place = await open()
      bench = openBench(place)
    })

    afterEach(async () => {
      await bench.end()
      await place.close()
    })

    for (const { id, sentence, body, unless } of requirements) {
      const reason = knownFailures[id]
      const declare = reason === undefined ? it : it.fails
      declare(`${id}: ${sentence}${reason === undefined ? '' : ` (known failure: ${reason})`}`, async (test) => {
        const inapplicable = unless?.(bench.capabilities)
        if (inapplicable) return test.skip(inapplicable)
        await body(bench, test)
      })
    }

    it('has no known failure that the suite does not know', () => {
      const known = new Set(requirements.map(({ id }) => id))
      expect(Object.keys(knownFailures).filter((id) => !known.has(id))).toEqual([])
    })
  })
}

const withoutMark = (capabilities: Capabilities): string | undefined =>
  capabilities.killTree !== 'group' ? undefined : 'what leaves the process group is not found here'
const withoutStdin = (capabilities: Capabilities): string | undefined => (capabilities.stdin ? undefined : 'commands get no input here')

async function refusal(promise: Promise<unknown>): Promise<HoldfastError> {
  return promise.then(
    () => {
      throw new Error('the command was started')
    },
    (error: unknown) => toHoldfastError(error),
  )
}

const isThere = (pid: number): boolean => identify(pid) !== undefined

const pidsIn = (out: Buffer): number[] => (out.toString().match(/\d+/g) ?? []).map(Number)

// ---- starting

requirement('start.missing-program', 'a program that is not there is refused by name and nothing is started', async (bench) => {
  const error = await refusal(bench.run(['holdfast-no-such-program']))
  expect(error.code).toBe('not_found')
  expect(error.message).toContain('holdfast-no-such-program')
})

requirement('start.not-executable', 'a file without the right to be executed is refused', async (bench) => {
  await bench.run('echo exit 0 > plain; chmod 644 plain')
  expect((await refusal(bench.run([`${bench.root}/plain`]))).code).toBe('permission_denied')
})

requirement('start.nul', 'a NUL in an argument, a variable or the directory is refused before anything is started', async (bench) => {
  const errors = [
    await refusal(bench.run(['echo', 'a\0b'])),
    await refusal(bench.run(['env'], { env: { NAME: 'a\0b' } })),
    await refusal(bench.run(['env'], { cwd: `${bench.root}/a\0b` })),
  ]
  expect(errors.map(({ code }) => code)).toEqual(['invalid_argument', 'invalid_argument', 'invalid_argument'])
})

requirement('start.canceled-before', 'a command that was canceled before its start is never started', async (bench) => {
  const error = await refusal(bench.run('echo ran > proof', { signal: AbortSignal.abort() }))
  expect(error.code).toBe('failed_precondition')
  expect((await bench.run('test -e proof')).outcome.exitCode).toBe(1)
})

requirement('start.after-close', 'a closed session starts nothing and may be closed again', async (bench) => {
  await bench.session.close()
  await bench.session.close()
  expect((await refusal(bench.run('exit 0'))).code).toBe('failed_precondition')
})

requirement('start.argv-exact', 'arguments arrive byte for byte', async (bench) => {
  const words = ['', ' a  b ', '-n', '--', '"\'`$HOME`\'"', 'line\nfeed\t', '\\', '*', '~', '#', '€🔥', '$(exit 3)', ';&|<>(){}!']
  const { out } = await bench.run(['sh', '-c', 'printf "%s\\0" "$@"', 'sh', ...words])
  expect(out.toString().split('\0')).toEqual([...words, ''])
})

requirement('start.argument-too-large', 'an argument larger than the system takes is refused with its size, or arrives whole', async (bench) => {
  const argument = 'x'.repeat(200_000)
  const answer = await bench.run(['printf', '%s', argument]).catch((error: unknown) => toHoldfastError(error))
  if ('outcome' in answer) expect(answer.out.toString()).toBe(argument)
  else expect(answer).toMatchObject({ code: 'resource_exhausted', details: { bytes: 200_000 } })
})

requirement('start.mask', 'what a command makes is as open to others as what a login makes', async (bench) => {
  expect((await bench.run('umask')).out.toString().trim()).toMatch(/^0*0[02]2$/)
})

// ---- bytes

requirement('bytes.order', 'each stream arrives in order and without loss', async (bench) => {
  const { out, err, stdout, stderr } = await bench.run('i=0; while [ $i -lt 3000 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done')
  const lines = (word: string): string => Array.from({ length: 3_000 }, (_, i) => `${word} ${i}\n`).join('')
  expect(out.toString()).toBe(lines('out'))
  expect(err.toString()).toBe(lines('err'))
  expect([stdout.lines, stderr.lines]).toEqual([3_000, 3_000])
})

requirement('bytes.split-utf8', 'a character that is printed byte by byte reaches the listener whole', async (bench) => {
  const texts = { stdout: '', stderr: '' }
  const slowly = [...Buffer.from('é€🔥')].map((byte) => `printf '\\${byte.toString(8)}'; printf '\\${byte.toString(8)}' >&2; sleep 0.02`).join('; ')
  const { out } = await bench.run(slowly, {
    onOutput({ stream, text }) {
      texts[stream] += text
    },
  })
  expect(out.toString()).toBe('é€🔥')
  expect(texts).toEqual({ stdout: 'é€🔥', stderr: 'é€🔥' })
})

requirement(
  'bytes.unfinished-character',
  'an unfinished character at the end becomes one replacement character for the listener and stays as it is in the log',
  async (bench) => {
    let text = ''
    const { out } = await bench.run(`printf 'ab\\303'`, {
      onOutput(chunk) {
        text += chunk.text
      },
    })
    expect(text).toBe('ab\ufffd')
    expect([...out]).toEqual([0x61, 0x62, 0xc3])
  },
)

requirement('bytes.large', 'sixteen million bytes are kept, every one', async (bench) => {
  const { out, stdout } = await bench.run(`head -c 16000000 /dev/zero | tr '\\0' x; echo end`)
  expect(stdout).toEqual({ bytes: 16_000_004, lines: 1, droppedBytes: 0, gap: null })
  expect(out.equals(Buffer.concat([Buffer.alloc(16_000_000, 'x'), Buffer.from('end\n')]))).toBe(true)
})

requirement('bytes.limit', 'past the limit head and tail are kept, the gap is stated and the totals stay exact', async (bench) => {
  const { out, stdout } = await bench.run('seq 1 20000', { limits: { maxOutputBytes: 4_096 } })
  const whole = Buffer.from(Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join(''))
  expect(stdout).toMatchObject({ bytes: whole.length, lines: 20_000 })
  const { offset, bytes, lines } = stdout.gap ?? { offset: 0, bytes: 0, lines: 0 }
  expect(bytes).toBe(stdout.droppedBytes)
  expect(out.equals(Buffer.concat([whole.subarray(0, offset), whole.subarray(offset + bytes)]))).toBe(true)
  expect(whole.subarray(offset, offset + bytes).filter((byte) => byte === 10).length).toBe(lines)
  expect(out.length).toBeGreaterThan(2_048)
})

requirement('bytes.binary', 'every byte value passes unchanged', async (bench) => {
  const { out } = await bench.run(Array.from({ length: 256 }, (_, i) => `printf '\\${i.toString(8).padStart(3, '0')}'`).join('\n'))
  expect([...out]).toEqual(Array.from({ length: 256 }, (_, i) => i))
})

requirement('bytes.dev-stderr', 'a command may open /dev/stderr and /dev/stdout by name', async (bench) => {
  const { out, err, outcome } = await bench.run('echo one > /dev/stderr && echo two > /dev/stdout')
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect([out.toString(), err.toString()]).toEqual(['two\n', 'one\n'])
})

requirement('bytes.delivered', 'the listener gets what the log keeps', async (bench) => {
  const delivered = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] }
  const { out, err } = await bench.run('seq 1 50000; seq 1 5000 >&2; (sleep 0.02; echo late) & exit 0', {
    onOutput: ({ stream, bytes }) => void delivered[stream].push(bytes),
  })
  expect(Buffer.concat(delivered.stdout).equals(out)).toBe(true)
  expect(Buffer.concat(delivered.stderr).equals(err)).toBe(true)
})

requirement('bytes.listener-throws', 'a listener that throws or rejects costs no byte, is told once, and changes no outcome', async (bench) => {
  const thrown = await bench.run('echo kept', {
    onOutput() {
      throw new Error('no thanks')
    },
  })
  const rejected = await bench.run('echo kept', { onOutput: async () => Promise.reject(new Error('no thanks')) })
  for (const { outcome, out, notes } of [thrown, rejected]) {
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
    expect(out.toString()).toBe('kept\n')
    expect(notes).toEqual([expect.stringContaining('no thanks')])
  }
})

requirement('bytes.silent', 'a silent command is a success with nothing in its logs', async (bench) => {
  const { outcome, stdout, stderr, notes } = await bench.run('exit 0')
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect([stdout.bytes, stderr.bytes, notes]).toEqual([0, 0, []])
})

// ---- endings

requirement('endings.exit-code', 'the exit code is the one of the command', async (bench) => {
  for (const code of [0, 1, 3, 127, 128, 255]) {
    expect((await bench.run(`exit ${code}`)).outcome).toEqual({ kind: 'exited', exitCode: code, signal: null, limit: null })
  }
})

requirement('endings.signal', 'a command that a signal ended says which one', async (bench) => {
  for (const name of ['SIGKILL', 'SIGSEGV', 'SIGTERM', 'SIGPIPE', 'SIGABRT'] as const) {
    const { outcome, out } = await bench.run(`ulimit -c 0; echo before; kill -${name.slice(3)} $$`)
    expect(outcome).toEqual({ kind: 'signaled', exitCode: 128 + signalNumber(name), signal: name, limit: null })
    expect(out.toString()).toBe('before\n')
  }
})

requirement('endings.wall', 'a command that reaches the wall limit is ended and keeps its output, the unfinished line included', async (bench) => {
  const run = await bench.start(`echo 'on stderr' >&2; echo line; printf 'Connecting ...'; sleep 300`, { limits: { timeoutMs: 60_000 } })
  await run.printed('Connecting')
  run.clock.jump(60_000)
  const { outcome, out, err, notes } = await run.result
  expect(outcome).toMatchObject({ kind: 'timed_out', limit: 'wall', signal: 'SIGTERM', exitCode: 143 })
  expect([out.toString(), err.toString()]).toEqual(['line\nConnecting ...', 'on stderr\n'])
  expect(notes).toEqual([])
})

requirement('endings.idle', 'a silent command ends at the idle limit and keeps its output', async (bench) => {
  const run = await bench.start('echo ready; sleep 300', { limits: { idleTimeoutMs: 60_000 } })
  // All of it: what comes after the clock has jumped begins the silence anew.
  await run.printed('ready\n')
  run.clock.jump(60_000)
  const { outcome, out } = await run.result
  expect(outcome).toMatchObject({ kind: 'timed_out', limit: 'idle' })
  expect(out.toString()).toBe('ready\n')
})

requirement('endings.cancel', 'a canceled command is ended and keeps its output', async (bench) => {
  const cancel = new AbortController()
  const run = await bench.start('echo ready; sleep 300', { signal: cancel.signal })
  await run.printed('ready')
  cancel.abort()
  const { outcome, out } = await run.result
  expect(outcome).toMatchObject({ kind: 'canceled', limit: null })
  expect(out.toString()).toBe('ready\n')
  expect(await run.running.tree()).toEqual([])
})

requirement('endings.cancel-in-listener', 'a listener may cancel; what comes later is kept and not delivered', async (bench) => {
  const cancel = new AbortController()
  let delivered = ''
  const { outcome, out } = await bench.run(`trap 'echo cleanup; exit 5' TERM; echo ready; sleep 300 & wait $!`, {
    signal: cancel.signal,
    onOutput({ text }) {
      delivered += text
      cancel.abort()
    },
  })
  expect(outcome).toMatchObject({ kind: 'canceled', exitCode: 5 })
  expect(delivered).toBe('ready\n')
  expect(out.toString()).toBe('ready\ncleanup\n')
})

requirement('endings.pipe-held-open', 'a child that keeps the pipe open delays no result', async (bench) => {
  const { outcome, out, leftovers } = await bench.run('sleep 300 & echo done')
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect(out.toString()).toBe('done\n')
  expect(leftovers).toMatchObject([{ name: 'sleep' }])
})

requirement('endings.pipe-kept-busy', 'a child that keeps writing delays no result', async (bench) => {
  const { outcome, out } = await bench.run('(while :; do echo tick; sleep 0.01; done) & echo done; exit 0')
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect(out.toString()).toContain('done\n')
})

requirement('endings.flood', 'a child that floods the pipe delays no result and does not hide the end', async (bench) => {
  const { outcome, stdout } = await bench.run('yes & exit 4', { limits: { maxOutputBytes: 64 * 1024 } })
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 4 })
  expect(stdout.bytes).toBeGreaterThan(0)
})

requirement('endings.stubborn-tree', 'a tree that ignores every polite signal is killed after the grace', async (bench) => {
  const run = await bench.start(`trap '' TERM INT HUP; sleep 300 & echo ready; while :; do sleep 300; done`, { limits: { timeoutMs: 60_000, graceMs: 200 } })
  await run.printed('ready')
  run.clock.jump(60_000)
  const { outcome, out, leftovers } = await run.result
  expect(outcome).toMatchObject({ kind: 'timed_out', signal: 'SIGKILL', exitCode: 137 })
  expect(out.toString()).toBe('ready\n')
  expect([leftovers, await run.running.tree()]).toEqual([[], []])
})

requirement('endings.trap-runs', 'a command gets the polite signal first and what it prints then is kept', async (bench) => {
  const run = await bench.start(`trap 'echo cleanup; exit 7' TERM; echo ready; sleep 300 & wait $!`, { limits: { timeoutMs: 60_000 } })
  await run.printed('ready')
  run.clock.jump(60_000)
  const { outcome, out } = await run.result
  expect(outcome).toMatchObject({ kind: 'timed_out', signal: null, exitCode: 7 })
  expect(out.toString()).toBe('ready\ncleanup\n')
})

// ---- tree

requirement('tree.group-ended', 'a child in the background ends with its command', async (bench) => {
  const run = await bench.start('sleep 300 & echo ready; wait', { limits: { timeoutMs: 60_000 } })
  await run.printed('ready')
  run.clock.jump(60_000)
  await run.result
  expect(await run.running.tree()).toEqual([])
})

requirement(
  'tree.setsid-ended-on-timeout',
  'a child in a session of its own ends with its command',
  async (bench) => {
    const run = await bench.start('setsid sh -c "echo inner; exec sleep 300" & sleep 300', { limits: { timeoutMs: 60_000 } })
    await run.printed('inner')
    run.clock.jump(60_000)
    const { outcome, leftovers } = await run.result
    expect(outcome.kind).toBe('timed_out')
    expect([leftovers, await run.running.tree()]).toEqual([[], []])
  },
  withoutMark,
)

requirement(
  'tree.double-fork',
  'a daemon that let go of its parent, its session and its streams ends with its command',
  async (bench) => {
    const run = await bench.start(`( ( setsid sh -c 'echo daemon $$; exec sleep 300 < /dev/null > /dev/null 2>&1' & ) & ); sleep 300`, {
      limits: { timeoutMs: 60_000 },
    })
    await run.printed('daemon')
    await run.printed('\n')
    run.clock.jump(60_000)
    const { out } = await run.result
    expect(await run.running.tree()).toEqual([])
    if (bench.capabilities.sharesProcessTable) expect(pidsIn(out).filter(isThere)).toEqual([])
  },
  withoutMark,
)

requirement('tree.leftovers-reported', 'what outlives a normal end is reported by pid and lives on', async (bench) => {
  const { outcome, out, leftovers } = await bench.run('sleep 300 > /dev/null 2>&1 & echo $!')
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect(leftovers).toEqual([{ pid: pidsIn(out)[0], name: 'sleep' }])
  if (bench.capabilities.sharesProcessTable) expect(isThere(leftovers[0]?.pid ?? 0)).toBe(true)
})

requirement('tree.leftovers-kill', 'with leftovers "kill" nothing outlives a normal end', async (bench) => {
  const run = await bench.start(`sh -c 'trap "" TERM; echo ready; while :; do sleep 300; done' & while ! test -e go; do sleep 0.01; done`, {
    leftovers: 'kill',
    limits: { graceMs: 100 },
  })
  await run.printed('ready')
  await bench.run('touch go')
  const { outcome, leftovers } = await run.result
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect([leftovers, await run.running.tree()]).toEqual([[], []])
})

requirement('tree.strangers-spared', 'ending one run touches no other', async (bench) => {
  const cancel = new AbortController()
  const other = await bench.start('echo ready; while ! test -e go; do sleep 0.01; done; echo survived')
  const run = await bench.start('echo ready; sleep 300', { signal: cancel.signal })
  await other.printed('ready')
  await run.printed('ready')
  cancel.abort()
  await run.result
  await bench.run('touch go')
  const { outcome, out } = await other.result
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect(out.toString()).toBe('ready\nsurvived\n')
})

// ---- environment and directory

requirement('environment.exact', 'a command gets the variables of its request and no others', async (bench) => {
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', ODD: ' a="b" $c `d` \\ € ', EMPTY: '' }
  const run = await bench.start(['env'], { env, bareEnv: true })
  const { out } = await run.result
  expect(out.toString().replace(/\n$/, '').split('\n').sort()).toEqual(
    Object.entries({ ...env, HOLDFAST_RUN: run.mark })
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
  )
})

requirement('environment.line-feeds', 'a value with line feeds arrives unchanged', async (bench) => {
  expect((await bench.run('printf %s "$TEXT"', { env: { TEXT: 'one\n\ntwo\n' } })).out.toString()).toBe('one\n\ntwo\n')
})

requirement('environment.big-value', 'a value larger than the system takes is refused by its name, or arrives whole; the next command works', async (bench) => {
  const answer = await bench.run('printf %s "$BIG" | wc -c', { env: { BIG: 'x'.repeat(200_000) } }).catch((error: unknown) => toHoldfastError(error))
  if ('outcome' in answer) expect(answer.out.toString().trim()).toBe('200000')
  else expect([answer.code, answer.message]).toEqual(['resource_exhausted', expect.stringContaining('BIG')])
  expect((await bench.run('exit 0')).outcome.exitCode).toBe(0)
})

requirement('cwd.used', 'a command runs in its directory, whatever its name', async (bench) => {
  const name = ` odd "name" 'with' $signs €`
  await bench.run(['mkdir', name])
  expect((await bench.run('pwd', { cwd: `${bench.root}/${name}` })).out.toString()).toBe(`${bench.root}/${name}\n`)
})

requirement('cwd.missing', 'a directory that is not there is refused by name and nothing is started', async (bench) => {
  const error = await refusal(bench.run('exit 0', { cwd: `${bench.root}/gone` }))
  expect([error.code, error.message]).toEqual(['not_found', expect.stringContaining(`${bench.root}/gone`)])
  expect((await bench.run('exit 0')).outcome.exitCode).toBe(0)
})

requirement('cwd.file', 'a file in the place of the directory is refused', async (bench) => {
  await bench.run('echo text > file')
  expect((await refusal(bench.run('exit 0', { cwd: `${bench.root}/file` }))).code).toBe('failed_precondition')
})

// ---- input, descriptors, terminal

requirement('stdin.none-is-eof', 'a command without input reads end-of-file at once', async (bench) => {
  const { outcome, stdout } = await bench.run(['cat'])
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  expect(stdout.bytes).toBe(0)
})

requirement(
  'stdin.bytes-then-eof',
  'a command reads its input byte for byte and then end-of-file',
  async (bench) => {
    const input = Buffer.from(Array.from({ length: 1024 * 1024 }, (_, i) => (i * 31 + (i >> 8)) & 0xff))
    const { outcome, out } = await bench.run(['cat'], { stdin: input })
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
    expect(out.equals(input)).toBe(true)
  },
  withoutStdin,
)

requirement(
  'stdin.empty',
  'empty input is end-of-file at once',
  async (bench) => {
    expect((await bench.run(['cat'], { stdin: new Uint8Array() })).outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
  },
  withoutStdin,
)

requirement(
  'stdin.not-read',
  'a command that does not read its input ends like any other',
  async (bench) => {
    const { outcome, notes } = await bench.run('exec <&-; echo done; exit 3', { stdin: Buffer.alloc(1024 * 1024, 'x') })
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 3 })
    expect(notes).toEqual([])
  },
  withoutStdin,
)

requirement(
  'stdin.held-by-leftover',
  'a child that holds the input without reading it delays no result',
  async (bench) => {
    const { outcome, leftovers } = await bench.run('exec 3<&0; sleep 300 & exit 3', { stdin: Buffer.alloc(1024 * 1024, 'x') })
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 3 })
    expect(leftovers).toMatchObject([{ name: 'sleep' }])
  },
  withoutStdin,
)

requirement('descriptors.none-inherited', 'a command has no descriptor but the three standard ones', async (bench, test) => {
  const { out, outcome } = await bench.run('ls /proc/$$/fd; :', { stdin: new Uint8Array() })
  if (outcome.exitCode !== 0) return test.skip('no /proc here')
  expect(out.toString().trim().split('\n').sort()).toEqual(['0', '1', '2'])
})

requirement('terminal.none', 'a command has no terminal to ask a person on', async (bench) => {
  const { out } = await bench.run('(exec < /dev/tty) 2> /dev/null || echo none; test -t 0 || test -t 1 || test -t 2 || echo none')
  expect(out.toString()).toBe('none\nnone\n')
})

// ---- honesty of the capabilities

requirement('capabilities.pipes', 'the claim about pipes is what a command finds', async (bench) => {
  const { out } = await bench.run('test -p /dev/stdout && test -p /dev/stderr && echo pipes')
  expect(out.toString() === 'pipes\n').toBe(bench.capabilities.pipes)
})

requirement('capabilities.kill-tree', 'what left the process group is found exactly where that is claimed', async (bench) => {
  const run = await bench.start(`setsid sh -c 'echo inner; exec sleep 300' & echo outer; sleep 300; :`, { limits: { timeoutMs: 60_000 } })
  await run.printed('inner')
  await run.printed('outer')
  const sleepers = async (): Promise<number> => ((await run.running.tree()) ?? []).filter(({ name }) => name === 'sleep').length
  const expected = bench.capabilities.killTree === 'group' ? 1 : 2
  await until(async () => (await sleepers()) >= expected)
  expect(await sleepers()).toBe(expected)
})

requirement('capabilities.stdin', 'input reaches a command exactly where that is claimed', async (bench) => {
  const answer = await bench.run(['cat'], { stdin: Buffer.from('text') }).catch((error: unknown) => toHoldfastError(error))
  if ('outcome' in answer) expect(answer.out.toString() === 'text').toBe(bench.capabilities.stdin)
  else expect([answer.code, bench.capabilities.stdin]).toEqual(['unsupported', false])
})

requirement('capabilities.end-of-input', 'the end of the input reaches a command that still prints exactly where that is claimed', async (bench) => {
  const script = 'echo before; cat; echo after; echo error >&2; exit 4'
  const answer = await bench.run(script, { stdin: Buffer.from('input\n'), limits: { timeoutMs: 15_000 } }).catch((error: unknown) => toHoldfastError(error))
  const { endOfInput } = bench.capabilities
  if (!('outcome' in answer)) return expect([answer.code, endOfInput]).toEqual(['unsupported', false])
  expect([answer.outcome.exitCode, answer.out.toString(), answer.err.toString()].join('|') === '4|before\ninput\nafter\n|error\n').toBe(endOfInput)
})

requirement('capabilities.suspendable', 'a place can be parked exactly where that is claimed', async (bench) => {
  expect('suspend' in bench.session).toBe(bench.capabilities.suspendable)
})

requirement('capabilities.tagged', 'what cleared its environment and lost its parent is found exactly where that is claimed', async (bench) => {
  const escaping = `( ( setsid env -i /bin/sh -c 'echo $$ inner; exec sleep 300 < /dev/null > /dev/null 2>&1' & ) & )`
  const run = await bench.start(`${escaping}; while ! test -e go; do sleep 0.01; done`)
  await run.printed('inner')
  await bench.run('touch go')
  const { out, leftovers } = await run.result
  const pid = pidsIn(out)[0] as number
  try {
    expect(leftovers.some((left) => left.pid === pid)).toBe(bench.capabilities.killTree === 'tagged')
  } finally {
    if (bench.capabilities.sharesProcessTable) process.kill(pid, 'SIGKILL')
  }
})

requirement('capabilities.reattach', 'a run can be attached to, and heard from its beginning, exactly where that is claimed', async (bench) => {
  const { session } = bench
  expect('attach' in session).toBe(bench.capabilities.reattach)
  if (!('attach' in session)) return
  const run = await bench.start('echo one; while ! test -e go; do sleep 0.01; done; echo two; exit 5')
  await run.printed('one')
  const attached = await session.attach(run.id, { kind: 'everything', from: { stdout: 0, stderr: 0 } })
  expect(attached?.process).toEqual(run.running.process)
  let heard = ''
  const listening = (async () => {
    for await (const { bytes } of attached?.output ?? []) heard += Buffer.from(bytes).toString()
  })()
  await bench.run('touch go')
  expect([(await attached?.ended)?.exitCode, (await run.result).outcome.exitCode]).toEqual([5, 5])
  await listening
  expect(heard).toBe('one\ntwo\n')
  expect(await session.attach(run.id, { kind: 'nothing' })).toBeUndefined()
})

requirement('capabilities.pty', 'a command gets a pseudo-terminal of the size that was asked for exactly where that is claimed', async (bench) => {
  const plain = await bench.run('test -t 1')
  expect(plain.outcome.exitCode).not.toBe(0)
  const answer = await bench
    .run('test -t 0 && test -t 1 && test -t 2 && stty size && echo error >&2', { pty: { rows: 33, columns: 77 } })
    .catch((error: unknown) => toHoldfastError(error))
  if ('outcome' in answer) expect([answer.out.toString(), answer.err.length, bench.capabilities.pty]).toEqual(['33 77\r\nerror\r\n', 0, true])
  else expect([answer.code, bench.capabilities.pty]).toEqual(['unsupported', false])
})

requirement('capabilities.shares-process-table', 'the pid of a command is one of this machine exactly where that is claimed', async (bench) => {
  const run = await bench.start('echo $$ end; sleep 300')
  await run.printed('end')
  const told = run.running.process
  // The same number may be that of another process here.
  const isHere = told !== null && identify(told.pid)?.startTime === told.startTime
  await run.running.signal('SIGKILL')
  await run.result
  expect(isHere).toBe(bench.capabilities.sharesProcessTable)
})

requirement('capabilities.isolation', 'a command reads files outside of its root exactly where no isolation is claimed', async (bench) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-outside-'))
  try {
    writeFileSync(join(folder, 'file'), 'outside')
    const { out } = await bench.run(['cat', join(folder, 'file')])
    expect(out.toString() === 'outside').toBe(bench.capabilities.isolation === 'none')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

requirement('endings.real-time-signal', 'an end by a real-time signal is no exit', async (bench) => {
  const { outcome } = await bench.run('kill -34 $$')
  expect(outcome.kind).toBe('signaled')
})

requirement('capabilities.signal-confirmed', 'a signal says whether it reached anything', async (bench) => {
  const run = await bench.start('echo ready; sleep 300')
  await run.printed('ready')
  expect(await run.running.signal('SIGKILL')).toEqual({ delivered: true })
  await run.result
  expect(await run.running.signal('SIGKILL')).toEqual({ delivered: false })
})

// ---- many at once

requirement('parallel.20-at-once', 'twenty commands at once mix up nothing and lose nothing', async (bench) => {
  const ids = Array.from({ length: 20 }, (_, i) => i)
  await bench.run(['mkdir', ...ids.map(String)])
  const script = 'pwd; seq 1 2000 | sed "s/^/$ID /"; head -c 20000 /dev/zero | tr "\\0" e >&2; echo >&2; echo "end of $ID" >&2; exit "$ID"'
  const results = await Promise.all(ids.map((id) => bench.run(script, { cwd: `${bench.root}/${id}`, env: { ID: String(id) } })))
  results.forEach(({ outcome, out, err }, id) => {
    expect(outcome).toEqual({ kind: 'exited', exitCode: id, signal: null, limit: null })
    const lines = Array.from({ length: 2_000 }, (_, i) => `${id} ${i + 1}\n`).join('')
    expect(out.toString()).toBe(`${bench.root}/${id}\n${lines}`)
    expect(err.toString()).toBe(`${'e'.repeat(20_000)}\nend of ${id}\n`)
  })
})
