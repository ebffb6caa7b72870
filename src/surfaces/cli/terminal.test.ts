import type { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { execInput, fakeRun, play } from '../../../test/support/fake-cli.ts'
import type { App, ExecCall, InputRequest, InputResult } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import type { StopName } from './io.ts'

const esc = '\u001b'
const whole = { stdin: true, stdout: true, stderr: true, rows: 40, columns: 100 }
const taken: InputResult = { id: 'r1', state: 'running', bytes: 1, open: true }

/** A run that goes on until it is told to end; `print` prints. */
function stage(exitDigest = 'exit 0; run r1\n$ x\nstdout 3 bytes') {
  let call: ExecCall = {}
  let end = (): void => {}
  let began = (): void => {}
  const begun = new Promise<void>((resolve) => {
    began = resolve
  })
  const inputs: InputRequest[] = []
  let heard = (): void => {}
  const app: Partial<App> = {
    exec: (_: unknown, given: ExecCall = {}) =>
      new Promise((resolve) => {
        call = given
        end = () => resolve(fakeRun({ digest: exitDigest }))
        given.signal?.addEventListener('abort', end)
        given.onBegin?.(fakeRun({ state: 'running' }))
        began()
      }),
    async input(request) {
      inputs.push(request)
      heard()
      return taken
    },
  }
  return {
    app,
    inputs,
    begun,
    print: (text: string) => call.onOutput?.({ stream: 'stdout', bytes: Buffer.from(text), text }),
    end: () => end(),
    async untilInputs(count: number): Promise<void> {
      while (inputs.length < count) {
        await new Promise<void>((resolve) => {
          heard = resolve
        })
      }
    },
  }
}

/** What a person types, piece by piece, until the terminal is gone. */
function keyboard() {
  const typed: Uint8Array[] = []
  let wake = (): void => {}
  let isGone = false
  async function* keys(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = typed.shift()
      if (next) yield next
      else if (isGone) return
      else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  }
  return {
    keys: keys(),
    type(text: string) {
      typed.push(Buffer.from(text))
      wake()
    },
    hangUp() {
      isGone = true
      wake()
    },
  }
}

describe('a pseudo-terminal', () => {
  it.each([
    [['--pty'], {}, true],
    [['--pty'], { stdout: true, rows: 40, columns: 100 }, { rows: 40, columns: 100 }],
    [['--pty'], { stdout: true, rows: 0, columns: 0 }, true],
    [['--pty'], { stdout: true, rows: 1, columns: 5_000 }, { rows: 2, columns: 1_000 }],
    [['--pty=30x90'], { stdout: true, rows: 40, columns: 100 }, { rows: 30, columns: 90 }],
    [['--pty', '--detach'], { stdout: true, rows: 40, columns: 100 }, { rows: 40, columns: 100 }],
    [[], { stdout: true, rows: 40, columns: 100 }, undefined],
  ])('of %j in a terminal of %j is %j', async (args, terminal, size) => {
    expect(execInput(await play(['exec', ...args, '--', 'x'], { terminal })).pty).toEqual(size)
  })

  it.each(['--pty=', '--pty=80', '--pty=0x80', '--pty=24x1001', '--pty=24,80'])('is refused as %s', async (written) => {
    const played = await play(['exec', written, '--', 'x'])
    if (written === '--pty=') expect(execInput(played).pty).toBe(true)
    else expect(played).toMatchObject({ code: 125, stderr: expect.stringContaining('accepted: rows and columns from 2 to 1000, like --pty=24x80') })
  })

  it('is passed through in a terminal, how it ended after it; elsewhere the digest is printed', async () => {
    const { app, begun, print, end } = stage()
    const playing = play(['exec', '--pty', '--', 'x'], { app, terminal: { stdout: true, stderr: true } })
    await begun
    print('hi ')
    print('there')
    end()
    expect(await playing).toMatchObject({ code: 0, stdout: 'hi there\r\n', stderr: 'exit 0; run r1\n' })
    const other = stage()
    const elsewhere = play(['exec', '--pty', '--', 'x'], { app: other.app })
    await other.begun
    other.print('hi')
    other.end()
    expect(await elsewhere).toMatchObject({ stdout: 'exit 0; run r1\n$ x\nstdout 3 bytes\n', stderr: '' })
  })

  it('leaves the terminal as it was, however the command ended', async () => {
    const { app, begun, print, end } = stage()
    const playing = play(['exec', '--pty', '--quiet', '--stream', '--', 'x'], { app, terminal: { stdout: true } })
    await begun
    print(`${esc}[?1049h${esc}[?25l${esc}[31mscreen`)
    end()
    expect((await playing).stdout).toBe(`${esc}[?1049h${esc}[?25l${esc}[31mscreen${esc}[0m${esc}[?25h${esc}[?1049l`)
  })

  it('is told the size of the window when that changes, as long as the command runs', async () => {
    const { app, begun, end, inputs, untilInputs } = stage()
    let stdout: PassThrough & { rows?: number } = undefined as unknown as PassThrough
    const playing = play(['exec', '--pty', '--', 'x'], {
      app,
      terminal: whole,
      onReady: (_, io) => {
        stdout = io.stdout
      },
    })
    await begun
    stdout.rows = 20
    stdout.emit('resize')
    await untilInputs(1)
    end()
    await playing
    stdout.emit('resize')
    expect(inputs).toEqual([{ run: 'r1', size: { rows: 20, columns: 100 } }])
  })
})

describe('what is typed', () => {
  it('goes to an interactive command, with a terminal key by key, and the end of the input when the terminal is gone', async () => {
    const { app, begun, end, inputs, untilInputs } = stage()
    const { keys, type, hangUp } = keyboard()
    const playing = play(['exec', '--pty', '--interactive', '--', 'x'], { app, terminal: whole, stdin: keys })
    await begun
    type('a')
    type('\u0003')
    await untilInputs(2)
    hangUp()
    await untilInputs(3)
    end()
    expect(await playing).toMatchObject({ code: 0, rawModes: [true, false] })
    expect(inputs.map(({ run, text, end: ends }) => [run, text && Buffer.from(text).toString(), ends])).toEqual([
      ['r1', 'a', undefined],
      ['r1', '\u0003', undefined],
      ['r1', undefined, true],
    ])
  })

  it('stays line by line for a command without a terminal', async () => {
    const { app, begun, end, untilInputs } = stage()
    const { keys, type } = keyboard()
    const playing = play(['exec', '--interactive', '--', 'x'], { app, terminal: whole, stdin: keys })
    await begun
    type('a line\n')
    await untilInputs(1)
    end()
    expect(await playing).toMatchObject({ rawModes: [] })
  })

  it.each([
    ['a command that is not interactive', ['--pty'], whole],
    ['a command that has another input', ['--pty', '--interactive', '--stdin', '-'], whole],
    ['a command in the background', ['--pty', '--interactive', '--wait', '1s'], whole],
    ['a command whose input is no terminal', ['--pty', '--interactive'], { stdout: true }],
  ])('does not go to %s', async (_, args, terminal) => {
    const { app, inputs, end, begun } = stage()
    const { keys, type, hangUp } = keyboard()
    type('not for it')
    hangUp()
    const playing = play(['exec', ...args, '--', 'x'], { app, terminal, stdin: keys })
    await begun
    end()
    expect(await playing).toMatchObject({ rawModes: [] })
    expect(inputs).toEqual([])
  })

  it('is no longer asked for after a signal, and the terminal is given back before a hurried end', async () => {
    const { begun, app } = stage()
    const { keys } = keyboard()
    let signal: (name: StopName) => void = () => {}
    let leave = (): void => {}
    const stubborn: Partial<App> = {
      ...app,
      exec: (input, call = {}) => {
        void app.exec?.(input, { ...call, signal: undefined })
        return new Promise((resolve) => {
          leave = () => resolve(fakeRun())
        })
      },
    }
    let exits: readonly number[] = []
    const playing = play(['exec', '--pty', '--interactive', '--', 'x'], {
      app: stubborn,
      terminal: whole,
      stdin: keys,
      onReady: (send, io) => {
        signal = send
        exits = io.exits
      },
    })
    await begun
    signal('SIGTERM')
    signal('SIGTERM')
    expect(exits).toEqual([143])
    leave()
    expect((await playing).rawModes.slice(0, 2)).toEqual([true, false])
  })

  it('that the command does not take is passed over', async () => {
    const { app, begun, end, inputs } = stage()
    const { keys, type } = keyboard()
    let asked = 0
    const input: App['input'] = async (request) => {
      asked += 1
      if (asked === 1) throw failure('input_full', { run: 'r1' })
      inputs.push(request)
      end()
      throw failure('input_over', { run: 'r1' })
    }
    const playing = play(['exec', '--pty', '--interactive', '--', 'x'], { app: { ...app, input }, terminal: whole, stdin: keys })
    await begun
    type('lost')
    type('seen')
    expect(await playing).toMatchObject({ code: 0 })
    expect(inputs).toHaveLength(1)
  })
})

describe('input', () => {
  const answers = (...results: Partial<InputResult>[]): Partial<App> => {
    const left = [...results]
    return { input: async () => ({ ...taken, ...left.shift() }) }
  }
  const asked = (played: Awaited<ReturnType<typeof play>>): unknown[] => played.calls.flatMap(([name, given]) => (name === 'input' ? [given] : []))

  it.each([
    [['last', 'yes'], { run: 'last', text: 'yes' }],
    [['last', '--enter', 'yes'], { run: 'last', text: 'yes', enter: true }],
    [['last', '--', '-y'], { run: 'last', text: '-y' }],
    [['last', ''], { run: 'last', text: '' }],
    [['last', '--end'], { run: 'last', end: true }],
    [['last', '--enter'], { run: 'last', enter: true }],
  ])('%j', async (args, request) => {
    const played = await play(['input', ...args], { app: answers({}) })
    expect(played.code).toBe(0)
    expect(asked(played)).toEqual([request])
  })

  it('says what was written, and when nothing more can be', async () => {
    const said = async (result: Partial<InputResult>) => (await play(['input', 'last', 'x'], { app: answers(result) })).stdout
    expect(await said({ bytes: 6 })).toBe('6 bytes written to run r1.\n')
    expect(await said({ bytes: 6, open: false })).toBe('6 bytes written to run r1. Its input has ended.\n')
    expect(await said({ bytes: 6, open: false, state: 'ended' })).toBe('6 bytes written to run r1. The run has ended.\n')
    expect(await said({ bytes: 0, open: false })).toBe('Ended the input of run r1.\n')
    expect(await said({ bytes: 0, open: false, state: 'ended' })).toBe('Run r1 has ended.\n')
  })

  it('passes standard input on as it comes, to the run that was the last one then, and ends it where that is asked for', async () => {
    const { keys, type, hangUp } = keyboard()
    const app = answers({ bytes: 0 }, { bytes: 3 }, { bytes: 4 }, { bytes: 0, open: false })
    for (const text of ['one', 'more']) type(text)
    hangUp()
    const played = await play(['input', 'last', '-', '--end', '--json'], { app, stdin: keys })
    expect(JSON.parse(played.stdout)).toEqual({ id: 'r1', state: 'running', bytes: 7, open: false })
    expect(asked(played)).toEqual([
      { run: 'last', text: '' },
      { run: 'r1', text: Buffer.from('one') },
      { run: 'r1', text: Buffer.from('more') },
      { run: 'r1', end: true },
    ])
  })

  it('waits for nothing where the run takes no input', async () => {
    const input = () => Promise.reject(failure('input_closed', { run: 'r1' }))
    const { keys } = keyboard()
    const played = await play(['input', 'last', '-'], { app: { input }, stdin: keys })
    expect(played).toMatchObject({ code: 125, stderr: expect.stringContaining('the standard input of run r1 is not open') })
  })

  it('stops waiting for standard input at a signal', async () => {
    const { keys } = keyboard()
    let send: (name: StopName) => void = () => {}
    const app: Partial<App> = {
      input: async () => {
        send('SIGINT')
        return { ...taken, bytes: 0 }
      },
    }
    const played = await play(['input', 'last', '-', '--end'], {
      app,
      stdin: keys,
      onReady: (given) => {
        send = given
      },
    })
    expect(played.code).toBe(130)
    expect(asked(played)).toEqual([{ run: 'last', text: '' }])
  })

  it.each([
    [['last'], 'TEXT is missing; accepted: a text, enter, or end'],
    [[], 'RUN is missing; accepted: a run id'],
    [['last', 'a', 'b'], 'the argument is "b"; accepted: holdfast input [options] RUN [TEXT|-]'],
  ])('%j is refused', async (args, sentence) => {
    expect(await play(['input', ...args])).toMatchObject({ code: 125, stderr: expect.stringContaining(sentence) })
  })
})

describe('a run that is left with Ctrl-C', () => {
  const running = fakeRun({ state: 'running', outcome: null })
  let interrupt = (): void => {}
  const untilAborted = (_: unknown, call?: ExecCall): Promise<typeof running> =>
    new Promise((resolve) => {
      call?.signal?.addEventListener('abort', () => resolve(running))
      interrupt()
    })

  it.each([
    [['wait', 'last'], { wait: untilAborted }],
    [['exec', '--wait', '10s', '--', 'x'], { exec: untilAborted }],
    [['output', 'last', '--follow'], { follow: async (given: unknown, call?: ExecCall) => void (await untilAborted(given, call)), show: async () => running }],
  ])('%j says that it goes on', async (args, app) => {
    const onReady = (signal: (name: StopName) => void): void => {
      interrupt = () => signal('SIGINT')
    }
    const played = await play(args, { app: app as Partial<App>, onReady })
    expect(played).toMatchObject({ code: 130, stderr: 'holdfast: run r1 goes on; holdfast stop r1 ends it\n' })
    expect(played.calls.map(([name]) => name)).not.toContain('stop')
  })
})
