import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Holdfast, HoldfastError, openHoldfast, type RunResult } from '../../src/index.ts'
import { exited, expectNothingLeft, logOf, marked, openPlace, type Place, runProgram, testsInPlace, until } from '../cases/place.ts'
import { isSupervised } from '../support/modes.ts'

const inPlace = testsInPlace(40_000)

const git = async ({ world }: Place, args: readonly string[], cwd = world.root): Promise<string> => {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main']
  const { status, stdout, stderr } = await runProgram('git', [...identity, ...args], { cwd, env: world.env })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

describe('exec', () => {
  inPlace('hands over the output while it comes, in order, as bytes and as text', async ({ holdfast, world }) => {
    const gate = world.path('gate')
    const chunks: { stream: string; text: string; bytes: Uint8Array }[] = []
    const running = holdfast.exec({
      script: `printf 'on\\xe2'; sleep 0.2; printf '\\x82\\xact\\n'; echo err >&2; while ! [ -e ${gate} ]; do sleep 0.02; done; echo late; printf '\\xff'`,
      onOutput: (chunk) => chunks.push(chunk),
    })
    const text = (stream: string): string =>
      chunks
        .filter((chunk) => chunk.stream === stream)
        .map((chunk) => chunk.text)
        .join('')
    await until('it came while the command runs', () => text('stdout') === 'on€t\n' && text('stderr') === 'err\n')
    writeFileSync(gate, '')
    const run = await running
    expect(text('stdout')).toBe('on€t\nlate\n\ufffd')
    expect(Buffer.concat(chunks.filter(({ stream }) => stream === 'stdout').map(({ bytes }) => bytes))).toEqual(readFileSync(run.stdout.path))
    const seen = chunks.length
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(chunks).toHaveLength(seen)
  })

  inPlace('tells of its beginning, once, before the first output', async ({ holdfast }) => {
    const events: string[] = []
    const run = await holdfast.exec({
      argv: ['echo', 'x'],
      onBegin: ({ id, state }) => events.push(`${state} ${id}`),
      onOutput: ({ text }) => events.push(text),
    })
    expect(events).toEqual([`running ${run.id}`, 'x\n'])
  })

  inPlace('is not hurt by a listener that throws, rejects or is slow', async ({ holdfast }) => {
    const throwing = await holdfast.exec({
      script: 'echo a; sleep 0.1; echo b',
      onOutput() {
        throw new Error('mine')
      },
    })
    expect(throwing).toMatchObject({ outcome: exited(0), stdout: { bytes: 4 } })
    expect(throwing.warnings.join()).toMatch(/listener failed [12] times.*mine/)
    const rejecting = await holdfast.exec({ argv: ['echo', 'a'], onOutput: (async () => Promise.reject(new Error('later'))) as () => void })
    expect(rejecting.outcome).toEqual(exited(0))
    const slow = await holdfast.exec({
      script: 'seq 1 20000',
      onOutput() {
        const until = performance.now() + 20
        while (performance.now() < until);
      },
    })
    expect(slow).toMatchObject({ outcome: exited(0), stdout: { lines: 20_000 } })
  })

  inPlace('is canceled by its signal, and starts nothing where that has happened before', async ({ holdfast, world }) => {
    const canceler = new AbortController()
    const run = await holdfast.exec({ script: 'echo so far; sleep 30', signal: canceler.signal, onOutput: () => canceler.abort() })
    expect(run).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' }, stdout: { bytes: 7 } })
    expectNothingLeft(run)
    const never = await holdfast.exec({ script: `touch ${world.path('root', 'made')}`, signal: AbortSignal.abort() })
    expect(never).toMatchObject({ outcome: { kind: 'canceled', exitCode: null, signal: null }, durationMs: 0 })
    expect(existsSync(world.path('root', 'made'))).toBe(false)
  })

  inPlace('answers after waitMs, and a signal that comes later cancels nothing', async ({ holdfast, world }) => {
    const canceler = new AbortController()
    const gate = world.path('gate')
    const script = `echo begun; while ! [ -e ${gate} ]; do sleep 0.02; done; echo over`
    const running = await holdfast.exec({ script, waitMs: 300, signal: canceler.signal })
    expect(running).toMatchObject({ state: 'running', outcome: null, endedAt: null })
    expect(running.digest).toMatch(/still running[\s\S]*begun/)
    canceler.abort()
    writeFileSync(gate, '')
    expect(await holdfast.wait({ run: running.id })).toMatchObject({ outcome: exited(0), stdout: { lines: 2 } })
  })

  inPlace('refuses with errors that have a code, a sentence and facts', async ({ holdfast }) => {
    for (const [input, code, reason] of [
      [{}, 'invalid_argument', 'invalid'],
      [{ argv: [] }, 'invalid_argument', 'invalid'],
      [{ argv: [''] }, 'invalid_argument', 'invalid'],
      [{ script: '  \n' }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], script: 'true' }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], env: { 'NOT-A-NAME': 'x' } }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], passEnv: ['1'] }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], leftovers: 'maybe' as 'kill' }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], budget: -1 }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], tokens: 1.5 }, 'invalid_argument', 'invalid'],
      [{ argv: ['true'], budget: 500, tokens: 100 }, 'invalid_argument', 'invalid'],
      [{ argv: ['no-such-program'] }, 'not_found', 'program_missing'],
      [{ argv: ['true'], cwd: 'nowhere' }, 'not_found', 'cwd_missing'],
      [{ script: 'x', runtime: 'cobol' }, 'invalid_argument', 'runtime_unknown'],
    ] as const) {
      const error = await holdfast.exec(input).catch((thrown: unknown) => thrown)
      expect(error, JSON.stringify(input)).toBeInstanceOf(HoldfastError)
      expect(error).toMatchObject({ code, details: { reason } })
      expect((error as Error).message).toMatch(/^[^\n]{10,300}$/)
    }
    expect((await holdfast.runs({})).runs.map(({ state }) => state)).toEqual(['failed'])
  })
})

describe('what is asked for wrongly', () => {
  const wrong: [keyof Holdfast, ...unknown[]][] = [
    ['exec'],
    ['exec', null],
    ['exec', { argv: 'ls' }],
    ['exec', { argv: [1] }],
    ['exec', { script: 5 }],
    ['exec', { argv: ['true'], cwd: 5 }],
    ['exec', { argv: ['true'], stdin: 5 }],
    ['exec', { argv: ['true'], env: { A: 5 } }],
    ['exec', { argv: ['true'], env: null }],
    ['exec', { argv: ['true'], passEnv: 'HOME' }],
    ['exec', { argv: ['true'], purpose: 5 }],
    ['exec', { argv: ['true'], timeout: 5 }],
    ['exec', { argv: ['true'], signal: 'x' }],
    ['exec', { argv: ['true'], onOutput: 'x' }],
    ['wait', {}],
    ['wait', { run: 'last' }, { signal: 5 }],
    ['stop', { run: 5 }],
    ['show'],
    ['show', 'last'],
    ['output', { run: 'last', lines: 5 }],
    ['follow', { run: 'last' }, { onOutput() {} }],
    ['follow', { run: 'last', streams: ['stdout'] }],
    ['search', {}],
    ['search', { query: 5 }],
    ['search', { query: 'x', sinceMs: '2h' }],
    ['runs', { limit: '5' }],
    ['digest', {}],
    ['snapshot', { limit: 1.5 }],
    ['addNote', { text: 5 }],
    ['removeNote'],
    ['pin', { run: 'last' }],
    ['gc', { dryRun: 'yes' }],
  ]
  inPlace('rejects with an error that names it, and does nothing', async ({ holdfast }) => {
    for (const [name, ...args] of wrong) {
      const act = holdfast[name] as (...args: unknown[]) => Promise<unknown>
      const error = await act(...args).catch((thrown: unknown) => thrown)
      expect([name, args, error]).toEqual([name, args, expect.any(HoldfastError)])
      expect(error).toMatchObject({ code: 'invalid_argument' })
    }
    for (const name of ['runs', 'snapshot', 'gc', 'resume'] as const) await (holdfast[name] as () => Promise<unknown>)()
    expect((await holdfast.runs({})).total).toBe(0)
    for (const options of [undefined, {}, { root: 5 }]) await expect(openHoldfast(options as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})

describe('the working directory', () => {
  inPlace('is the root, or a folder inside it, with all links followed', async ({ holdfast, world, again }) => {
    mkdirSync(world.path('root', 'a', 'b c'), { recursive: true })
    mkdirSync(world.path('outside'))
    writeFileSync(world.path('root', 'file'), '')
    symlinkSync(world.path('root', 'a'), world.path('root', 'inner'))
    symlinkSync(world.path('outside'), world.path('root', 'outer'))
    symlinkSync('loop', world.path('root', 'loop'))
    symlinkSync(world.root, world.path('link-to-root'))
    const where = async (cwd: string, from = holdfast) => logOf(await from.exec({ argv: ['pwd', '-P'], cwd })).trimEnd()
    expect(logOf(await holdfast.exec({ argv: ['pwd', '-P'] })).trimEnd()).toBe(world.root)
    expect(await where('a/b c')).toBe(world.path('root', 'a', 'b c'))
    expect(await where('./a/../a')).toBe(world.path('root', 'a'))
    expect(await where('inner')).toBe(world.path('root', 'a'))
    expect(await where(world.path('root', 'a'))).toBe(world.path('root', 'a'))
    const linked = await again({ root: world.path('link-to-root') })
    expect(await where('a', linked)).toBe(world.path('root', 'a'))
    expect(await where(world.path('link-to-root', 'a'), linked)).toBe(world.path('root', 'a'))
    for (const [cwd, reason] of [
      ['..', 'cwd_outside'],
      ['a/../../outside', 'cwd_outside'],
      ['outer', 'cwd_outside'],
      ['/', 'cwd_outside'],
      [world.path('outside'), 'cwd_outside'],
      [`${world.root}-evil`, 'cwd_outside'],
      ['file', 'cwd_not_directory'],
      ['a/nowhere', 'cwd_missing'],
      ['loop', 'cwd_missing'],
    ] as const) {
      await expect(holdfast.exec({ argv: ['true'], cwd }), cwd).rejects.toMatchObject({ details: { reason } })
    }
  })

  it('has to exist when Holdfast is opened, and nothing is written before the first command', async () => {
    await using place = await openPlace()
    const { world, holdfast, again } = place
    await expect(openHoldfast({ root: world.path('nowhere') })).rejects.toMatchObject({ code: 'not_found', details: { reason: 'root_missing' } })
    await expect(again({ root: world.path('nowhere', 'at', 'all') })).rejects.toBeInstanceOf(HoldfastError)
    expect(existsSync(world.path('nowhere'))).toBe(false)
    await holdfast.runs({})
    await holdfast.search({ query: 'x' })
    await holdfast.resume()
    expect(readdirSync(world.root)).toEqual([])
  })
})

describe('closing', () => {
  inPlace('cancels what this Holdfast holds and waits for it', async ({ holdfast, again }) => {
    const begun: RunResult[] = []
    const script = 'trap "" TERM; echo up; sleep 67.5'
    const waiting = holdfast.exec({ script, graceMs: 300, onBegin: (run) => begun.push(run) })
    const background = await holdfast.exec({ script, graceMs: 300, waitMs: 300 })
    await holdfast.close()
    expect((await waiting).outcome).toMatchObject({ kind: 'canceled' })
    const next = await again()
    expect(marked(background.id).length > 0).toBe(isSupervised)
    if (isSupervised) await next.stop({ run: background.id })
    for (const { id } of [...begun, background]) {
      expectNothingLeft(id)
      expect(await next.show({ run: id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' } })
    }
  })

  inPlace('cancels what runs in the background, too, where runs are ephemeral', async ({ again }) => {
    const ephemeral = await again({ ephemeral: true })
    const other = await again()
    const all = [
      await ephemeral.exec({ script: 'sleep 71.5', waitMs: 0 }),
      await ephemeral.exec({ script: 'sleep 71.5 & echo left' }),
      await other.exec({ script: 'sleep 71.5', waitMs: 0, ephemeral: true }),
    ]
    await Promise.all([ephemeral.close(), other.close()])
    for (const run of all) expectNothingLeft(run)
    const next = await again()
    expect(await Promise.all(all.map(async ({ id }) => (await next.show({ run: id })).outcome?.kind))).toEqual(['canceled', 'exited', 'canceled'])
  })

  inPlace('leaves detached runs alone, is harmless twice, and refuses commands afterwards', async ({ holdfast, again }) => {
    const detached = await holdfast.exec({ script: 'echo up; sleep 68.5', detach: true })
    await Promise.all([holdfast.close(), holdfast.close()])
    await holdfast.close()
    await expect(holdfast.exec({ argv: ['true'] })).rejects.toMatchObject({ details: { reason: 'closed' } })
    expect(marked(detached.id).length).toBeGreaterThan(0)
    const next = await again()
    expect((await next.show({ run: detached.id })).state).toBe('running')
    expect((await next.stop({ run: detached.id })).outcome?.kind).toBe('canceled')
    expectNothingLeft(detached)
  })

  it('happens at the end of a block with "await using"', async () => {
    await using place = await openPlace()
    let id = ''
    {
      await using holdfast = await openHoldfast({ root: place.world.root, env: place.world.env, ephemeral: true })
      id = (await holdfast.exec({ script: 'sleep 69.5', waitMs: 100 })).id
      expect(marked(id)).not.toEqual([])
    }
    expectNothingLeft(id)
  })

  it('leaves nothing that keeps the process of its user alive', async () => {
    await using place = await openPlace()
    const { world } = place
    const library = new URL('../../dist/index.mjs', import.meta.url).href
    const file = world.path('user.mjs')
    writeFileSync(
      file,
      `const { openHoldfast } = await import(${JSON.stringify(library)})
       const holdfast = await openHoldfast({ root: ${JSON.stringify(world.root)} })
       const { outcome } = await holdfast.exec({ argv: ['true'], timeoutMs: 3600000, idleTimeoutMs: 3600000 })
       await holdfast.runs({}); await holdfast.search({ query: 'x' }); await holdfast.close()
       console.log(outcome.exitCode)`,
    )
    const start = performance.now()
    expect(await runProgram(process.execPath, [file], { cwd: world.root, env: world.env })).toMatchObject({ status: 0, stdout: '0\n', stderr: '' })
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})

describe('the home', () => {
  inPlace('is shared by the worktrees of a repository and unseen by git', async (place) => {
    const { holdfast, world, again } = place
    await git(place, ['init', '-q'])
    writeFileSync(world.path('root', 'a'), '1\n')
    await git(place, ['add', '.'])
    await git(place, ['commit', '-q', '-m', 'one'])
    await git(place, ['worktree', 'add', '-q', '-b', 'topic', world.path('tree')])
    mkdirSync(world.path('tree', 'deep'))
    const main = await again()
    const tree = await again({ root: world.path('tree') })
    const deep = await again({ root: world.path('tree', 'deep') })
    const runs = [await main.exec({ argv: ['pwd'] }), await tree.exec({ argv: ['pwd'] }), await deep.exec({ argv: ['pwd'] })]
    expect(runs.map(({ cwd, branch }) => [cwd, branch])).toEqual([
      [world.root, 'main'],
      [world.path('tree'), 'topic'],
      [world.path('tree', 'deep'), 'topic'],
    ])
    expect(runs.map((run) => logOf(run).trimEnd())).toEqual(runs.map(({ cwd }) => cwd))
    for (const run of runs) expect(run.stdout.path.startsWith(world.path('root', '.holdfast', 'runs'))).toBe(true)
    for (const each of [main, tree, deep]) expect((await each.runs({})).runs.map(({ id }) => id)).toEqual(runs.map(({ id }) => id).reverse())
    expect(existsSync(world.path('tree', '.holdfast'))).toBe(false)
    for (const cwd of [world.root, world.path('tree')]) expect(await git(place, ['status', '--porcelain', '--untracked-files=all'], cwd)).toBe('')
    expect(await git(place, ['add', '--all', '--dry-run'])).toBe('')
    expect(await git(place, ['clean', '-fd'])).toBe('')
    expect(await holdfast.runs({})).toMatchObject({ total: 3 })
    await expect(deep.exec({ argv: ['true'], cwd: '..' })).rejects.toMatchObject({ details: { reason: 'cwd_outside' } })
  })

  inPlace('is where HOLDFAST_HOME says, for every process that has it', async ({ world, again, cli }) => {
    const home = world.path('elsewhere', 'deep')
    const env = { ...world.env, HOLDFAST_HOME: home }
    const holdfast = await again({ env })
    const run = await holdfast.exec({ argv: ['true'] })
    const detached = await holdfast.exec({ argv: ['true'], detach: true, waitMs: 10_000 })
    for (const { stdout } of [run, detached]) expect(stdout.path.startsWith(join(home, 'runs'))).toBe(true)
    expect((await cli(['runs', '--json'], { env })).json<{ total: number }>().total).toBe(2)
    expect(readdirSync(world.root)).toEqual([])
    expect((await cli(['runs', '--json'])).json<{ total: number }>().total).toBe(0)
  })

  inPlace('can be read by its owner alone, every file of it, whatever the umask', async ({ world, holdfast, cli }) => {
    const before = process.umask(0)
    try {
      await holdfast.exec({ script: 'seq 1 200000; echo x >&2', maxOutputBytes: 2_000, env: { MY_TOKEN: 'a-secret-of-this-test' } })
    } finally {
      process.umask(before)
    }
    await holdfast.exec({ script: 'echo $MY_TOKEN', env: { MY_TOKEN: 'a-secret-of-this-test' } })
    await runProgram(
      'bash',
      ['-c', `umask 0; exec ${process.execPath} ${new URL('../../dist/cli.js', import.meta.url).pathname} exec --wait 10s -- echo detached`],
      {
        cwd: world.root,
        env: world.env,
      },
    )
    await holdfast.addNote({ text: 'a note' })
    await holdfast.snapshot({})
    await cli(['doctor'])
    await holdfast.close()
    const home = world.path('root', '.holdfast')
    const wrong = ['', ...readdirSync(home, { recursive: true, encoding: 'utf8' })].flatMap((name) => {
      const stat = statSync(join(home, name))
      return (stat.mode & 0o777) === (stat.isDirectory() ? 0o700 : 0o600) ? [] : [`${name}: ${(stat.mode & 0o777).toString(8)}`]
    })
    expect(wrong).toEqual([])
  })

  inPlace('is not made again for a project that is gone', async ({ world, again }) => {
    mkdirSync(world.path('project'))
    const holdfast = await again({ root: world.path('project') })
    await holdfast.exec({ argv: ['true'] })
    // A folder for the next run may just be made where rm has looked already.
    await holdfast.exec({ argv: ['sh', '-c', 'until rm -rf "$1"; do sleep 0.05; done', 'sh', world.path('project')], cwd: '.', timeoutMs: 10_000 })
    await expect(holdfast.exec({ argv: ['true'] })).rejects.toMatchObject({ code: 'not_found' })
    expect(existsSync(world.path('project'))).toBe(false)
  })
})

describe('retention', () => {
  async function withRetention(place: Place, retention: object) {
    writeFileSync(place.world.path('root', 'holdfast.json'), JSON.stringify({ retention }))
    return place.again()
  }

  inPlace('removes what is over the count, oldest first; never what is pinned or still runs', async (place) => {
    const holdfast = await withRetention(place, { maxRuns: 3 })
    const pinned = await holdfast.exec({ argv: ['echo', 'pinned'] })
    const running = await holdfast.exec({ script: 'sleep 70.5', waitMs: 0 })
    const detached = await holdfast.exec({ script: 'sleep 70.5', detach: true })
    await holdfast.pin({ run: pinned.id, pinned: true })
    const others: string[] = []
    for (let i = 0; i < 5; i += 1) others.push((await holdfast.exec({ argv: ['echo', `other-${i}`] })).id)
    const dry = await holdfast.gc({ dryRun: true })
    expect(dry).toMatchObject({ dryRun: true, removed: [others[1], others[0]].map((id) => ({ id, why: 'count' })), kept: 6 })
    expect((await holdfast.runs({})).total).toBe(8)
    const real = await holdfast.gc({})
    expect({ ...real, dryRun: true }).toEqual(dry)
    const left = (await holdfast.runs({})).runs.map(({ id }) => id)
    expect(left).toEqual([others[4], others[3], others[2], detached.id, running.id, pinned.id])
    expect(readdirSync(place.world.path('root', '.holdfast', 'runs')).sort()).toEqual([...left].sort())
    expect((await holdfast.search({ query: 'other-0' })).hits).toEqual([])
    await expect(holdfast.show({ run: others[0] as string })).rejects.toMatchObject({ code: 'not_found' })
    expect(await holdfast.gc({})).toMatchObject({ removed: [], freedBytes: 0 })
    await holdfast.pin({ run: pinned.id, pinned: false })
    expect((await holdfast.gc({})).removed.map(({ id }) => id)).toEqual([pinned.id])
    await holdfast.stop({ run: running.id })
    await holdfast.stop({ run: detached.id })
  })

  inPlace('removes what is over the bytes or too old', async (place) => {
    const holdfast = await withRetention(place, { maxBytes: 300_000 })
    const old = await holdfast.exec({ script: 'head -c 250000 /dev/zero' })
    const recent = await holdfast.exec({ script: 'head -c 200000 /dev/zero' })
    const result = await holdfast.gc({})
    expect(result.removed).toEqual([{ id: old.id, bytes: expect.any(Number), why: 'bytes' }])
    expect(result.freedBytes).toBeGreaterThan(250_000)
    expect((await holdfast.runs({})).runs.map(({ id }) => id)).toEqual([recent.id])
    await holdfast.close()
    const path = join(recent.stdout.path, '..', 'run.json')
    writeFileSync(path, readFileSync(path, 'utf8').replace(recent.startedAt, '2020-01-01T00:00:00.000Z'))
    for (const file of ['index.db', 'index.db-wal', 'index.db-shm']) {
      const store = place.world.path('root', '.holdfast', file)
      if (existsSync(store)) await runProgram('rm', [store], {})
    }
    const next = await place.again()
    expect((await next.gc({})).removed).toEqual([{ id: recent.id, bytes: expect.any(Number), why: 'age' }])
  })

  inPlace('happens by itself once a day', async (place) => {
    const holdfast = await withRetention(place, { maxRuns: 1 })
    for (let i = 0; i < 3; i += 1) await holdfast.exec({ argv: ['echo', String(i)] })
    await holdfast.close()
    const stamp = place.world.path('root', '.holdfast', 'collected')
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60
    expect((await (await place.again()).runs({})).total).toBe(3)
    utimesSync(stamp, twoDaysAgo, twoDaysAgo)
    const next = await place.again()
    await next.exec({ argv: ['echo', 'last'] })
    await next.close()
    expect((await (await place.again()).runs({})).runs.map(({ command }) => command)).toEqual(['echo last'])
    expect(statSync(stamp).mtimeMs).toBeGreaterThan(Date.now() - 60 * 60_000)
  })
})

describe('what a command reads', () => {
  inPlace('may come while it runs, and does not hold up a limit', async ({ holdfast }) => {
    async function* input(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first\n')
      yield Buffer.from('second\n')
    }
    expect(logOf(await holdfast.exec({ argv: ['cat'], stdin: input() }))).toBe('first\nsecond\n')
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first\n')
      await new Promise(() => {})
    }
    const run = await holdfast.exec({ argv: ['cat'], stdin: endless(), timeoutMs: 500 })
    expect(run.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall' })
    expect(logOf(run)).toBe('first\n')
  })

  inPlace('is told when it fails, and ends there', async ({ holdfast }) => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first\n')
      throw new Error('the source broke')
    }
    const run = await holdfast.exec({ argv: ['cat'], stdin: broken(), timeoutMs: 20_000 })
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run)).toBe('first\n')
    expect(run.warnings.join()).toContain('the source broke')
  })
})

describe('what is written to a command', () => {
  // Without a supervisor only the process that holds a run can write to it.
  if (isSupervised)
    inPlace('may be the last that it waited for', async ({ holdfast }) => {
      for (let round = 0; round < 20; round += 1) {
        const { id } = await holdfast.exec({ script: 'read answer', detach: true, interactive: true, pty: true })
        expect(await holdfast.input({ run: id, text: 'y', enter: true })).toMatchObject({ id, bytes: 2 })
        expect(await holdfast.wait({ run: id })).toMatchObject({ outcome: { exitCode: 0 } })
      }
    })
})

describe('what is asked for in vain or too politely', () => {
  inPlace('a variable that is not set is named in the result', async ({ holdfast }) => {
    const run = await holdfast.exec({ argv: ['true'], passEnv: ['NO_SUCH_VARIABLE'] })
    expect(run.warnings).toEqual(['the variable NO_SUCH_VARIABLE is not set here and was not passed on'])
  })

  inPlace('KILL cuts the grace of an earlier stop short', async ({ holdfast }) => {
    const run = await holdfast.exec({ script: 'trap "" TERM; echo ready; while :; do sleep 0.1; done', graceMs: 60_000, waitMs: 0 })
    await until('ready', async () => (await holdfast.output({ run: run.id })).text === 'ready\n')
    const polite = holdfast.stop({ run: run.id })
    await holdfast.stop({ run: run.id, signal: 'SIGKILL' })
    expect((await polite).outcome).toMatchObject({ kind: 'canceled', signal: 'SIGKILL' })
    expectNothingLeft(run)
  })

  inPlace('KILL cuts the grace of an earlier stop short, also from another process', async ({ holdfast, again }) => {
    const script = 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
    const run = await holdfast.exec({ script, graceMs: 60_000, waitMs: 0 })
    await until('ready', async () => (await holdfast.output({ run: run.id })).text === 'ready\n')
    const polite = holdfast.stop({ run: run.id })
    await (await again()).stop({ run: run.id, signal: 'SIGKILL' })
    expect((await polite).outcome).toMatchObject({ kind: 'canceled', signal: 'SIGKILL' })
    expectNothingLeft(run)
  })
})
