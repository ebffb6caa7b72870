import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../support/world.ts'

/** The Inspector's command line and the official conformance suite, which test/mcp-tools/package.json pins and scripts/test installs. */
const tool = (name: string): string => fileURLToPath(new URL(`../mcp-tools/node_modules/.bin/${name}`, import.meta.url))
const isInstalled = ['mcp-inspector', 'conformance'].every((name) => existsSync(tool(name)))
if (!isInstalled) console.warn('tests with the MCP Inspector and the conformance suite are skipped: run npm ci in test/mcp-tools')

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const patienceMs = 90_000

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(command: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout: patienceMs })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

describe.skipIf(!isInstalled)('with tools of the protocol itself', { timeout: 2 * patienceMs }, () => {
  let world: World
  let server: ChildProcess
  let url: string
  let token: string
  let said = ''
  const env = (): NodeJS.ProcessEnv => ({ ...world.env, MCP_CATALOG_PATH: world.path('home', 'catalog.json') })

  beforeAll(async () => {
    world = openWorld()
    server = spawn(process.execPath, [program, 'mcp', '--http', '--port', '0', '--ephemeral'], {
      cwd: world.root,
      env: env(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    url = await new Promise<string>((resolve, reject) => {
      server.stderr?.on('data', (chunk) => {
        said += chunk
        const found = /MCP at (http:\S+) for/.exec(said)
        if (found) resolve(found[1] as string)
      })
      server.on('exit', () => reject(new Error(`the server ended: ${said}`)))
    })
    token = readFileSync(world.path('home', '.local', 'state', 'holdfast', 'mcp-token'), 'utf8').trim()
  }, patienceMs)

  afterAll(async () => {
    server.removeAllListeners('exit')
    const gone = new Promise((resolve) => server.on('exit', resolve))
    server.kill('SIGTERM')
    await gone
    await world[Symbol.asyncDispose]()
  })

  const inspect = async (...args: string[]): Promise<Ended> => run(process.execPath, [tool('mcp-inspector'), '--cli', ...args], { cwd: world.root, env: env() })
  const overHttp = (...args: string[]): Promise<Ended> => inspect(url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, ...args)

  it('the token is told by its file alone, which only its owner reads', () => {
    expect(said).toContain(`token: in ${world.path('home', '.local', 'state', 'holdfast', 'mcp-token')}`)
    expect(said).not.toContain(token)
    expect(statSync(world.path('home', '.local', 'state', 'holdfast', 'mcp-token')).mode & 0o777).toBe(0o600)
  })

  it.runIf(process.platform === 'linux')('a command that ends whatever names a project in its command line does not end the server', () => {
    expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain('cli.js')
  })

  it('the Inspector finds no schema of a tool that some client could not take', async () => {
    const { code, stdout, stderr } = await inspect('--cwd', world.root, '--method', 'tools/list', '--strict', process.execPath, program, 'mcp')
    expect([code, stderr]).toEqual([0, ''])
    const { tools } = JSON.parse(stdout)
    expect(tools.map(({ name }: { name: string }) => name)).toContain('exec')
  })

  it('the Inspector runs a command over HTTP, and reads the run as a resource and in a prompt', async () => {
    const { code, stdout } = await overHttp('--method', 'tools/call', '--tool-name', 'exec', '--tool-arg', 'script=echo out; echo bad >&2; exit 3')
    const result = JSON.parse(stdout)
    expect(result).toMatchObject({ isError: true, structuredContent: { outcome: { kind: 'exited', exitCode: 3 } } })
    expect(code).not.toBe(null)
    const { id } = result.structuredContent
    const read = await overHttp('--method', 'resources/read', '--uri', `holdfast://run/${id}/output`)
    expect(JSON.parse(read.stdout).contents[0].text).toBe('out\nbad')
    const prompt = await overHttp('--method', 'prompts/get', '--prompt-name', 'explain-last-failure')
    expect(prompt.stdout).toContain(`holdfast://run/${id}`)
  })

  it('without the token nothing is answered', async () => {
    const { code, stderr, stdout } = await inspect(url, '--transport', 'http', '--method', 'tools/list')
    expect(code).not.toBe(0)
    expect(stderr + stdout).toContain('auth_required')
  })

  describe('the conformance suite', () => {
    // The suite cannot send a token of ours, so this puts it there.
    const addToken = (from: IncomingMessage, to: ServerResponse): void => {
      const { hostname, port } = new URL(url)
      const onwards = request(
        { hostname, port, path: from.url, method: from.method, headers: { ...from.headers, authorization: `Bearer ${token}` } },
        (answer) => {
          to.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(to)
        },
      )
      onwards.on('error', () => to.destroy())
      from.pipe(onwards)
    }
    const gate = createServer(addToken)
    beforeAll(() => new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve)))
    afterAll(() => gate.closeAllConnections())

    const conform = (...args: string[]): Promise<Ended> => run(process.execPath, [tool('conformance'), ...args], { cwd: world.root, env: env() })

    it.each([
      'server-initialize',
      'ping',
      'completion-complete',
      'tools-list',
      'tools-call-error',
      'resources-list',
      'prompts-list',
      'server-sse-multiple-streams',
      'dns-rebinding-protection',
    ])('passes %s', async (scenario) => {
      const { stdout, stderr } = await conform('server', '--url', `http://localhost:${(gate.address() as AddressInfo).port}/mcp`, '--scenario', scenario)
      expect(stdout + stderr).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/)
    })

    it('has no scenario besides these and those that ask for a tool, a resource or a prompt of its own', async () => {
      const { stdout } = await conform('list', '--server')
      const ofItsOwn =
        /^(tools-call-(?!error)|json-schema-2020-12$|elicitation-|server-sse-polling$|resources-(read|templates|subscribe|unsubscribe)|prompts-get-|logging-set-level$)/
      const known = [...stdout.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name).filter((name) => !ofItsOwn.test(name))
      expect(known).toEqual([
        'server-initialize',
        'ping',
        'completion-complete',
        'tools-list',
        'tools-call-error',
        'server-sse-multiple-streams',
        'resources-list',
        'prompts-list',
        'dns-rebinding-protection',
      ])
    })
  })
})
