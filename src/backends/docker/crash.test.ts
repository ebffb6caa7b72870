import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle } from '../../../test/support/bundle.ts'
import { until } from '../../../test/support/clock.ts'
import { startEngine, type TestEngine, whyNoEngine } from '../../../test/support/docker-engine.ts'
import type { DockerTarget } from '../../core/target.ts'
import { openRemote } from '../../remote/open.ts'
import { supervisorFor } from '../../supervisor/program.ts'
import { reapDocker } from './reap.ts'
import { openDockerSite } from './site.ts'

/** Opens a site and says so; each request to the engine is a connection of its own, so that a kill falls on one of them. */
const source = `
import { openDockerSite } from './src/backends/docker/site.ts'
const [image, root, key] = process.argv.slice(2)
const tools = { env: process.env, root, mounts: [], owner: 'killed', key, uid: process.getuid(), gid: process.getgid(), now: Date.now }
await openDockerSite({ backend: 'docker', image, idleMs: 1000 }, tools, new AbortController().signal)
process.stdout.write('open')
`

describe.skipIf(whyNoEngine('docker', 'kills'))('kill -9 while a container is made', () => {
  let engine: TestEngine
  let folder: string
  let program: string

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'hf-crash-')))
    program = await bundle(source, join(folder, 'open.mjs'))
    engine = await startEngine('docker')
  }, 120_000)
  afterAll(async () => {
    await engine?.close()
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)

  /** Kills the program when its request number `step` was sent on, or with `answered` when its answer came. False: it needed fewer requests. */
  async function killAt(step: number, answered: boolean): Promise<boolean> {
    const path = join(folder, `${step}${answered ? 'a' : 'b'}`)
    let child: ChildProcess | undefined
    let count = 0
    let killed = false
    const kill = (): void => {
      killed = true
      child?.kill('SIGKILL')
    }
    const relay: Server = createServer((near) => {
      count += 1
      const isIt = count === step
      const far = connect(engine.socketPath)
      near.on('error', () => far.destroy())
      far.on('error', () => near.destroy())
      near.on('data', (piece) => {
        far.write(piece)
        if (isIt && !answered) kill()
      })
      near.on('end', () => isIt || far.end())
      far.on('data', (piece) => (isIt && answered ? kill() : near.write(piece)))
      far.on('end', () => near.end())
    })
    await new Promise<void>((resolve) => relay.listen(path, resolve))
    const env = { PATH: process.env.PATH, HOME: folder, DOCKER_HOST: `unix://${path}` }
    child = spawn(process.execPath, [program, engine.image, folder, path], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    await new Promise((resolve) => child?.once('exit', resolve))
    relay.close()
    return killed
  }

  it('leaves no container, whatever was asked of the engine last', async () => {
    const steps = Array.from({ length: 16 }, (_, i) => i + 1)
    const killed: number[] = []
    let next = 0
    const worker = async (): Promise<void> => {
      for (let at = next++; at < steps.length * 2; at = next++) {
        const step = steps[at >> 1] ?? 0
        if (await killAt(step, at % 2 === 1)) killed.push(step)
      }
    }
    await Promise.all([worker(), worker(), worker()])
    // Fewer requests than this make no container that runs and has been greeted.
    expect(Math.max(...killed)).toBeGreaterThanOrEqual(10)
    const reap = () =>
      reapDocker({}, { env: engine.env, uid: 0, now: Date.now, isAlive: (owner) => (owner === 'killed' ? false : undefined) }, { dryRun: false })
    await reap()
    // What was started ends by itself, and nobody asks for it.
    await until(async () => (await engine.containers()).length === 0)
    const { json } = await engine.api('GET', '/volumes')
    expect((json as { Volumes: unknown[] | null }).Volumes ?? []).toEqual([])
  }, 120_000)
})

describe.skipIf(whyNoEngine('docker', 'restarts of the daemon'))('a daemon that is killed and started again, and keeps containers alive', () => {
  let engine: TestEngine
  let folder: string

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'hf-restart-')))
    engine = await startEngine('docker', { keepsAlive: true })
  }, 120_000)
  afterAll(async () => {
    await engine?.close()
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)

  const openSite = (key: string) => {
    const tools = { env: engine.env, root: folder, mounts: [], owner: 'test', key, uid: 0, gid: 0, now: Date.now }
    return openDockerSite({ backend: 'docker', image: engine.image }, tools, new AbortController().signal)
  }
  const folderOf = (run: string): string => {
    mkdirSync(join(folder, 'runs', run), { recursive: true })
    return join(folder, 'runs', run)
  }

  it('has its commands go on, is read on from where it stood, and what has ended there is cleared up by who comes next', async () => {
    // Without a way past the engine.
    const site = { ...(await openSite('kept')), door: async () => undefined }
    const session = await openRemote({ site, target: {}, programFor: supervisorFor, folderOf, mounted: folder })
    if (session.place.kind !== 'supervised') throw new Error(session.place.why)
    const script = `echo before; until [ -e '${folder}/go' ]; do sleep 0.1; done; echo after`
    const commands = session.place.session
    const run = await commands.start(
      { argv: ['sh', '-c', script], cwd: folder, env: { PATH: '/usr/bin:/bin' }, stdin: 'none', mark: 'one' },
      {
        id: 'one',
        folder: folderOf('one'),
        limits: { timeoutMs: 100_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 1_000_000 },
        leftovers: 'report',
        input: undefined,
        inputEnds: true,
        bound: false,
        listen: { kind: 'everything' },
      },
    )
    const log = join(folderOf('one'), 'stdout.log')
    await until(() => readFileSync(log, 'latin1') === 'before\n')
    engine.kill()
    await engine.start()
    writeFileSync(join(folder, 'go'), '')
    // Contact was lost, or is found to be.
    const end = await run.ended.catch(async () => (await commands.attach('one', { kind: 'nothing' }))?.ended)
    expect(end).toMatchObject({ exitCode: 0 })
    await until(() => readFileSync(log, 'latin1') === 'before\nafter\n')
    await session.close()
    // This engine removes nothing by itself.
    await engine.api('POST', `/containers/${(site.handle as DockerTarget).container}/stop?t=0`)
    expect(await engine.containers()).toHaveLength(1)
    const other = await openSite('other')
    expect(await engine.containers()).toHaveLength(1)
    await other.destroy()
    expect(await engine.containers()).toEqual([])
  }, 120_000)
})
