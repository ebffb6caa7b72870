import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { endSupervisor } from '../../test/support/end-supervisors.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import { toHoldfastError } from '../core/errors.ts'
import type { ProcessIdentity } from '../core/run.ts'
import { isAlive, readStat } from '../process/identity.ts'
import { connectSupervisor, findSocketPath, reachSupervisor, type SupervisorPlace, socketFolders } from './connect.ts'
import type { Connection } from './connection.ts'
import { findSupervisor } from './program.ts'

const program = findSupervisor()
if (program.kind === 'missing') console.warn(`skipped: starting the real supervisor: ${program.why}`)
const real = program.kind === 'found' ? { path: program.path, build: program.build } : { path: '', build: '' }

const user = process.getuid?.() ?? 0
const usual = process.env.TMPDIR
let world: World
/** What a test reached, ended after it. */
let reached: { connection: Connection; supervisor: ProcessIdentity }[] = []

beforeEach(() => {
  world = openWorld()
  process.env.TMPDIR = world.tmp
})

afterEach(async () => {
  for (const { connection, supervisor } of reached) {
    await connection.close()
    await endSupervisor(supervisor)
  }
  reached = []
  if (usual === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = usual
  await world[Symbol.asyncDispose]()
})

async function open(place: Partial<SupervisorPlace> = {}): Promise<Connection> {
  const connection = await connectSupervisor({ home: world.home, program: real, runtimeFolder: undefined, idleMs: 10_000, ...place })
  reached.push({ connection, supervisor: connection.supervisor })
  return connection
}

const whyOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => {
      throw new Error('it did not reject')
    },
    (thrown: unknown) => toHoldfastError(thrown),
  )
  expect([error.code, error.details.reason]).toEqual(['unavailable', 'supervisor_unavailable'])
  return String(error.details.why)
}

const unsafe: [string, (folder: string) => void][] = [
  ['that others may enter', (folder) => mkdirSync(folder, { mode: 0o755 })],
  [
    'that everybody may write to',
    (folder) => {
      mkdirSync(folder)
      chmodSync(folder, 0o777)
    },
  ],
  [
    'that is a link to one of our own',
    (folder) => {
      mkdirSync(`${folder}-real`, { mode: 0o700 })
      symlinkSync(`${folder}-real`, folder)
    },
  ],
  ['that is a file', (folder) => writeFileSync(folder, '')],
  ['that cannot be made', (folder) => writeFileSync(dirname(folder), '')],
]
if (user === 0) {
  unsafe.push([
    'that belongs to somebody else',
    (folder) => {
      mkdirSync(folder, { mode: 0o700 })
      chownSync(folder, 65_534, 65_534)
    },
  ])
} else console.warn('skipped: a folder that belongs to somebody else: only root can make one')

describe('the place of the socket', () => {
  const home = '/srv/project/.holdfast'
  const find = (folders: readonly string[], build = '0123abcd') => findSocketPath({ home, program: { path: '', build } }, folders)

  it('is in the folder for the time of a login, else in the ones for temporary files', () => {
    const temporary = [join(world.tmp, `holdfast-${user}`), `/tmp/holdfast-${user}`]
    expect(socketFolders('/run/user/7')).toEqual(['/run/user/7/holdfast', ...temporary])
    expect(socketFolders(undefined)).toEqual(temporary)
    expect(socketFolders('')).toEqual(temporary)
    expect(socketFolders('not/absolute')).toEqual(temporary)
    process.env.TMPDIR = '/tmp'
    expect(socketFolders(undefined)).toEqual([`/tmp/holdfast-${user}`])
  })

  it('is the same for the same home and program, in a folder that is made for us alone', async () => {
    const folder = world.path('new')
    const path = await find([folder])
    expect([dirname(path), statSync(folder).mode & 0o777]).toEqual([folder, 0o700])
    expect(basename(path)).toMatch(/^[0-9a-f]{16}-0123abcd\.sock$/)
    expect(await find([folder])).toBe(path)
    const others = [
      await find([folder], '0123abce'),
      await find([folder], 'a name'),
      await findSocketPath({ home: '/srv/other', program: { path: '', build: '0123abcd' } }, [folder]),
    ]
    expect(new Set([path, ...others]).size).toBe(4)
  })

  it.each(unsafe)('is not in a folder %s: the next one serves', async (_, prepare) => {
    const folder = world.path('place', 'holdfast')
    if (!_.includes('cannot be made')) mkdirSync(dirname(folder))
    prepare(folder)
    expect(dirname(await find([folder, world.path('next')]))).toBe(world.path('next'))
    expect(await whyOf(find([folder]))).toContain(`there is no private folder for its socket: `)
    expect(await whyOf(find([folder]))).toContain(folder)
  })

  it('is not where its path would be too long for a socket', async () => {
    // A slash and 30 characters come behind the folder.
    const fits = `${world.path()}/${'x'.repeat(107 - 31 - world.path().length - 1)}`
    expect(Buffer.byteLength(await find([fits]))).toBe(107)
    expect(dirname(await find([`${fits}x`, world.path('next')]))).toBe(world.path('next'))
    expect(await whyOf(find([`${fits}x`]))).toContain('too long')
    expect(existsSync(`${fits}x`)).toBe(false)
  })
})

describe.runIf(program.kind === 'found')('connecting', () => {
  it('starts a supervisor where there is none, and finds it later', async () => {
    const first = await open()
    const second = await open()
    expect(second.supervisor).toEqual(first.supervisor)
    expect([first.build, dirname(first.path)]).toEqual([real.build, join(world.tmp, `holdfast-${user}`)])
    const joined = await reachSupervisor(first.path)
    expect(joined?.supervisor).toEqual(first.supervisor)
    await joined?.close()
    const other = await open({ home: world.path('another') })
    const newer = await open({ program: { ...real, build: 'ffffffff' } })
    expect(new Set([first, other, newer].map(({ supervisor }) => supervisor.pid)).size).toBe(3)
  })

  it('prefers the folder for the time of a login', async () => {
    mkdirSync(world.path('run'), { mode: 0o700 })
    expect(dirname((await open({ runtimeFolder: world.path('run') })).path)).toBe(world.path('run', 'holdfast'))
  })

  it('works where the folder for temporary files has a long name', async () => {
    process.env.TMPDIR = join(world.tmp, 'long'.repeat(30))
    mkdirSync(process.env.TMPDIR)
    const { path } = await open()
    expect(dirname(path)).toBe(`/tmp/holdfast-${user}`)
    for (const { connection, supervisor } of reached) {
      await connection.close()
      await endSupervisor(supervisor)
    }
    rmSync(`${path}.lock`, { force: true })
  })

  it('gives the supervisor a session of its own, and nothing of our environment, folder and descriptors', async () => {
    const { supervisor } = await open()
    const stat = readStat(supervisor.pid)
    expect([stat?.session === process.pid, stat?.session === readStat(process.pid)?.session]).toEqual([false, false])
    expect(readlinkSync(`/proc/${supervisor.pid}/cwd`)).toBe('/')
    expect(readFileSync(`/proc/${supervisor.pid}/environ`, 'latin1').replaceAll('\0', '')).toBe('')
    expect(readFileSync(`/proc/${supervisor.pid}/cmdline`, 'latin1')).not.toContain(world.folder)
  })

  it('leads twenty processes that come at once to one supervisor, which outlives them', async () => {
    const file = await bundle(
      `import { connectSupervisor } from './src/supervisor/connect.ts'
       const connection = await connectSupervisor(JSON.parse(process.argv[2]))
       console.log(JSON.stringify([connection.supervisor, connection.path]))`,
      world.path('connect.mjs'),
    )
    const place: SupervisorPlace = { home: world.home, program: real, runtimeFolder: undefined, idleMs: 10_000 }
    const connect = () => promisify(execFile)(process.execPath, [file, JSON.stringify(place)], { env: world.env, timeout: 25_000 })
    const all = await Promise.all(Array.from({ length: 20 }, connect))
    const said = new Set(all.map(({ stdout, stderr }) => stdout + stderr))
    expect(said.size).toBe(1)
    const connection = await open()
    expect([...said]).toEqual([`${JSON.stringify([connection.supervisor, connection.path])}\n`])
    expect(isAlive(connection.supervisor)).toBe(true)
  }, 60_000)

  it('starts the next one at once where one was killed and left its socket', async () => {
    const first = await open()
    process.kill(first.supervisor.pid, 'SIGKILL')
    const second = await open()
    expect([second.path, second.supervisor.pid === first.supervisor.pid]).toEqual([first.path, false])
  })

  it('finds a folder as if nobody had been there when the supervisor has ended', async () => {
    const first = await open()
    expect(readdirSync(dirname(first.path)).length).toBeGreaterThan(0)
    await endSupervisor(first.supervisor)
    expect(readdirSync(dirname(first.path))).toEqual([])
    expect((await open()).supervisor.pid).not.toBe(first.supervisor.pid)
  })

  it('finds a supervisor again that is needed and whose socket was removed', async () => {
    const first = await open()
    rmSync(first.path)
    expect((await open()).supervisor).toEqual(first.supervisor)
  })

  it('does not wait for long where it cannot make its socket anew', async () => {
    const first = await open()
    rmSync(first.path)
    process.kill(first.supervisor.pid, 'SIGSTOP')
    const startedAt = performance.now()
    expect(await whyOf(open())).toContain(`nobody answers at ${first.path}`)
    expect(performance.now() - startedAt).toBeLessThan(8_000)
    expect(await reachSupervisor(first.path)).toBeUndefined()
    process.kill(first.supervisor.pid, 'SIGCONT')
  })

  it('does not reach for a socket in a folder that others could have prepared', async () => {
    const { path } = await open()
    chmodSync(dirname(path), 0o711)
    expect(await reachSupervisor(path)).toBeUndefined()
    chmodSync(dirname(path), 0o700)
    const connection = await reachSupervisor(path)
    expect(connection?.open).toBe(true)
    await connection?.close()
  })
})

it.each<[string, string | undefined, string]>([
  ['is not there', undefined, 'ENOENT'],
  ['is no program', 'no program', 'EACCES'],
  ['ends at once', '#!/bin/sh\nexit 3\n', 'it ended at once (exit 3)'],
  ['complains', '#!/bin/sh\necho "the disk is on fire" >&2\nexit 1\n', 'it ended at once (the disk is on fire)'],
  ['says something else', '#!/bin/sh\necho hello\nsleep 1\n', 'did not start: hello'],
])('a program that %s is said to be why there is no supervisor', async (_, text, why) => {
  const path = world.path('program')
  if (text !== undefined) writeFileSync(path, text, { mode: text.startsWith('#!') ? 0o755 : 0o644 })
  const found = await whyOf(open({ program: { path, build: '01234567' } }))
  expect(found).toContain(path)
  expect(found).toContain(why)
})
