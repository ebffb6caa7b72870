import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { type LocalSite, type LocalSiteOptions, openLocalSite } from '../../test/support/local-site.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import type { ResolvedCommand } from '../core/command.ts'
import { toHoldfastError } from '../core/errors.ts'
import type { SupervisedRun, SupervisedSession } from '../core/supervised.ts'
import { findSupervisor, type SupervisorProgram, supervisorFor } from '../supervisor/program.ts'
import { openRemote } from './open.ts'
import type { RemoteRequest, RemoteSession } from './session.ts'

/** How a supervisor gets to a site, and what is there of earlier ones; and a run whose folders meet trouble. */

const found = findSupervisor()
if (found.kind === 'missing') console.warn(`skipped: a supervisor on its way to a site: ${found.why}`)

interface Far extends AsyncDisposable {
  readonly world: World
  readonly site: LocalSite
  readonly kept: string
  open(request?: Partial<RemoteRequest>): Promise<RemoteSession>
}

async function openFar(options: Partial<LocalSiteOptions> = {}, world = openWorld()): Promise<Far> {
  mkdirSync(world.path('runs'), { recursive: true })
  const site = openLocalSite({ root: world.root, folder: world.path('site'), ...options })
  const opened: RemoteSession[] = []
  return {
    world,
    site,
    kept: world.path('site', 'kept'),
    async open(request = {}) {
      const remote = await openRemote({ site, target: {}, programFor: supervisorFor, folderOf: (run) => world.path('runs', run), ...request })
      opened.push(remote)
      return remote
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close()
      await site[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

function supervisedBy({ place }: RemoteSession): SupervisedSession {
  if (place.kind === 'plain') throw new Error(place.why)
  return place.session
}

function start(far: Far, session: SupervisedSession, id: string, script: string, maxOutputBytes = 1024 * 1024): Promise<SupervisedRun> {
  const folder = far.world.path('runs', id)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOLDFAST_RUN: id }
  const command: ResolvedCommand = { argv: ['sh', '-c', script], cwd: far.world.root, env, stdin: 'none', mark: id }
  const limits = { timeoutMs: 120_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes }
  return session.start(command, { id, folder, limits, leftovers: 'report', input: undefined, inputEnds: true, bound: false, listen: { kind: 'everything' } })
}

async function runsOnce(far: Far, remote: RemoteSession, id: string): Promise<void> {
  const run = await start(far, supervisedBy(remote), id, 'echo here; exit 3')
  expect([(await run.ended).exitCode, readFileSync(far.world.path('runs', id, 'stdout.log'), 'utf8')]).toEqual([3, 'here\n'])
}

/** Programs of the site that say something else than those of this machine. */
function withTools(world: World, tools: Readonly<Record<string, string>>): { env: { PATH: string } } {
  mkdirSync(world.path('tools'))
  for (const [name, body] of Object.entries(tools)) writeFileSync(world.path('tools', name), `#!/bin/sh\n${body}\n`, { mode: 0o755 })
  return { env: { PATH: `${world.path('tools')}:${process.env.PATH}` } }
}

/** A site whose channels spoil a byte of what is sent, far behind the script, as often as it is told. */
function spoiling(site: LocalSite, times: number): LocalSite {
  let left = times
  const open: LocalSite['open'] = async (request) => {
    const channel = await site.open(request)
    const isSpoilt = left > 0
    left -= 1
    if (!isSpoilt) return channel
    let sent = 0
    const stdin = new Transform({
      transform(piece: Buffer, _, done) {
        const at = 20_000 - sent
        sent += piece.length
        const bytes = Buffer.from(piece)
        if (at >= 0 && at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ 1
        done(null, bytes)
      },
    })
    stdin.on('error', () => {})
    stdin.pipe(channel.stdin)
    return { ...channel, stdin }
  }
  return Object.create(site, { open: { value: open } })
}

/** Another build: a script that says so, and is the real program in all else, or refuses to be anything. */
function otherBuild(world: World, build: string, isWhole: boolean): SupervisorProgram {
  const path = world.path(`program-${build}`)
  const rest = isWhole && found.kind === 'found' ? `exec ${found.path} "$@"` : 'exit 1'
  writeFileSync(path, `#!/bin/sh\n[ "$1" != --version ] || { echo ${build}; exit 0; }\n${rest}\n`)
  chmodSync(path, 0o755)
  return { kind: 'found', path, build }
}

const day = 24 * 3_600
const agedBy = (path: string, days: number): void => utimesSync(path, Date.now() / 1_000 - days * day, Date.now() / 1_000 - days * day)

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it did not reject')
    },
    (error: unknown) => toHoldfastError(error),
  )

describe.runIf(found.kind === 'found')('a supervisor on its way to a site', () => {
  it('is sent again where it did not arrive as it is, and what arrived is not kept', async () => {
    await using far = await openFar()
    const remote = await far.open({ site: spoiling(far.site, 1) })
    await runsOnce(far, remote, 'again')
    const there = readdirSync(far.kept).filter((name) => /supervisor-|\.up-/.test(name))
    expect(there.map((name) => readFileSync(join(far.kept, name)).equals(readFileSync(found.kind === 'found' ? found.path : '')))).toEqual([true])
  }, 60_000)

  it('that never arrives as it is leaves plain mode, with a warning, and nothing of it there', async () => {
    await using far = await openFar()
    const { place } = await far.open({ site: spoiling(far.site, 1_000) })
    expect(place).toMatchObject({ kind: 'plain', warnings: [expect.stringContaining('it did not arrive whole')] })
    expect(readdirSync(far.kept).filter((name) => /supervisor-|\.up-/.test(name))).toEqual([])
  }, 120_000)

  it('that is cut off in the middle is contact lost, and nothing of it is kept', async () => {
    await using far = await openFar({ latencyMs: 20 })
    const opening = errorOf(far.open())
    await until(() => existsSync(far.kept) && readdirSync(far.kept).some((name) => name.startsWith('.up-')))
    far.site.cut()
    expect((await opening).details.reason).toBe('contact_lost')
    await until(() => !readdirSync(far.kept).some((name) => /supervisor-|\.up-/.test(name)))
  }, 60_000)

  it('is the one for the processor of the site, whatever this machine has', async () => {
    const world = openWorld()
    const system = execFileSync('uname', ['-s'], { encoding: 'utf8' }).trim()
    await using far = await openFar(withTools(world, { uname: `case $1 in -m) echo aarch64;; -s) echo ${system};; *) echo far;; esac` }), world)
    const asked: string[] = []
    const other = otherBuild(world, 'a1a1a1a1', true)
    const remote = await far.open({
      programFor(machine) {
        asked.push(machine)
        return machine === 'aarch64' ? other : supervisorFor(machine)
      },
    })
    expect(remote.facts.machine).toBe('aarch64')
    await runsOnce(far, remote, 'elsewhere')
    const sent = readdirSync(far.kept).filter((name) => name.startsWith('supervisor-'))
    expect(sent).toEqual(['supervisor-a1a1a1a1-aarch64'])
    expect(readFileSync(join(far.kept, sent[0] ?? ''), 'utf8')).toContain('a1a1a1a1')
  }, 60_000)

  it('takes away programs that nobody used for a week and what was left half-way, and none that is used', async () => {
    await using far = await openFar()
    const first = await far.open()
    await runsOnce(far, first, 'first')
    const used = join(far.kept, readdirSync(far.kept).find((name) => name.startsWith('supervisor-')) ?? '')
    const path = (name: string): string => join(far.kept, name)
    for (const [name, days] of [
      ['supervisor-00000000-x86_64', 9],
      ['supervisor-11111111-x86_64', 5],
      ['.up-left', 2],
      ['.up-now', 0],
      ['of-somebody-else', 100],
    ] as const) {
      writeFileSync(path(name), 'x')
      agedBy(path(name), days)
    }
    agedBy(used, 9)
    await runsOnce(far, await far.open(), 'second')
    const other = otherBuild(far.world, 'b2b2b2b2', false)
    expect((await far.open({ programFor: () => other })).place.kind).toBe('plain')
    const left = readdirSync(far.kept).filter((name) => /^supervisor-|^\.up-|^of/.test(name))
    const machine = execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim()
    expect(left.sort()).toEqual(
      ['.up-now', 'of-somebody-else', 'supervisor-11111111-x86_64', `supervisor-b2b2b2b2-${machine}`, used.slice(far.kept.length + 1)].sort(),
    )
    await runsOnce(far, first, 'third')
  }, 60_000)
})

describe('a mount whose file system has other numbers there', () => {
  it('is proven by a file that is written here and seen there, or refused', async () => {
    const world = openWorld()
    await using far = await openFar(withTools(world, { stat: 'echo 7:7' }), world)
    const request = { target: { supervisor: 'never' as const } }
    expect((await far.open({ ...request, mounted: world.root })).place.kind).toBe('plain')
    const error = await errorOf(far.open({ ...request, mounted: world.tmp }))
    expect([error.details.reason, error.message]).toEqual(['target_mismatch', expect.stringContaining('another folder')])
    expect([readdirSync(world.root), readdirSync(world.tmp)]).toEqual([[], []])
  })
})

describe.runIf(found.kind === 'found')('a run of a site', () => {
  it('that several follow at once, past the limit of its log, is the same for all of them and here', async () => {
    await using far = await openFar()
    const sessions = await Promise.all(Array.from({ length: 4 }, async () => supervisedBy(await far.open())))
    const [first, ...others] = sessions as [SupervisedSession, ...SupervisedSession[]]
    const script = 'seq 1 3000; seq 1 3000 >&2; until test -e go; do sleep 0.02; done; seq 1 30000; seq 1 30000 >&2; exit 4'
    const run = await start(far, first, 'many', script, 64 * 1024)
    await until(() => existsSync(far.world.path('runs', 'many', 'stdout.log')))
    const runs = [run, ...(await Promise.all(others.map((session) => session.attach('many', { kind: 'nothing' }))))]
    writeFileSync(join(far.world.root, 'go'), '')
    const ends = await Promise.all(runs.map((each) => each?.ended))
    for (const end of ends) expect(end).toEqual(ends[0])
    expect([ends[0]?.exitCode, ends[0]?.failures]).toEqual([4, []])
    const total = Array.from({ length: 3_000 }, (_, i) => `${i + 1}\n`).join('') + Array.from({ length: 30_000 }, (_, i) => `${i + 1}\n`).join('')
    for (const stream of ['stdout', 'stderr'] as const) {
      const { gap, bytes } = ends[0]?.[stream] ?? { gap: null, bytes: 0 }
      const kept = readFileSync(far.world.path('runs', 'many', `${stream}.log`), 'utf8')
      expect([bytes, kept.slice(0, gap?.offset), kept.slice((gap?.offset ?? 0) + (gap?.markerBytes ?? 0))]).toEqual([
        total.length,
        total.slice(0, gap?.offset),
        total.slice((gap?.offset ?? 0) + (gap?.bytes ?? 0)),
      ])
    }
    expect(readdirSync(far.world.path('runs', 'many')).sort()).toEqual(['end.json', 'order.log', 'process.json', 'stderr.log', 'stdout.log'])
    await until(() => !readdirSync(far.kept, { recursive: true }).some((each) => /runs\/many/.test(String(each))))
  }, 60_000)

  it('for which there is no room there has its true end, and says what is missing; here is all that was kept', async (test) => {
    const world = openWorld()
    const kept = world.path('site', 'kept')
    mkdirSync(kept, { recursive: true, mode: 0o700 })
    const size = statSync(found.kind === 'found' ? found.path : '').size
    const options = `size=${2 * Math.ceil(size / 1024) + 256}k,mode=700`
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'none', kept]).status !== 0) {
      await world[Symbol.asyncDispose]()
      return test.skip('no file system can be mounted here')
    }
    await using far = await openFar({}, world)
    // Before its folder is removed.
    try {
      const remote = await far.open()
      // All but a little.
      spawnSync('sh', ['-c', `dd if=/dev/zero of=${join(kept, 'filler')} bs=1k 2>/dev/null; truncate -s -128k ${join(kept, 'filler')}`])
      const run = await start(far, supervisedBy(remote), 'full', 'seq 1 200000; echo over >&2; exit 9', 8 * 1024 * 1024)
      const end = await run.ended
      expect([end.exitCode, end.stdout.bytes, end.failures]).toEqual([9, 1_288_895, expect.arrayContaining([{ stream: 'stdout', errno: 'ENOSPC' }])])
      const log = readFileSync(world.path('runs', 'full', 'stdout.log'))
      const whole = Buffer.from(Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join(''))
      expect(log.length).toBeGreaterThan(64 * 1024)
      expect(log.subarray(0, 64 * 1024).equals(whole.subarray(0, 64 * 1024))).toBe(true)
      expect(end.stdout.droppedBytes).toBe(end.stdout.bytes - log.length + (end.stdout.gap?.markerBytes ?? 0))
      await runsOnce(far, remote, 'next')
    } finally {
      spawnSync('umount', ['-l', kept])
    }
  }, 60_000)
})
