import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import type { RunResult } from '../../src/index.ts'
import { end, exited, expectNothingLeft, logOf, marked, testsInPlace, until } from './place.ts'

/*
 * What users of other systems that run commands complain about, each as the command that they gave. They fall into hangs and limits that
 * do not cut, output that is lost or made up, limits that destroy more than the command, and processes that survive.
 */

const inPlace = testsInPlace(40_000)

async function timed<T>(work: Promise<T>): Promise<{ value: T; ms: number }> {
  const start = performance.now()
  const value = await work
  return { value, ms: performance.now() - start }
}

/** Ends what the test let live on. */
const endLeft = (run: RunResult): void => {
  for (const { pid } of marked(run.id)) end(pid)
}

const timedOut = { kind: 'timed_out', limit: 'wall' } as const

describe('hangs, and limits that do not cut', () => {
  inPlace('a limit of 2 s answers after 2 s, not when the command would have ended', async ({ holdfast }) => {
    const { value: run, ms } = await timed(holdfast.exec({ script: 'sleep 20; echo hello', timeoutMs: 2_000 }))
    expect(run).toMatchObject({ outcome: timedOut, stdout: { bytes: 0 } })
    expect(ms).toBeLessThan(10_000)
    expectNothingLeft(run)
  })

  inPlace('after a command that hung, the next ones run', async ({ holdfast }) => {
    const hung = await holdfast.exec({ script: 'trap "" TERM; while :; do sleep 60; done', timeoutMs: 300, graceMs: 200 })
    expect(hung.outcome).toMatchObject({ ...timedOut, signal: 'SIGKILL' })
    for (let i = 0; i < 3; i += 1) expect(logOf(await holdfast.exec({ argv: ['echo', 'hello'] }))).toBe('hello\n')
    expectNothingLeft(hung)
  })

  inPlace('the first command of all answers', async ({ cli }) => {
    const { value, ms } = await timed(cli(['exec', '--json', '--', 'echo', 'hello']))
    expect(logOf(value.json())).toBe('hello\n')
    expect(ms).toBeLessThan(10_000)
  })

  inPlace('a heredoc is written', async ({ holdfast, world }) => {
    const file = world.path('root', 'test.txt')
    const run = await holdfast.exec({ script: `cat << 'EOF' > ${file}\nline $HOME\n  \`two\`\nEOF\n`, timeoutMs: 10_000 })
    expect(run.outcome).toEqual(exited(0))
    expect(readFileSync(file, 'utf8')).toBe('line $HOME\n  `two`\n')
  })

  inPlace('a command that asks for something gets an end of file', async ({ holdfast }) => {
    const run = await holdfast.exec({ script: 'read -rp "name? " name || echo nobody answers; cat; echo on', timeoutMs: 10_000 })
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run)).toBe('nobody answers\non\n')
  })

  inPlace('the child of a process substitution that keeps the pipe does not keep the answer', async ({ holdfast, world }) => {
    const log = world.path('root', 'log')
    const script = `exec > >(tee -a ${log}) 2>&1 && echo "2 passed"`
    const { value: run, ms } = await timed(holdfast.exec({ script, timeoutMs: 20_000 }))
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run)).toBe('2 passed\n')
    expect(ms).toBeLessThan(5_000)
    await until('tee has written', () => existsSync(log) && readFileSync(log, 'utf8') === '2 passed\n')
    expectNothingLeft(run)
  })

  for (const [name, argv] of [
    ['a child in the background', ['sh', '-c', 'sleep 8 &']],
    ['a child in the background of nohup', ['nohup', 'sh', '-c', 'sleep 5 &']],
    ['a child that keeps the streams of a shell that exits', ['sh', '-c', 'sleep 73 & exit 0']],
  ] as const) {
    inPlace(`${name} makes no time-out and is named`, async ({ holdfast }) => {
      const { value: run, ms } = await timed(holdfast.exec({ argv: [...argv], timeoutMs: 4_000 }))
      expect(run.outcome).toEqual(exited(0))
      expect(ms).toBeLessThan(3_000)
      expect(run.leftovers).toEqual([{ pid: marked(run.id)[0]?.pid, name: 'sleep' }])
      endLeft(run)
    })

    inPlace(`${name} ends with its run where that was asked for`, async ({ holdfast }) => {
      const run = await holdfast.exec({ argv: [...argv], leftovers: 'kill' })
      expect(run).toMatchObject({ outcome: exited(0), leftovers: [] })
      expectNothingLeft(run)
    })
  }

  inPlace('a server that never ends is answered by its idle limit, or lives on in the background', async ({ holdfast }) => {
    const script = 'echo "  Local: http://localhost:5173/"; while :; do sleep 0.2; done'
    const idle = await holdfast.exec({ script, idleTimeoutMs: 600 })
    expect(idle.outcome).toMatchObject({ kind: 'timed_out', limit: 'idle' })
    expect(idle.digest).toContain('http://localhost:5173/')
    expectNothingLeft(idle)
    const served = await holdfast.exec({ script, detach: true })
    await until('it has printed', async () => (await holdfast.output({ run: served.id })).text.includes('5173'))
    expect((await holdfast.stop({ run: served.id })).outcome).toMatchObject({ kind: 'canceled' })
    expectNothingLeft(served)
  })

  inPlace('a hung command does not stop others that begin and end meanwhile', async ({ holdfast }) => {
    const hung = holdfast.exec({ script: 'exec sleep 60', timeoutMs: 3_000 })
    const { value: others, ms } = await timed(Promise.all(Array.from({ length: 20 }, (_, i) => holdfast.exec({ argv: ['echo', String(i)] }))))
    expect(others.map((run) => logOf(run))).toEqual(Array.from({ length: 20 }, (_, i) => `${i}\n`))
    expect(ms).toBeLessThan(10_000)
    expect((await hung).outcome).toMatchObject(timedOut)
  })
})

describe('output that is lost, made up or cut', () => {
  inPlace('a long stream keeps its end through a pipeline', async ({ holdfast }) => {
    const whole = await holdfast.exec({ argv: ['seq', '1', '2000000'] })
    expect(whole).toMatchObject({ outcome: exited(0), stdout: { bytes: 14_888_896, lines: 2_000_000, droppedBytes: 0 } })
    expect((await holdfast.output({ run: whole.id, lines: '-1' })).text).toBe('2000000\n')
    expect(logOf(await holdfast.exec({ script: "sh -c 'seq 1 2000000' | tail -n1" }))).toBe('2000000\n')
  })

  inPlace('a run that goes from the foreground to the background loses nothing', async ({ holdfast, world }) => {
    const gate = world.path('gate')
    const script = `for i in $(seq 1 59); do echo "line $i"; sleep 0.02; done; while ! [ -e ${gate} ]; do sleep 0.02; done; echo line 60; exit 3`
    const begun = await holdfast.exec({ script, waitMs: 300 })
    expect(begun.state).toBe('running')
    writeFileSync(gate, '')
    const run = await holdfast.wait({ run: begun.id })
    expect(run).toMatchObject({ state: 'ended', outcome: exited(3), stdout: { lines: 60 } })
    expect(logOf(run)).toBe(Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join(''))
  })

  inPlace('a command that is over at once has its output', async ({ holdfast }) => {
    const runs = await Promise.all(Array.from({ length: 20 }, (_, i) => holdfast.exec({ argv: ['printf', `fast ${i}`] })))
    expect(runs.map((run) => logOf(run))).toEqual(Array.from({ length: 20 }, (_, i) => `fast ${i}`))
  })

  inPlace('characters that are split across pieces arrive whole', async ({ holdfast }) => {
    const text = '漢字🙂é'
    const seen: string[] = []
    const script = `const bytes = Buffer.from(${JSON.stringify(text)}.repeat(8000)); let at = 0
      const next = () => { if (at < bytes.length) process.stdout.write(bytes.subarray(at, at += 65537), next) }; next()`
    const run = await holdfast.exec({ runtime: 'node', script, onOutput: (chunk) => seen.push(chunk.text) })
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run) === text.repeat(8_000)).toBe(true)
    expect(seen.join('') === text.repeat(8_000)).toBe(true)
  })

  inPlace('whoever follows the output gets no byte twice, and none that the run did not print', async ({ cli, holdfast, world }) => {
    const gate = world.path('gate')
    const script = `seq 1 1000; while ! [ -e ${gate} ]; do sleep 0.02; done; seq 1001 2000`
    const { id } = await holdfast.exec({ script, detach: true })
    await until('a half is there', async () => (await holdfast.show({ run: id })).stdout.bytes === 3_893)
    const followed = Promise.all([cli(['output', id, '--follow']), cli(['output', id, '--follow'])])
    writeFileSync(gate, '')
    const expected = Array.from({ length: 2_000 }, (_, i) => `${i + 1}\n`).join('')
    for (const { stdout } of await followed) expect(stdout === expected).toBe(true)
  })

  inPlace('a stream that goes on is not said to be complete', async ({ cli, holdfast }) => {
    const { id } = await holdfast.exec({ script: 'echo begun; exec sleep 60', detach: true })
    await until('it has begun', async () => (await holdfast.output({ run: id })).text === 'begun\n')
    const waited = await cli(['wait', '--json', '--timeout', '300ms', id])
    expect(waited.json()).toMatchObject({ state: 'running', outcome: null })
    await holdfast.stop({ run: id })
    expectNothingLeft(id)
  })
})

describe('limits that destroy more than the command', () => {
  inPlace('a command that was cut is in no list of processes, and what it printed is kept', async ({ holdfast }) => {
    const run = await holdfast.exec({ script: 'echo first; echo second >&2; printf half; sleep 10', timeoutMs: 1_000 })
    expect(run.outcome).toMatchObject(timedOut)
    expect([logOf(run), logOf(run, 'stderr')]).toEqual(['first\nhalf', 'second\n'])
    expect(run.digest).toContain('half')
    expectNothingLeft(run)
  })

  inPlace('whoever stops waiting does not stop the command', async ({ holdfast }) => {
    const begun = await holdfast.exec({ script: 'sleep 1; echo done', waitMs: 100 })
    expect(begun.state).toBe('running')
    expect(logOf(await holdfast.exec({ argv: ['echo', 'meanwhile'] }))).toBe('meanwhile\n')
    expect(await holdfast.wait({ run: begun.id })).toMatchObject({ outcome: exited(0), stdout: { bytes: 5 } })
  })
})

describe('processes that survive', () => {
  inPlace('a stop ends what a shell has started, not the shell alone', async ({ holdfast }) => {
    const { id } = await holdfast.exec({ script: '(sleep 300 & sleep 301 & wait) & (exec sleep 302) & sleep 303; wait', detach: true })
    await until('all are there', () => marked(id).filter(({ command }) => command.startsWith('sleep')).length === 4)
    expect(await holdfast.stop({ run: id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' }, leftovers: [] })
    expectNothingLeft(id)
  })

  inPlace('a loop that never sleeps ends at its limit', async ({ holdfast }) => {
    const run = await holdfast.exec({ script: 'while :; do :; done', timeoutMs: 700 })
    expect(run.outcome).toMatchObject(timedOut)
    expectNothingLeft(run)
  })

  inPlace('a loop that forks and never waits ends at its limit', async ({ holdfast }) => {
    const run = await holdfast.exec({ script: 'trap "" TERM; while :; do (sleep 30 &); sleep 0.02; done', timeoutMs: 700, graceMs: 200 })
    expect(run).toMatchObject({ outcome: timedOut, leftovers: [] })
    expectNothingLeft(run)
  })
})
