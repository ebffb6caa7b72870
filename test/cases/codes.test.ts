import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { expect, it } from 'vitest'
import type { RunResult } from '../../src/index.ts'
import {
  caseFile,
  caseText,
  describeCases,
  exited,
  expectNothingLeft,
  fakeSecrets,
  logOf,
  openPlace,
  type Place,
  program,
  runProgram,
  testsInPlace,
} from './place.ts'

const inPlace = testsInPlace(60_000)

const git = (place: Place, args: readonly string[], cwd = place.world.root) => runProgram('git', args, { cwd, env: place.world.env })

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const start = performance.now()
  return { value: await work(), ms: performance.now() - start }
}

const secrets = { ...fakeSecrets, SSH_AUTH_SOCK: '/b043-i' }

describeCases('D: exit codes, signals, arguments, environment, time', () => {
  inPlace('B033: a pipeline ends with the code that the shell gives it', async ({ holdfast }) => {
    expect(await holdfast.exec({ script: caseText('B033.cmd') })).toMatchObject({ outcome: exited(0), stdout: { bytes: 5 } })
    expect(await holdfast.exec({ script: caseText('B033b.cmd') })).toMatchObject({ outcome: exited(0), stdout: { bytes: 8 } })
    expect((await holdfast.exec({ script: `set -o pipefail; ${caseText('B033b.cmd')}` })).outcome).toEqual(exited(3))
  })

  for (const name of ['KILL', 'SEGV', 'TERM', 'PIPE', 'ABRT'] as const) {
    inPlace(`B034: an end by SIG${name} is one, and no time limit`, async ({ holdfast, cli }) => {
      const signal = `SIG${name}` as const
      const exitCode = 128 + constants.signals[signal]
      const run = await holdfast.exec({ argv: ['bash', caseFile('B034.sh'), name] })
      expect(run.outcome).toEqual({ kind: 'signaled', signal, exitCode, limit: null })
      expect(run.digest).toContain(signal)
      expect(logOf(run)).toBe(`about to die by ${name}\n`)
      const detached = await holdfast.exec({ argv: ['bash', caseFile('B034.sh'), name], detach: true, waitMs: 10_000 })
      expect(detached.outcome).toEqual(run.outcome)
      const shell = await cli(['exec', '--json', '--', 'bash', caseFile('B034.sh'), name])
      expect([shell.status, shell.json().outcome]).toEqual([exitCode, run.outcome])
    })
  }

  for (const size of [131_071, 131_072, 200_000, 3_000_000]) {
    inPlace(`B036: a script of ${size} bytes runs as it is`, async ({ holdfast, world, cli }) => {
      const make = async (...args: string[]) => (await runProgram(process.execPath, [caseFile('B036.js'), String(size), ...args], { env: world.env })).stdout
      const [script, expected] = await Promise.all([make(), make('expect')])
      expect(logOf(await holdfast.exec({ script }))).toBe(expected)
      expect(logOf((await cli(['exec', '--json', '-c', '-'], { input: script })).json())).toBe(expected)
      const detached = await holdfast.exec({ script, detach: true, waitMs: 20_000 })
      expect(logOf(detached)).toBe(expected)
      const refused = await holdfast.exec({ argv: ['bash', '-c', script] }).catch((error: unknown) => error)
      if (size === 131_071 && !(refused instanceof Error)) expect(logOf(refused as RunResult)).toBe(expected)
      else {
        expect(refused).toMatchObject({ code: 'resource_exhausted', details: { field: 'argument 2', bytes: Buffer.byteLength(script), maxBytes: 131_071 } })
      }
    })
  }

  inPlace('B037: a variable that is too large is named with the limit, and the next command runs', async ({ holdfast, cli }) => {
    const error = await holdfast.exec({ argv: ['true'], env: { BIG: 'x'.repeat(200_000) } }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'resource_exhausted' })
    expect(String(error)).toMatch(/BIG.*131071|BIG.*131,071/)
    expect((await holdfast.exec({ argv: ['bash', caseFile('B037.sh')] })).outcome).toEqual(exited(126))
    expect((await holdfast.exec({ argv: ['true'] })).outcome).toEqual(exited(0))
    const largest = await holdfast.exec({ script: 'echo ${#BIG}', env: { BIG: 'x'.repeat(131_071 - 'BIG='.length) } })
    expect(logOf(largest)).toBe('131067\n')
    const together = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`BIG${i}`, 'x'.repeat(120_000)]))
    const tooMuch = await holdfast.exec({ argv: ['true'], env: together }).catch((thrown: unknown) => thrown)
    expect(tooMuch).toMatchObject({ code: 'resource_exhausted' })
    expect((await cli(['exec', '--', 'true'])).status).toBe(0)
  })

  inPlace('B039: a working directory that is gone is named, and a valid one works at once', async (place) => {
    const { holdfast, world, again, cli } = place
    await git(place, ['init', '-q', '-b', 'main'])
    await git(place, ['-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '-q', '--allow-empty', '-m', 'one'])
    await git(place, ['worktree', 'add', '-q', 'W'])
    const w = world.path('root', 'W')
    const inside = await again({ root: w })
    expect(logOf(await holdfast.exec({ argv: ['pwd'], cwd: 'W' }))).toBe(`${w}\n`)
    expect(logOf(await inside.exec({ argv: ['pwd'] }))).toBe(`${w}\n`)
    await git(place, ['worktree', 'remove', '--force', 'W'])
    const { total } = await holdfast.runs({})
    for (const refused of [holdfast.exec({ script: 'echo hi', cwd: 'W' }), inside.exec({ script: 'echo hi' })]) {
      const error = await refused.catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'not_found' })
      expect(String(error)).toContain(w)
      expect(String(error)).not.toMatch(/ENOENT|bash/)
    }
    // With what the shell says about it, with nothing, and with the empty text that dash leaves.
    for (const surroundings of ['env', 'env -u PWD', 'env PWD=']) {
      const script = `mkdir gone && cd gone && rmdir ../gone && ${surroundings} ${process.execPath} ${program} exec -- echo hi`
      const bash = await runProgram('bash', ['-c', script], { cwd: world.root, env: world.env })
      expect([bash.status, bash.stdout]).toEqual([125, ''])
      expect(bash.stderr).toMatch(/^holdfast: .*root\/gone.* does not exist/)
    }
    expect((await holdfast.runs({})).total).toBe(total)
    expect(existsSync(w)).toBe(false)
    expect(logOf(await holdfast.exec({ script: 'echo hi', cwd: world.root }))).toBe('hi\n')
    const leaving = 'cd "$TMPDIR" && mkdir -p b039x && cd b039x && rmdir ../b039x && echo inside'
    expect(await holdfast.exec({ script: leaving })).toMatchObject({ outcome: exited(0), warnings: [] })
    expect(await holdfast.exec({ script: 'echo next' })).toMatchObject({ outcome: exited(0), warnings: [] })
    expect((await cli(['exec', '--json', '--cwd', 'nowhere', '--', 'true'])).json<{ error: unknown }>().error).toMatchObject({ code: 'not_found' })
  })

  it.concurrent('B043: no secret of ours reaches a command unless it is named', async () => {
    await using place = await openPlace()
    const { world, cli } = place
    const holdfast = await place.again({ env: { ...world.env, ...secrets } })
    const argv = ['bash', caseFile('B043.sh')]
    for (const run of [
      await holdfast.exec({ argv }),
      await holdfast.exec({ argv, detach: true, waitMs: 10_000 }),
      (await cli(['exec', '--json', '--', ...argv], { env: secrets })).json(),
      (await cli(['exec', '--json', '--wait', '10s', '--', ...argv], { env: secrets })).json(),
    ]) {
      expect(logOf(run)).toMatch(/^secrets in own environment: 0; readable in ancestors: \d+\n/)
    }
    const named = await holdfast.exec({ script: 'echo "$GH_TOKEN"; echo "in a line: $DATABASE_URL"', passEnv: ['GH_TOKEN', 'DATABASE_URL'] })
    expect(logOf(named)).toBe('b043-c\nin a line: postgres://u:b043-e@h/d\n')
    expect(named.digest).not.toMatch(/b043-[a-i]/)
    const all = await cli(['exec', '--json', ...Object.keys(secrets).flatMap((name) => ['--env', name]), '--', ...argv], { env: secrets })
    expect(logOf(all.json())).toMatch(/^secrets in own environment: 9;/)
  })

  inPlace('B044: start files of shells are not read', async ({ world, again, cli }) => {
    const home = world.path('noisy')
    await runProgram('bash', [caseFile('B044.sh'), home], { env: world.env })
    const env = { ...world.env, HOME: home, BASH_ENV: `${home}/.bash_profile`, ENV: `${home}/.bash_profile` }
    const holdfast = await again({ env })
    expect((await holdfast.exec({ script: 'b044-tool' })).outcome).toEqual(exited(127))
    await expect(holdfast.exec({ argv: ['b044-tool'] })).rejects.toMatchObject({ code: 'not_found' })
    expect((await cli(['exec', '--', 'b044-tool'], { env })).status).toBe(127)
    for (const run of [await holdfast.exec({ script: 'echo clean' }), await holdfast.exec({ argv: ['bash', '-c', 'echo clean'] })]) {
      expect([logOf(run), logOf(run, 'stderr')]).toEqual(['clean\n', ''])
    }
    const login = await holdfast.exec({ argv: ['bash', '-lc', 'b044-tool; echo clean'] })
    expect(logOf(login)).toContain('tool-ran\nclean\n')
  })

  inPlace('B078: limits too long for a timer or for us do not fire early; what is none is refused', async ({ holdfast, cli }) => {
    const script = caseText('B078.cmd')
    const valid = await Promise.all([99_999_999_000, 2_147_483_648, 2_147_483_647].map((timeoutMs) => holdfast.exec({ script, timeoutMs })))
    for (const run of valid) {
      expect([run.outcome, logOf(run)]).toEqual([exited(0), 'b078-done\n'])
      expect(run.warnings.join()).toMatch(/timeoutMs \d+ is above the ceiling of 24 h/)
      expect(run.digest).toContain('24 h')
    }
    expect((await holdfast.exec({ script, timeoutMs: 3_000, idleTimeoutMs: 2 ** 33 })).outcome).toEqual(exited(0))
    const { total } = await holdfast.runs({})
    for (const field of ['timeoutMs', 'idleTimeoutMs', 'graceMs', 'maxOutputBytes'] as const) {
      for (const value of [0, -1, Number.NaN, '5', Number.POSITIVE_INFINITY, {}, true]) {
        const error = await holdfast.exec({ script, [field]: value as number }).catch((thrown: unknown) => thrown)
        expect(error, `${field} ${String(value)}`).toMatchObject({ code: 'invalid_argument', details: { field } })
      }
    }
    for (const value of [0, -1, Number.NaN, '5', {}]) {
      if (value === 0) continue
      await expect(holdfast.exec({ script, waitMs: value as number })).rejects.toMatchObject({ code: 'invalid_argument' })
    }
    expect((await holdfast.runs({})).total).toBe(total)
    const long = await Promise.all(['99999999s', '2147483648ms'].map((text) => cli(['exec', '--json', '--timeout', text, '-c', script])))
    for (const result of long) expect([result.status, logOf(result.json())]).toEqual([0, 'b078-done\n'])
    for (const text of ['0', '0s', '-1', '-1s', 'NaN', '5', 'Infinity', '', '1e3s', '5 parsecs', '0.0000000001ms']) {
      const refused = await cli(['exec', '--json', `--timeout=${text}`, '-c', script])
      expect([text, refused.status]).toEqual([text, 125])
      expect(refused.json<{ error: { message: string } }>().error).toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('--timeout') })
    }
    expect((await holdfast.runs({})).total).toBe(total + 2)
  })

  for (const jump of [8 * 3_600_000, -3_600_000]) {
    inPlace(`B079: a wall clock that jumps by ${jump / 3_600_000} h changes no duration, limit or order`, async ({ cli }) => {
      const jumping = { node: ['--require', caseFile('B079.js')], env: { B079_JUMP_MS: String(jump) } }
      const exec = (...args: string[]) => cli(['exec', '--json', '--idle-timeout', '20s', '--timeout', '30s', ...args], jumping)
      await cli(['exec', '--', 'echo', 'first'])
      const slow = await timed(() => exec('-c', 'sleep 1.5; echo slow'))
      const background = await timed(() => exec('--wait', '10s', '-c', `sleep 1; ${caseText('B078.cmd')}`))
      await cli(['exec', '--', 'echo', 'last'])
      for (const [{ value, ms }, said] of [
        [slow, 'slow\n'],
        [background, 'b078-done\n'],
      ] as const) {
        const run = value.json()
        expect([run.outcome, logOf(run)]).toEqual([exited(0), said])
        expect(run.durationMs).toBeGreaterThanOrEqual(1_500)
        expect(run.durationMs).toBeLessThan(ms)
      }
      const { runs } = (await cli(['runs', '--json'])).json<{ runs: { command: string }[] }>()
      expect(runs.map(({ command }) => command.split(/[ ;]/).at(-1))).toEqual(['last', 'b078-done', 'slow', 'first'])
      const real = await cli(['exec', '--json', '--timeout', '1s', '-c', 'sleep 20'], jumping)
      expect(real.json()).toMatchObject({ outcome: { kind: 'timed_out', limit: 'wall' } })
      expect(real.json().durationMs).toBeLessThan(4_000)
    })
  }

  inPlace('B085: a background run that ended long ago can be read, from other processes too', async ({ holdfast, again, cli }) => {
    const started = await holdfast.exec({ argv: ['bash', caseFile('B085.sh')], detach: true })
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    await holdfast.close()
    const next = await again()
    for (const run of [
      await next.show({ run: started.id }),
      (await cli(['show', '--json', 'last'])).json(),
      (await cli(['wait', '--json', started.id])).json(),
    ]) {
      expect(run).toMatchObject({ id: started.id, state: 'ended', outcome: exited(4) })
      expect([logOf(run), logOf(run, 'stderr')]).toEqual(['b085 quick result\n', 'b085 warning\n'])
      expect(run.digest).toContain('b085 quick result')
      expect(run.digest).toContain('b085 warning')
    }
    expect((await cli(['wait', 'last'])).status).toBe(4)
    expectNothingLeft(started)
  })
})

/** What the files of a run take; one that goes away meanwhile takes nothing. */
function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + (statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.size ?? 0), 0)
}

describeCases('E: limits of the output on disk', () => {
  const megabyte = 1024 * 1024

  inPlace('B049: a run that prints without end never takes more than its limit and a tenth', async ({ holdfast, world }) => {
    const limit = 20 * megabyte
    let most = 0
    let timer: NodeJS.Timeout | undefined
    const run = await holdfast.exec({
      argv: ['bash', caseFile('B049.sh')],
      maxOutputBytes: limit,
      onBegin({ id }) {
        const folder = world.path('root', '.holdfast', 'runs', id)
        timer = setInterval(() => {
          most = Math.max(most, sizeOf(folder))
        }, 5)
      },
    })
    clearInterval(timer)
    most = Math.max(most, sizeOf(world.path('root', '.holdfast', 'runs', run.id)))
    expect(most).toBeGreaterThan(limit / 2)
    expect(most).toBeLessThan(1.1 * limit)
    expect(run).toMatchObject({ outcome: exited(0), stdout: { bytes: 150_000_000 } })
    expect(run.stdout.droppedBytes).toBeGreaterThan(150_000_000 - 1.1 * limit)
    expect(run.stdout.gap).toMatchObject({ bytes: run.stdout.droppedBytes })
    const lines = async (range: string) => (await holdfast.output({ run: run.id, lines: range })).lines
    expect((await lines('1'))[0]?.text).toMatch(/^restarting worker/)
    expect((await lines('-1'))[0]).toMatchObject({ line: run.stdout.lines, text: expect.stringMatching(/^restarting worker/) })
    expect(run.digest).toContain(`${run.stdout.droppedBytes.toLocaleString('en')} bytes in the middle were not kept`)
  })

  inPlace('B050: a run that reads its own output again and again stays within its limit and ends', async ({ holdfast, world }) => {
    const other = await holdfast.exec({ argv: ['seq', '1', '200'] })
    const before = readFileSync(other.stdout.path)
    const runs = world.path('root', '.holdfast', 'runs')
    const limit = 4 * megabyte
    const run = await holdfast.exec({
      script: `seq 1 300000; STORE=${runs}/\${HOLDFAST_RUN##*/} bash ${caseFile('B050.sh')}; STORE=${runs}/${other.id} bash ${caseFile('B050.sh')}`,
      maxOutputBytes: limit,
      timeoutMs: 30_000,
    })
    expect(run.outcome).toEqual(exited(0))
    expect(sizeOf(`${runs}/${run.id}`)).toBeLessThan(1.1 * limit)
    expect(readFileSync(other.stdout.path)).toEqual(before)
    expect((await holdfast.show({ run: other.id })).outcome).toEqual(exited(0))
  })

  inPlace('B050: what is kept stands in no way of the commands', async ({ holdfast, world }) => {
    mkdirSync(world.path('root', 'sub'))
    const listed = await holdfast.exec({ argv: ['ls', '-A'], cwd: 'sub' })
    expect(logOf(listed)).toBe('')
  })
})
