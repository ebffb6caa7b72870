import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { RunRecord } from '../../src/core/run.ts'
import { describeSupervised, end, exited, expectNothingLeft, logOf, marked, type Place, program, runProgram, testsInPlace, until } from '../cases/place.ts'

const inPlace = testsInPlace(40_000)
const inPlainPlace = testsInPlace(40_000, it, { plain: true })

const fileOf = ({ world }: Place, run: string, name: string): string => world.path('root', '.holdfast', 'runs', run, name)
const recordOf = (place: Place, run: string): RunRecord => JSON.parse(readFileSync(fileOf(place, run, 'run.json'), 'utf8'))

/** Reads line by line, answers each, and says how many there were at end-of-file. */
const reader = 'n=0; while read -r line; do n=$((n+1)); echo "got $line"; done; echo "end after $n"'

describeSupervised('a run that reads', () => {
  inPlace('is written to by its own Holdfast and by others, until its input is ended', async ({ holdfast, again }) => {
    const other = await again()
    const { id } = await holdfast.exec({ script: reader, interactive: true, stdin: 'first\n', waitMs: 0 })
    expect(await holdfast.input({ run: id, text: 'second', enter: true })).toEqual({ id, state: 'running', bytes: 7, open: true })
    expect(await other.input({ run: id, text: 'third\n' })).toEqual({ id, state: 'running', bytes: 6, open: true })
    await until('all were read', async () => (await other.output({ run: id })).text.includes('got third'))
    expect(await other.input({ run: id, end: true })).toMatchObject({ bytes: 0, open: false })
    expect(await other.wait({ run: id })).toMatchObject({ outcome: exited(0) })
    expect((await holdfast.output({ run: id })).text).toBe('got first\ngot second\ngot third\nend after 3\n')
    for (const each of [holdfast, other]) {
      await expect(each.input({ run: id, text: 'x' })).rejects.toMatchObject({ code: 'failed_precondition', details: { reason: 'input_over' } })
    }
  })

  inPlace('is written to after whoever started it has gone', async ({ holdfast, again }) => {
    const starter = await again()
    const { id } = await starter.exec({ script: reader, interactive: true, detach: true })
    await starter.close()
    await holdfast.input({ run: id, text: 'late\n', end: true })
    expect(await holdfast.wait({ run: id })).toMatchObject({ outcome: exited(0), stdout: { lines: 2 } })
  })

  inPlace('takes nothing where its input is not open', async ({ holdfast, again }) => {
    const { id } = await holdfast.exec({ script: 'sleep 72.5', waitMs: 0 })
    for (const each of [holdfast, await again()]) {
      await expect(each.input({ run: id, text: 'x' })).rejects.toMatchObject({ code: 'failed_precondition', details: { reason: 'input_closed' } })
    }
    await holdfast.stop({ run: id })
  })

  inPlace('on a pseudo-terminal gets what is typed, and a size', async ({ holdfast }) => {
    const { id } = await holdfast.exec({ script: 'stty size; read -r line; echo "[$line]"', pty: { rows: 31, columns: 91 }, interactive: true, waitMs: 0 })
    await until('it asks', async () => (await holdfast.output({ run: id })).text.includes('31 91'))
    await holdfast.input({ run: id, text: 'typed', enter: true })
    const run = await holdfast.wait({ run: id })
    expect(run).toMatchObject({ outcome: exited(0), pty: { rows: 31, columns: 91 }, stderr: { bytes: 0 } })
    expect(logOf(run)).toContain('[typed]\r\n')
  })
})

describe('a run that reads in plain mode', () => {
  inPlainPlace('is written to by its own Holdfast alone', async ({ holdfast, again }) => {
    const { id } = await holdfast.exec({ script: reader, interactive: true, stdin: 'first\n', waitMs: 0 })
    expect(await holdfast.input({ run: id, text: 'second', enter: true })).toMatchObject({ bytes: 7, open: true })
    const other = await again()
    await expect(other.input({ run: id, text: 'x' })).rejects.toMatchObject({ code: 'unsupported', details: { reason: 'input_elsewhere', pid: process.pid } })
    expect(await holdfast.input({ run: id, text: 'third\n', end: true })).toMatchObject({ open: false })
    const run = await holdfast.wait({ run: id })
    expect(run).toMatchObject({ outcome: exited(0), usage: null })
    expect(logOf(run)).toBe('got first\ngot second\ngot third\nend after 3\n')
    await expect(holdfast.input({ run: id, text: 'x' })).rejects.toMatchObject({ details: { reason: 'input_over' } })
    const deaf = await holdfast.exec({ script: 'sleep 73.5', waitMs: 0 })
    await expect(holdfast.input({ run: deaf.id, text: 'x' })).rejects.toMatchObject({ details: { reason: 'input_closed' } })
    await holdfast.stop({ run: deaf.id })
  })

  inPlainPlace('has no terminal, and none that others could write to: that is refused before anything starts', async ({ holdfast, cli }) => {
    const { status, stderr } = await cli(['exec', '--interactive', '--', 'cat'])
    expect([status, stderr]).toEqual([125, expect.stringMatching(/^holdfast: input from another process needs the supervisor, and HOLDFAST_SUPERVISOR/)])
    for (const input of [{ pty: true }, { pty: true, detach: true }, { interactive: true, detach: true }] as const) {
      const refused = holdfast.exec({ argv: ['true'], ...input })
      await expect(refused).rejects.toMatchObject({
        code: 'unsupported',
        details: { reason: 'supervisor_needed', why: expect.stringContaining('HOLDFAST_SUPERVISOR') },
      })
    }
    expect((await holdfast.runs({})).total).toBe(0)
  })
})

describe('a detached run', () => {
  inPlace('reads all of its input, also where that is long and whoever started it leaves at once', async ({ holdfast, again }) => {
    const stdin = Buffer.alloc(3_000_000, 'line of input\n')
    const starter = await again()
    const long = await starter.exec({ script: 'sleep 0.3; cksum', stdin, detach: true })
    const short = await starter.exec({ script: 'sleep 0.3; cat', stdin: 'short', detach: true })
    await starter.close()
    const [{ stdout }] = [spawnSync('cksum', { input: stdin, encoding: 'utf8' })]
    expect(logOf(await holdfast.wait({ run: long.id }))).toBe(stdout)
    expect(logOf(await holdfast.wait({ run: short.id }))).toBe('short')
  })

  inPlace('is followed and waited for by others, and told of while it goes on', async ({ holdfast, again, world }) => {
    const gate = world.path('gate')
    const starter = await again()
    const { id } = await starter.exec({ script: `echo one; while ! [ -e ${gate} ]; do sleep 0.02; done; echo two; echo err >&2; exit 8`, detach: true })
    await starter.close()
    let heard = ''
    const following = holdfast.follow(
      { run: id, streams: ['stdout'] },
      {
        onOutput({ text }) {
          heard += text
        },
      },
    )
    await until('the beginning is followed', () => heard === 'one\n')
    const running = await holdfast.show({ run: id })
    expect(running).toMatchObject({ state: 'running', stdout: { bytes: 4, lines: 1 } })
    const waiting = holdfast.wait({ run: id })
    expect((await holdfast.wait({ run: id, waitMs: 30 })).state).toBe('running')
    writeFileSync(gate, '')
    expect(await waiting).toMatchObject({ state: 'ended', outcome: exited(8), stderr: { bytes: 4 } })
    await following
    expect(heard).toBe('one\ntwo\n')
    expect((await holdfast.runs({})).runs).toMatchObject([{ id, state: 'ended', failing: true, outputBytes: 12 }])
    expect((await holdfast.search({ query: 'two' })).hits.map(({ ref }) => ref)).toContain(`${id}:2`)
  })

  inPlace('is known as ended by a Holdfast that was open all the time and had nothing to do with it', async ({ holdfast, again }) => {
    await holdfast.runs({})
    const starter = await again()
    const { id } = await starter.exec({ argv: ['sleep', '0.3'], detach: true })
    expect((await holdfast.runs({})).runs).toMatchObject([{ id, state: 'running' }])
    await starter.close()
    await until('it is told as ended', async () => (await holdfast.runs({})).runs[0]?.state === 'ended')
  })
})

describeSupervised('records under a supervisor', () => {
  inPlace('are written once: the end stands beside them', async (place) => {
    const run = await place.holdfast.exec({ script: 'echo out; exit 3', purpose: 'to be read' })
    const record = recordOf(place, run.id)
    expect(record).toMatchObject({ state: 'running', outcome: null, holder: { socket: expect.stringMatching(/\.sock$/), starter: { pid: process.pid } } })
    const next = await place.again()
    expect(await next.show({ run: run.id })).toEqual(run)
    expect(run.usage).toEqual({ userMs: expect.any(Number), systemMs: expect.any(Number), peakMemoryBytes: expect.any(Number) })
    await next.pin({ run: run.id, pinned: true })
    expect(await (await place.again()).show({ run: run.id })).toEqual({ ...run, pinned: true })
  })

  inPlace('keep the pin that was given while a run goes on', async ({ holdfast, again }) => {
    const { id } = await holdfast.exec({ script: 'sleep 0.6', waitMs: 0 })
    await (await again()).pin({ run: id, pinned: true })
    expect(await holdfast.wait({ run: id })).toMatchObject({ state: 'ended', pinned: true, outcome: exited(0) })
    expect(await (await again()).show({ run: id })).toMatchObject({ state: 'ended', pinned: true, outcome: exited(0) })
  })

  inPlace('of what was never begun say interrupted: whoever wanted it died before the supervisor was asked', async (place) => {
    const run = await place.holdfast.exec({ argv: ['true'] })
    const id = '0123456789ab'
    const record = recordOf(place, run.id)
    mkdirSync(fileOf(place, id, ''), { recursive: true })
    const dead = spawnSync('true').pid
    writeFileSync(fileOf(place, id, 'run.json'), JSON.stringify({ ...record, id, holder: { ...record.holder, starter: { pid: dead, startTime: 'x:1' } } }))
    const next = await place.again()
    expect(await next.show({ run: id })).toMatchObject({ state: 'interrupted', outcome: { kind: 'lost' }, leftovers: [] })
    expect(await next.wait({ run: id })).toMatchObject({ state: 'interrupted' })
  })

  inPlace('that say interrupted are put right by an end record that comes late', async (place) => {
    const run = await place.holdfast.exec({ script: 'echo out; exit 3' })
    const file = fileOf(place, run.id, 'run.json')
    writeFileSync(
      file,
      JSON.stringify({ ...recordOf(place, run.id), state: 'interrupted', outcome: { kind: 'lost', exitCode: null, signal: null, limit: null } }),
    )
    // An index that is made anew knows only what the record says.
    const end = fileOf(place, run.id, 'end.json')
    renameSync(end, `${end}.late`)
    await place.holdfast.close()
    for (const name of readdirSync(place.world.path('root', '.holdfast'))) {
      if (name.startsWith('index.db')) rmSync(place.world.path('root', '.holdfast', name))
    }
    const other = await place.again()
    expect((await other.runs({})).runs).toMatchObject([{ id: run.id, state: 'interrupted' }])
    renameSync(`${end}.late`, end)
    expect((await other.runs({})).runs).toMatchObject([{ id: run.id, state: 'ended' }])
    expect(await (await place.again()).show({ run: run.id })).toEqual(run)
  })

  inPlace('are brought up to date with what leftovers print after the end', async ({ holdfast, again, world }) => {
    const gate = world.path('gate')
    const run = await holdfast.exec({ script: `(while ! [ -e ${gate} ]; do sleep 0.02; done; echo late) & echo early` })
    expect(run.stdout).toMatchObject({ bytes: 6, lines: 1 })
    expect(run.leftovers.map(({ name }) => name)).toContain('bash')
    writeFileSync(gate, '')
    const next = await again()
    await until('the log has it', async () => (await next.show({ run: run.id })).stdout.bytes === 11)
    expect((await next.output({ run: run.id })).text).toBe('early\nlate\n')
    await until('it has ended', () => marked(run.id).length === 0)
  })
})

describeSupervised('a command that cannot be started', () => {
  inPlace('is recorded as failed, and not as ended, with a supervisor, too', async ({ holdfast, again }) => {
    await expect(holdfast.exec({ argv: ['no-such-program'] })).rejects.toMatchObject({ details: { reason: 'program_missing' } })
    const { runs } = await (await again()).runs({})
    expect(runs).toMatchObject([{ state: 'failed', failing: true }])
  })
})

describeSupervised('a supervisor that does not answer', () => {
  inPlace(
    'keeps nobody waiting without bound: its runs are told as they are known, and new ones run without it',
    async (place) => {
      const { holdfast, again } = place
      const { id } = await holdfast.exec({ script: 'echo up; sleep 74.5', waitMs: 0 })
      await until('it has printed', async () => (await holdfast.output({ run: id })).text === 'up\n')
      const { pid } = recordOf(place, id).holder
      process.kill(pid, 'SIGSTOP')
      try {
        const other = await again()
        expect(await other.wait({ run: id, waitMs: 100 })).toMatchObject({ state: 'running', stdout: { bytes: 3 } })
        await expect(other.input({ run: id, text: 'x' })).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'supervisor_unavailable' } })
        const run = await other.exec({ argv: ['echo', 'on'] })
        expect(run).toMatchObject({ outcome: exited(0), usage: null, warnings: [expect.stringContaining('the supervisor cannot be used')] })
        expect(await other.exec({ argv: ['echo', 'once'] })).toMatchObject({ warnings: [] })
        expect(await other.stop({ run: id })).toMatchObject({ state: 'running', leftovers: [], warnings: [expect.stringContaining('does not answer')] })
        expectNothingLeft(id)
        // Whoever holds what is to live on does not look for it once more.
        const asked = performance.now()
        const detached = await (await again()).exec({ argv: ['sleep', '1'], detach: true, waitMs: 100 })
        expect(performance.now() - asked).toBeLessThan(9_000)
        expect(await other.wait({ run: detached.id })).toMatchObject({ outcome: exited(0), usage: null })
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      expect(await holdfast.wait({ run: id })).toMatchObject({ state: 'ended', outcome: { kind: 'signaled', signal: 'SIGTERM' }, warnings: [] })
    },
    90_000,
  )
})

describeSupervised('a supervisor that falls silent while a command runs', () => {
  inPlace(
    'does not make the command interrupted: who waits gets word in time, and whoever looks later gets the end',
    async (place) => {
      const { holdfast, again } = place
      const other = await again()
      const waiting = holdfast.exec({ script: 'echo up; exec sleep 76.5', timeoutMs: 3_000, graceMs: 100 })
      await until('it has begun', async () => (await other.runs({})).total === 1)
      const { id } = await other.show({ run: 'last' })
      const { pid } = recordOf(place, id).holder
      process.kill(pid, 'SIGSTOP')
      const run = await waiting.finally(() => process.kill(pid, 'SIGCONT'))
      expect(run).toMatchObject({ state: 'running', outcome: null, warnings: expect.arrayContaining([expect.stringContaining('does not answer')]) })
      expect(await other.wait({ run: id })).toMatchObject({ state: 'ended', outcome: { kind: 'timed_out', limit: 'wall' } })
      expect((await other.runs({})).runs).toMatchObject([{ id, state: 'ended' }])
    },
    90_000,
  )
})

describeSupervised('a supervisor whose folder was removed', () => {
  inPlace('is waited for: its runs go on, are told as going on, and are ended as they were asked to', async (place) => {
    const { world } = place
    // A folder of its own: the usual one belongs to all that this user does.
    mkdirSync(world.path('run'), { mode: 0o700 })
    const again = () => place.again({ env: { ...world.env, XDG_RUNTIME_DIR: world.path('run') } })
    const starter = await again()
    const { id } = await starter.exec({ script: 'echo up; sleep 76.5', detach: true })
    const short = await starter.exec({ script: 'sleep 5; exit 4', detach: true })
    const folder = dirname(recordOf(place, id).holder.socket ?? '')
    expect(folder).toBe(world.path('run', 'holdfast'))
    await starter.close()
    rmSync(folder, { recursive: true })
    const other = await again()
    expect(await other.wait({ run: id, waitMs: 100 })).toMatchObject({ state: 'running' })
    expect(await other.wait({ run: short.id })).toMatchObject({ state: 'ended', outcome: exited(4) })
    expect(await other.stop({ run: id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' }, stdout: { bytes: 3 } })
    expectNothingLeft(id)
  })
})

describe('what a command takes over unasked', () => {
  for (const [where, declare] of [
    ['under whatever holds it', inPlace],
    ['in plain mode', inPlainPlace],
  ] as const) {
    declare(`is of whoever asked for it, ${where}: the mode mask, the limits and the nice value`, async ({ cli, world }) => {
      // The first one starts the supervisor, where there is one.
      await cli(['exec', '--', 'true'])
      const look = 'umask; ulimit -t; ulimit -f; ulimit -c; nice; touch made; stat -c %a made'
      const limited = `umask 027; ulimit -t 600; ulimit -f 100000; ulimit -c 0; exec nice -n 4 "$0" "$1" exec --stream --quiet -c '${look}'`
      const { stdout } = await runProgram('/bin/bash', ['-c', limited, process.execPath, program], { cwd: world.root, env: world.env })
      expect(stdout.split('\n')).toEqual(['0027', '600', '100000', '0', '4', '640', ''])
    })
  }
})

describeSupervised('a supervisor that a command of another one has started', () => {
  inPlace('does not end with that command, and nor do the runs of others', async (place) => {
    const { holdfast, again, world } = place
    mkdirSync(world.path('run'), { mode: 0o700 })
    // Both look for it in the same folder.
    const env = { ...world.env, HOLDFAST_HOME: world.path('other'), XDG_RUNTIME_DIR: world.path('run') }
    const library = fileURLToPath(new URL('../../dist/index.mjs', import.meta.url))
    const script = `import { openHoldfast } from ${JSON.stringify(library)}
const holdfast = await openHoldfast({ root: ${JSON.stringify(world.root)}, env: { ...${JSON.stringify(env)}, HOLDFAST_RUN: process.env.HOLDFAST_RUN } })
console.log((await holdfast.exec({ script: 'sleep 77.5', detach: true })).id)
await new Promise((resolve) => setTimeout(resolve, 77_500))`
    const outer = await holdfast.exec({ argv: [process.execPath, '--input-type=module', '-e', script], detach: true })
    await until('it has begun a run', async () => /^\w{12}\n$/.test((await holdfast.output({ run: outer.id })).text))
    const inner = (await holdfast.output({ run: outer.id })).text.trim()
    const other = await again({ env })
    const unrelated = await other.exec({ script: 'sleep 77.5', detach: true })
    expect(await holdfast.stop({ run: outer.id })).toMatchObject({ outcome: { kind: 'canceled' }, leftovers: [] })
    // What a command starts is a part of it, also by way of Holdfast.
    await until('the inner run is over', async () => (await other.show({ run: inner })).state === 'ended')
    expect((await other.show({ run: unrelated.id })).state).toBe('running')
    expect(await other.stop({ run: unrelated.id })).toMatchObject({ outcome: { kind: 'canceled' } })
    expectNothingLeft(unrelated.id)
  })
})

describeSupervised('two versions side by side', () => {
  inPlace('hold runs of the same home, and each is reached by where its record says', async (place) => {
    const { holdfast, again, world } = place
    const own = await holdfast.exec({ script: 'echo own; sleep 75.5', waitMs: 0 })
    // Another folder for sockets means another supervisor, as another version does.
    mkdirSync(world.path('run'), { mode: 0o700 })
    const theirs = await again({ env: { ...world.env, XDG_RUNTIME_DIR: world.path('run') } })
    const other = await theirs.exec({ script: 'echo other; sleep 75.5', waitMs: 0 })
    const holders = [own, other].map(({ id }) => recordOf(place, id).holder)
    expect(holders[0]?.pid).not.toBe(holders[1]?.pid)
    expect(existsSync(holders[1]?.socket ?? '')).toBe(true)
    expect((await theirs.show({ run: own.id })).state).toBe('running')
    expect((await theirs.stop({ run: own.id })).outcome?.kind).toBe('canceled')
    expect((await holdfast.stop({ run: other.id })).outcome?.kind).toBe('canceled')
    for (const { pid } of [...marked(own.id), ...marked(other.id)]) end(pid)
  })
})
