import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ExecInput, RunResult } from '../../src/index.ts'
import { isSupervised } from '../support/modes.ts'
import { caseFile, describeCases, end, exited, expectNothingLeft, logOf, marked, named, namedIn, runProgram, testsInPlace, until } from './place.ts'

const inPlace = testsInPlace(40_000)

const script = (name: string, more: Omit<ExecInput, 'argv'> = {}): ExecInput => ({ argv: ['bash', caseFile(name)], ...more })

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const start = performance.now()
  return { value: await work(), ms: performance.now() - start }
}

function endAll(runs: readonly { pid: number }[]): void {
  for (const { pid } of runs) end(pid)
}

describeCases('A: pipes held open, time limits, what is left behind', () => {
  inPlace('B001: a child that holds the pipes open does not delay the result and is reported', async ({ holdfast }) => {
    const { value: run, ms } = await timed(() => holdfast.exec(script('B001.sh')))
    expect(ms).toBeLessThan(2_000)
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run)).toBe('start\ndone\n')
    const left = marked(run.id)
    expect(left).toHaveLength(1)
    expect(run.leftovers.map(({ pid }) => pid)).toEqual(left.map(({ pid }) => pid))
    expect(run.digest).toContain(String(left[0]?.pid))
    endAll(left)
  })

  inPlace('B001: what is left behind is ended where that was asked for', async ({ holdfast }) => {
    const run = await holdfast.exec(script('B001.sh', { leftovers: 'kill' }))
    expect(run).toMatchObject({ outcome: exited(0), leftovers: [] })
    expectNothingLeft(run)
  })

  inPlace('B002: a child that goes on writing does not delay the result, and its later lines are kept where a supervisor reads them', async ({ holdfast }) => {
    const { value: run, ms } = await timed(() => holdfast.exec(script('B002.sh')))
    expect(ms).toBeLessThan(4_000)
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run)).toContain('Foreground done\n')
    const before = logOf(run).length
    expect(run.leftovers.length > 0 || marked(run.id).length === 0).toBe(true)
    if (isSupervised) await until('the log has more', () => logOf(run).length > before)
    else {
      await new Promise((resolve) => setTimeout(resolve, 700))
      expect(logOf(run)).toHaveLength(before)
    }
    endAll(marked(run.id))
  })

  inPlace('B004: at the limit writer and reader of a fifo both end', async (place) => {
    const { holdfast } = place
    const { value: run, ms } = await timed(() => holdfast.exec(script('B004.sh', { timeoutMs: 3_000 })))
    expect(ms).toBeLessThan(6_000)
    expect(run.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall' })
    expect(logOf(run)).toContain('child 1\nchild 2\n')
    expectNothingLeft(run)
    expect(namedIn(place, 'b004-writer')).toEqual([])
  })

  inPlace('B005: a tree that ignores TERM is killed after the grace time', async ({ holdfast }) => {
    const { value: run, ms } = await timed(() => holdfast.exec(script('B005.sh', { timeoutMs: 2_000, graceMs: 1_000 })))
    expect(ms).toBeLessThan(2_000 + 1_000 + 1_000)
    expect(run.outcome).toEqual({ kind: 'timed_out', limit: 'wall', exitCode: 137, signal: 'SIGKILL' })
    expect(logOf(run)).toBe('ignoring TERM\n')
    expect(run.digest).toMatch(/timed out.*SIGKILL/)
    expectNothingLeft(run)
  })

  inPlace('B005: the same tree is killed when it is canceled', async ({ holdfast }) => {
    const canceler = new AbortController()
    let canceledAt = 0
    const run = await holdfast.exec({
      ...script('B005.sh', { graceMs: 1_000 }),
      signal: canceler.signal,
      onOutput: () => {
        canceledAt = performance.now()
        canceler.abort()
      },
    })
    expect(performance.now() - canceledAt).toBeLessThan(1_000 + 1_000)
    expect(run.outcome).toEqual({ kind: 'canceled', limit: null, exitCode: 137, signal: 'SIGKILL' })
    expect(logOf(run)).toBe('ignoring TERM\n')
    expectNothingLeft(run)
  })

  inPlace('B007: a trap gets its chance before the kill', async ({ world, holdfast }) => {
    const sentinel = world.path('sentinel')
    const run = await holdfast.exec(script('B007.sh', { timeoutMs: 2_000, env: { B007_FILE: sentinel } }))
    expect(run.outcome).toEqual({ kind: 'timed_out', limit: 'wall', exitCode: 143, signal: null })
    expect(readFileSync(sentinel, 'utf8')).toBe('cleanup ran\n')
    expect(logOf(run)).toContain('cleanup ran\n')
    expectNothingLeft(run)
  })

  inPlace('B008: output before a time limit is kept, an unfinished line and stderr included', async ({ holdfast }) => {
    const run = await holdfast.exec(script('B008.sh', { timeoutMs: 2_000 }))
    expect(run.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall' })
    const steps = [1, 2, 3, 4, 5].map((n) => `step ${n} ok`)
    for (const text of [...steps, 'Connecting to 203.0.113.7 ...', 'warning: on stderr']) expect(run.digest).toContain(text)
    expect(logOf(run)).toBe(`${steps.join('\n')}\nConnecting to 203.0.113.7 ...`)
    expect(run.stdout.lines).toBe(6)
    expectNothingLeft(run)
  })

  for (const [way, more] of [
    ['that was waited for in vain', { waitMs: 300 }],
    ['that a process of its own holds', { detach: true }],
  ] as const) {
    inPlace(`B010: stopping a server ${way} frees its port, and it can start again`, async ({ holdfast }) => {
      const serve = (): Promise<RunResult> => holdfast.exec({ argv: [process.execPath, caseFile('B010.js')], ...more })
      const portOf = (run: RunResult): Promise<string> =>
        until('the server listens', async () => /LISTENING (\d+)/.exec((await holdfast.output({ run: run.id })).text)?.[1])
      const first = await serve()
      expect(first.state).toBe('running')
      const port = Number(await portOf(first))
      expect(await connects(port)).toBe(true)
      const stopped = await holdfast.stop({ run: first.id })
      expect(stopped).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' }, leftovers: [] })
      expect(await connects(port)).toBe(false)
      expectNothingLeft(first)
      const second = await serve()
      expect(await connects(Number(await portOf(second)))).toBe(true)
      await holdfast.stop({ run: second.id })
      expectNothingLeft(second)
    })
  }

  for (const how of ['timed_out', 'canceled'] as const) {
    inPlace(`B070: a child that ignores TERM does no later work once its run is ${how.replace('_', ' ')}`, async ({ world, holdfast }) => {
      const canceler = new AbortController()
      const limits = how === 'timed_out' ? { timeoutMs: 1_000 } : {}
      const run = await holdfast.exec({
        ...script('B070.sh', { graceMs: 500, ...limits }),
        signal: canceler.signal,
        onOutput: () => how === 'canceled' && canceler.abort(),
      })
      expect(run.outcome?.kind).toBe(how)
      expect(named('b070-late').filter(({ pid }) => marked(run.id).some((other) => other.pid === pid))).toEqual([])
      expectNothingLeft(run)
      expect(existsSync(world.path('root', 'B070-PROOF'))).toBe(false)
    })
  }

  for (const lie of ['an ended run', 'a run whose holder died', 'a run without start times whose holder died'] as const) {
    inPlace(`B080: a stale pid in the record of ${lie} harms nobody`, async ({ world, holdfast, again }) => {
      await runProgram('bash', [caseFile('B080.sh'), world.path('innocent')], { env: world.env })
      const pid = Number(readFileSync(world.path('innocent', 'pid'), 'utf8'))
      const run = await holdfast.exec({ argv: ['true'] })
      await holdfast.close()
      const path = join(run.stdout.path, '..', 'run.json')
      const record = JSON.parse(readFileSync(path, 'utf8'))
      // A supervisor writes the first process beside the record, and not any more once it is over.
      record.process = { ...(record.process ?? { startTime: record.holder.startTime }), pid }
      const ended = { state: 'ended', outcome: exited(0), endedAt: record.startedAt }
      Object.assign(record, lie === 'an ended run' ? ended : { state: 'running', outcome: null, endedAt: null })
      if (lie === 'a run without start times whose holder died') record.process.startTime = ''
      record.holder = { pid, startTime: record.process.startTime }
      record.leftovers = [{ pid, name: 'sleep' }]
      writeFileSync(path, JSON.stringify(record))
      const next = await again()
      const stopped = await next.stop({ run: run.id }).catch((error: unknown) => error)
      expect(stopped).toMatchObject({ code: 'failed_precondition', details: { reason: 'run_ended' } })
      expect((await next.show({ run: run.id })).state).toBe(lie === 'an ended run' ? 'ended' : 'interrupted')
      const alive = named('b080-innocent').some((process) => process.pid === pid)
      end(pid)
      expect(alive).toBe(true)
    })
  }

  const selfSeeking = `bash ${caseFile('B082.sh')}; : b082-unique-text`
  inPlace('B082: a command that looks for its own text finds its own shell at most', async ({ holdfast, cli }) => {
    const asScript = await holdfast.exec({ script: selfSeeking })
    const asArgument = await holdfast.exec({ argv: ['bash', '-c', selfSeeking] })
    const detached = await holdfast.exec({ argv: ['bash', '-c', selfSeeking], detach: true, waitMs: 10_000 })
    const fromStdin = await cli(['exec', '--json', '-c', '-'], { input: selfSeeking })
    for (const [run, most] of [
      [asScript, 0],
      [asArgument, 1],
      [detached, 1],
      [fromStdin.json(), 0],
    ] as const) {
      expect(run.outcome).toEqual(exited(0))
      expect(Number(/ancestors that match: (\d+)/.exec(logOf(run))?.[1])).toBeLessThanOrEqual(most)
    }
  })

  inPlace('B082: pkill with a text of its own command line does not end the command line tool', async ({ cli }) => {
    const text = `b082-${process.pid}-${'own-text'}`
    const given = await cli(['exec', '--json', '-c', `pkill -f ${text}; echo survived`])
    expect(given).toMatchObject({ signal: null, status: 0 })
    expect(given.json().outcome).toEqual(exited(0))
    expect(logOf(given.json())).toBe('survived\n')
  })
})

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
