import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, constants, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { endSupervisor } from '../../../test/support/end-supervisors.ts'
import { openWorld, type World } from '../../../test/support/world.ts'
import type { OutputChunk } from '../../core/backend.ts'
import type { ResolvedCommand } from '../../core/command.ts'
import { toHoldfastError } from '../../core/errors.ts'
import type { Listening, SupervisedRun, SupervisedSession, SupervisionTerms } from '../../core/supervised.ts'
import { isAlive } from '../../process/identity.ts'
import { findSupervisor } from '../../supervisor/program.ts'
import { openHostSession } from './session.ts'
import { openSupervisedHostSession, reachSupervisedHostSession } from './supervised.ts'

const program = findSupervisor()
if (program.kind === 'missing') console.warn(`skipped: sessions of the real supervisor: ${program.why}`)

const everything: Listening = { kind: 'everything' }
const mib = 1024 * 1024

/** A home with its supervisor, which ends with the test. */
async function openHome() {
  const world = openWorld()
  mkdirSync(world.path('run'), { mode: 0o700 })
  const supervisors: SupervisedSession['supervisor'][] = []
  const connect = async (): Promise<SupervisedSession> => {
    if (program.kind === 'missing') throw new Error(program.why)
    const session = await openSupervisedHostSession({ home: world.home, program, runtimeFolder: world.path('run'), idleMs: 10_000 })
    if (!supervisors.some(({ pid }) => pid === session.supervisor.pid)) supervisors.push(session.supervisor)
    return session
  }
  const session = await connect()
  return {
    world,
    session,
    connect,
    supervisors,
    async [Symbol.asyncDispose]() {
      await session.close()
      for (const each of supervisors) await endSupervisor(each)
      await world[Symbol.asyncDispose]()
    },
  }
}

function commandOf(world: World, argv: readonly string[], id: string, more: Partial<ResolvedCommand> = {}): ResolvedCommand {
  return { argv: argv as [string, ...string[]], cwd: world.root, env: { ...world.env, HOLDFAST_RUN: id }, stdin: 'none', mark: id, ...more }
}

async function start(
  { world, session }: { world: World; session: SupervisedSession },
  id: string,
  script: string,
  terms: Partial<SupervisionTerms> = {},
  more: Partial<ResolvedCommand> = {},
): Promise<SupervisedRun> {
  return session.start(commandOf(world, ['sh', '-c', script], id, more), termsOf(world, id, terms))
}

function termsOf(world: World, id: string, terms: Partial<SupervisionTerms> = {}): SupervisionTerms {
  const folder = world.path('runs', id)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const limits = { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 64 * mib }
  return { id, folder, limits, leftovers: 'report', input: undefined, inputEnds: false, bound: false, listen: { kind: 'nothing' }, ...terms }
}

/** The bytes of each stream; fails where some were left out. */
async function collect(output: AsyncIterable<OutputChunk>, from = { stdout: 0, stderr: 0 }): Promise<{ stdout: Buffer; stderr: Buffer }> {
  const parts: { stdout: Uint8Array[]; stderr: Uint8Array[] } = { stdout: [], stderr: [] }
  const at = { ...from }
  for await (const { stream, offset, bytes } of output) {
    expect([stream, offset]).toEqual([stream, at[stream]])
    at[stream] += bytes.length
    parts[stream].push(bytes)
  }
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) }
}

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it did not reject')
    },
    (error: unknown) => toHoldfastError(error),
  )

describe.runIf(program.kind === 'found')('a session of the supervisor', () => {
  it('runs two hundred commands at once over one connection, each with its own output and end', async () => {
    await using home = await openHome()
    const all = Array.from({ length: 200 }, async (_, i) => {
      const run = await start(home, `run-${i}`, `echo out ${i}; echo err ${i} >&2; exit ${i % 100}`, { listen: everything })
      const [output, record] = await Promise.all([collect(run.output), run.ended])
      return [output.stdout.toString(), output.stderr.toString(), record.exitCode, record.run, record.stdout.bytes]
    })
    expect(await Promise.all(all)).toEqual(Array.from({ length: 200 }, (_, i) => [`out ${i}\n`, `err ${i}\n`, i % 100, `run-${i}`, `out ${i}\n`.length]))
  }, 60_000)

  it('tells everybody who waits when contact is lost in the middle, and the next session works', async () => {
    await using home = await openHome()
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => start(home, id, 'echo so far; read line', { listen: everything }, { stdin: 'open' })))
    const outputs = runs.map((run) => collect(run.output))
    await until(async () => (await Promise.all(runs.map((run) => run.status()))).every(({ stdout }) => stdout.bytes === 7))
    const ends = runs.map((run) => errorOf(run.ended))
    const first = home.session.supervisor
    const stopping = errorOf((runs[0] as SupervisedRun).stop({ signal: 'SIGURG', graceMs: 60_000 }))
    await until(async () => (await (runs[0] as SupervisedRun).status()).state === 'ending')
    process.kill(first.pid, 'SIGKILL')
    expect((await Promise.all([...ends, stopping])).map(({ code, details }) => [code, details.reason])).toEqual(
      Array(4).fill(['unavailable', 'supervisor_lost']),
    )
    expect((await Promise.all(outputs)).map(({ stdout }) => stdout.toString())).toEqual(Array(3).fill('so far\n'))
    expect(home.session.open).toBe(false)
    expect((await errorOf(start(home, 'd', 'exit 0'))).details.reason).toBe('supervisor_lost')
    const next = await home.connect()
    expect([next.supervisor.pid === first.pid, next.handle === home.session.handle]).toEqual([false, true])
    const run = await start({ ...home, session: next }, 'e', 'exit 4')
    expect(await run.ended).toMatchObject({ exitCode: 4 })
    await next.close()
  })

  it('gives each byte once to a listener that takes its time, and the command does not wait for it', async () => {
    await using home = await openHome()
    const script = 'head -c 2500000 /dev/zero | tr "\\0" x; echo over >&2'
    const slow = await start(home, 'slow', script, { listen: everything })
    // Nothing is taken before the end: so the rest of it is in the log alone.
    expect(await slow.ended).toMatchObject({ exitCode: 0, stdout: { bytes: 2_500_000 } })
    const late = await collect(slow.output)
    expect(late.stdout.length).toBeGreaterThan(mib / 2)
    expect(late.stdout.length).toBeLessThanOrEqual(mib)
    expect(late.stdout.equals(Buffer.alloc(late.stdout.length, 'x'))).toBe(true)
    const quick = await start(home, 'quick', `${script}; read line`, { listen: everything }, { stdin: 'open' })
    const got = { stdout: 0, stderr: '' }
    for await (const { stream, offset, bytes } of quick.output) {
      if (stream === 'stderr') got.stderr += Buffer.from(bytes).toString()
      else {
        expect(offset).toBe(got.stdout)
        got.stdout += bytes.length
        // Slower than the command, which is over long before.
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      if (got.stdout === 2_500_000 && got.stderr !== '') await quick.endInput()
    }
    expect(got).toEqual({ stdout: 2_500_000, stderr: 'over\n' })
  })

  it('writes as fast as the command reads', async () => {
    await using home = await openHome()
    execFileSync('mkfifo', [home.world.path('root', 'gate')])
    const run = await start(home, 'a', 'cat gate; wc -c', { listen: everything }, { stdin: 'fed' })
    const output = collect(run.output)
    let written = false
    const writing = run.write(Buffer.alloc(4 * mib, 'x')).then(() => {
      written = true
    })
    // The command stands at the gate, and the supervisor has answered something that was asked after the write.
    const openGate = (): number | undefined => {
      try {
        return openSync(home.world.path('root', 'gate'), constants.O_WRONLY | constants.O_NONBLOCK)
      } catch {
        return undefined
      }
    }
    let gate: number | undefined
    await until(() => {
      gate = openGate()
      return gate !== undefined
    })
    await run.status()
    expect(written).toBe(false)
    writeSync(gate as number, 'open ')
    closeSync(gate as number)
    await writing
    await run.endInput()
    expect((await output).stdout.toString()).toBe(`open ${4 * mib}\n`)
    expect(await run.ended).toMatchObject({ exitCode: 0 })
  })

  it('is joined by others: they listen from an offset, ask, and get the same end', async () => {
    await using home = await openHome()
    const run = await start(home, 'a', 'echo 0123456789; echo abc >&2; read line; echo "$line"', { listen: everything }, { stdin: 'open' })
    const whole = collect(run.output)
    await until(async () => (await run.status()).stdout.bytes === 11 && (await run.status()).stderr.bytes === 4)
    const other = (await reachSupervisedHostSession(home.session.handle)) as SupervisedSession
    expect(await other.runs()).toEqual(['a'])
    const joined = (await other.attach('a', { kind: 'everything', from: { stdout: 7, stderr: 1 } })) as SupervisedRun
    expect(joined.process).toEqual(run.process)
    const rest = collect(joined.output, { stdout: 7, stderr: 1 })
    // Twice over the same session, which tells a run to one listener per connection.
    const again = (await home.session.attach('a', { kind: 'everything', from: { stdout: 0, stderr: 0 } })) as SupervisedRun
    const second = collect(again.output)
    const fromNow = (await other.attach('a', everything)) as SupervisedRun
    const later = collect(fromNow.output, { stdout: 11, stderr: 4 })
    await joined.write(Buffer.from('and on\n'))
    const records = await Promise.all([run, joined, again, fromNow].map(({ ended }) => ended))
    expect(records.map((record) => JSON.stringify(record))).toEqual(Array(4).fill(JSON.stringify(records[0])))
    const text = async (output: Promise<{ stdout: Buffer; stderr: Buffer }>) => {
      const { stdout, stderr } = await output
      return [stdout.toString(), stderr.toString()]
    }
    expect(await text(whole)).toEqual(['0123456789\nand on\n', 'abc\n'])
    expect(await text(second)).toEqual(['0123456789\nand on\n', 'abc\n'])
    expect(await text(rest)).toEqual(['789\nand on\n', 'bc\n'])
    expect(await text(later)).toEqual(['and on\n', ''])
    expect([await other.attach('a', everything), await home.session.attach('nobody', everything)]).toEqual([undefined, undefined])
    await other.close()
  })

  it('can be listened to again after it was released, without a byte twice', async () => {
    await using home = await openHome()
    const run = await start(home, 'a', 'while read line; do echo "$line"; done', { listen: everything }, { stdin: 'open' })
    let got = ''
    let offset = 0
    let current: SupervisedRun = run
    for (let i = 0; i < 20; i += 1) {
      await current.write(Buffer.from(`line ${i}\n`))
      for await (const chunk of current.output) {
        expect(chunk.offset).toBe(offset)
        offset += chunk.bytes.length
        got += Buffer.from(chunk.bytes).toString()
        if (got.endsWith(`line ${i}\n`)) break
      }
      current.release()
      current = (await home.session.attach('a', { kind: 'everything', from: { stdout: offset, stderr: 0 } })) as SupervisedRun
    }
    await current.endInput()
    expect(await current.ended).toMatchObject({ exitCode: 0, stdout: { bytes: offset } })
    expect(got).toBe(Array.from({ length: 20 }, (_, i) => `line ${i}\n`).join(''))
  })

  it('leaves runs behind when it is closed, but for those that are bound to it', async () => {
    await using home = await openHome()
    const session = await home.connect()
    const there = { ...home, session }
    const free = await start(there, 'free', 'read line; exit 5', {}, { stdin: 'open' })
    const bound = await start(there, 'bound', 'read line', { bound: true }, { stdin: 'open' })
    const fed = await start(there, 'fed', 'read line || exit 6', {}, { stdin: 'fed' })
    const ends = [free, bound, fed].map(({ ended }) => errorOf(ended))
    await session.close()
    expect((await Promise.all(ends)).map(({ details }) => details.reason)).toEqual(Array(3).fill('closed'))
    const recordOf = (id: string) => JSON.parse(readFileSync(join(home.world.path('runs', id), 'end.json'), 'utf8'))
    await until(async () => (await home.session.runs()).length === 1)
    expect([recordOf('bound').cut, recordOf('fed').exitCode]).toEqual([{ kind: 'canceled' }, 6])
    const again = (await home.session.attach('free', { kind: 'nothing' })) as SupervisedRun
    await again.endInput()
    expect(await again.ended).toMatchObject({ exitCode: 5 })
  })

  it('hands over argv, environment and directory byte for byte', async () => {
    await using home = await openHome()
    const values = { EMPTY: '', SPACES: ' a  b ', LINES: 'one\ntwo', WIDE: 'é€🔥'.repeat(50), EQUALS: 'a=b=c' }
    const argv = ['sh', '-c', 'printf "%s\\0" "$@" "$EMPTY" "$SPACES" "$LINES" "$WIDE" "$EQUALS" "$PWD"', 'sh', '', '-n', '€', '*'] as const
    const cwd = home.world.path('root', 'ünder')
    mkdirSync(cwd)
    const run = await home.session.start(
      commandOf(home.world, argv, 'a', { env: { ...home.world.env, ...values }, cwd }),
      termsOf(home.world, 'a', { listen: everything }),
    )
    expect((await collect(run.output)).stdout.toString().split('\0')).toEqual(['', '-n', '€', '*', ...Object.values(values), cwd, ''])
  })

  it('refuses what cannot be started in the words of plain mode', async (test) => {
    await using home = await openHome()
    const { world } = home
    const file = (name: string, text: string, mode: number): string => {
      writeFileSync(world.path('root', name), text)
      chmodSync(world.path('root', name), mode)
      return world.path('root', name)
    }
    const folder = world.path('root', 'folder')
    mkdirSync(folder)
    const locked = world.path('root', 'locked')
    mkdirSync(join(locked, 'inner'), { recursive: true })
    const long = 'x'.repeat(100_000)
    const commands: [string, ResolvedCommand][] = [
      ['a missing program', commandOf(world, ['no-such-program'], 'a')],
      ['a missing path', commandOf(world, ['./no/such/program'], 'a')],
      ['a program that is a shell line', commandOf(world, ['ls -l | wc'], 'a')],
      ['an empty program', commandOf(world, [''], 'a')],
      ['a file without the right', commandOf(world, [file('plain', 'exit 0\n', 0o644)], 'a')],
      ['a folder', commandOf(world, [folder], 'a')],
      ['a missing interpreter', commandOf(world, [file('script', '#!/no/such/interpreter\n', 0o755)], 'a')],
      ['a file in place of a folder', commandOf(world, [`${file('another', '', 0o755)}/program`], 'a')],
      ['a missing directory', commandOf(world, ['true'], 'a', { cwd: world.path('root', 'missing') })],
      ['a directory that is a file', commandOf(world, ['true'], 'a', { cwd: world.path('root', 'plain') })],
      ['a directory below a file', commandOf(world, ['true'], 'a', { cwd: world.path('root', 'plain', 'below') })],
      ['a missing directory and program', commandOf(world, ['no-such-program'], 'a', { cwd: world.path('root', 'missing') })],
      ['a NUL in an argument', commandOf(world, ['echo', 'a\0b'], 'a')],
      ['a NUL in a variable', commandOf(world, ['true'], 'a', { env: { NAME: 'a\0b' } })],
      ['a NUL in the directory', commandOf(world, ['true'], 'a', { cwd: `${world.root}/a\0b` })],
      ['too large an argument', commandOf(world, ['echo', 'x'.repeat(200_000)], 'a')],
      ['too much in all', commandOf(world, ['echo', ...Array.from({ length: 35 }, () => long)], 'a')],
      ['more than a frame holds', commandOf(world, ['echo', ...Array.from({ length: 90 }, () => long)], 'a')],
    ]
    if (process.getuid?.() !== 0) {
      chmodSync(locked, 0o600)
      commands.push(['a directory that may not be entered', commandOf(world, ['true'], 'a', { cwd: locked })])
      commands.push(['a directory behind one', commandOf(world, ['true'], 'a', { cwd: join(locked, 'inner') })])
    } else test.annotate('root may enter every directory')
    const plain = openHostSession(world.root)
    const logs = { stdout: world.path('out'), stderr: world.path('err'), maxBytes: 4_096 }
    for (const [what, command] of commands) {
      const theirs = await errorOf(plain.start(command, logs))
      const ours = await errorOf(home.session.start(command, termsOf(world, 'a')))
      expect([what, ours.toJSON()]).toEqual([what, theirs.toJSON()])
    }
    chmodSync(locked, 0o700)
    expect(await home.session.runs()).toEqual([])
  })

  it('says when the folder of the run cannot be used, or its id is taken', async () => {
    await using home = await openHome()
    const command = commandOf(home.world, ['true'], 'a')
    const missing = home.world.path('missing')
    expect(await errorOf(home.session.start(command, { ...termsOf(home.world, 'a'), folder: missing }))).toMatchObject({
      details: { reason: 'home_unusable', path: missing, why: 'ENOENT' },
    })
    const run = await start(home, 'b', 'read line', {}, { stdin: 'open' })
    expect(await errorOf(start(home, 'b', 'true'))).toMatchObject({ details: { reason: 'supervisor_refused', answer: 'already_exists' } })
    await run.endInput()
    expect(await run.ended).toMatchObject({ exitCode: 1 })
  })

  it('is closed for good, harmless twice, and its supervisor lives on for others', async () => {
    await using home = await openHome()
    await Promise.all([home.session.close(), home.session.close()])
    await home.session.close()
    expect((await errorOf(start(home, 'a', 'exit 0'))).details.reason).toBe('closed')
    expect((await errorOf(home.session.attach('a', everything))).details.reason).toBe('closed')
    const other = (await reachSupervisedHostSession(home.session.handle)) as SupervisedSession
    expect(other.supervisor).toEqual(home.session.supervisor)
    await other.close()
  })

  it('finds another supervisor at the same place when the first one was ended between two sessions', async () => {
    await using home = await openHome()
    await home.session.close()
    const [first] = home.supervisors as [SupervisedSession['supervisor']]
    await endSupervisor(first)
    expect(isAlive(first)).toBe(false)
    expect(await reachSupervisedHostSession(home.session.handle)).toBeUndefined()
    const second = await home.connect()
    expect([second.handle, second.supervisor.pid === first.pid]).toEqual([home.session.handle, false])
    const run = await start({ ...home, session: second }, 'a', 'exit 3')
    expect(await run.ended).toMatchObject({ exitCode: 3 })
    await second.close()
  })
})
