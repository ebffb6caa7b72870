import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunResult } from '../../src/app/api.ts'
import { endSupervisors } from '../support/end-supervisors.ts'
import { isSupervised, plainEnv, whyPlain } from '../support/modes.ts'

const server = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const cases = fileURLToPath(new URL('../../../shared/cases/', import.meta.url))
const withCases = existsSync(cases)
if (!withCases) console.warn(`tests of failures that others had are skipped: ${cases} is not there`)

if (!isSupervised) console.warn(`a test of runs that outlive their server is skipped: ${whyPlain}`)

/** What a client grants a server that it no longer talks to. */
const goneWithinMs = 5_000

let root = ''
let env: Record<string, string> = {}
const children: ChildProcess[] = []
const clients: Client[] = []

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'))
  env = { PATH: process.env.PATH ?? '', HOME: root, ...(isSupervised ? {} : plainEnv) }
})

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  for (const child of children.splice(0)) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await endSupervisors(root)
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

async function connect(): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  clients.push(client)
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [server, 'mcp'], cwd: root, env }))
  return client
}

const runOf = (result: unknown): RunResult => (result as { structuredContent: RunResult }).structuredContent
const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content.map(({ text }) => text).join('\n')

interface RawServer {
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  send(message: object): void
  /** Every line of stdout so far. */
  lines(): string[]
  answerTo(id: number): Promise<{ result: { structuredContent: RunResult } }>
}

/** A server whose stdout is looked at as it is. */
function startRaw(...options: string[]): RawServer {
  const child = spawn(process.execPath, [server, 'mcp', ...options], { cwd: root, env, stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  child.stdin.on('error', () => {})
  const ended = new Promise((resolve) => child.on('exit', resolve))
  let written = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written += text
  })
  const lines = (): string[] => written.split('\n').slice(0, -1)
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } } })
  send({ method: 'notifications/initialized' })
  return {
    child,
    ended,
    send,
    lines,
    async answerTo(id) {
      const isAnswer = (line: string): boolean => JSON.parse(line).id === id
      await until(() => lines().some(isAnswer))
      return JSON.parse(lines().find(isAnswer) ?? '')
    },
  }
}

async function until(condition: () => boolean, withinMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  const deadline = performance.now() + withinMs
  while (!condition()) {
    if (performance.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return true
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A process that has ended and that nobody has waited for yet is no longer running.
    return !existsSync('/proc/self/stat') || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** A script that tells its pid in a file and stays. */
const staying = (file: string): string => `echo $$ > ${file}; exec sleep 300`

async function pidIn(file: string): Promise<number> {
  const text = (): string => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '')
  expect(await until(() => text().endsWith('\n'))).toBe(true)
  return Number(text())
}

const callExec = (id: number, args: object) => ({ id, method: 'tools/call', params: { name: 'exec', arguments: args } })

describe('holdfast mcp', () => {
  it('lists its tools before it touches the project', async () => {
    const client = await connect()
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('exec')
    expect(existsSync(join(root, '.holdfast'))).toBe(false)
  })

  it('runs a command, waits for it, reads it and finds it again', async () => {
    const client = await connect()
    const begun = await client.callTool({
      name: 'exec',
      arguments: { script: 'echo needle-1; while [ ! -e go ]; do sleep 0.05; done; echo gone; exit 3', wait_ms: 0 },
    })
    const { id } = runOf(begun)
    expect(runOf(begun)).toMatchObject({ state: 'running', outcome: null })
    expect(begun.isError ?? false).toBe(false)
    writeFileSync(join(root, 'go'), '')
    const ended = await client.callTool({ name: 'wait', arguments: { run: id } })
    expect(ended.isError).toBe(true)
    expect(runOf(ended)).toMatchObject({ id, state: 'ended', outcome: { kind: 'exited', exitCode: 3 }, stdout: { lines: 2 } })
    expect(textOf(ended)).toBe(runOf(ended).digest)
    expect(textOf(await client.callTool({ name: 'output', arguments: { run: id, lines: '-1' } }))).toBe('gone')
    expect(textOf(await client.callTool({ name: 'search', arguments: { query: 'needle-1' } }))).toContain(`${id}:1: needle-1`)
    expect(textOf(await client.callTool({ name: 'runs', arguments: { failing: true } }))).toContain(`${id} exit 3`)
    expect(textOf(await client.callTool({ name: 'resume' }))).toContain(id)
  })

  it('stops a run with its processes', async () => {
    const client = await connect()
    const begun = await client.callTool({ name: 'exec', arguments: { script: staying('pid'), wait_ms: 0 } })
    const pid = await pidIn('pid')
    const stopped = await client.callTool({ name: 'stop', arguments: { run: runOf(begun).id } })
    expect(runOf(stopped)).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' } })
    expect(isAlive(pid)).toBe(false)
  })

  it('cancels the command of a canceled call, and goes on', async () => {
    const client = await connect()
    const cancel = new AbortController()
    const call = client.callTool({ name: 'exec', arguments: { script: staying('pid') } }, undefined, { signal: cancel.signal })
    const pid = await pidIn('pid')
    cancel.abort()
    await expect(call).rejects.toThrow()
    expect(await until(() => !isAlive(pid), goneWithinMs)).toBe(true)
    expect(runOf(await client.callTool({ name: 'wait', arguments: { run: 'last' } }))).toMatchObject({ outcome: { kind: 'canceled' } })
  })

  it('lets a run go on whose call was canceled after its answer', async () => {
    const { child, send, answerTo } = startRaw()
    send(callExec(1, { script: 'while [ ! -e go ]; do sleep 0.05; done', wait_ms: 0 }))
    const { id } = (await answerTo(1)).result.structuredContent
    send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    writeFileSync(join(root, 'go'), '')
    send({ id: 2, method: 'tools/call', params: { name: 'wait', arguments: { run: id } } })
    expect((await answerTo(2)).result.structuredContent.outcome).toMatchObject({ kind: 'exited', exitCode: 0 })
    child.stdin?.end()
  })
})

describe.skipIf(!withCases)('what other servers got wrong', () => {
  it('B065: what a command prints never gets into the protocol', async () => {
    const { child, send, answerTo, lines, ended } = startRaw()
    send(callExec(1, { argv: ['bash', join(cases, 'B065.sh')] }))
    const { structuredContent } = (await answerTo(1)).result
    expect(structuredContent).toMatchObject({ state: 'ended', outcome: { exitCode: 0 } })
    expect(readFileSync(structuredContent.stdout.path, 'utf8')).not.toContain('b065 noise')
    expect(readFileSync(structuredContent.stderr.path, 'utf8')).not.toContain('b065 noise')
    child.stdin?.end()
    await ended
    const messages = lines().map((line) => JSON.parse(line))
    expect(messages.map(({ jsonrpc, id }) => [jsonrpc, id])).toEqual([
      ['2.0', 0],
      ['2.0', 1],
    ])
  })

  it('B066: a long call stays alive by its progress', async () => {
    const client = await connect()
    const updates: { progress: number; message?: string | undefined }[] = []
    const result = await client.callTool({ name: 'exec', arguments: { argv: ['bash', join(cases, 'B066.sh')] } }, undefined, {
      timeout: 5_000,
      resetTimeoutOnProgress: true,
      onprogress: (update) => updates.push(update),
    })
    expect(runOf(result)).toMatchObject({ outcome: { exitCode: 0 }, stdout: { lines: 12 } })
    expect(updates.length).toBeGreaterThan(2)
    expect(updates.map(({ progress }) => progress)).toEqual([...new Set(updates.map(({ progress }) => progress))].sort((a, b) => a - b))
    expect(updates.at(-1)?.message).toMatch(/ bytes: stage \d+ of 12$/)
  })

  it('B066: without being asked for progress it tells none, and answers in time with a run that goes on', async () => {
    const { child, send, answerTo, lines, ended } = startRaw()
    send(callExec(1, { argv: ['bash', join(cases, 'B066.sh')], wait_ms: 2_500 }))
    expect((await answerTo(1)).result.structuredContent).toMatchObject({ state: 'running', stdout: { lines: 3 } })
    child.stdin?.end()
    await ended
    expect(lines().filter((line) => line.includes('notifications/progress'))).toEqual([])
  })

  it('B068: the server is gone once its client has closed stdin', async () => {
    const child = spawn(process.execPath, [join(cases, 'B068.js'), process.execPath, server, 'mcp'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    let printed = ''
    child.stdout.on('data', (text) => {
      printed += text
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(printed).toContain('left over: none')
    expect(code).toBe(0)
  })
})

describe('when the client is gone', () => {
  it.each<[string, (raw: RawServer) => void]>([
    ['by closing stdin', ({ child }) => child.stdin?.end()],
    ['by a polite signal', ({ child }) => child.kill('SIGTERM')],
    ['by a closed terminal', ({ child }) => child.kill('SIGHUP')],
    [
      'by closing stdout, which the next answer finds out',
      ({ child, send }) => {
        child.stdout?.destroy()
        send({ id: 7, method: 'tools/list' })
        send({ id: 8, method: 'tools/list' })
      },
    ],
  ])('%s, the server ends with the commands it runs', async (_, leave) => {
    const raw = startRaw()
    raw.send(callExec(1, { script: staying('pid') }))
    const pid = await pidIn('pid')
    leave(raw)
    expect(await until(() => raw.child.exitCode !== null, goneWithinMs)).toBe(true)
    expect(raw.child.exitCode).toBe(0)
    expect(isAlive(pid)).toBe(false)
  })

  const inBackground = async (raw: RawServer): Promise<{ id: string; pid: number }> => {
    raw.send(callExec(1, { script: staying('pid'), wait_ms: 0 }))
    const { id, state } = (await raw.answerTo(1)).result.structuredContent
    expect(state).toBe('running')
    return { id, pid: await pidIn('pid') }
  }

  it.runIf(isSupervised)('what was answered as running goes on, and the next client sees it, also when the server was killed', async () => {
    for (const leave of [({ child }: RawServer) => child.stdin?.end(), ({ child }: RawServer) => child.kill('SIGKILL')]) {
      const raw = startRaw()
      const { id, pid } = await inBackground(raw)
      leave(raw)
      await raw.ended
      expect(isAlive(pid)).toBe(true)
      const next = await connect()
      expect(runOf(await next.callTool({ name: 'wait', arguments: { run: id, wait_ms: 0 } }))).toMatchObject({ id, state: 'running' })
      expect(runOf(await next.callTool({ name: 'stop', arguments: { run: id } }))).toMatchObject({ outcome: { kind: 'canceled' } })
      expect(isAlive(pid)).toBe(false)
      rmSync(join(root, 'pid'))
    }
  })

  it('what runs in the background ends too where the server is ephemeral, also when it was killed', async () => {
    for (const leave of [({ child }: RawServer) => child.stdin?.end(), ...(isSupervised ? [({ child }: RawServer) => child.kill('SIGKILL')] : [])]) {
      const raw = startRaw('--ephemeral')
      const { id, pid } = await inBackground(raw)
      leave(raw)
      await raw.ended
      expect(await until(() => !isAlive(pid), goneWithinMs)).toBe(true)
      expect(runOf(await (await connect()).callTool({ name: 'wait', arguments: { run: id } }))).toMatchObject({ outcome: { kind: 'canceled' } })
      rmSync(join(root, 'pid'))
    }
  })

  it('with answers left unread, the server ends', async () => {
    const { child, send } = startRaw()
    child.stdout?.pause()
    for (let id = 1; id <= 400; id += 1) send({ id, method: 'tools/list' })
    await new Promise((resolve) => child.stdin?.end(resolve))
    expect(await until(() => child.exitCode !== null, goneWithinMs)).toBe(true)
  })

  it('because it was killed, the server ends with the commands it runs', async () => {
    const client = `
      const { spawn } = require('node:child_process')
      const server = spawn(process.execPath, [${JSON.stringify(server)}, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] })
      require('node:fs').writeFileSync('server', server.pid + '\\n')
      const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
      send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } } })
      send({ method: 'notifications/initialized' })
      send(${JSON.stringify(callExec(1, { script: staying('pid') }))})`
    const child = spawn(process.execPath, ['-e', client], { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] })
    children.push(child)
    const pids = [await pidIn('server'), await pidIn('pid')]
    expect(pids.every(isAlive)).toBe(true)
    child.kill('SIGKILL')
    expect(await until(() => !pids.some(isAlive), goneWithinMs)).toBe(true)
  })

  // Closing waits for the whole grace time of a run that is being ended, which may be longer than a server has.
  it('a command that ignores the polite signal, and asked for a long grace time, does not outlive the server', async () => {
    const raw = startRaw()
    const script = `trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done`
    raw.send(callExec(1, { script, grace_ms: 60_000 }))
    const pid = await pidIn('pid')
    raw.child.stdin?.end()
    try {
      expect(await until(() => raw.child.exitCode !== null, goneWithinMs)).toBe(true)
      expect(await until(() => !isAlive(pid), 500)).toBe(true)
    } finally {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    }
  })
})
