import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { execInput, fakeRun, play } from '../../../test/support/fake-cli.ts'
import type { App, ExecCall, LiveOutput } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'

const chunk = (text: string, stream: 'stdout' | 'stderr' = 'stdout'): LiveOutput => ({ stream, bytes: Buffer.from(text), text })
const printing = (...chunks: LiveOutput[]): Partial<App> => ({
  exec: async (_: unknown, call?: ExecCall) => {
    for (const each of chunks) call?.onOutput?.(each)
    return fakeRun({ digest: 'the digest', warnings: ['a warning'] })
  },
})

describe('what exec asks for', () => {
  it.each([
    [['--', 'ls', '-la'], { argv: ['ls', '-la'] }],
    [['ls', '--json'], { argv: ['ls', '--json'] }],
    [['-c', 'a | b'], { script: 'a | b' }],
    [['--runtime', 'node', '-c', 'x()'], { script: 'x()', runtime: 'node' }],
    [['--timeout', '30s', '--idle-timeout=1500ms', '--grace', '1s', '--', 'x'], { timeoutMs: 30_000, idleTimeoutMs: 1500, graceMs: 1000 }],
    [['--max-output', '10MB', '--budget', '512', '--', 'x'], { maxOutputBytes: 10_000_000, budget: 512 }],
    [['--env', 'A=1=2', '--env', 'B', '--env', 'C=', '--', 'x'], { env: { A: '1=2', C: '' }, passEnv: ['B'] }],
    [['--purpose', 'why', '--leftovers', 'kill', '--', 'x'], { purpose: 'why', leftovers: 'kill' }],
    [['--cwd', 'deeper', '--', 'x'], { cwd: '/project/sub/deeper' }],
    [['--', 'x'], { cwd: '/project/sub' }],
    [['--detach', '--', 'x'], { detach: true, waitMs: 0 }],
    [['--wait', '10s', '--', 'x'], { detach: true, waitMs: 10_000 }],
    [['--', '--', '-h'], { argv: ['--', '-h'] }],
  ])('%j', async (args, asked) => {
    const played = await play(['exec', ...args])
    expect(played).toMatchObject({ code: 0, stderr: '' })
    expect(execInput(played)).toMatchObject(asked)
  })

  it('reads stdin, or a script, from where it was told to', async () => {
    const chunks: Uint8Array[] = []
    const streamed = execInput(await play(['exec', '--stdin', '-', '--', 'cat'], { stdin: 'given' })).stdin
    for await (const chunk of streamed as AsyncIterable<Uint8Array>) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe('given')
    expect(execInput(await play(['exec', '--detach', '--stdin', '-', '--', 'cat'], { stdin: 'given' })).stdin).toEqual(Buffer.from('given'))
    expect(execInput(await play(['exec', '-c', '-'], { stdin: 'echo é' })).script).toBe('echo é')
    expect(execInput(await play(['exec', '--', 'cat'], { stdin: 'not asked for' })).stdin).toBeUndefined()
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
    try {
      writeFileSync(join(folder, 'run.sh'), 'echo file')
      expect(execInput(await play(['exec', '--script', 'run.sh'], { cwd: folder })).script).toBe('echo file')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('a folder that is gone', () => {
  it('is where the project is looked for, unless another one is named in full', async () => {
    expect((await play(['exec', '--', 'x'], { cwd: '/gone/away' })).opened).toEqual(['/gone/away'])
    expect((await play(['exec', '--cwd', tmpdir(), '--', 'x'], { cwd: '/gone/away' })).opened).toEqual([tmpdir()])
    expect((await play(['exec', '--cwd', '/', '--', 'x'], { cwd: tmpdir() })).opened).toEqual([tmpdir()])
  })
})

describe('what exec refuses before anything starts', () => {
  it.each([
    [['--timeout', '0', '--', 'x'], '--timeout is "0"; accepted: a positive duration with its unit, like 30s, 5m, 1500ms or 2h'],
    [['--timeout', '-1', '--', 'x'], '--timeout is "-1"; accepted: a positive duration'],
    [['--timeout', 'NaN', '--', 'x'], '--timeout is "NaN"; accepted: a positive duration'],
    [['--timeout', '5', '--', 'x'], '--timeout is "5"; accepted: a positive duration'],
    [['--timeout', 'Infinity', '--', 'x'], '--timeout is "Infinity"; accepted: a positive duration'],
    [['--timeout=', '--', 'x'], '--timeout is ""; accepted: a positive duration'],
    [['--timeout'], 'the value of --timeout is missing; accepted: --timeout TIME'],
    [['--max-output', 'lots', '--', 'x'], '--max-output is "lots"; accepted: a positive number of bytes'],
    [['--budget', 'big', '--', 'x'], '--budget is "big"; accepted: a whole number of bytes from 0'],
    [['--env', '1=2', '--', 'x'], '--env is "1"; accepted: NAME=VALUE'],
    [['--timout', '5s', '--', 'x'], 'exec has no option --timout; did you mean --timeout? (see holdfast exec --help)'],
    [['-x', '--', 'x'], 'exec has no option -x'],
    [[], 'COMMAND is missing; accepted: a program with its arguments, or a script'],
    [['--'], 'COMMAND is missing; accepted: a program with its arguments, or a script'],
    [['-c', 'x', '--', 'y'], '-c is "x"; accepted: a script or a program with arguments, not both'],
    [['--runtime', 'node', '--', 'y'], '--runtime is "node"; accepted: a runtime together with a script'],
    [['--stream', '--detach', '--', 'y'], '--stream is true; accepted: --stream without --detach, --wait and --json'],
    [['-c', '-', '--stdin', '-'], '--stdin is "-"; accepted: a file'],
    [['--stdin', '/no/such/file', '--', 'x'], 'the file /no/such/file cannot be read: ENOENT'],
    [['--quiet=yes', '--', 'x'], '--quiet is "yes"; accepted: --quiet without a value'],
  ])('%j', async (args, sentence) => {
    const played = await play(['exec', ...args])
    expect(played.stderr).toContain(`holdfast: ${sentence}`)
    expect(played).toMatchObject({ code: 125, stdout: '' })
    expect(played.calls.filter(([name]) => name === 'exec')).toEqual([])
  })

  it('names a limit that the app refuses by its option', async () => {
    const exec = () => Promise.reject(failure('invalid', { field: 'maxOutputBytes', value: 5, accepted: 'more' }))
    expect((await play(['exec', '--max-output', '5', '--', 'x'], { app: { exec } })).stderr).toBe('holdfast: --max-output is 5; accepted: more\n')
  })
})

describe('what exec prints', () => {
  it('is the digest, and warnings on standard error', async () => {
    expect(await play(['exec', '--', 'x'], { app: printing(chunk('hi')) })).toMatchObject({ stdout: 'the digest\n', stderr: 'holdfast: a warning\n' })
  })

  it('tells a warning once, on standard error where the digest does not tell it', async () => {
    const warnings = ['a clamped  limit', 'a store that is locked']
    const app = { exec: async () => fakeRun({ digest: 'exit 0\nwarning: a clamped limit\nno output', warnings }) }
    expect((await play(['exec', '--', 'x'], { app })).stderr).toBe('holdfast: a store that is locked\n')
    expect((await play(['exec', '--stream', '--', 'x'], { app })).stderr).toBe(
      'exit 0\nwarning: a clamped limit\nno output\nholdfast: a store that is locked\n',
    )
    expect((await play(['exec', '--detach', '--', 'x'], { app })).stderr).toBe('holdfast: a clamped  limit\nholdfast: a store that is locked\n')
    expect((await play(['show', 'last'], { app: { show: app.exec } })).stderr).toBe('holdfast: a store that is locked\n')
  })

  it('is one JSON object with --json', async () => {
    const played = await play(['exec', '--json', '--', 'x'])
    expect(JSON.parse(played.stdout)).toEqual(fakeRun())
    expect(played.stdout.split('\n')).toHaveLength(2)
  })

  it('is the id with --detach, and the digest with --wait', async () => {
    const app = { exec: async () => fakeRun({ state: 'running', outcome: null }) }
    expect(await play(['exec', '--detach', '--', 'x'], { app })).toMatchObject({ code: 0, stdout: 'r1\n' })
    expect(await play(['exec', '--wait', '1s', '--', 'x'], { app })).toMatchObject({ code: 0, stdout: 'the digest\n' })
    const quick = { exec: async () => fakeRun({ outcome: { kind: 'exited', exitCode: 3, signal: null, limit: null } }) }
    expect(await play(['exec', '--detach', '--', 'x'], { app: quick })).toMatchObject({ code: 0, stdout: 'r1\n' })
    expect(await play(['exec', '--wait', '1s', '--', 'x'], { app: quick })).toMatchObject({ code: 3 })
    // Nobody knows how it goes on, since its supervisor does not answer.
    expect(await play(['exec', '--', 'x'], { app })).toMatchObject({ code: 125, stdout: 'the digest\n' })
  })

  it('is nothing with --quiet, besides errors', async () => {
    expect(await play(['exec', '--quiet', '--', 'x'], { app: printing(chunk('hi')), terminal: { stderr: true } })).toMatchObject({ stdout: '', stderr: '' })
    const exec = () => Promise.reject(failure('closed', {}))
    expect((await play(['exec', '--quiet', '--', 'x'], { app: { exec } })).stderr).toBe('holdfast: this Holdfast has been closed\n')
  })

  it('is what the command prints with --stream, and the digest on standard error', async () => {
    const app = printing(chunk('out\n'), chunk('err\n', 'stderr'))
    expect(await play(['exec', '--stream', '--', 'x'], { app })).toMatchObject({ stdout: 'out\n', stderr: 'err\nthe digest\nholdfast: a warning\n' })
    expect(await play(['exec', '--stream', '--quiet', '--', 'x'], { app })).toMatchObject({ stdout: 'out\n', stderr: 'err\n' })
  })

  it('keeps clipboard and title sequences away from a terminal, split or not, and colours in', async () => {
    const app = printing(chunk('a\u001b]52;c;ZXZp'), chunk('bA==\u0007b \u001b[31mred\u001b[0m'))
    const args = ['exec', '--stream', '--quiet', '--', 'x']
    expect((await play(args, { app, terminal: { stdout: true } })).stdout).toBe('ab \u001b[31mred\u001b[0m')
    expect((await play(args, { app })).stdout).toContain('\u001b]52;c;')
  })

  it('is an error object on standard output with --json', async () => {
    const exec = () => Promise.reject(failure('cwd_missing', { cwd: '/gone' }))
    const played = await play(['exec', '--json', '--', 'x'], { app: { exec } })
    expect(JSON.parse(played.stdout)).toEqual({
      error: { code: 'not_found', message: expect.stringContaining('/gone'), details: { reason: 'cwd_missing', cwd: '/gone' } },
    })
    expect(played).toMatchObject({ code: 125, stderr: '' })
  })

  it('has one live line on a terminal, which is gone in the end, and none elsewhere', async () => {
    let drawn: Promise<unknown> = Promise.resolve()
    const app: Partial<App> = {
      exec: async (_: unknown, call?: ExecCall) => {
        call?.onProgress?.({ bytes: 31, stream: 'stdout', text: 'one\n\u001b[31mtwo\u001b[0m of many words\n' })
        await drawn
        return fakeRun()
      },
    }
    const played = await play(['exec', '--', 'x'], {
      app,
      terminal: { stderr: true, columns: 30 },
      onReady: (_, { stderr }) => {
        drawn = new Promise((resolve) => stderr.once('data', resolve))
      },
    })
    expect(played.stderr).toMatch(/^(\r\u001b\[K\d s · 31 bytes · two of many…)+\r\u001b\[K$/)
    drawn = Promise.resolve()
    expect((await play(['exec', '--', 'x'], { app })).stderr).toBe('')
  })
})

describe('a signal to exec', () => {
  const untilAborted: Partial<App> = {
    exec: (_: unknown, call?: ExecCall) =>
      new Promise((resolve) => {
        const result = fakeRun({ digest: 'so far', outcome: { kind: 'canceled', exitCode: 143, signal: 'SIGTERM', limit: null } })
        call?.signal?.addEventListener('abort', () => resolve(result))
      }),
  }

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s cancels the run, prints what there was and ends with %i', async (name, code) => {
    const played = await play(['exec', '--', 'x'], { app: untilAborted, onReady: (signal) => setImmediate(() => setImmediate(() => signal(name))) })
    expect(played).toMatchObject({ code, stdout: 'so far\n' })
  })

  it('that comes twice ends at once', async () => {
    let exits: number[] = []
    const twice: Partial<App> = {
      exec: (_: unknown, call?: ExecCall) =>
        new Promise((resolve) =>
          call?.signal?.addEventListener('abort', () => {
            send('SIGINT')
            resolve(fakeRun())
          }),
        ),
    }
    let send: (name: 'SIGINT') => void = () => undefined
    const { stderr } = await play(['exec', '--', 'x'], {
      app: twice,
      onReady: (signal, io) => {
        send = signal
        exits = io.exits
        setImmediate(() => setImmediate(() => signal('SIGINT')))
      },
    })
    expect(exits).toEqual([130])
    expect(stderr).toContain('may still run')
  })
})

describe('a reader that leaves', () => {
  it('cancels a run that is streamed to it, and is no error', async () => {
    const app: Partial<App> = {
      exec: (_: unknown, call?: ExecCall) =>
        new Promise((resolve) => {
          call?.signal?.addEventListener('abort', () => resolve(fakeRun()))
          call?.onOutput?.(chunk('y\n'))
        }),
    }
    const played = await play(['exec', '--stream', '--quiet', '--', 'yes'], {
      app,
      onReady: (_, { stdout }) => setImmediate(() => setImmediate(() => stdout.destroy())),
    })
    expect(played).toMatchObject({ code: 141, stderr: '' })
  })
})
