import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { type LocalSite, type LocalSiteOptions, openLocalSite } from '../../test/support/local-site.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import type { OutputChunk } from '../core/backend.ts'
import type { ResolvedCommand } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { toHoldfastError } from '../core/errors.ts'
import type { Listening, SupervisedSession, SupervisionTerms } from '../core/supervised.ts'
import { readStat } from '../process/identity.ts'
import { findSupervisor, supervisorFor } from '../supervisor/program.ts'
import { openRemote } from './open.ts'
import type { RemoteRequest, RemoteSession } from './session.ts'

const program = findSupervisor()
if (program.kind === 'missing') console.warn(`skipped: sites with a supervisor: ${program.why}`)

const everything: Listening = { kind: 'everything' }
const mib = 1024 * 1024

interface Far extends AsyncDisposable {
  readonly world: World
  readonly site: LocalSite
  readonly kept: string
  open(request?: Partial<RemoteRequest>): Promise<RemoteSession>
  session(request?: Partial<RemoteRequest>): Promise<SupervisedSession>
}

async function openFar(options: Partial<LocalSiteOptions> = {}): Promise<Far> {
  const world = openWorld()
  mkdirSync(world.path('runs'))
  const site = openLocalSite({ root: world.root, folder: world.path('site'), ...options })
  const opened: RemoteSession[] = []
  const open = async (request: Partial<RemoteRequest> = {}): Promise<RemoteSession> => {
    const remote = await openRemote({ site, target: {}, programFor: supervisorFor, folderOf: (run) => world.path('runs', run), ...request })
    opened.push(remote)
    return remote
  }
  return {
    world,
    site,
    kept: world.path('site', 'kept'),
    open,
    async session(request) {
      const { place } = await open(request)
      if (place.kind === 'plain') throw new Error(place.why)
      return place.session
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close()
      await site[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

const command = (far: Far, script: string, id: string, more: Partial<ResolvedCommand> = {}): ResolvedCommand => ({
  argv: ['sh', '-c', script],
  cwd: far.world.root,
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOLDFAST_RUN: id },
  stdin: 'none',
  mark: id,
  ...more,
})

function terms(far: Far, id: string, more: Partial<SupervisionTerms> = {}): SupervisionTerms {
  const folder = far.world.path('runs', id)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const limits = { timeoutMs: 120_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 64 * mib }
  return { id, folder, limits, leftovers: 'report', input: undefined, inputEnds: true, bound: false, listen: everything, ...more }
}

const log = (far: Far, id: string, name = 'stdout.log'): Buffer => readFileSync(far.world.path('runs', id, name))
const endOf = (far: Far, id: string): EndRecord => JSON.parse(readFileSync(far.world.path('runs', id, 'end.json'), 'utf8')) as EndRecord

/** The bytes of standard output, each of which has to come once and in order. */
async function collect(output: AsyncIterable<OutputChunk>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let at = 0
  for await (const { stream, offset, bytes } of output) {
    if (stream !== 'stdout') continue
    expect(offset).toBe(at)
    at += bytes.length
    parts.push(bytes)
  }
  return Buffer.concat(parts)
}

const isInstalled = (name: string): boolean => spawnSync(name, ['-c', ':'], { stdio: 'ignore' }).error === undefined
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it did not reject')
    },
    (error: unknown) => toHoldfastError(error),
  )

/** What runs where, with one quick command, as proof that a session works. */
async function runsOnce(far: Far, session: SupervisedSession, id: string): Promise<void> {
  const run = await session.start(command(far, `echo ${id}; exit 3`, id), terms(far, id))
  const [out, end] = await Promise.all([collect(run.output), run.ended])
  expect([out.toString(), end.exitCode, log(far, id).toString()]).toEqual([`${id}\n`, 3, `${id}\n`])
}

describe.runIf(program.kind === 'found')('a site with a supervisor', () => {
  it('puts the supervisor into a private folder once, says what the site is, and finds it again', async () => {
    await using far = await openFar()
    const remote = await far.open()
    const { facts } = remote
    expect([facts.system, facts.machine, facts.uid, facts.home]).toEqual([
      'Linux',
      execFileSync('uname', ['-m']).toString().trim(),
      process.getuid?.(),
      far.world.path('site'),
    ])
    expect(facts.variables.HOME).toBe(far.world.path('site'))
    if (remote.place.kind === 'plain' || program.kind === 'missing') throw new Error('no supervisor')
    await runsOnce(far, remote.place.session, 'first')
    const [name = ''] = readdirSync(far.kept).filter((each) => each.startsWith('supervisor-'))
    expect(sha256(readFileSync(join(far.kept, name)))).toBe(sha256(readFileSync(program.path)))
    expect(statSync(far.kept).mode & 0o777).toBe(0o700)
    const before = statSync(join(far.kept, name)).ino
    const again = await far.session()
    expect([again.supervisor, again.build, statSync(join(far.kept, name)).ino]).toEqual([remote.place.session.supervisor, program.build, before])
    await runsOnce(far, again, 'second')
    // What is here needs to be nowhere else.
    await until(() => readdirSync(far.kept, { recursive: true }).every((each) => !/runs\/\w/.test(String(each))))
  })

  it.each<[string, Partial<LocalSiteOptions>]>([
    ['prints a banner without a line feed', { noise: 'Welcome to the machine!\r\n@ not a mark\nLast login: today' }],
    ['is slow and has much to say', { noise: 'x'.repeat(200_000), slowMs: 300 }],
    ['cannot end the input alone', { canEndInput: false }],
    ['has the shell of busybox', { shell: ['busybox', 'sh'] }],
    ['has dash', { shell: ['dash'] }],
    ['has bash', { shell: ['bash'] }],
  ])('works where the site %s', async (_, options) => {
    if (options.shell && !isInstalled(options.shell[0])) return console.warn(`skipped: a site with ${options.shell[0]}: there is none here`)
    await using far = await openFar(options)
    await runsOnce(far, await far.session(), 'only')
  })

  it('loses no byte and no status in a hundred cuts', async () => {
    await using far = await openFar()
    const session = await far.session()
    const script = 'i=0; while [ ! -e enough ]; do seq $((i*500)) $((i*500+499)); i=$((i+1)); sleep 0.03; done; exit 7'
    const run = await session.start(command(far, script, 'cut'), terms(far, 'cut'))
    const heard = (): number => statSync(far.world.path('runs', 'cut', 'stdout.log'), { throwIfNoEntry: false })?.size ?? 0
    const cutting = (async () => {
      for (let cuts = 0, seen = 0; cuts < 100; cuts += 1) {
        // Each one comes after something new was heard.
        await until(() => heard() !== seen)
        seen = heard()
        far.site.cut()
      }
      writeFileSync(join(far.world.root, 'enough'), '')
    })()
    const [out, end] = await Promise.all([collect(run.output), run.ended, cutting])
    const count = out.toString().split('\n').length - 1
    const whole = Buffer.from(Array.from({ length: count }, (_, i) => `${i}\n`).join(''))
    expect([out.equals(whole), log(far, 'cut').equals(whole), end.exitCode, end.stdout.bytes]).toEqual([true, true, 7, whole.length])
    expect(endOf(far, 'cut')).toEqual(end)
  }, 120_000)

  it('goes through a door to the same supervisor, and through none that leads to another one', async () => {
    await using far = await openFar()
    await using other = await openFar()
    await runsOnce(other, await other.session(), 'other')
    const socketOf = ({ kept }: Far): string => join(kept, readdirSync(kept).find((name) => name.endsWith('.sock')) ?? '')
    for (const [id, path, left] of [
      ['same', () => socketOf(far), 0],
      ['another', () => socketOf(other), 1],
      ['nowhere', () => far.world.path('missing'), 1],
    ] as const) {
      const site = Object.create(far.site, { door: { value: async () => ({ path: path(), close() {} }) } })
      const remote = await far.open({ site })
      if (remote.place.kind === 'plain') throw new Error(remote.place.why)
      await runsOnce(far, remote.place.session, id)
      await until(() => far.site.channels.size === left)
      await remote.close()
      await until(() => far.site.channels.size === 0)
    }
  })

  it('starts a command once, also where contact is lost while it is asked for', async () => {
    await using far = await openFar({ latencyMs: 5 })
    const session = await far.session()
    for (let i = 0; i < 5; i += 1) {
      const id = `once-${i}`
      const started = session.start(command(far, `echo ran >> proof-${i}; exit ${i}`, id), terms(far, id))
      setTimeout(() => far.site.cut(), 2 * i)
      const end = await (await started).ended
      expect([end.exitCode, readFileSync(join(far.world.root, `proof-${i}`), 'utf8')]).toEqual([i, 'ran\n'])
    }
  }, 60_000)

  it('survives a stall that is shorter than its limit, and takes contact for lost after a longer one', async () => {
    await using far = await openFar()
    const session = await far.session({ keepAliveMs: 300 })
    const run = await session.start(command(far, 'echo one; while ! test -e go; do sleep 0.05; done; echo two', 'stall'), terms(far, 'stall'))
    const collected = collect(run.output)
    await until(() => existsSync(far.world.path('runs', 'stall', 'stdout.log')))
    const before = far.site.opened
    far.site.stall(true)
    await new Promise((resolve) => setTimeout(resolve, 400))
    far.site.stall(false)
    expect((await run.status()).state).toBe('running')
    expect(far.site.opened).toBe(before)
    // The channel that stalls is given up, and a new one, which does not, is opened.
    far.site.stallThese()
    await until(() => far.site.opened > before)
    writeFileSync(join(far.world.root, 'go'), '')
    expect((await collected).toString()).toBe('one\ntwo\n')
  }, 30_000)

  it('another process attaches to a run from where its log here stands, and to one that is over', async () => {
    await using far = await openFar()
    const first = await far.session()
    const run = await first.start(command(far, 'echo one; while ! test -e go; do sleep 0.05; done; echo two >&2; exit 4', 'a'), terms(far, 'a'))
    await until(() => existsSync(far.world.path('runs', 'a', 'stdout.log')))
    run.release()
    await first.close()
    const second = await far.session()
    const attached = await second.attach('a', everything)
    expect(attached?.process).toEqual(run.process)
    attached?.release()
    await second.close()
    writeFileSync(join(far.world.root, 'go'), '')
    const third = await far.session()
    await until(async () => !(await third.runs()).includes('a'))
    expect(existsSync(far.world.path('runs', 'a', 'end.json'))).toBe(false)
    expect(await third.attach('a', { kind: 'nothing' })).toBeUndefined()
    expect([log(far, 'a').toString(), log(far, 'a', 'stderr.log').toString(), endOf(far, 'a').exitCode]).toEqual(['one\n', 'two\n', 4])
    expect(existsSync(far.world.path('runs', 'a', 'order.log'))).toBe(true)
    expect(await third.attach('nobody-knows', { kind: 'nothing' })).toBeUndefined()
  }, 30_000)

  it('a listener that is slower than the command gets what it missed from the log here', async () => {
    await using far = await openFar()
    const session = await far.session()
    const run = await session.start(command(far, 'seq 1 800000', 'slow'), terms(far, 'slow'))
    await run.ended
    const out = await collect(run.output)
    expect([String(out.length), out.equals(log(far, 'slow'))]).toEqual([execFileSync('sh', ['-c', 'seq 1 800000 | wc -c']).toString().trim(), true])
  }, 30_000)

  it('output that comes after the end of a run reaches its log here once all has let go', async () => {
    await using far = await openFar()
    const session = await far.session()
    const run = await session.start(command(far, '(while ! test -e go; do sleep 0.05; done; echo late) & echo early', 'late'), terms(far, 'late'))
    const end = await run.ended
    expect([end.late, end.leftovers.length > 0, log(far, 'late').toString()]).toEqual([false, true, 'early\n'])
    writeFileSync(join(far.world.root, 'go'), '')
    await until(() => endOf(far, 'late').late)
    expect(log(far, 'late').toString()).toBe('early\nlate\n')
  }, 40_000)

  it('a command finds the files that were sent with it', async () => {
    await using far = await openFar()
    const remote = await far.open()
    if (remote.place.kind === 'plain') throw new Error(remote.place.why)
    const files = [{ name: 'script.sh', bytes: Buffer.from('echo from a file; exit 5') }]
    const run = await remote.place.session.start(
      command(far, '', 'script', { argv: ['sh', `${remote.runFolder('script')}/script.sh`], files }),
      terms(far, 'script'),
    )
    expect([(await collect(run.output)).toString(), (await run.ended).exitCode]).toEqual(['from a file\n', 5])
  })

  it('several who come at the same time put one supervisor there', async () => {
    await using far = await openFar()
    const sessions = await Promise.all(Array.from({ length: 6 }, () => far.session()))
    expect(new Set(sessions.map(({ supervisor }) => supervisor.pid)).size).toBe(1)
    expect(readdirSync(far.kept).filter((name) => /supervisor-|\.up-/.test(name))).toHaveLength(1)
  }, 30_000)

  it('passes over folders that are open to others, belong to a link, or are too long for a socket', async () => {
    const names = (world: string): string[] => ['open', 'link', 'long'.repeat(25), 'good'].map((name) => join(world, name))
    const base = openWorld()
    const [open = '', link = '', long = '', good = ''] = names(base.path('site'))
    mkdirSync(base.path('site'))
    for (const each of [open, `${open}/holdfast-${process.getuid?.()}`]) mkdirSync(each, { mode: 0o755 })
    mkdirSync(good, { mode: 0o700 })
    symlinkSync(base.path('nowhere'), link)
    await using far = await openFar({ folder: base.path('site'), privateFolders: [open, link, long, good] })
    await runsOnce(far, await far.session(), 'only')
    expect(readdirSync(good).some((name) => name.startsWith('supervisor-'))).toBe(true)
    await base[Symbol.asyncDispose]()
  })

  it('commands run in plain mode, and it is said why, where the supervisor cannot be started', async () => {
    await using far = await openFar()
    const broken = far.world.path('broken')
    writeFileSync(broken, '#!/bin/sh\necho "this machine does not want it" >&2; exit 1\n', { mode: 0o755 })
    const { place } = await far.open({ programFor: () => ({ kind: 'found', path: broken, build: '00000000' }) })
    expect(place).toMatchObject({ kind: 'plain', warnings: [expect.stringContaining('this machine does not want it')] })
  }, 30_000)

  it.each<[string, Partial<RemoteRequest>, string]>([
    ['the target does not want one', { target: { supervisor: 'never' } }, 'is "never"'],
    ['there is none for its processor', { programFor: () => ({ kind: 'missing', why: 'there is no program for it' }) }, 'there is no program for it'],
  ])('commands run in plain mode without a warning where %s', async (_, request, why) => {
    await using far = await openFar()
    expect((await far.open(request)).place).toMatchObject({ kind: 'plain', why: expect.stringContaining(why), warnings: [] })
    expect(existsSync(far.kept)).toBe(false)
  })

  it('refuses a target whose home is another one, before anything is put there', async () => {
    await using far = await openFar()
    const error = await errorOf(far.open({ target: { home: '/nope' } }))
    expect([error.code, error.details.reason]).toEqual(['failed_precondition', 'target_mismatch'])
    expect(error.message).toContain(`home is declared as /nope, and is ${far.world.path('site')} there`)
    expect([existsSync(far.kept), far.site.opened, far.site.channels.size]).toEqual([false, 1, 0])
    await runsOnce(far, await far.session({ target: { home: `${far.world.path('site')}/` } }), 'same')
  })

  it('a folder that is said to be mounted is, or the target is refused', async () => {
    await using far = await openFar()
    await runsOnce(far, await far.session({ mounted: far.world.root }), 'mounted')
    const error = await errorOf(far.open({ mounted: far.world.tmp }))
    expect([error.details.reason, error.message]).toEqual(['target_mismatch', expect.stringContaining('another folder')])
    expect(readdirSync(far.world.tmp)).toEqual([])
    await using gone = await openFar({ root: '/nowhere/at/all' })
    expect((await errorOf(gone.open({ mounted: gone.world.root }))).message).toContain('is not there')
  })

  it('a site without a shell is refused with what it said', async () => {
    await using far = await openFar({ shell: ['false'] })
    const error = await errorOf(far.open())
    expect([error.code, error.message]).toEqual(['unavailable', expect.stringContaining('a shell ended with status 1 before it said anything')])
  })

  it('gives a run up as soon as its site is gone for good', async () => {
    await using far = await openFar()
    const session = await far.session()
    const run = await session.start(command(far, 'echo one; sleep 300', 'gone'), terms(far, 'gone'))
    await until(() => existsSync(far.world.path('runs', 'gone', 'stdout.log')))
    far.site.vanish('it was removed')
    const begun = performance.now()
    const error = await errorOf(run.ended)
    expect([error.details.reason, error.message]).toEqual(['supervisor_lost', expect.stringContaining('it was removed')])
    expect(performance.now() - begun).toBeLessThan(10_000)
    expect(session.open).toBe(false)
    const late = await errorOf(session.start(command(far, 'touch late', 'late'), terms(far, 'late')))
    expect(late.details).toMatchObject({ reason: 'supervisor_lost', unsent: true })
  }, 30_000)

  it('a run that its site knows nothing of any more, as after a restart of a container, is attached to no more', async () => {
    await using far = await openFar()
    const session = await far.session()
    const run = await session.start(command(far, 'echo one; sleep 300', 'restarted'), terms(far, 'restarted'))
    await until(() => existsSync(far.world.path('runs', 'restarted', 'stdout.log')))
    for (const each of readdirSync(far.kept, { recursive: true }))
      if (/\/runs\/restarted$/.test(`/${each}`)) rmSync(join(far.kept, `${each}`), { recursive: true })
    // With the process around it, which would tell of the end.
    const { pid } = session.supervisor
    for (const each of [readStat(pid)?.parent ?? pid, pid]) process.kill(each, 'SIGKILL')
    expect((await errorOf(run.ended)).message).toContain('nothing is known of run restarted at the site any more')
    expect([session.open, await session.attach('restarted', everything)]).toEqual([true, undefined])
  }, 30_000)

  it('what a process that was killed had not fetched is here once the next one comes', async () => {
    await using far = await openFar()
    const first = await far.session()
    const run = await first.start(
      command(far, 'echo one; echo two >&2; while ! test -e go; do sleep 0.02; done; seq 1 1000; exit 6', 'left'),
      terms(far, 'left'),
    )
    await until(() => existsSync(far.world.path('runs', 'left', 'stdout.log')))
    run.release()
    await first.close()
    writeFileSync(join(far.world.root, 'go'), '')
    // A run that goes on is left alone until somebody asks for it.
    await until(() => readdirSync(far.kept, { recursive: true }).some((each) => /runs\/left\/end\.json$/.test(`/${each}`)))
    const second = await far.session()
    await until(() => existsSync(far.world.path('runs', 'left', 'end.json')))
    expect([endOf(far, 'left').exitCode, log(far, 'left').length, log(far, 'left', 'stderr.log').toString()]).toEqual([6, 4 + 3893, 'two\n'])
    await until(async () => !(await second.runs()).includes('left'))
  }, 30_000)

  it('two processes that follow the same run write the same log', async () => {
    await using far = await openFar()
    const [first, second] = [await far.session(), await far.session()]
    const run = await first.start(command(far, 'i=0; while [ $i -lt 50 ]; do seq 1 2000; i=$((i+1)); sleep 0.01; done', 'both'), terms(far, 'both'))
    await until(() => existsSync(far.world.path('runs', 'both', 'stdout.log')))
    const other = await second.attach('both', { kind: 'everything', from: { stdout: 0, stderr: 0 } })
    if (!other) throw new Error('it is over already')
    const [a, b] = await Promise.all([collect(run.output), collect(other.output), run.ended, other.ended])
    expect([a.equals(b), log(far, 'both').equals(a), a.length]).toEqual([true, true, 50 * 8893])
  }, 30_000)

  it('past the limit of its log head and tail are here as they are there', async () => {
    await using far = await openFar()
    const session = await far.session()
    const limits = { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 64 * 1024 }
    const run = await session.start(command(far, 'seq 1 200000; echo end', 'gap'), terms(far, 'gap', { limits }))
    const end = await run.ended
    const text = log(far, 'gap').toString()
    expect(end.stdout.gap).not.toBeNull()
    expect([text.startsWith('1\n2\n3\n'), text.endsWith('199999\n200000\nend\n'), text.includes('[holdfast: ')]).toEqual([true, true, true])
    expect(text.length).toBe(end.stdout.bytes - end.stdout.droppedBytes + (end.stdout.gap?.markerBytes ?? 0))
  }, 30_000)

  it('a disk that is full here ends no run: what is missing is told, and kept there', async (test) => {
    await using far = await openFar()
    const folder = far.world.path('runs', 'full')
    mkdirSync(folder)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', folder]).status !== 0) return test.skip('no file system can be mounted here')
    try {
      const session = await far.session()
      const run = await session.start(command(far, 'seq 1 100000; exit 9', 'full'), terms(far, 'full'))
      const end = await run.ended
      expect([end.exitCode, end.failures, end.stdout.bytes]).toEqual([9, [{ stream: 'stdout', errno: 'ENOSPC' }], 588_895])
      expect(end.stdout.droppedBytes).toBe(588_895 - log(far, 'full').length)
      expect(existsSync(join(session.handle, '..', readdirSync(far.kept).find((name) => existsSync(join(far.kept, name, 'runs'))) ?? '', 'runs', 'full'))).toBe(
        true,
      )
    } finally {
      execFileSync('umount', [folder])
    }
  }, 30_000)

  it('a tail is the newest output, and not more often than it was asked for', async () => {
    await using far = await openFar()
    const session = await far.session()
    const run = await session.start(
      command(far, 'for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; sleep 0.03; done', 'tail'),
      terms(far, 'tail', { listen: { kind: 'tail', everyMs: 100 } }),
    )
    const heard: string[] = []
    for await (const { bytes } of run.output) heard.push(Buffer.from(bytes).toString())
    expect([heard.length < 9, heard.join('').endsWith('line 10\n'), (await run.ended).exitCode]).toEqual([true, true, 0])
  })
})
