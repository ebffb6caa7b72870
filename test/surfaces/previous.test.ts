import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import type { RunResult } from '../../src/index.ts'
import { type Place, testsInPlace } from '../cases/place.ts'

const inPlace = testsInPlace(180_000)

const argv = ['bash', 'build.sh'] as const
const steps = (time: number): string =>
  Array.from({ length: 30 }, (_, i) => `echo "12:00:${10 + time} step ${'abcdefghijklmno'[i % 15]} took ${i * time} ms"`).join('\n')

/** Writes the script of a build that fails with these errors, or passes. */
function build({ world }: Place, time: number, errors: readonly string[], folder = world.root): void {
  const failing = errors.map((error) => `echo '${error}'`)
  writeFileSync(join(folder, 'build.sh'), [steps(time), ...failing, errors.length === 0 ? 'echo all done' : 'exit 2'].join('\n'))
}

const first = 'src/a.c:12:3: error: no such name'
const second = 'src/b.c:7:1: error: too many arguments'

describe('a command that ran before in the project', () => {
  inPlace('fails, fails otherwise, is mended: each time its digest says what is new and what is gone', async (place) => {
    const { holdfast } = place
    build(place, 1, [])
    const passed = await holdfast.exec({ argv })
    expect(passed.comparison).toBeNull()
    build(place, 2, [first])
    const failed = await holdfast.exec({ argv })
    expect(failed.comparison).toEqual({ passing: { run: passed.id, added: 1, gone: 1, mended: 0 }, failing: null })
    expect(failed.digest).toMatch(new RegExp(`^against ${passed.id} \\(passed, \\d+ s earlier\\): 1 line new, 1 gone$`, 'm'))
    build(place, 3, [second])
    const again = await holdfast.exec({ argv })
    expect(again.comparison).toEqual({
      passing: { run: passed.id, added: 1, gone: 1, mended: 0 },
      failing: { run: failed.id, added: 1, gone: 1, mended: 1 },
    })
    expect(again.digest).toContain(`gone: ${first}`)
    expect(again.digest).not.toContain('mended')
    build(place, 4, [])
    const mended = await holdfast.exec({ argv })
    expect(mended.comparison).toEqual({ passing: null, failing: { run: again.id, added: 1, gone: 1, mended: 1 } })
    expect(mended.digest).toContain(`mended: ${second}`)
    const still = await holdfast.exec({ argv })
    expect(still.comparison).toBeNull()
    // Looked at later, it is compared with what was before it.
    const { durationMs: _, ...shown } = await holdfast.show({ run: again.id })
    expect(shown.comparison).toEqual(again.comparison)
  })

  inPlace('is compared by the command line, too, in another process', async (place) => {
    build(place, 1, [first])
    const failed = (await place.cli(['exec', '--json', '--', ...argv])).json()
    build(place, 2, [])
    const { stdout, status } = await place.cli(['exec', '--', ...argv])
    expect(status).toBe(0)
    expect(stdout).toContain(`against ${failed.id} (failed, `)
    expect(stdout).toContain(`mended: ${first}`)
    expect((await place.cli(['show', 'last', '--json'])).json().comparison).toMatchObject({ failing: { run: failed.id, mended: 1 } })
  })

  inPlace('in a worktree is compared with the one in the main checkout, whatever paths they print', async (place) => {
    const { world, holdfast } = place
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: world.root, env: world.env, encoding: 'utf8' })
    git('init', '--quiet', '--initial-branch=main')
    writeFileSync(join(world.root, 'build.sh'), `${steps(1)}\necho "$PWD/src/a.c checked"`)
    writeFileSync(join(world.root, '.gitignore'), '.holdfast/\n')
    git('add', '.')
    git('commit', '--quiet', '-m', 'first')
    const passed = await holdfast.exec({ argv })
    const { path } = await holdfast.openWorkspace({ branch: 'work' })
    writeFileSync(join(path, 'build.sh'), `${steps(1)}\necho "$PWD/src/a.c checked"\necho '${first}'\nexit 1`)
    const failed = await holdfast.exec({ workspace: 'work', argv })
    expect(failed.comparison).toEqual({ passing: { run: passed.id, added: 1, gone: 0, mended: 0 }, failing: null })
  })

  inPlace('is not compared with another command, one in another folder, one that was canceled, or one whose log is gone', async (place) => {
    const { holdfast } = place
    build(place, 1, [])
    const compared = async (): Promise<RunResult['comparison']> => (await holdfast.exec({ argv })).comparison
    await holdfast.exec({ argv: [...argv, 'more'] })
    await holdfast.exec({ script: 'bash build.sh' })
    const stop = new AbortController()
    const script = join(place.world.root, 'build.sh')
    writeFileSync(script, 'echo begun; sleep 60')
    const running = holdfast.exec({ argv, signal: stop.signal, onOutput: () => stop.abort() })
    expect((await running).outcome?.kind).toBe('canceled')
    build(place, 2, [first])
    expect(await compared()).toBeNull()
    const [last] = (await holdfast.runs({ limit: 1 })).runs
    const { stdout } = await holdfast.show({ run: last?.id as string })
    rmSync(dirname(stdout.path), { recursive: true })
    expect(await compared()).toBeNull()
  })

  inPlace('is compared with nothing where the index cannot be used, and runs all the same', async (place) => {
    build(place, 1, [first])
    await place.cli(['exec', '--', ...argv])
    const store = join(place.world.root, '.holdfast', 'index.db')
    rmSync(store)
    execFileSync('mkdir', [store])
    const { status, stdout } = await place.cli(['exec', '--json', '--', ...argv])
    expect(status).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({ comparison: null, stdout: { lines: 31 } })
  })

  inPlace('has its secrets masked in what is told of an earlier run', async (place) => {
    const { holdfast } = place
    const env = { DEPLOY_TOKEN: 'hunter2-very-secret-value' }
    const fail = join(place.world.root, 'fail')
    writeFileSync(fail, '')
    const script = `if [ -e fail ]; then echo "error: $DEPLOY_TOKEN was refused"; exit 1; fi; echo fine`
    await holdfast.exec({ script, env })
    rmSync(fail)
    const { digest, comparison } = await holdfast.exec({ script })
    expect(comparison?.failing?.mended).toBe(1)
    expect(digest).toContain('mended: error: ')
    expect(digest).not.toContain('hunter2')
  })
})

describe('holdfast digest with the log of an earlier run', () => {
  const step = (i: number): string => `step ${'abcdefghij'[i % 10]}${'klmnopqrst'[Math.floor(i / 10) % 10]} ok`
  // Each word of the line that is new stands in others, so that nothing but the comparison knows it.
  const others = [step, () => 'the gate stays open', step, () => 'the door stays shut', step]
  const before = Array.from({ length: 200 }, (_, i) => `10:00:${10 + (i % 50)} ${others[i % 5]?.(i)}`)
  const after = [...before.slice(0, 90), 'the gate stays shut', ...before.slice(90)].map((line) => line.replace('10:', '11:'))

  inPlace('says what is new, by file or by text, and refuses a file that is not there', async ({ world, cli, holdfast }) => {
    writeFileSync(join(world.root, 'ok.log'), before.join('\n'))
    writeFileSync(join(world.root, 'now.log'), after.join('\n'))
    const { stdout, status } = await cli(['digest', 'now.log', '--previous', 'ok.log', '--budget', '1024'])
    expect(status).toBe(0)
    expect(stdout).toContain('against the previous log (passed): 1 line new, 0 gone\n')
    expect(stdout).toContain('\n91 | the gate stays shut\n')
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(1024)
    expect(await holdfast.digest({ text: after.join('\n'), previous: before.join('\n'), budget: 1024 })).toEqual({ digest: stdout.trimEnd() })
    expect((await holdfast.digest({ text: after.join('\n'), budget: 1024 })).digest).not.toContain('the gate stays shut')
    const missing = await cli(['digest', 'now.log', '--previous', 'none.log'])
    expect([missing.status, missing.stderr]).toEqual([125, expect.stringContaining('none.log cannot be read: ENOENT')])
  })
})
