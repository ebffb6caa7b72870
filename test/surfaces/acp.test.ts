import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import * as acp from '@agentclientprotocol/sdk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acpHandlers, type HoldfastError, openHoldfast } from '../../src/index.ts'
import { openWorld, type World } from '../support/world.ts'

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const sessionId = 's1'

/** What an agent asks its client for, by the protocol's own SDK. */
type Client = acp.AgentConnection['client']

let world: World
beforeEach(() => {
  world = openWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

/** The agent speaks to `holdfast acp`. */
function overStdio(): { client: Client; child: ChildProcess; gone: Promise<number | null>; close(): Promise<void> } {
  const child = spawn(process.execPath, [program, 'acp'], { cwd: world.root, env: world.env, stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)))
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin) as WritableStream<Uint8Array>, Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>)
  const connection = acp.agent({ name: 'test' }).connect(stream)
  const close = async (): Promise<void> => {
    child.stdin.end()
    await gone
  }
  return { client: connection.client, child, gone, close }
}

/** The agent speaks to a client of the SDK that hands its requests to the library. */
async function inProcess(): Promise<{ client: Client; close(): Promise<void> }> {
  const holdfast = await openHoldfast({ root: world.root, env: world.env })
  const handlers = acpHandlers(holdfast, { root: world.root })
  const app = acp.client({ name: 'test' })
  // The SDK tells an agent the sentence of its own errors alone.
  const answer = (call: Promise<unknown>): Promise<never> =>
    call.then(
      (result) => result as never,
      (error: HoldfastError) => Promise.reject(new acp.RequestError(-32603, error.message, error.toJSON())),
    )
  for (const [method, handle] of Object.entries(handlers)) app.onRequest(method as 'terminal/create', ({ params }) => answer(handle(params)))
  const connection = acp.agent({ name: 'test' }).connect(app)
  return {
    client: connection.client,
    close: async () => {
      connection.close()
      await holdfast.close()
    },
  }
}

const failureOf = async (call: Promise<unknown>): Promise<{ code: number; message: string }> => {
  const error = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  return { code: (error as { code: number }).code, message: (error as Error).message }
}

describe.each<[string, () => Promise<{ client: Client; close(): Promise<void> }>]>([
  ['holdfast acp', async () => overStdio()],
  ['the handlers of the library', inProcess],
])('%s', (_, open) => {
  let client: Client
  let close: () => Promise<void>
  beforeEach(async () => {
    ;({ client, close } = await open())
  })
  afterEach(() => close())

  it('runs a program, gives its output in the order of arrival, and says how it ended', async () => {
    const env = [{ name: 'WORD', value: 'a b' }]
    await using terminal = await client.createTerminal({
      sessionId,
      command: 'sh',
      args: ['-c', 'echo $WORD; echo err >&2; echo out; exit 3'],
      env,
      cwd: world.root,
    })
    expect(await terminal.waitForExit()).toEqual({ exitCode: 3, signal: null })
    expect(await terminal.currentOutput()).toEqual({ output: 'a b\nerr\nout\n', truncated: false, exitStatus: { exitCode: 3, signal: null } })
  })

  it('takes a line for a shell as a command', async () => {
    await using terminal = await client.createTerminal({ sessionId, command: 'printf "%s\\n" one two | tail -n 1' })
    expect((await terminal.waitForExit()).exitCode).toBe(0)
    expect((await terminal.currentOutput()).output).toBe('two\n')
  })

  it('keeps the end of an output that is longer than was asked for, cut between characters', async () => {
    const script = 'i=0; while [ $i -lt 5000 ]; do echo "line $i é"; [ $((i % 1000)) = 0 ] && echo "err $i" >&2; i=$((i+1)); done'
    await using terminal = await client.createTerminal({ sessionId, command: 'sh', args: ['-c', script], outputByteLimit: 20_001 })
    await terminal.waitForExit()
    const { output, truncated } = await terminal.currentOutput()
    expect(truncated).toBe(true)
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(20_001)
    expect(Buffer.byteLength(output)).toBeGreaterThan(19_990)
    const numbers = [...output.matchAll(/^line (\d+) é$/gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(numbers.map((_, at) => 4_999 - (numbers.length - 1) + at))
    expect(output).not.toContain('\ufffd')
  })

  it.each([1, 255, 256, 257, 3_000])('shows all %d lines of an output that is shorter than the limit', async (count) => {
    const list = Array.from({ length: count }, (_, i) => `${i + 1}\n`).join('')
    await using terminal = await client.createTerminal({ sessionId, command: 'seq', args: [`${count}`] })
    await terminal.waitForExit()
    expect(await terminal.currentOutput()).toMatchObject({ output: list, truncated: false })
  })

  it('says that the middle of a very long line is left out', async () => {
    await using terminal = await client.createTerminal({ sessionId, command: 'sh', args: ['-c', 'head -c 100000 /dev/zero | tr "\\0" x; echo; echo end'] })
    await terminal.waitForExit()
    expect(await terminal.currentOutput()).toMatchObject({ output: expect.stringMatching(/^x+ \[\d+ bytes left out\] x+\nend\n$/), truncated: true })
  })

  it('shows what a command has printed so far, and ends it with its whole tree when it is killed', async () => {
    await using terminal = await client.createTerminal({ sessionId, command: 'sh', args: ['-c', 'sleep 1000 & echo $!; wait'] })
    let seen = await terminal.currentOutput()
    while (!seen.output.endsWith('\n')) seen = await terminal.currentOutput()
    expect(seen.exitStatus ?? null).toBe(null)
    const waiting = terminal.waitForExit()
    await terminal.kill()
    expect(await waiting).toEqual({ exitCode: null, signal: 'SIGTERM' })
    // It may be read on after it was killed.
    expect((await terminal.currentOutput()).output).toBe(seen.output)
    expect(() => process.kill(Number(seen.output), 0)).toThrow('ESRCH')
    await terminal.kill()
  })

  it('ends what is released, and knows it no more', async () => {
    const terminal = await client.createTerminal({ sessionId, command: 'sleep', args: ['1000'] })
    await terminal.release()
    const refused = await failureOf(client.request('terminal/output', { sessionId, terminalId: terminal.id }))
    expect(refused.message).toContain(`terminalId is "${terminal.id}"; accepted: a terminal that was created here and not released`)
  })

  it('says in one sentence why a command cannot be started', async () => {
    expect((await failureOf(client.createTerminal({ sessionId, command: 'no-such-program-here', args: ['x'] }))).message).toContain('no-such-program-here')
    expect((await failureOf(client.createTerminal({ sessionId, command: 'true', cwd: '/' }))).message).toContain('cwd / leads outside')
  })

  it('reads files, whole or from a line on, and writes them', async () => {
    const path = world.path('root', 'src', 'ü.txt')
    await client.request('fs/write_text_file', { sessionId, path, content: 'one\ntwo\nthree\nfour' })
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\nfour')
    const read = async (more: object) => (await client.request('fs/read_text_file', { sessionId, path, ...more })).content
    expect(await read({})).toBe('one\ntwo\nthree\nfour')
    expect(await read({ line: 2, limit: 2 })).toBe('two\nthree\n')
    expect(await read({ line: 3 })).toMatch(/^three\nfour/)
    expect(await read({ limit: 1 })).toBe('one\n')
    expect(await read({ limit: 0 })).toBe('')
  })

  it('keeps files within the folder, whatever a path or a link says', async () => {
    writeFileSync(world.path('secret'), 'x')
    symlinkSync(world.path('secret'), world.path('root', 'link'))
    mkdirSync(world.path('root', 'sub'))
    for (const path of [world.path('secret'), world.path('root', 'link'), world.path('root', 'sub', '..', '..', 'secret'), 'relative.txt', '/etc/passwd']) {
      const { message } = await failureOf(client.request('fs/read_text_file', { sessionId, path }))
      expect(message, path).not.toBe('it was not refused')
      expect((await failureOf(client.request('fs/write_text_file', { sessionId, path, content: 'y' }))).message, path).not.toBe('it was not refused')
    }
    expect(readFileSync(world.path('secret'), 'utf8')).toBe('x')
    expect((await failureOf(client.request('fs/read_text_file', { sessionId, path: world.path('root', 'none') }))).message).toContain('none')
  })

  it('masks secrets in what a terminal shows', async () => {
    await using terminal = await client.createTerminal({
      sessionId,
      command: 'sh',
      args: ['-c', 'echo "is $API_TOKEN"'],
      env: [{ name: 'API_TOKEN', value: 'very-secret-value-4711' }],
    })
    await terminal.waitForExit()
    expect((await terminal.currentOutput()).output).not.toContain('4711')
  })
})

describe('holdfast acp', () => {
  it.each<[string, string, Record<string, unknown>]>([
    ['outputByteLimit is -1; accepted: a whole number from 0', 'terminal/create', { command: 'true', outputByteLimit: -1 }],
    ['outputByteLimit is "5"; accepted: a whole number from 0', 'terminal/create', { command: 'true', outputByteLimit: '5' }],
    ['cwd is 5; accepted: text', 'terminal/create', { command: 'true', cwd: 5 }],
    ['line is -1; accepted: a whole number from 0', 'fs/read_text_file', { path: '/srv/app/a', line: -1 }],
    ['limit is 1.5; accepted: a whole number from 0', 'fs/read_text_file', { path: '/srv/app/a', limit: 1.5 }],
  ])('refuses what the protocol does not allow: %s', async (sentence, method, params) => {
    const { client, close } = overStdio()
    expect((await failureOf(client.request(method, { sessionId, ...params } as never))).message).toBe(sentence)
    await close()
  })

  it('ends what runs when its agent is gone', async () => {
    const { client, gone, close } = overStdio()
    const terminal = await client.createTerminal({ sessionId, command: 'sh', args: ['-c', 'echo $$; exec sleep 1000'] })
    let pid = ''
    while (!pid.endsWith('\n')) pid = (await terminal.currentOutput()).output
    await close()
    expect(await gone).toBe(0)
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH')
  })

  it('says of a method that it does not have that there is none, and of params that are none what is accepted', async () => {
    const { client, close } = overStdio()
    expect(await failureOf(client.request('session/nothing', {}))).toMatchObject({ code: -32601, message: expect.stringContaining('session/nothing') })
    const odd = await failureOf(client.request('terminal/create', { sessionId } as never))
    expect(odd).toMatchObject({ code: -32602, message: expect.stringContaining('command is missing; accepted: text') })
    await close()
  })
})
