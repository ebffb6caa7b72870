import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answers, requests } from '../src/supervisor/frames.ts'
import { numberOf, openSupervisor, textOf, until } from '../test/support/bare-supervisor.ts'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'

const script = new URL('../scripts/build-supervisor', import.meta.url).pathname
const possible = hasProgram('aarch64-linux-gnu-gcc', 'the supervisor on arm64') && hasProgram('qemu-aarch64', 'the supervisor on arm64')

/** The emulated kernel has neither subreapers nor a fork that shares memory: what cannot do without those has no place here. */
describe.runIf(possible)('the supervisor on arm64, emulated', () => {
  const world = openWorld()
  const program = { path: world.path('holdfast-supervisor'), runner: ['qemu-aarch64'] }

  beforeAll(() => {
    const { status, stderr } = spawnSync(script, ['--target', 'arm64', '--required', '--out', program.path], { encoding: 'utf8', timeout: 110_000 })
    expect([status, stderr]).toEqual([0, ''])
  }, 600_000)
  afterAll(() => world[Symbol.asyncDispose]())

  it('tells its version', () => {
    const { stdout } = spawnSync('qemu-aarch64', [program.path, '--version'], { encoding: 'utf8', timeout: 20_000 })
    expect(stdout).toMatch(/^holdfast-supervisor [0-9a-f]{8} protocol 1\n$/)
  })

  it('runs a command, keeps its output and records its end', async () => {
    await using supervisor = await openSupervisor(program)
    using controller = await supervisor.connect()
    const started = await supervisor.start(
      controller,
      'a',
      ['sh', '-c', 'cat; echo wrong >&2; exit 7'],
      [
        [6, 1],
        [7, 'given\n'],
        [8, 1],
        [18, 1],
      ],
    )
    expect(started.type).toBe(answers.started)
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 7, signal: null, cut: null, confirmed: true, stdout: { bytes: 6, lines: 1 }, stderr: { bytes: 6, lines: 1 } })
    expect(controller.output('a').toString()).toBe('given\n')
    expect(supervisor.file('a', 'stderr.log').toString()).toBe('wrong\n')
    expect(supervisor.record('a')).toEqual(record)
  }, 60_000)

  it('says why a command cannot be started', async () => {
    await using supervisor = await openSupervisor(program)
    using controller = await supervisor.connect()
    const failed = await supervisor.start(controller, 'a', ['no-such-program'])
    expect([failed.type, textOf(failed, 2), textOf(failed, 4)]).toEqual([answers.failed, 'program', 'ENOENT'])
  }, 60_000)

  it('ends a tree whose members left their session and their environment', async () => {
    await using supervisor = await openSupervisor(program)
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', ['sh', '-c', 'setsid env -i sh -c "echo escaped; exec sleep 1000" & exec sleep 1000'], [[18, 1]])
    await until('the process has escaped', () => controller.output('a').includes('escaped'))
    const done = await controller.ask(requests.stop, [
      [1, 'a'],
      [2, 1],
    ])
    expect([done.type, numberOf(done, 2)]).toEqual([answers.done, 0])
    expect(await controller.ended('a')).toMatchObject({ cut: { kind: 'canceled' }, signal: 15, leftovers: [], confirmed: true })
  }, 60_000)
})
