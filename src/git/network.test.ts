import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { identify } from '../process/identity.ts'
import { createGit } from './git.ts'
import { networkOf, parseScoped } from './network.ts'
import { type GitRepository, openRepository } from './open.ts'
import { resolveBase } from './resolve-base.ts'

async function listen(server: Server): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const silent = () => listen(createServer())
const http = (listener: RequestListener) => listen(createHttp(listener))

/** Command lines of processes that work in a repository or name it: git and what it started. */
function processesWith(folder: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return line.includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder) ? [line] : []
    } catch {
      return []
    }
  })
}

function program(world: GitWorld, name: string, script: string): string {
  const folder = world.path('programs')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
  return join(folder, name)
}

/** A repository whose `origin` is at an address, seen with programs of the world first on the PATH. */
async function withRemote(world: GitWorld, url: string, env: Record<string, string> = {}): Promise<GitRepository> {
  const folder = world.repository('a')
  world.sh(folder, 'remote', 'add', 'origin', url)
  const git = createGit({ runProgram: world.runProgram, ownEnv: { ...world.env, PATH: `${world.path('programs')}:${world.env.PATH}`, ...env } })
  return openRepository({ git, settings: { trusted: [] } }, folder)
}

it.each(['http', 'git'])(
  'a server that takes a connection of %s and says nothing is given up in the time that is given, and a local base serves',
  async (scheme) => {
    await using world = openGitWorld()
    await using server = await silent()
    const repo = await withRemote(world, `${scheme}://127.0.0.1:${server.port}/a.git`)
    const started = Date.now()
    const base = await resolveBase(repo, { base: 'main', policy: 'prefer-remote', timeoutMs: 700 })
    expect(base).toMatchObject({ source: 'local', ref: 'refs/heads/main', remoteError: expect.stringContaining('was ended after 700 ms') })
    expect(Date.now() - started).toBeLessThan(5_000)
    const required = resolveBase(repo, { base: 'main', policy: 'require-remote', timeoutMs: 300 })
    await expect(required).rejects.toMatchObject({ details: { reason: 'fetch_failed', kind: 'timeout', remote: 'origin', retryable: true } })
    expect(processesWith(repo.mainRoot)).toEqual([])
  },
)

it('an ssh that hangs is ended with git, and is told to ask nobody', async () => {
  await using world = openGitWorld()
  const told = world.path('told')
  program(world, 'ssh', `echo "$@" > '${told}'; echo $$ > '${told}.pid'; exec sleep 300`)
  const repo = await withRemote(world, 'ssh://git@example.invalid/a.git')
  const required = resolveBase(repo, { base: 'main', policy: 'require-remote', timeoutMs: 700 })
  await expect(required).rejects.toMatchObject({ details: { reason: 'fetch_failed', kind: 'timeout' } })
  expect(readFileSync(told, 'utf8')).toMatch(/-oBatchMode=yes .*-oConnectTimeout=20 /)
  expect(identify(Number(readFileSync(`${told}.pid`, 'utf8')))).toBeUndefined()
})

it.each([
  ['a key that is not accepted', 'auth', 'git@example.invalid: Permission denied (publickey).'],
  ['a host that nobody knows', 'auth', 'Host key verification failed.'],
  ['a host that does not answer', 'timeout', 'ssh: connect to host example.invalid port 22: Connection timed out'],
  ['a host that is not there', 'unreachable', 'ssh: Could not resolve hostname example.invalid: Name or service not known'],
  ['a repository that is not there', 'missing', 'ERROR: Repository not found.'],
])('%s is told as %s', async (_, kind, says) => {
  await using world = openGitWorld()
  program(world, 'ssh', `echo '${says}' >&2; exit 255`)
  const repo = await withRemote(world, 'git@example.invalid:a.git')
  const base = await resolveBase(repo, { base: 'main', policy: 'prefer-remote' })
  expect(base.remoteError).toContain(says)
  const required = resolveBase(repo, { base: 'main', policy: 'require-remote' })
  await expect(required).rejects.toMatchObject({ details: { reason: 'fetch_failed', kind } })
})

it('a server that wants a password gets none, and nobody is asked for one', async () => {
  await using world = openGitWorld()
  await using server = await http((_, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end())
  const asked = world.path('asked')
  const askpass = program(world, 'askpass', `touch '${asked}'; exec sleep 300`)
  const repo = await withRemote(world, `http://127.0.0.1:${server.port}/a.git`, { GIT_ASKPASS: askpass, SSH_ASKPASS: askpass, DISPLAY: ':0' })
  world.sh(repo.mainRoot, 'config', 'core.askPass', askpass)
  const required = resolveBase(repo, { base: 'main', policy: 'require-remote', timeoutMs: 10_000 })
  await expect(required).rejects.toMatchObject({
    details: { reason: 'fetch_failed', kind: 'auth', git: { stderr: expect.stringContaining('terminal prompts disabled') } },
  })
  expect(existsSync(asked)).toBe(false)
})

it('credentials come from the helpers of the person, and neither a helper nor a proxy of the repository gets to see them', async () => {
  await using world = openGitWorld()
  const seen: string[] = []
  await using server = await http((request, response) => {
    seen.push(Buffer.from((request.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString())
    response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end()
  })
  await using proxy = await http((request, response) => {
    seen.push(`proxy ${request.url}`)
    response.writeHead(500).end()
  })
  const url = `http://127.0.0.1:${server.port}`
  const repo = await withRemote(world, `${url}/a.git`)
  const helper = program(world, 'git-credential-mine', 'echo username=me; echo password=mine')
  const planted = program(world, 'git-credential-planted', `touch '${world.path('ran')}'; cat >> '${world.path('ran')}'; echo username=x; echo password=y`)
  writeFileSync(join(world.home, '.gitconfig'), `[credential]\n\thelper = ${helper}\n`)
  for (const name of ['credential.helper', `credential.${url}.helper`]) world.sh(repo.mainRoot, 'config', name, planted)
  for (const name of ['http.proxy', `http.${url}.proxy`, 'remote.origin.proxy']) world.sh(repo.mainRoot, 'config', name, `http://127.0.0.1:${proxy.port}`)
  world.sh(repo.mainRoot, 'config', `http.${url}.extraHeader`, 'X-Own: 1')
  await repo.run(['fetch', 'origin'], { network: true, timeoutMs: 10_000 })
  expect(seen).toEqual(['', 'me:mine'])
  expect(existsSync(world.path('ran'))).toBe(false)
})

it('no secret of the environment reaches a call, and its home only one over the network', async () => {
  await using world = openGitWorld()
  const dump = world.path('dump')
  program(world, 'git', `env >> '${dump}'; exec /usr/bin/env git --version`)
  const env = {
    ...world.env,
    PATH: `${world.path('programs')}:${world.env.PATH}`,
    GITHUB_TOKEN: 's3cret',
    AWS_SECRET_ACCESS_KEY: 's3cret',
    SSH_AUTH_SOCK: '/agent',
  }
  const git = createGit({ runProgram: (request) => world.runProgram({ ...request, argv: ['env'] }), ownEnv: env })
  const local = (await git.run({ args: ['status'], cwd: world.root })).stdout
  const network = (await git.run({ args: ['fetch'], cwd: world.root, network: true })).stdout
  expect([local, network].map((text) => /s3cret/.test(text))).toEqual([false, false])
  expect([local, network].map((text) => [text.includes(`HOME=${world.home}\n`), text.includes('SSH_AUTH_SOCK=')])).toEqual([
    [false, false],
    [true, true],
  ])
})

it('without being over the network a call starts no transport, also not for what a partial clone lacks', async () => {
  await using world = openGitWorld()
  const origin = world.repository('origin', { file: 'content\n' })
  world.sh(origin, 'config', 'uploadpack.allowFilter', 'true')
  world.sh(world.folder, 'clone', '--quiet', '--no-checkout', '--filter=blob:none', `file://${origin}`, 'part')
  world.sh(world.path('part'), 'config', 'remote.origin.uploadpack', `touch '${world.path('ran')}'; git-upload-pack`)
  const repo = await openRepository(world.context(), world.path('part'))
  const lacking = await repo.run(['cat-file', '-p', 'HEAD:file'])
  expect([lacking.exitCode, existsSync(world.path('ran'))]).toEqual([128, false])
  await expect(repo.run(['cat-file', '-p', 'HEAD:file'], { network: true })).rejects.toMatchObject({
    details: { reason: 'unsafe_config', names: ['remote.origin.uploadpack'] },
  })
  expect(existsSync(world.path('ran'))).toBe(false)
})

it('what a repository says of requests is overruled by what the person says, and else by what is usual', () => {
  const listed = [
    'system\0http.sslbackend\nopenssl',
    'global\0http.sslverify\nfalse',
    'global\0core.sshcommand\n/opt/ssh -F x',
    'global\0protocol.codecommit.allow\nalways',
    'local\0http.https://a.b/.sslverify\nfalse',
    'local\0http.savecookies\ntrue',
    'worktree\0http.curloptresolve\nexample.org:443:127.0.0.1',
    'local\0http.sslcainfo\n/own',
    'local\0core.sshcommand\nevil',
    'local\0protocol.ext.allow\nalways',
    'command\0core.pager\ncat',
  ].join('\0')
  const { settings, env } = networkOf(parseScoped(`${listed}\0`), { args: ['fetch'], cwd: '/' }, {})
  expect(settings).toEqual([
    ['http.https://a.b/.sslverify', 'false'],
    ['http.savecookies', 'false'],
    ['http.curloptresolve', ''],
    ['credential.helper', ''],
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', '20'],
  ])
  expect(env.GIT_SSH_COMMAND).toMatch(/^\/opt\/ssh -F x -oBatchMode=yes/)
  expect(env.GIT_ALLOW_PROTOCOL).toBe('file:git:http:https:ssh:codecommit')
})

it('a base comes by http and by ssh as by a folder', async () => {
  await using world = openGitWorld()
  const source = world.repository('source', { one: 'one\n' })
  world.sh(world.folder, 'clone', '--quiet', '--bare', source, 'served.git')
  world.sh(world.path('served.git'), 'update-server-info')
  await using server = await http((request, response) => {
    const file = join(world.folder, new URL(request.url ?? '/', 'http://x').pathname)
    if (!existsSync(file)) response.writeHead(404).end()
    else response.end(readFileSync(file))
  })
  // The last argument of ssh is the command for the other side.
  program(world, 'ssh', 'for last; do :; done; exec sh -c "$last"')
  const sha = world.sh(source, 'rev-parse', 'HEAD')
  const repo = await withRemote(world, `http://127.0.0.1:${server.port}/served.git`)
  world.sh(repo.mainRoot, 'remote', 'add', 'ssh', `ssh://git@example.invalid${world.path('served.git')}`)
  for (const remote of ['origin', 'ssh']) {
    expect(await resolveBase(repo, { base: 'main', remote, policy: 'require-remote' })).toMatchObject({ source: 'remote', sha })
  }
})
