import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { openRelay } from '../../../test/support/relay.ts'
import { hasSshServer, openSshServer, type SshServer, type SshServerSettings } from '../../../test/support/ssh-server.ts'
import type { Channel, Site } from '../../core/channel.ts'
import { type HoldfastError, toHoldfastError } from '../../core/errors.ts'
import type { SshTarget } from '../../core/target.ts'
import { openSshSite } from './site.ts'
import type { SshTools } from './tools.ts'

const cases = new URL('../../../../shared/cases/', import.meta.url)
const hasCases = existsSync(cases)
if (!hasCases) console.warn('skipped: B073, B089: the folder of cases is not here')

/** Also the number of a run that was started on a connection that is gone. */
const lost = { code: 'unavailable', details: { reason: 'contact_lost' } }

async function take(channel: Channel, input?: Buffer | string) {
  const out: Buffer[] = []
  const err: Buffer[] = []
  channel.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  channel.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  if (input !== undefined) channel.stdin.end(input)
  const status = await channel.ended.catch((error: unknown) => toHoldfastError(error))
  return { status, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
}

const run = async (site: Site, script: string, input: Buffer | string = '') => take(await site.open({ argv: ['sh', '-c', script] }), input)

const refusal = (promise: Promise<unknown>): Promise<HoldfastError> =>
  promise.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: unknown) => toHoldfastError(error),
  )

describe.skipIf(!hasSshServer('the backend ssh'))('an account over ssh', () => {
  let server: SshServer
  let folder: string
  let tools: SshTools
  const open: Site[] = []
  const others: SshServer[] = []

  beforeAll(async () => {
    server = await openSshServer({ sshd: ['MaxSessions 3', 'AcceptEnv HF_*'] })
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'hf-')))
    tools = { env: process.env, runtimeFolder: folder, idleMs: 2_000, aliveMs: 1_000, greetMs: 1_500 }
  })

  afterEach(async () => {
    for (const site of open.splice(0)) await site.close()
    for (const other of others.splice(0)) await other[Symbol.asyncDispose]()
  })

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  async function siteOf(target: SshTarget = server.target(), more: Partial<SshTools> = {}, signal?: AbortSignal): Promise<Site> {
    const site = await openSshSite(target, { ...tools, ...more }, signal)
    open.push(site)
    return site
  }

  async function another(settings: SshServerSettings): Promise<SshServer> {
    const other = await openSshServer(settings)
    others.push(other)
    return other
  }

  const through = (port: number, name: string): SshTarget =>
    server.target({ config: server.config(name, [`HostName 127.0.0.1`, `Port ${port}`, `HostKeyAlias [127.0.0.1]:${server.port}`]) })

  /** The ssh that holds the connection of the newest site. */
  function masterPids(): number[] {
    const text = execFileSync('ps', ['-C', 'ssh', '-o', 'pid=,args='], { encoding: 'utf8', maxBuffer: 10_000_000 })
    return [...text.matchAll(/^ *(\d+) .*ControlMaster=yes.*$/gm)].filter(([line]) => line.includes(folder)).map(([, pid]) => Number(pid))
  }

  const accepted = (): number => server.log().split('Accepted publickey').length - 1

  it('is found by its alias and begins at home; bytes, arguments and status pass unchanged', async () => {
    const site = await siteOf()
    expect([site.title, site.root, site.workspace]).toEqual(['ssh box', server.home, 'own'])
    const words = ['', "it's", 'a\nb\n', '!! $HOME `x` "q" \\', '€🔥', '-n']
    expect(await take(await site.open({ argv: ['printf', '%s|', ...words] }), '')).toEqual({
      status: { exitCode: 0 },
      out: words.map((w) => `${w}|`).join(''),
      err: '',
    })
    expect(await run(site, 'echo out; echo err >&2; id -un; exit 7')).toEqual({ status: { exitCode: 7 }, out: `out\n${server.account}\n`, err: 'err\n' })
    const bytes = randomBytes(3_000_000)
    expect((await run(site, 'sha256sum', bytes)).out).toContain(createHash('sha256').update(bytes).digest('hex'))
    expect((await site.examine()).kind).toBe('up')
  })

  it('tells the status 255 of a command from a connection that is lost', async () => {
    const site = await siteOf()
    expect((await run(site, 'echo kept; exit 255')).status).toEqual({ exitCode: 255 })
    const channel = await site.open({ argv: ['sh', '-c', 'echo kept; exec sleep 60'] })
    channel.stdout.once('data', () => {
      for (const pid of masterPids()) process.kill(pid, 'SIGKILL')
    })
    expect(await take(channel)).toMatchObject({ status: lost, out: 'kept\n' })
  })

  it.skipIf(!hasCases)('B073: the input can be ended without losing the rest of the output and the status', async () => {
    const site = await siteOf()
    const script = readFileSync(new URL('B073.sh', cases), 'utf8')
    const bytes = Buffer.from(Array.from({ length: 1 << 20 }, (_, i) => i & 255))
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
    const call = async (input: Buffer | string) => take(await site.open({ argv: ['bash', '-c', script] }), input)
    expect(await call(bytes)).toEqual({ status: { exitCode: 0 }, out: 'bytes=1048576\nafter-eof\n', err: `${hash}\n` })
    expect(await call('')).toMatchObject({ status: { exitCode: 0 }, out: 'bytes=0\nafter-eof\n' })
  })

  it('B075: takes more commands at once than the server allows sessions, and many after each other', async () => {
    const site = await siteOf()
    // More than all connections together carry.
    const many = await Promise.all(Array.from({ length: 30 }, (_, i) => run(site, `sleep 0.5; echo ${i}`)))
    expect(many).toEqual(many.map((_, i) => ({ status: { exitCode: 0 }, out: `${i}\n`, err: '' })))
    for (let i = 0; i < 30; i += 1) expect((await run(site, `cat > file-${i}`, `text ${i}`)).status).toEqual({ exitCode: 0 })
    expect(readFileSync(join(server.home, 'file-29'), 'utf8')).toBe('text 29')
  })

  it('shares one connection between sites, and with what was open before', async () => {
    const [one, two] = [await siteOf(), await siteOf()]
    const before = accepted()
    const three = await siteOf()
    expect((await Promise.all([one, two, three].map((site) => run(site, 'echo here')))).map(({ out }) => out)).toEqual(['here\n', 'here\n', 'here\n'])
    expect(accepted()).toBe(before)
    const channel = await two.open({ argv: ['sh', '-c', 'echo ready; read x; echo "got $x"'] })
    await one.close()
    expect(await take(channel, 'word\n')).toMatchObject({ status: { exitCode: 0 }, out: 'ready\ngot word\n' })
    expect((await refusal(one.open({ argv: ['true'] }))).details.reason).toBe('contact_lost')
  })

  it('goes on where the ssh that held the connection was killed or stopped', async () => {
    const site = await siteOf()
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      expect((await run(site, 'echo here')).out).toBe('here\n')
      const pids = masterPids()
      expect(pids.length).toBeGreaterThan(0)
      for (const pid of pids) process.kill(pid, signal)
      expect((await run(site, 'echo again')).out).toBe('again\n')
      if (signal === 'SIGSTOP') for (const pid of pids) process.kill(pid, 'SIGKILL')
    }
  })

  it('starts each command once where connections end just when they are used', async () => {
    const site = await siteOf()
    const log = join(server.home, 'started')
    for (let round = 0; round < 3; round += 1) {
      const opened = Promise.all(Array.from({ length: 6 }, (_, i) => site.open({ argv: ['sh', '-c', `echo ${round}-${i} >> started`] })))
      for (const pid of masterPids()) process.kill(pid, 'SIGTERM')
      for (const channel of await opened) await take(channel, '')
    }
    const lines = readFileSync(log, 'utf8').trim().split('\n')
    expect(new Set(lines).size).toBe(lines.length)
  })

  it('lets commands go on when the server ends every connection, and connects anew', async () => {
    const site = await siteOf()
    const channel = await site.open({ argv: ['sh', '-c', 'echo ready; sleep 1; echo done > proof'] })
    const stopped = new Promise<void>((resolve) => channel.stdout.once('data', () => resolve(server.stop())))
    try {
      expect(await take(channel)).toMatchObject({ status: lost, out: 'ready\n' })
      await stopped
      await until(() => existsSync(join(server.home, 'proof')))
      expect((await refusal(site.open({ argv: ['true'] }))).message).toMatch(/Connection refused/)
    } finally {
      // The other rows need it.
      await stopped
      await server.start()
    }
    expect((await run(site, 'cat proof')).out).toBe('done\n')
  })

  it('survives a stall, and notices a path that is dead', async () => {
    await using relay = await openRelay(server.port)
    const site = await siteOf(through(relay.port, 'relayed'))
    const channel = await site.open({ argv: ['sh', '-c', 'echo ready; read x; echo "got $x"; exec sleep 60'] })
    const taken = take(channel)
    relay.stall()
    channel.stdin.write('word\n')
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    relay.resume()
    let text = ''
    await new Promise<void>((resolve) =>
      channel.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.includes('got')) resolve()
      }),
    )
    relay.stall()
    const began = performance.now()
    expect(await taken).toMatchObject({ status: lost, out: 'ready\ngot word\n' })
    // Three questions, one second each, and the one that was on the way.
    expect(performance.now() - began).toBeLessThan(10_000)
    relay.resume()
    relay.cut()
    expect((await run(site, 'echo again')).out).toBe('again\n')
  })

  it.skipIf(!hasCases)('B089: a network path that dies without a word is contact lost, and the output so far is there', async () => {
    const relay = spawn(process.execPath, [new URL('B089.js', cases).pathname, '127.0.0.1', String(server.port), '3'], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const port = await new Promise<number>((resolve) => relay.stdout.once('data', (line) => resolve(Number(/:(\d+)/.exec(String(line))?.[1]))))
      const site = await siteOf(through(port, 'b089'))
      expect(await take(await site.open({ argv: ['sh', '-c', 'echo ready; exec sleep 60'] }))).toMatchObject({ status: lost, out: 'ready\n' })
    } finally {
      relay.kill('SIGKILL')
    }
  })

  it('gives up at the signal of the caller', async () => {
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const controller = new AbortController()
    const opening = refusal(siteOf(through((mute.address() as AddressInfo).port, 'mute'), {}, controller.signal))
    setTimeout(() => controller.abort(), 300)
    expect((await opening).details.reason).toBe('canceled_before_start')
    mute.close()
  })

  it('holds nobody up who prints at login, and names the login files where these never end', async () => {
    const shout = 'echo noise; echo noise >&2; printf "\\036holdfast-end-1 3\\036" >&2\n'
    const other = await another({ files: { '.bashrc': `${shout}sleep 1\n`, '.profile': shout, '.bash_profile': shout } })
    const site = await siteOf(other.target())
    expect(await run(site, 'echo out; echo err >&2; exit 3')).toEqual({ status: { exitCode: 3 }, out: 'out\n', err: 'err\n' })
    // What they leave in the background holds the streams for as long as it lives.
    writeFileSync(join(other.home, '.bashrc'), 'sleep 300 &\n')
    const began = performance.now()
    expect(await run(await siteOf(other.target()), 'echo out; echo err >&2; exit 3')).toEqual({ status: { exitCode: 3 }, out: 'out\n', err: 'err\n' })
    expect(performance.now() - began).toBeLessThan(100_000)
    writeFileSync(join(other.home, '.bashrc'), 'exec 2>&1\n')
    expect((await refusal(siteOf(other.target()))).message).toContain('its login files lead the standard error elsewhere')
    writeFileSync(join(other.home, '.bashrc'), 'exec sleep 60\n')
    const slow = await refusal(siteOf(other.target(), { loginMs: 1_000 }))
    expect(slow).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no shell within 1 seconds'),
      details: { remedy: expect.stringContaining('~/.bashrc') },
    })
  })

  for (const shell of ['/usr/sbin/nologin', '/bin/csh', '/usr/bin/fish']) {
    it.skipIf(!existsSync(shell))(`${shell === '/usr/sbin/nologin' ? 'is refused with the words of' : 'works with'} the login shell ${shell}`, async () => {
      const other = await another({ shell, files: { '.cshrc': 'echo noise\n', '.config/fish/config.fish': 'echo noise\n' } })
      if (shell === '/usr/sbin/nologin') {
        const error = await refusal(siteOf(other.target()))
        expect(error).toMatchObject({ code: 'failed_precondition', message: expect.stringContaining('This account is currently not available') })
        return
      }
      expect(await run(await siteOf(other.target()), `printf '%s\n' "it's !! \\$x"; exit 255`)).toEqual({
        status: { exitCode: 255 },
        out: "it's !! $x\n",
        err: '',
      })
    })
  }

  it('follows the configuration of the person, except in what is meant for a terminal', async () => {
    const path = join(server.folder, 'theirs')
    const proof = join(server.folder, 'proof')
    const config = server.config('personal', [
      'ControlMaster auto',
      `ControlPath ${path}`,
      'ControlPersist 60',
      'RemoteCommand echo wrong',
      'RequestTTY force',
      'PermitLocalCommand yes',
      `LocalCommand touch ${proof}`,
      `LocalForward 127.0.0.1:1 127.0.0.1:1`,
      'ForwardAgent yes',
      'ExitOnForwardFailure yes',
      'LogLevel QUIET',
      'StdinNull yes',
      'ForkAfterAuthentication yes',
      'SessionType none',
      'SetEnv HF_WORD=passed',
    ])
    const site = await siteOf(server.target({ config }))
    const { status, out } = await run(site, 'cat; tty; echo "$HF_WORD$SSH_AUTH_SOCK"', 'word ')
    expect([status, out]).toEqual([{ exitCode: 0 }, 'word not a tty\npassed\n'])
    expect([existsSync(path), existsSync(proof)]).toEqual([false, false])
  })

  it('goes over jump hosts, and says which of them fails', async () => {
    const config = server.config('jumping')
    const text = readFileSync(config, 'utf8')
    writeFileSync(
      config,
      `${text}${text.replace('Host box', 'Host far')}  ProxyJump box\n${text.replace('Host box', 'Host beyond')}  ProxyJump gate\nHost gate\n  HostName 127.0.0.1\n  Port 1\n`,
    )
    expect((await run(await siteOf(server.target({ config, host: 'far' })), 'echo here')).out).toBe('here\n')
    expect((await refusal(siteOf(server.target({ config, host: 'beyond' })))).message).toMatch(
      /127\.0\.0\.1 port 1: Connection refused \(the way leads over gate\)/,
    )
  })

  it('gives ssh nothing of the environment but what it needs', async () => {
    const list = join(server.folder, 'environment')
    const config = server.config('looking')
    writeFileSync(config, `Match exec "env > ${list}"\n${readFileSync(config, 'utf8')}`)
    await siteOf(server.target({ config }), { env: { ...process.env, HF_SECRET: 'x', LANG: 'de_DE', SSH_ASKPASS: '/bin/true', SSH_AUTH_SOCK: '/nowhere' } })
    const names = readFileSync(list, 'utf8').match(/^\w+(?==)/gm) ?? []
    expect(names).toEqual(expect.arrayContaining(['PATH', 'SSH_AUTH_SOCK']))
    expect(names.filter((name) => /SECRET|LANG|LC_|SSH_ASKPASS$/.test(name))).toEqual([])
  })

  it('leaves nothing in the folder of its connections but their names and sockets, for the person alone', async () => {
    await siteOf()
    const names = readdirSync(join(folder, 'holdfast', 'ssh'))
    expect(names.filter((name) => !/^[0-9a-f]{16}-\d(?:\.[0-9a-f]{6})?$/.test(name))).toEqual([])
    expect(execFileSync('stat', ['-c', '%a', join(folder, 'holdfast', 'ssh')], { encoding: 'utf8' })).toBe('700\n')
  })

  describe('that cannot be reached', () => {
    const errorOf = (more: readonly string[], name: string) => refusal(siteOf(server.target({ config: server.config(name, more) })))

    it('because its key is unknown is told what to do, and the key is not taken', async () => {
      const known = join(server.folder, 'empty-hosts')
      const error = await errorOf([`UserKnownHostsFile ${known}`], 'unknown')
      expect(error).toMatchObject({ code: 'failed_precondition', details: { reason: 'host_key_unknown', of: `[127.0.0.1]:${server.port}` } })
      expect(error.message).toMatch(/ssh-ed25519 SHA256:/)
      expect(error.details.remedy).toMatch(/connect once by hand \(ssh -F .* box\), or add what ssh-keyscan prints/)
      expect(existsSync(known)).toBe(false)
    })

    it.each([['yes'], ['no'], ['accept-new']])('because its key has changed is refused, with StrictHostKeyChecking %s, too', async (checking) => {
      const known = join(server.folder, 'other-hosts')
      writeFileSync(known, `[127.0.0.1]:${server.port} ${readFileSync(`${server.key}.pub`, 'utf8').split(' ').slice(0, 2).join(' ')}\n`)
      const error = await errorOf([`UserKnownHostsFile ${known}`, `StrictHostKeyChecking ${checking}`], 'changed')
      expect(error).toMatchObject({ code: 'permission_denied', details: { reason: 'host_key_changed', remedy: expect.stringContaining('ssh-keygen -R') } })
      expect(error.message).toContain('other-hosts')
    })

    it('because no key is accepted says which were offered', async () => {
      spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(server.folder, 'stranger')])
      const error = await errorOf([`IdentityFile ${join(server.folder, 'stranger')}`], 'stranger-config')
      expect(error).toMatchObject({ code: 'unauthenticated', details: { remedy: expect.stringContaining('authorized_keys') } })
      expect(error.message).toMatch(/ takes publickey, offered was \S+stranger SHA256:/)
      const none = await errorOf([`IdentityFile ${join(server.folder, 'no-such-key')}`], 'no-key-config')
      expect(none.message).toContain('no key was offered')
      const locked = join(server.folder, 'locked')
      copyFileSync(server.key, locked)
      chmodSync(locked, 0o600)
      spawnSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'secret', '-f', locked])
      const unable = await errorOf([`IdentityFile ${locked}`], 'locked-config')
      expect(unable).toMatchObject({ code: 'unauthenticated', details: { remedy: expect.stringContaining('ssh-add') } })
      expect(unable.message).toContain('it has a passphrase, and no agent has it')
    })

    it('because nobody listens, or there is no such host', async () => {
      expect(await errorOf(['Port 1'], 'closed')).toMatchObject({ code: 'unavailable', message: expect.stringContaining('port 1: Connection refused') })
      expect(await errorOf(['HostName no-such-host.invalid'], 'nowhere')).toMatchObject({
        details: { target: 'ssh box' },
        message: expect.stringMatching(/no-such-host\.invalid/),
      })
    })

    it('because the configuration is broken, or there is no ssh', async () => {
      expect(await errorOf(['NoSuchOption yes'], 'broken')).toMatchObject({
        code: 'failed_precondition',
        message: expect.stringMatching(/Bad configuration option: nosuchoption/i),
      })
      expect(await refusal(siteOf(server.target(), { env: { PATH: '/nonexistent' } }))).toMatchObject({
        code: 'unavailable',
        details: { remedy: expect.stringContaining('install the OpenSSH client') },
      })
    })

    it.each([
      ['host', { host: '-oProxyCommand=touch x' }],
      ['host', { host: '' }],
      ['user', { user: '-x' }],
      ['port', { port: 0 }],
      ['root', { root: 'relative' }],
      ['config', { config: 'relative' }],
    ])('because its %s is none', async (field, more) => {
      expect(await refusal(siteOf(server.target(more)))).toMatchObject({ code: 'invalid_argument', details: { field } })
    })
  })
})
