import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { openLocalSite } from '../../test/support/local-site.ts'
import { openWorld } from '../../test/support/world.ts'
import type { Listening, SupervisedSession } from '../core/supervised.ts'
import { findSupervisor, type SupervisorProgram, supervisorFor } from '../supervisor/program.ts'
import { openRemote } from './open.ts'

const program = findSupervisor()
if (program.kind === 'missing') console.warn(`skipped: supervisors of other builds: ${program.why}`)

const everything: Listening = { kind: 'everything', from: { stdout: 0, stderr: 0 } }

/** The same program, that calls itself another build. */
function otherBuild(machine: string, path: string): SupervisorProgram {
  const found = supervisorFor(machine)
  if (found.kind === 'missing') return found
  const build = found.build === '0123abcd' ? '1123abcd' : '0123abcd'
  const text = readFileSync(found.path, 'latin1').replaceAll(found.build, build)
  writeFileSync(path, text, { encoding: 'latin1', mode: 0o755 })
  return { kind: 'found', path, build }
}

describe.skipIf(program.kind === 'missing')('a run of the supervisor of another build', () => {
  async function openPlace() {
    const world = openWorld()
    mkdirSync(world.path('runs'))
    const site = openLocalSite({ root: world.root, folder: world.path('site') })
    const closing: (() => Promise<void>)[] = []
    async function session(programFor: (machine: string) => SupervisorProgram): Promise<SupervisedSession> {
      const remote = await openRemote({ site, target: {}, programFor, folderOf: (run) => world.path('runs', run) })
      closing.push(() => remote.close())
      if (remote.place.kind === 'plain') throw new Error(remote.place.why)
      return remote.place.session
    }
    const elder = await session((machine) => otherBuild(machine, world.path(`supervisor-${machine}`)))
    async function start(id: string, script: string) {
      const folder = world.path('runs', id)
      mkdirSync(folder, { mode: 0o700 })
      const limits = { timeoutMs: 120_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 64 * 1024 * 1024 }
      const command = { argv: ['sh', '-c', script], cwd: world.root, env: { PATH: process.env.PATH ?? '' }, stdin: 'none' as const, mark: id }
      const run = await elder.start(command as never, {
        ...{ id, folder, limits, leftovers: 'report', input: undefined, inputEnds: true, bound: false, listen: everything },
      })
      await until(() => existsSync(join(folder, 'stdout.log')))
      run.release()
    }
    return {
      world,
      elder,
      start,
      session: () => session(supervisorFor),
      async [Symbol.asyncDispose]() {
        for (const close of closing) await close()
        await site[Symbol.asyncDispose]()
        await world[Symbol.asyncDispose]()
      },
    }
  }

  it('is attached to, told of from its offset on, ended and settled, as one of its own', async () => {
    await using place = await openPlace()
    await place.start('goes-on', 'echo one; while ! test -e go; do sleep 0.02; done; seq 1 1000; exit 6')
    await place.start('to-end', 'echo one; exec sleep 300')
    const session = await place.session()
    expect(session.build).not.toBe(place.elder.build)
    expect(await session.attach('nothing-known', everything)).toBeUndefined()
    const run = await session.attach('goes-on', everything)
    const other = await session.attach('to-end', { kind: 'nothing' })
    if (!run || !other) throw new Error('it was not found')
    expect(run.process.pid).toBeGreaterThan(0)
    expect(await other.stop({})).toEqual({ left: 0 })
    expect(await other.ended).toMatchObject({ signal: 15, cut: { kind: 'canceled' } })
    writeFileSync(join(place.world.root, 'go'), '')
    const parts: Uint8Array[] = []
    for await (const { bytes } of run.output) parts.push(bytes)
    expect([Buffer.concat(parts).length, (await run.ended).exitCode]).toEqual([4 + 3893, 6])
    expect(readFileSync(place.world.path('runs', 'goes-on', 'stdout.log')).length).toBe(4 + 3893)
    // What is here too is not kept there.
    await until(async () => (await place.elder.runs()).length === 0)
  }, 60_000)
})
