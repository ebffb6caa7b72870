import { mkdirSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HandClock, handClock, turn } from '../../test/support/clock.ts'
import { type ScriptedSupervisor, scriptedSupervisor } from '../../test/support/scripted-supervisor.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import type { Input, ResolvedCommand } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import type { SuperviseRequest } from './contact.ts'
import { signalName } from './end-facts.ts'
import type { Executed } from './execute.ts'
import { type Supervision, supervise } from './supervised.ts'

let world: World
let clock: HandClock
let supervisor: ScriptedSupervisor

beforeEach(() => {
  world = openWorld()
  clock = handClock()
  supervisor = scriptedSupervisor()
  mkdirSync(world.path('run'))
})

afterEach(() => world[Symbol.asyncDispose]())

interface Options extends Partial<Pick<SuperviseRequest, 'signal' | 'hurry' | 'onOutput' | 'onProgress' | 'reconnect' | 'bound'>> {
  readonly stdin?: Input
  readonly input?: ResolvedCommand['stdin']
}

function requestOf(session: SuperviseRequest['session'], { stdin, input = 'none', ...rest }: Options = {}): SuperviseRequest {
  return {
    session,
    plan: {
      command: { argv: ['scripted'], cwd: world.root, env: {}, stdin: input, mark: 'run' },
      limits: { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 4_096 },
      stdin,
      leftovers: 'report',
    },
    id: 'run',
    paths: {
      path: world.path('run'),
      stdout: world.path('run', 'stdout.log'),
      stderr: world.path('run', 'stderr.log'),
      end: world.path('run', 'end.json'),
      process: world.path('run', 'process.json'),
    },
    bound: false,
    reconnect: async () => supervisor.connect(),
    clock,
    ...rest,
  }
}

const start = (options?: Options): Promise<Supervision> => supervise(requestOf(supervisor.connect(), options))

/** Gives everything its turn, time included, until the run is settled. */
async function settled({ finished }: Supervision): Promise<Executed> {
  let result: Executed | undefined
  void finished.then((value) => {
    result = value
  })
  for (let rounds = 0; result === undefined && rounds < 100; rounds += 1) await clock.advance(2_000)
  if (!result) throw new Error('the run never settled')
  return result
}

describe('a supervised run', () => {
  it('starts with all that the supervisor has to know, and asks for no output where nobody listens', async () => {
    const run = await start({ bound: true })
    expect(supervisor.started[0]?.terms).toEqual({
      id: 'run',
      folder: world.path('run'),
      limits: { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 4_096 },
      leftovers: 'report',
      input: undefined,
      inputEnds: true,
      bound: true,
      listen: { kind: 'nothing' },
    })
    expect(run.process).toEqual({ pid: 42, startTime: 'scripted:2' })
    supervisor.end()
    await settled(run)
  })

  it('is told by its end record, without a single question', async () => {
    const run = await start()
    supervisor.print('one\n')
    supervisor.end({ exitCode: 3, leftovers: [{ pid: 9, startTime: 'x:1', name: 'sleep', ageMs: 5 }] })
    expect(await settled(run)).toMatchObject({
      state: 'ended',
      outcome: { kind: 'exited', exitCode: 3, signal: null, limit: null },
      durationMs: 12,
      stdout: { bytes: 4, lines: 1 },
      leftovers: [{ pid: 9, name: 'sleep' }],
      usage: { userMs: 1, systemMs: 2, peakMemoryBytes: 4096 },
      notes: [],
    })
    expect(supervisor.asked).toEqual(['listen nothing'])
    expect(clock.pending()).toBe(0)
  })

  it.each([
    [
      { exitCode: null, signal: 15, cut: { kind: 'timed_out', limit: 'wall', afterMs: 5 } } as const,
      { kind: 'timed_out', exitCode: 143, signal: 'SIGTERM', limit: 'wall' },
    ],
    [{ exitCode: 0, cut: { kind: 'canceled' } } as const, { kind: 'canceled', exitCode: 0, signal: null, limit: null }],
    [
      { exitCode: null, signal: 35 },
      { kind: 'signaled', exitCode: 163, signal: 'SIGRTMIN+1', limit: null },
    ],
    [
      { exitCode: null, signal: null },
      { kind: 'lost', exitCode: null, signal: null, limit: null },
    ],
  ])('%j is an outcome', async (part, outcome) => {
    const run = await start()
    supervisor.end(part)
    expect((await settled(run)).outcome).toEqual(outcome)
  })

  it('says what could not be written or ended, and hands out the last bytes', async () => {
    const run = await start()
    supervisor.end({
      confirmed: false,
      leftovers: [{ pid: 9, startTime: 'x:1', name: 'stuck', ageMs: 5 }],
      stdout: { bytes: 10, lines: 1, droppedBytes: 4, gap: { offset: 6, bytes: 4, lines: 0, markerBytes: 0 } },
      failures: [{ stream: 'stdout', errno: 'ENOSPC' }],
      unsaved: { stdout: Buffer.from('last').toString('base64') },
    })
    const { notes, unsaved } = await settled(run)
    expect(notes).toEqual([
      'the end of process 9 could not be confirmed after SIGKILL',
      'the log of stdout could not be written to its end (ENOSPC); 4 bytes are missing',
    ])
    expect(Buffer.from(unsaved.stdout ?? []).toString()).toBe('last')
  })

  it('is refused where the caller canceled before', async () => {
    await expect(start({ signal: AbortSignal.abort() })).rejects.toMatchObject({ details: { reason: 'canceled_before_start' } })
    expect(supervisor.started).toEqual([])
  })

  it('is refused as the supervisor refuses it', async () => {
    supervisor.failStart(failure('program_missing', { program: 'nothing' }))
    await expect(start()).rejects.toMatchObject({ details: { reason: 'program_missing' } })
  })
})

describe('the listener of a supervised run', () => {
  const texts = { stdout: '', stderr: '' }
  const onOutput: SuperviseRequest['onOutput'] = ({ stream, text }) => {
    texts[stream] += text
  }
  beforeEach(() => {
    texts.stdout = ''
    texts.stderr = ''
  })

  it('gets every byte once and in order, what the supervisor left out from the logs', async () => {
    const run = await start({ onOutput })
    supervisor.print('one ')
    supervisor.print('two ', { heard: false })
    supervisor.print('err', { stream: 'stderr' })
    supervisor.print('three ')
    supervisor.print('four', { heard: false })
    supervisor.end()
    expect((await settled(run)).notes).toEqual([])
    expect(texts).toEqual({ stdout: 'one two three four', stderr: 'err' })
    expect(supervisor.asked).toEqual(['listen everything'])
  })

  it('gets characters whole, also where they are cut at the border of what was left out', async () => {
    const run = await start({ onOutput })
    const bytes = Buffer.from('é€')
    supervisor.print(bytes.toString('utf8'), { heard: false })
    supervisor.print('!')
    supervisor.end()
    await settled(run)
    expect(texts.stdout).toBe('é€!')
  })

  it('is told how much of the output is nowhere any more', async () => {
    const run = await start({ onOutput })
    supervisor.print('kept')
    await turn()
    const totals = { bytes: 2_004, lines: 1, droppedBytes: 2_000, gap: { offset: 4, bytes: 2_000, lines: 0, markerBytes: 0 } }
    supervisor.end({ stdout: totals })
    expect((await settled(run)).notes).toEqual(['2,000 bytes of stdout did not reach the listener: it was slower than the command, and the log left them out'])
    expect(texts.stdout).toBe('kept')
  })

  it('gets nothing more from the moment when it cancels', async () => {
    const cancel = new AbortController()
    let heard = ''
    const run = await start({
      signal: cancel.signal,
      onOutput({ text }) {
        heard += text
        cancel.abort()
      },
    })
    supervisor.print('ready')
    await turn()
    supervisor.print('cleanup')
    supervisor.end({ cut: { kind: 'canceled' } })
    expect((await settled(run)).outcome.kind).toBe('canceled')
    expect([heard, supervisor.asked]).toEqual(['ready', ['listen everything', 'stop SIGTERM']])
  })

  it('gets the rest where the run was over before the cancellation', async () => {
    const cancel = new AbortController()
    const run = await start({ signal: cancel.signal, onOutput })
    supervisor.print('one ')
    await turn()
    cancel.abort()
    supervisor.print('two')
    supervisor.end()
    expect((await settled(run)).outcome.kind).toBe('exited')
    expect(texts.stdout).toBe('one two')
  })

  it('may throw, which is told once and changes nothing', async () => {
    const run = await start({
      onOutput() {
        throw new Error('no thanks')
      },
    })
    supervisor.print('kept')
    supervisor.end()
    const { outcome, notes } = await settled(run)
    expect([outcome.kind, notes]).toEqual(['exited', ['the output listener failed 1 times, first with: no thanks']])
  })

  it('of progress alone is told totals, and costs no more than the tail', async () => {
    const seen: unknown[] = []
    const run = await start({ onProgress: (progress) => seen.push(progress) })
    supervisor.print('one\n')
    supervisor.print('lots of it', { heard: false })
    supervisor.print('end', { stream: 'stderr' })
    supervisor.print('!')
    await turn()
    supervisor.end()
    await settled(run)
    expect(supervisor.asked).toEqual(['listen tail'])
    expect(seen).toEqual([
      { bytes: 4, stream: 'stdout', text: 'one\n' },
      { bytes: 7, stream: 'stderr', text: 'end' },
      { bytes: 18, stream: 'stdout', text: '!' },
    ])
  })
})

describe('the input of a supervised run', () => {
  it('goes with the start where it is short', async () => {
    const run = await start({ input: 'fed', stdin: Buffer.from('all of it') })
    const { input, inputEnds } = supervisor.started[0]?.terms ?? {}
    expect([Buffer.from(input ?? []).toString(), inputEnds]).toEqual(['all of it', true])
    supervisor.end()
    await settled(run)
    expect(supervisor.asked).toEqual(['listen nothing'])
  })

  it('is fed in pieces where it is long, and ended', async () => {
    const stdin = Buffer.alloc(200_000, 'x')
    const run = await start({ input: 'fed', stdin })
    await turn()
    const { input, inputEnds } = supervisor.started[0]?.terms ?? {}
    expect([(input?.length ?? 0) + supervisor.input().length, inputEnds]).toEqual([200_000, false])
    expect(supervisor.asked.slice(1)).toEqual(['write 65536', 'write 65536', 'write 3392', 'end input'])
    supervisor.end()
    await settled(run)
  })

  it('is fed as it comes, one piece after the command took the one before', async () => {
    const taken: (() => void)[] = []
    supervisor = scriptedSupervisor()
    async function* source(): AsyncGenerator<Uint8Array> {
      for (const text of ['one', 'two']) {
        yield Buffer.from(text)
        taken.push(() => {})
      }
    }
    const run = await start({ input: 'fed', stdin: source() })
    await turn()
    expect([supervisor.input().toString(), taken.length, supervisor.asked.at(-1)]).toEqual(['onetwo', 2, 'end input'])
    supervisor.end()
    await settled(run)
  })

  it('stays open where it is to be, and what is written later comes behind what was given', async () => {
    const run = await start({ input: 'open', stdin: Buffer.alloc(70_000, 'a') })
    await run.write(Buffer.from('later'))
    expect(supervisor.input().subarray(-5).toString()).toBe('later')
    expect(supervisor.asked).not.toContain('end input')
    await run.endInput()
    expect(supervisor.asked.at(-1)).toBe('end input')
    supervisor.end()
    await settled(run)
  })

  it('is not fed any more once the run is over', async () => {
    let pulled = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        pulled += 1
        await new Promise((resolve) => setImmediate(resolve))
        yield Buffer.from('y\n')
      }
    }
    const run = await start({ input: 'fed', stdin: endless() })
    await turn()
    supervisor.end()
    expect((await settled(run)).notes).toEqual([])
    await turn()
    const before = pulled
    await turn()
    expect(pulled).toBe(before)
  })
})

describe('the end of a supervised run on request', () => {
  it('is asked for with the signal of whoever cancels, and again with KILL in a hurry', async () => {
    const cancel = new AbortController()
    const hurry = new AbortController()
    const run = await start({ signal: cancel.signal, hurry: hurry.signal })
    cancel.abort({ signal: 'SIGINT' })
    hurry.abort()
    expect(supervisor.asked.slice(1)).toEqual(['stop SIGINT', 'stop SIGKILL'])
    supervisor.end({ cut: { kind: 'canceled' }, exitCode: null, signal: 9 })
    expect((await settled(run)).outcome).toMatchObject({ kind: 'canceled', signal: 'SIGKILL' })
  })

  it('is not asked for by hurry alone', async () => {
    const hurry = new AbortController()
    const run = await start({ hurry: hurry.signal })
    hurry.abort()
    expect(supervisor.asked).toEqual(['listen nothing'])
    supervisor.end()
    await settled(run)
  })

  it('is not waited for where the run is let go of', async () => {
    const run = await start()
    run.release()
    expect(await run.finished).toBeUndefined()
    expect(supervisor.asked.at(-1)).toBe('release')
  })
})

describe('a supervised run whose supervisor is out of reach', () => {
  it('is found again over a new connection, and its listener misses nothing', async () => {
    let heard = ''
    const run = await start({
      onOutput({ text }) {
        heard += text
      },
    })
    supervisor.print('one ')
    await turn()
    supervisor.loseContact()
    supervisor.print('two ', { heard: false })
    await clock.advance(1_000)
    expect(supervisor.asked.at(-1)).toBe('listen everything 4 0')
    supervisor.print('three')
    supervisor.end()
    expect(await settled(run)).toMatchObject({ state: 'ended', outcome: { kind: 'exited' }, notes: [] })
    expect(heard).toBe('one two three')
  })

  it('is asked again to end where that was wanted before', async () => {
    const cancel = new AbortController()
    const run = await start({ signal: cancel.signal })
    cancel.abort()
    supervisor.loseContact()
    await clock.advance(1_000)
    expect(supervisor.asked.filter((request) => request.startsWith('stop'))).toEqual(['stop SIGTERM', 'stop SIGTERM'])
    supervisor.end({ cut: { kind: 'canceled' } })
    expect((await settled(run)).outcome.kind).toBe('canceled')
  })

  it('is told by its end record where that was written meanwhile', async () => {
    const run = await start()
    supervisor.record({ exitCode: 5 })
    supervisor.loseContact()
    expect((await settled(run)).outcome).toMatchObject({ kind: 'exited', exitCode: 5 })
  })

  it('is interrupted where the supervisor is gone, with the output so far', async () => {
    let heard = ''
    const run = await start({
      reconnect: async () => undefined,
      onOutput({ text }) {
        heard += text
      },
    })
    supervisor.print('kept\n', { heard: false })
    supervisor.loseContact()
    expect(await settled(run)).toMatchObject({
      state: 'interrupted',
      outcome: { kind: 'lost', exitCode: null },
      stdout: { bytes: 5, lines: 1 },
      notes: ['contact with the supervisor was lost'],
    })
    expect(heard).toBe('kept\n')
  })

  it('is interrupted where reaching it fails again and again', async () => {
    const run = await start({ reconnect: () => Promise.reject(failure('supervisor_unavailable', { why: 'busy' })) })
    supervisor.loseContact()
    expect((await settled(run)).state).toBe('interrupted')
  })

  it('is given up where it is lost as soon as it was found, again and again', async () => {
    let found = 0
    const reconnect = async () => {
      const session = supervisor.connect()
      const attach: typeof session.attach = async (...given) => {
        found += 1
        const again = await session.attach(...given)
        supervisor.loseContact()
        return again
      }
      return { ...session, attach }
    }
    const run = await start({ reconnect })
    supervisor.loseContact()
    expect(await settled(run)).toMatchObject({ state: 'interrupted', outcome: { kind: 'lost', exitCode: null } })
    expect(found).toBeLessThan(30)
  })

  it('is found where contact was lost while it was being started', async () => {
    const first = supervisor.connect()
    const broken = {
      ...first,
      async start(...given: Parameters<typeof first.start>): Promise<never> {
        await first.start(...given)
        throw failure('supervisor_lost', { why: 'gone' })
      },
    }
    const run = await supervise(requestOf(broken))
    supervisor.end({ exitCode: 4 })
    expect((await settled(run)).outcome.exitCode).toBe(4)
  })

  it('was surely not started where the supervisor lives and knows nothing of it', async () => {
    supervisor.failStart(failure('supervisor_lost', { why: 'gone' }))
    await expect(start()).rejects.toMatchObject({ details: { reason: 'supervisor_lost' } })
  })

  it('may have run where the supervisor died while it was being started', async () => {
    supervisor.failStart(failure('supervisor_lost', { why: 'gone' }))
    const run = await start({ reconnect: async () => undefined })
    expect(await settled(run)).toMatchObject({ state: 'interrupted', outcome: { kind: 'lost' } })
    expect(run.process).toBeNull()
  })

  it('is given up long after its end was due, where no question is answered', async () => {
    const run = await start()
    supervisor.fallSilent()
    await clock.advance(60_000 + 2_000 + 2_000 + 5_000)
    let over = false
    void run.finished.then(() => {
      over = true
    })
    await turn()
    expect(over).toBe(false)
    expect((await settled(run)).state).toBe('interrupted')
  })

  it('is waited for as long as the supervisor says that it goes on', async () => {
    const run = await start()
    await clock.advance(600_000)
    supervisor.end()
    expect((await settled(run)).outcome.kind).toBe('exited')
  })

  it('tells how far it is, by asking or, without an answer, by the logs', async () => {
    const run = await start()
    supervisor.print('one\ntwo')
    expect(await run.progress()).toMatchObject({ elapsedMs: 7, stdout: { bytes: 7 } })
    supervisor.fallSilent()
    const answer = run.progress()
    await clock.advance(3_000)
    expect((await answer).stdout).toMatchObject({ bytes: 7, lines: 2 })
    supervisor.end()
    await settled(run)
  })
})

it('names real-time signals by their distance from the first one', () => {
  expect([9, 34, 35, 64, 32, 200].map(signalName)).toEqual(['SIGKILL', 'SIGRTMIN', 'SIGRTMIN+1', 'SIGRTMIN+30', 'signal 32', 'signal 200'])
})

it('reads what is no end record as none', async () => {
  const run = await start({ reconnect: async () => undefined })
  writeFileSync(world.path('run', 'end.json'), '{"version":1,"run":"run"')
  supervisor.loseContact()
  expect((await settled(run)).state).toBe('interrupted')
})
