import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { hasSshServer, openSshServer, type SshServer } from '../../../test/support/ssh-server.ts'
import { openWorld, type World } from '../../../test/support/world.ts'
import { openRemote } from '../../remote/open.ts'
import type { RemoteSession } from '../../remote/session.ts'
import { findSupervisor, supervisorFor } from '../../supervisor/program.ts'
import { openSshSite } from './site.ts'

const program = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))
const run = promisify(execFile)
const supervisor = findSupervisor()
if (supervisor.kind === 'missing') console.warn(`skipped: runs over ssh: ${supervisor.why}`)

describe.skipIf(supervisor.kind === 'missing' || !hasSshServer('runs over ssh'))('a run over ssh', () => {
  let server: SshServer
  let world: World
  let env: Record<string, string>

  beforeAll(async () => {
    server = await openSshServer()
    world = openWorld()
    mkdirSync(world.path('runtime'), { mode: 0o700 })
    env = { ...world.env, XDG_RUNTIME_DIR: world.path('runtime') }
    delete env.HOLDFAST_SUPERVISOR
    const settings = join(world.home, '.config', 'holdfast', 'holdfast.json')
    writeFileSync(settings, JSON.stringify({ targets: { box: server.target() }, defaultTarget: 'box' }))
  })

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  /** Prints a number every moment, two when it may, and ends with 5. */
  const command = (name: string): string[] => [
    'sh',
    '-c',
    `echo one; seq 1 20000; touch ${name}-began; while [ ! -e ${name}-go ]; do sleep 0.02; done; seq 20001 40000; echo two >&2; touch ${name}-over; exit 5`,
  ]
  const whole = `one\n${Array.from({ length: 40_000 }, (_, i) => `${i + 1}\n`).join('')}`
  const there = (name: string): string => join(server.home, name)
  const start = (name: string) =>
    spawn(process.execPath, [program, 'exec', '--json', '--', ...command(name)], { cwd: world.root, env, stdio: ['ignore', 'pipe', 'inherit'] })

  async function holdfast(...args: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [program, ...args], { cwd: world.root, env, maxBuffer: 10_000_000 }).catch(
      (error: { stdout: string; code: number }) => error,
    )
    return stdout
  }

  /** Each byte of the newest run, and how it ended. */
  async function newest() {
    const [record] = JSON.parse(await holdfast('runs', '--json')).runs
    const out = readFileSync(join(world.root, '.holdfast', 'runs', record.id, 'stdout.log'), 'utf8')
    return { outcome: record.outcome, out }
  }

  it('goes on when Holdfast is killed; whoever asks next gets all of its output and its true end', async () => {
    const child = start('killed')
    const over = new Promise((resolve) => child.once('exit', resolve))
    await until(() => existsSync(there('killed-began')))
    child.kill('SIGKILL')
    await over
    writeFileSync(there('killed-go'), '')
    await until(() => existsSync(there('killed-over')))
    await holdfast('wait', 'last')
    const { outcome, out } = await newest()
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 5 })
    expect(out).toBe(whole)
  })

  it('goes on when the server ends all connections and comes back, and is waited for all that time', async () => {
    const child = start('restarted')
    const status = new Promise((resolve) => child.once('exit', resolve))
    await until(() => existsSync(there('restarted-began')))
    await server.stop()
    writeFileSync(there('restarted-go'), '')
    await until(() => existsSync(there('restarted-over')))
    await server.start()
    expect(await status).toBe(5)
    const { outcome, out } = await newest()
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 5 })
    expect(out).toBe(whole)
  })

  it('is held by the one supervisor of its account, however many sessions there are', async () => {
    const sessions: RemoteSession[] = []
    for (let i = 0; i < 2; i += 1) {
      const site = await openSshSite(server.target(), { env, runtimeFolder: world.path('runtime') })
      sessions.push(await openRemote({ site, target: {}, programFor: supervisorFor, folderOf: (id) => world.path(id) }))
    }
    const held = sessions.map(({ place }) => (place.kind === 'supervised' ? place.session.supervisor : place.why))
    for (const session of sessions) await session.close()
    expect(held[0]).toMatchObject({ pid: expect.any(Number) })
    expect(held[1]).toEqual(held[0])
  })
})
