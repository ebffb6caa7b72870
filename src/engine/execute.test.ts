import { mkdirSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HandClock, handClock, turn } from '../../test/support/clock.ts'
import { type ScriptedRunning, scriptedRunning, sessionOf } from '../../test/support/scripted-running.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import type { Session } from '../core/backend.ts'
import { failure } from '../core/errors.ts'
import type { Delivery } from './delivery.ts'
import { type Executed, type ExecuteRequest, type Execution, execute } from './execute.ts'
import { findPieces, readRange } from './log-reader.ts'

let world: World
let clock: HandClock

beforeEach(() => {
  world = openWorld()
  clock = handClock()
  mkdirSync(world.path('logs'))
})

afterEach(() => world[Symbol.asyncDispose]())

const path = (stream: 'stdout' | 'stderr'): string => world.path('logs', `${stream}.log`)

interface Options extends Pick<ExecuteRequest, 'signal' | 'onOutput'> {
  readonly stdin?: Uint8Array
  readonly input?: 'none' | 'fed'
  readonly idleTimeoutMs?: number
}

function start(session: Session, { stdin, input = 'none', idleTimeoutMs, ...rest }: Options = {}): Promise<Execution> {
  return execute({
    session,
    plan: {
      command: { argv: ['scripted'], cwd: world.root, env: {}, stdin: input, mark: 'scripted' },
      limits: { timeoutMs: 60_000, idleTimeoutMs: idleTimeoutMs ?? null, graceMs: 2_000, maxOutputBytes: 4_096 },
      stdin,
      leftovers: 'report',
    },
    logs: { stdout: path('stdout'), stderr: path('stderr'), maxBytes: 4_096 },
    clock,
    ...rest,
  })
}

/** Moves the clock on until the run is settled, a day at the most. */
async function settled({ finished }: Execution): Promise<Executed> {
  let result: Executed | undefined
  void finished.then((value) => {
    result = value
  })
  for (let hours = 0; result === undefined && hours < 24; hours += 1) await clock.advance(hours === 0 ? 5_000 : 3_600_000)
  if (result === undefined) throw new Error('the run never settled')
  return result
}

const kept = (executed: Executed): string => readRange(findPieces(path('stdout'), executed.stdout), 0, 1e9, 1e9).toString()

const exits = (_name: NodeJS.Signals, running: ScriptedRunning): void => {
  running.exit({ signal: 'SIGTERM', number: 15 })
  running.closeOutput()
}

describe('executing a command', () => {
  it('records first and delivers then: what a listener sees is in the log', async () => {
    const running = scriptedRunning()
    const seen: string[] = []
    const execution = await start(sessionOf(running), {
      onOutput({ text }) {
        seen.push(`${text}:${readRange(findPieces(path('stdout'), undefined), 0, 1e9, 1e9).toString()}`)
      },
    })
    running.print('a')
    await turn()
    running.print('b')
    await turn()
    running.exit({ exitCode: 0 })
    running.closeOutput()
    const { outcome, notes } = await settled(execution)
    expect(seen).toEqual(['a:a', 'b:ab'])
    expect([outcome, notes]).toEqual([{ kind: 'exited', exitCode: 0, signal: null, limit: null }, []])
    expect(clock.pending()).toBe(0)
  })

  it('starts nothing for a request that was canceled before', async () => {
    let started = 0
    const session: Session = {
      ...sessionOf(scriptedRunning()),
      start: async () => {
        started += 1
        return scriptedRunning()
      },
    }
    await expect(start(session, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'failed_precondition',
      details: { reason: 'canceled_before_start' },
    })
    expect(started).toBe(0)
  })

  it('cancels a command whose request was canceled while it started', async () => {
    const cancel = new AbortController()
    const running = scriptedRunning({ onSignal: exits })
    const session: Session = {
      ...sessionOf(running),
      start: async () => {
        cancel.abort()
        return running
      },
    }
    expect((await settled(await start(session, { signal: cancel.signal }))).outcome.kind).toBe('canceled')
  })

  it('hands on the refusal of a backend as it is', async () => {
    const refusal = failure('program_missing', { program: 'x' })
    const session: Session = { ...sessionOf(scriptedRunning()), start: () => Promise.reject(refusal) }
    await expect(start(session)).rejects.toBe(refusal)
    expect(clock.pending()).toBe(0)
  })

  it('keeps and does not deliver what comes after a cut', async () => {
    const running = scriptedRunning({
      onSignal(name, self) {
        self.print(`last words after ${name}\n`)
        exits(name, self)
      },
    })
    let delivered = ''
    const execution = await start(sessionOf(running), {
      onOutput({ text }) {
        delivered += text
      },
    })
    running.print('first\n')
    await clock.advance(60_000)
    const executed = await settled(execution)
    expect(executed.outcome).toEqual({ kind: 'timed_out', exitCode: 143, signal: 'SIGTERM', limit: 'wall' })
    expect([delivered, kept(executed)]).toEqual(['first\n', 'first\nlast words after SIGTERM\n'])
  })

  it('delivers what comes after the exit and before the result', async () => {
    const running = scriptedRunning()
    let delivered = ''
    const execution = await start(sessionOf(running), {
      onOutput({ text }) {
        delivered += text
      },
    })
    running.exit({ exitCode: 0 })
    await clock.advance(20)
    running.print('late')
    running.closeOutput()
    expect(kept(await settled(execution))).toBe('late')
    expect(delivered).toBe('late')
  })

  it('survives a listener that throws, rejects or cancels in the middle of a chunk', async () => {
    const cancel = new AbortController()
    const running = scriptedRunning({ onSignal: exits })
    const calls: Delivery[] = []
    const execution = await start(sessionOf(running), {
      signal: cancel.signal,
      onOutput(chunk) {
        calls.push(chunk)
        if (calls.length === 1) throw new Error('one')
        if (calls.length === 2) return Promise.reject(new Error('two'))
        cancel.abort()
        throw new Error('three')
      },
    })
    for (const text of ['a', 'b', 'c', 'd']) {
      running.print(text)
      await turn()
    }
    const executed = await settled(execution)
    expect(executed.outcome.kind).toBe('canceled')
    expect(kept(executed).slice(0, 3)).toBe('abc')
    expect(calls.length).toBe(3)
    expect(executed.notes).toEqual(['the output listener failed 3 times, first with: one'])
  })

  it('settles as lost, with the output so far, when contact breaks', async () => {
    const running = scriptedRunning()
    const execution = await start(sessionOf(running))
    running.print('so far')
    running.loseContact()
    running.breakOutput(new Error('the connection broke'))
    const executed = await settled(execution)
    expect(executed.outcome).toEqual({ kind: 'lost', exitCode: null, signal: null, limit: null })
    expect(kept(executed)).toBe('so far')
    expect(executed.notes).toEqual(['the output could not be read to its end: the connection broke'])
  })

  it('raises nothing behind the back of its caller when the output breaks long before the end', async () => {
    const raised: unknown[] = []
    const listen = (error: unknown): void => void raised.push(error)
    process.on('unhandledRejection', listen)
    const running = scriptedRunning()
    const execution = await start(sessionOf(running))
    running.breakOutput(new Error('broken'))
    await turn()
    running.exit({ exitCode: 0 })
    const { outcome, notes } = await settled(execution)
    await turn()
    process.off('unhandledRejection', listen)
    expect([raised, outcome.kind, notes]).toEqual([[], 'exited', ['the output could not be read to its end: broken']])
  })

  it('settles where a backend never lets go of the output', async () => {
    const running = scriptedRunning({ letsGo: false })
    const execution = await start(sessionOf(running))
    running.print('kept')
    running.exit({ exitCode: 0 })
    const executed = await settled(execution)
    running.print('too late')
    await turn()
    expect(kept(executed)).toBe('kept')
    expect(clock.pending()).toBe(0)
  })

  it('ends input that was asked for and not given', async () => {
    let ended = false
    const running = scriptedRunning()
    running.endInput = async () => {
      ended = true
    }
    const execution = await start(sessionOf(running), { input: 'fed' })
    await turn()
    expect(ended).toBe(true)
    running.exit({ exitCode: 0 })
    await settled(execution)
  })

  it('writes input in pieces and tells when it could not be written', async () => {
    const whole = scriptedRunning()
    const stdin = Buffer.alloc(300_000, 'x')
    const execution = await start(sessionOf(whole), { input: 'fed', stdin })
    await turn()
    expect(whole.input().equals(stdin)).toBe(true)
    whole.exit({ exitCode: 0 })
    await settled(execution)

    const broken = scriptedRunning({ write: () => Promise.reject(new Error('gone')) })
    const failing = await start(sessionOf(broken), { input: 'fed', stdin })
    await turn()
    broken.exit({ exitCode: 0 })
    expect((await settled(failing)).notes).toEqual(['the standard input could not be written to its end: gone'])
  })

  it('decodes each stream for itself and flushes each once', async () => {
    const running = scriptedRunning()
    const texts = { stdout: '', stderr: '' }
    const execution = await start(sessionOf(running), {
      onOutput({ stream, text }) {
        texts[stream] += text
      },
    })
    const bytes = Buffer.from('\ufeffé€🔥')
    for (const byte of bytes) {
      running.print(Uint8Array.of(byte), 'stdout')
      running.print(Uint8Array.of(byte), 'stderr')
    }
    running.print(Uint8Array.of(0xe2, 0x82), 'stderr')
    running.exit({ exitCode: 0 })
    running.closeOutput()
    await settled(execution)
    expect(texts).toEqual({ stdout: '\ufeffé€🔥', stderr: '\ufeffé€🔥\ufffd' })
  })

  it('settles and says what is missing where its folder is removed while it runs', async () => {
    const running = scriptedRunning()
    const execution = await start(sessionOf(running))
    running.print('x'.repeat(3_000))
    await turn()
    rmSync(world.path('logs'), { recursive: true })
    running.print('y'.repeat(30_000))
    running.exit({ exitCode: 0 })
    running.closeOutput()
    const { outcome, stdout, notes } = await settled(execution)
    expect(outcome.kind).toBe('exited')
    expect(stdout).toMatchObject({ bytes: 33_000, droppedBytes: 33_000 })
    expect(notes[0]).toBe('the log of stdout could not be written to its end (ENOENT); 33000 bytes are missing')
  })

  it('tells while it runs what came so far', async () => {
    const running = scriptedRunning()
    const execution = await start(sessionOf(running))
    running.print('one\ntwo')
    running.print('err', 'stderr')
    await clock.advance(1_500)
    const { elapsedMs, stdout, stderr, lastBytes } = execution.progress()
    expect([elapsedMs, stdout.bytes, stdout.lines, stderr.bytes, Buffer.from(lastBytes).toString()]).toEqual([1_500, 7, 2, 3, 'err'])
    running.exit({ exitCode: 0 })
    expect((await settled(execution)).durationMs).toBeGreaterThanOrEqual(1_500)
  })

  it('counts output of either stream as a sign of life', async () => {
    const running = scriptedRunning({ onSignal: exits })
    const execution = await start(sessionOf(running), { idleTimeoutMs: 1_000 })
    for (let i = 0; i < 6; i += 1) {
      await clock.advance(600)
      running.print('.', i % 2 ? 'stdout' : 'stderr')
    }
    await clock.advance(999)
    expect(running.signals).toEqual([])
    await clock.advance(1)
    expect((await settled(execution)).outcome).toMatchObject({ kind: 'timed_out', limit: 'idle' })
  })
})
