import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeBackend } from '../../test/conformance/backend.ts'
import { until } from '../../test/support/clock.ts'
import { type LocalSite, type LocalSiteOptions, openLocalSite } from '../../test/support/local-site.ts'
import { isTriedOverSsh } from '../../test/support/ssh-server.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import { capabilitiesOf, type Running } from '../core/backend.ts'
import type { Channel } from '../core/channel.ts'
import type { ResolvedCommand } from '../core/command.ts'
import { closeInheritedDescriptors } from '../process/descriptors.ts'
import { openPlainSession } from './plain-session.ts'

// As the program does when it starts: whoever runs the tests may have left descriptors open.
closeInheritedDescriptors()

const logs = { stdout: '', stderr: '', maxBytes: 1 }
const usual = { PATH: '/usr/local/bin:/usr/bin:/bin' }

type Through = (channel: Channel) => Channel

interface Far extends AsyncDisposable {
  readonly world: World
  readonly site: LocalSite
  readonly runs: string
  start(script: string, further?: Partial<ResolvedCommand>): Promise<Running>
}

function openFar(options: Partial<LocalSiteOptions> = {}, through: Through = (channel) => channel): Far {
  const world = openWorld()
  const runs = world.path('far')
  const { shell = ['sh'], ...further } = options
  const site = openLocalSite({ root: world.root, folder: world.path('site'), ...further })
  // The shell of the session, which is started behind `env`.
  const open: LocalSite['open'] = async ({ argv: [program, ...args], ...request }) =>
    through(await site.open({ argv: [program, ...args.flatMap((word, at) => (word === 'sh' && args[at + 1] === '-c' ? shell : [word]))], ...request }))
  const session = openPlainSession({ site: { ...site, open }, runFolder: (run) => `${runs}/${run}` })
  return {
    world,
    site,
    runs,
    start: (script, further = {}) => session.start({ argv: ['sh', '-c', script], cwd: world.root, env: usual, stdin: 'none', mark: 'one', ...further }, logs),
    async [Symbol.asyncDispose]() {
      await session.close()
      await site[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

interface Said {
  readonly stdout: string
  readonly stderr: string
}

async function outputOf({ output }: Running, whenever?: (said: Said) => void): Promise<Said> {
  const said = { stdout: '', stderr: '' }
  for await (const { stream, bytes } of output) {
    said[stream] += Buffer.from(bytes).toString('latin1')
    whenever?.(said)
  }
  return said
}

/** Every command line and name of a process on this machine. */
const commandLines = (): string =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      } catch {
        return ''
      }
    })
    .join('\n')

const shells: Readonly<Record<string, Partial<LocalSiteOptions>>> = {
  dash: { shell: ['dash'] },
  'busybox, whose input cannot be ended alone': { shell: ['busybox', 'sh'], canEndInput: false },
  'bash, behind login files that print': { shell: ['bash', '--norc'], noise: 'Welcome!\n@0 begun 1\n' },
}

describe.each(Object.entries(shells))('commands by %s', (_, options) => {
  let far: Far
  beforeAll(() => {
    far = openFar(options)
  })
  afterAll(() => far[Symbol.asyncDispose]())

  it('have their environment and no other, and no value of it is an argument of any process', async () => {
    const secret = `s3cret-${process.pid}-'"$(id)\n€`
    const env = { ...usual, TOKEN: secret, EMPTY: '' }
    const running = await far.start('echo ready; read -r go; env -0', { env, stdin: 'fed' })
    let lines = ''
    let isAsked = false
    const said = await outputOf(running, ({ stdout }) => {
      if (isAsked || !stdout.includes('ready\n')) return
      isAsked = true
      lines = commandLines()
      void running.write(Buffer.from('go\n')).then(() => running.endInput())
    })
    expect(lines).toContain('read -r go')
    expect(lines).not.toContain(`s3cret-${process.pid}`)
    const variables = Buffer.from(said.stdout.slice('ready\n'.length), 'latin1').toString().split('\0').filter(Boolean)
    // The `sh` of the command itself sets these.
    const own = ['PWD=', 'OLDPWD=', 'SHLVL=', '_=']
    expect(variables.filter((each) => !own.some((name) => each.startsWith(name))).sort()).toEqual(
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}`)
        .sort(),
    )
  })

  it('read every byte that is written, up to the end of the input', async () => {
    const bytes = Buffer.alloc(300_000, Buffer.from([0, 1, 10, 46, 10, 255, 128]))
    const running = await far.start('wc -c; cat', { argv: ['sh', '-c', 'sha256sum'], stdin: 'fed' })
    const output = outputOf(running)
    await running.write(bytes.subarray(0, 100_001))
    await running.write(bytes.subarray(100_001))
    await running.endInput()
    const { createHash } = await import('node:crypto')
    expect((await output).stdout).toBe(`${createHash('sha256').update(bytes).digest('hex')}  -\n`)
    expect(await running.ended).toEqual({ exitCode: 0 })
  })

  it.each([0, 1, 255])('end with the status %i', async (code) => {
    const running = await far.start(`printf out; printf err >&2; exit ${code}`)
    expect(await outputOf(running)).toEqual({ stdout: 'out', stderr: 'err' })
    expect(await running.ended).toEqual({ exitCode: code })
  })

  it('have nothing around their output, whatever that looks like', async () => {
    const running = await far.start("printf '\\n@x begun 1\\n\\036@'; printf '\\n\\036\\n' >&2")
    expect(await outputOf(running)).toEqual({ stdout: '\n@x begun 1\n\x1e@', stderr: '\n\x1e\n' })
  })

  it('are refused where the program or the directory is missing, or is something else', async () => {
    writeFileSync(`${far.world.root}/plain`, 'x')
    const { root } = far.world
    for (const [further, reason] of [
      [{ argv: ['no-such-program'] }, 'program_missing'],
      [{ argv: [`${root}/plain`] }, 'program_not_executable'],
      [{ cwd: `${root}/none` }, 'cwd_missing'],
      [{ cwd: `${root}/plain` }, 'cwd_not_directory'],
    ] as const)
      await expect(far.start('', further as Partial<ResolvedCommand>), reason).rejects.toMatchObject({ details: { reason } })
  })

  it('find their files in the folder of the run, for this user alone, and it is gone after the end', async () => {
    const folder = `${far.runs}/two`
    const files = [{ name: 'script.sh', bytes: Buffer.from("printf '%s' \"it's \\0\"") }]
    const running = await far.start('', { argv: ['sh', `${folder}/script.sh`], files, mark: 'two', stdin: 'none' })
    expect((await outputOf(running)).stdout).toContain("it's")
    await running.ended
    expect(() => statSync(folder)).toThrow('ENOENT')
  })

  it('are reached by signals with all of their session, and tell what lives of it', async () => {
    const running = await far.start('sleep 100 & echo ready; wait')
    const found: string[] = []
    const output = outputOf(running)
    await until(async () => {
      const tree = (await running.tree()) ?? []
      found.splice(0, found.length, ...tree.map(({ name }) => name))
      return found.includes('sleep')
    })
    expect(await running.signal('SIGTERM')).toEqual({ delivered: true })
    expect(await running.ended).toEqual({ exitCode: 143 })
    expect((await output).stdout).toBe('ready\n')
    expect(await running.signal('SIGTERM')).toEqual({ delivered: false })
  })

  it('keep their output when contact is lost, and no status is made up', async () => {
    const other = openFar(options)
    try {
      const running = await other.start('echo before; sleep 100')
      const said = await outputOf(running, ({ stdout }) => {
        if (stdout.includes('before\n')) other.site.cut()
      })
      expect(said.stdout).toBe('before\n')
      await expect(running.ended).rejects.toMatchObject({ details: { reason: 'contact_lost' } })
      await running.signal('SIGKILL')
    } finally {
      await other[Symbol.asyncDispose]()
    }
  })
})

it('no end is told before all that the command printed is here, however late a stream is carried', async () => {
  let isCarried = false
  // Standard output comes once standard error has told the end.
  const behind: Through = (channel) => {
    const stdout = new PassThrough()
    const stderr = new PassThrough()
    let said = ''
    channel.stderr
      .on('end', () => stderr.end())
      .on('data', (bytes: Buffer) => {
        said += bytes.toString('latin1')
        stderr.write(bytes)
        if (isCarried || !/ended \d+\n/.test(said)) return
        setTimeout(() => {
          isCarried = true
          channel.stdout.pipe(stdout)
        }, 100)
      })
    return { ...channel, stdout, stderr }
  }
  await using far = openFar({}, behind)
  const running = await far.start('echo printed; sleep 100 >/dev/null & exit 3')
  const output = outputOf(running)
  expect([await running.ended, isCarried]).toEqual([{ exitCode: 3 }, true])
  running.release()
  expect((await output).stdout).toBe('printed\n')
  await running.signal('SIGKILL')
})

it('input that a command does not read is taken all the same: where an engine cannot be rid of it, output is lost with it', async () => {
  await using far = openFar()
  const running = await far.start('echo printed; until [ -e go ]; do sleep 0.05; done; exit 3', { stdin: 'fed' })
  const output = outputOf(running)
  const written = Promise.all(Array.from({ length: 64 }, () => running.write(Buffer.alloc(500_000))))
  writeFileSync(`${far.world.root}/go`, '')
  expect([await running.ended, (await output).stdout]).toEqual([{ exitCode: 3 }, 'printed\n'])
  await written
  expect(far.site.untaken).toBe(0)
})

it('a shell that dies under its command is contact lost, not a status', async () => {
  await using far = openFar({ shell: ['dash'] })
  const running = await far.start('echo $PPID; sleep 100')
  let isKilled = false
  const said = await outputOf(running, ({ stdout }) => {
    const shell = Number(/^(\d+)\n/.exec(stdout)?.[1])
    if (isKilled || !shell) return
    isKilled = true
    process.kill(shell, 'SIGKILL')
    void running.signal('SIGKILL')
  })
  expect(said.stdout).toMatch(/^\d+\n$/)
  await expect(running.ended).rejects.toMatchObject({ details: { reason: 'contact_lost' } })
})

it('a shell that cannot be started is a site that cannot be used, with what it said', async () => {
  await using far = openFar({ shell: ['sh', '-c', 'echo no shells today >&2; exit 3'] })
  await expect(far.start('echo x')).rejects.toMatchObject({ details: { reason: 'backend_unavailable', why: expect.stringContaining('status 3') } })
})

const signals = 'a shell tells a signal as a status of 128 and more'
const sessions = 'what leaves the session of the command is not found by a shell'

let world: World
let site: LocalSite
let count = 0

beforeAll(() => {
  world = openWorld()
  site = openLocalSite({ root: world.root, folder: world.path('site') })
})

afterAll(async () => {
  await site[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

if (isTriedOverSsh()) it.skip('the backend of a far site, plain: tried over ssh, and HOLDFAST_TEST_ALL is not 1', () => {})
else
  describeBackend('a far site, plain', {
    async open() {
      count += 1
      const root = world.path('root', `place-${count}`)
      mkdirSync(root)
      const session = openPlainSession({ site: { ...site, root }, runFolder: (run) => world.path('far', run) })
      return { session, capabilities: capabilitiesOf({ backend: 'ssh', supervised: false }), root, close: () => session.close() }
    },
    knownFailures: {
      'capabilities.isolation': 'this site is the machine itself',
      'bytes.dev-stderr': 'this site hands sockets to its commands',
      'endings.signal': signals,
      'endings.real-time-signal': signals,
      'endings.wall': signals,
      'endings.stubborn-tree': signals,
      'tree.setsid-ended-on-timeout': sessions,
    },
  })
