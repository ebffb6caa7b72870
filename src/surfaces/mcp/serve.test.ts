import { PassThrough } from 'node:stream'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { afterEach, describe, expect, it } from 'vitest'
import { storedNote } from '../../../test/conformance/store.ts'
import { ended, fakeApp, runResult } from '../../../test/support/fake-app.ts'
import type { App, RunResult } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { callTool } from './call-tool.ts'
import { serveMcp } from './serve.ts'
import { stdioTransport } from './stdio-transport.ts'

interface World {
  readonly client: Client
  readonly served: Promise<void>
  readonly notes: string[]
  readonly events: string[]
  /** Every line that the server wrote. */
  readonly lines: () => string[]
  readonly stdin: PassThrough
  readonly stdout: PassThrough
}

const worlds: World[] = []
afterEach(async () => {
  for (const { stdin, served } of worlds.splice(0)) {
    stdin.end()
    await served
  }
})

async function world(own: Partial<App> | (() => Promise<App>) = {}, isTerminal = false): Promise<World> {
  const stdin = Object.assign(new PassThrough(), { isTTY: isTerminal })
  const stdout = new PassThrough()
  const notes: string[] = []
  const events: string[] = []
  let written = ''
  stdout.on('data', (chunk) => {
    written += chunk
  })
  const openApp =
    typeof own === 'function'
      ? own
      : async () => {
          events.push('opened')
          return fakeApp((event) => events.push(event), own)
        }
  const served = serveMcp({ openApp, cwd: '/project', stdin, stdout, version: '9.9.9', onNote: (line) => notes.push(line) })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(stdioTransport(stdout, stdin, () => {}))
  const made = { client, served, notes, events, lines: () => written.split('\n').slice(0, -1), stdin, stdout }
  worlds.push(made)
  return made
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content.map(({ text }) => text).join('\n')

describe('the server', () => {
  it('lists its tools without opening the app', async () => {
    const { client, events } = await world()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['exec', 'wait', 'stop', 'input', 'output', 'search', 'runs', 'resume', 'note', 'workspace'])
    expect(client.getServerVersion()).toMatchObject({ name: 'holdfast', version: '9.9.9' })
    expect(events).toEqual([])
  })

  it('tells a person who starts it in a terminal what it is, outside the protocol', async () => {
    const { client, notes, lines } = await world({}, true)
    await client.ping()
    expect(notes).toEqual([expect.stringMatching(/^this speaks MCP over stdio and is meant to be started by a coding agent/)])
    expect(lines().every((line) => JSON.parse(line).jsonrpc === '2.0')).toBe(true)
    expect((await world()).notes).toEqual([])
  })

  it('opens the app once for any number of calls', async () => {
    const { client, events } = await world()
    await Promise.all([1, 2, 3].map(() => client.callTool({ name: 'exec', arguments: { argv: ['true'] } })))
    expect(events.filter((event) => event === 'opened')).toHaveLength(1)
  })

  it('tells why the app cannot be opened, and tries again at the next call', async () => {
    let calls = 0
    const { client } = await world(async () => {
      calls += 1
      if (calls === 1) throw failure('disabled', { where: 'holdfast.json' })
      return fakeApp()
    })
    const first = await client.callTool({ name: 'exec', arguments: { argv: ['true'] } })
    expect(first).toMatchObject({ isError: true, structuredContent: { error: { code: 'failed_precondition' } } })
    expect(textOf(first)).toContain('turned off here')
    expect(await client.callTool({ name: 'exec', arguments: { argv: ['true'] } })).not.toHaveProperty('isError')
  })

  it('takes a script of 3 MB', async () => {
    const { client } = await world()
    const script = `# ${'é'.repeat(1_500_000)}`
    const result = await client.callTool({ name: 'exec', arguments: { script } })
    expect((result.structuredContent as { command: string }).command === script).toBe(true)
  })

  it('goes on after lines that are no messages', async () => {
    const { client, stdin, notes } = await world()
    stdin.write('{"jsonrpc": not json\n\n42\n{"jsonrpc":"1.0","method":"ping"}\n[]\n')
    await client.ping()
    expect(notes).toEqual(['a line that is not JSON was left out', ...Array(2).fill('a line that is no JSON-RPC message was left out')])
  })

  it('refuses a request that is not JSON-RPC 2.0 by its id', async () => {
    const { stdin, lines, client } = await world()
    stdin.write('{"id":"x","method":"ping"}\n')
    await client.ping()
    expect(lines().map((line) => JSON.parse(line))).toContainEqual({
      jsonrpc: '2.0',
      id: 'x',
      error: { code: -32600, message: 'not a JSON-RPC 2.0 request' },
    })
  })

  it('keeps what is logged out of the protocol', async () => {
    const { client, lines } = await world()
    await client.callTool({ name: 'exec', arguments: { script: 'log' } })
    expect(lines().every((line) => JSON.parse(line).jsonrpc === '2.0')).toBe(true)
    expect(lines().join()).not.toContain('a line that is no message')
  })
})

describe('a call of exec', () => {
  it('answers with the result of the app and its digest as text', async () => {
    const { client } = await world()
    const result = await client.callTool({ name: 'exec', arguments: { argv: ['true'] } })
    expect(result).toEqual({ content: [{ type: 'text', text: 'exit 0; 12 ms; run r1' }], structuredContent: runResult({ command: '' }) })
  })

  it('answers within 45 seconds where nothing else is asked for, and passes on what is', async () => {
    const { client, events } = await world()
    await client.callTool({ name: 'exec', arguments: { script: 'a' } })
    await client.callTool({ name: 'exec', arguments: { script: 'b', timeout_ms: 5, wait_ms: 0, idle_timeout_ms: 7, pass_env: ['A'] } })
    expect(events.slice(1)).toEqual(['exec {"script":"a","waitMs":45000}', 'exec {"script":"b","timeoutMs":5,"idleTimeoutMs":7,"passEnv":["A"],"waitMs":0}'])
  })

  it('takes `command` as the script or the program that it is', async () => {
    const { client, events } = await world()
    await client.callTool({ name: 'exec', arguments: { command: 'ls | wc' } })
    await client.callTool({ name: 'exec', arguments: { command: ['ls', '-l'] } })
    expect(events[1]).toContain('"script":"ls | wc"')
    expect(events[2]).toContain('"argv":["ls","-l"]')
  })

  it.each<[string, Parameters<typeof runResult>[0], boolean]>([
    ['exit code 0', {}, false],
    ['exit code 1', ended({ exitCode: 1 }), true],
    ['a signal', ended({ kind: 'signaled', exitCode: 137, signal: 'SIGKILL' }), true],
    ['a time limit', ended({ kind: 'timed_out', exitCode: 0, limit: 'wall' }), true],
    ['no known exit code', ended({ kind: 'lost', exitCode: null }), true],
    ['an interruption', { state: 'interrupted', outcome: null }, true],
    ['no end yet', { state: 'running', outcome: null }, false],
  ])('marks as an error what is not a clean end: %s', async (_, part, isError) => {
    const { client } = await world({ exec: () => Promise.resolve(runResult(part)) })
    const result = await client.callTool({ name: 'exec', arguments: { script: 'x' } })
    expect(result.isError ?? false).toBe(isError)
    expect(result.structuredContent).toEqual(runResult(part))
  })

  it('says how a run goes on that is still running', async () => {
    const { client } = await world()
    const result = await client.callTool({ name: 'exec', arguments: { script: 'running' } })
    expect(textOf(result)).toBe('still running after 12 ms; run r1\nIt goes on: wait, output and stop take run "r1".')
  })

  it('is canceled with its request', async () => {
    const { client, events } = await world()
    const cancel = new AbortController()
    const call = client.callTool({ name: 'exec', arguments: { script: 'hold' } }, undefined, { signal: cancel.signal })
    await until(() => events.includes('held'))
    cancel.abort()
    await expect(call).rejects.toThrow()
    await until(() => events.includes('canceled'))
    await client.ping()
  })

  it('is left alone by a cancellation that comes after its answer', async () => {
    const { client, events, stdin } = await world()
    let signal: AbortSignal | undefined
    const other = await world({
      exec: (_, call) => {
        signal = call?.signal
        return Promise.resolve(runResult({ state: 'running', outcome: null }))
      },
    })
    await other.client.callTool({ name: 'exec', arguments: { script: 'x' } })
    other.stdin.end()
    await other.served
    expect(signal?.aborted).toBe(false)
    expect(events).toEqual([])
    stdin.end()
    await client.close()
  })
})

describe('what goes wrong', () => {
  it.each([
    ['an unknown tool', 'exce', {}, 'tool is "exce"; accepted: exec, wait, stop, input, output, search, runs, resume, note'],
    ['an unknown option', 'exec', { script: 'x', timeout: 5 }, 'exec has no option timeout; did you mean timeout_ms?'],
    ['a value of another type', 'exec', { script: 'x', timeout_ms: '5s' }, 'timeout_ms is "5s"; accepted: a positive number of milliseconds'],
    ['no number, which JSON writes as null', 'exec', { script: 'x', timeout_ms: Number.NaN }, 'timeout_ms is null; accepted: a positive number'],
    ['nothing to run', 'exec', {}, 'argv is missing; accepted: a program with its arguments, or a script'],
    ['a missing argument', 'wait', {}, 'run is missing; accepted: a run id'],
    ['a missing action', 'note', {}, 'action is missing; accepted: add, list, search, update, remove'],
    ['a missing action where something would be removed', 'note', { note: 'n1' }, 'action is missing; accepted: add, list, search, update, remove'],
    ['an unknown action', 'note', { action: 'toString' }, 'action is "toString"; accepted: add, list, search, update, remove'],
    ['an argument of another action', 'note', { action: 'list', text: 'x' }, 'note list has no option text'],
  ])('is said in one sentence, without opening the app: %s', async (_, name, args, sentence) => {
    const { client, events } = await world()
    const result = await client.callTool({ name, arguments: args })
    expect(textOf(result)).toContain(`invalid_argument: ${sentence}`)
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code: 'invalid_argument', message: expect.stringContaining(sentence) } } })
    expect(textOf(result)).not.toContain('--help')
    expect(events).toEqual([])
  })

  it('in the app is answered with its code and details', async () => {
    const { client } = await world()
    const result = await client.callTool({ name: 'exec', arguments: { script: 'missing' } })
    expect(textOf(result)).toBe('not_found: the working directory /project/gone does not exist; nothing was started')
    expect(result.structuredContent).toMatchObject({ error: { code: 'not_found', details: { reason: 'cwd_missing', cwd: '/project/gone' } } })
  })

  it('unexpectedly is an internal error and the server goes on', async () => {
    const { client } = await world()
    const result = await client.callTool({ name: 'runs' })
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code: 'internal' } } })
    await client.ping()
  })
})

describe('the other tools', () => {
  it('wait answers within 45 seconds by default', async () => {
    const asked: unknown[] = []
    const { client } = await world({
      wait: (input) => {
        asked.push(input)
        return Promise.resolve(runResult(ended({ exitCode: 2 })))
      },
    })
    expect(await client.callTool({ name: 'wait', arguments: { run: 'r1' } })).toMatchObject({ isError: true })
    expect(asked).toEqual([{ waitMs: 45_000, run: 'r1' }])
  })

  it('stop is no error though the run did not end by itself', async () => {
    const result = runResult(ended({ kind: 'canceled', exitCode: 143, signal: 'SIGTERM' }))
    const { client } = await world({ stop: () => Promise.resolve(result) })
    expect(await client.callTool({ name: 'stop', arguments: { run: 'last' } })).toEqual({
      content: [{ type: 'text', text: result.digest }],
      structuredContent: result,
    })
  })

  it('output says how to read on', async () => {
    const { client } = await world()
    expect(textOf(await client.callTool({ name: 'output', arguments: { run: 'r1', lines: '1' } }))).toBe('1\n[there is more: lines "2-9"]')
  })

  it('search gives one line for each hit, with its reference, below one that says how its run ended and what its command was', async () => {
    const hit = { run: 'r1', stream: 'stdout' as const, line: 3, command: 'make', failing: true }
    const hits = [
      { ...hit, ref: 'r1:3', text: 'two\nlines' },
      { ...hit, run: 'r2', ref: 'r2:stderr:9', stream: 'stderr' as const, line: 9, text: 'two more' },
      { ...hit, ref: 'r1', stream: 'command' as const, line: null, text: 'make all' },
    ]
    const { state, outcome, durationMs, runtime, purpose, cwd, branch, target, workspace, startedAt, pinned } = runResult(ended({ exitCode: 2 }))
    const run = { state, outcome, durationMs, runtime, purpose, cwd, branch, target, workspace, startedAt, pinned, failing: true, outputBytes: 5 }
    const groups = [
      { ...run, id: 'r1', command: 'make\nall', refs: ['r1:3', 'r1'] },
      { ...run, id: 'r2', command: `sh -c ${'x'.repeat(500)}`, state: 'running' as const, outcome: null, refs: ['r2:stderr:9'] },
    ]
    const found = { hits, groups, more: true, suggestions: [{ word: 'tow', instead: 'two' }], warnings: ['2 logs were not read'] }
    const { client } = await world({ search: () => Promise.resolve(found) })
    const result = await client.callTool({ name: 'search', arguments: { query: '"' } })
    const lines = textOf(result).split('\n')
    expect(lines[3]).toMatch(/^r2 running: sh -c x+ \[\d+ bytes left out] x+$/)
    expect(Buffer.byteLength(lines[3] as string)).toBeLessThanOrEqual(120)
    expect(lines.filter((_, i) => i !== 3)).toEqual([
      'r1 exit 2: make all',
      'r1:3: two lines',
      'r1 (command): make all',
      'r2:stderr:9: two more',
      "nothing for 'tow'; did you mean 'two'?",
      '[there may be more hits: raise limit]',
      'warning: 2 logs were not read',
    ])
    expect(result.structuredContent).toEqual(found)
  })

  it('runs gives one line for each run', async () => {
    const { id, state, outcome, durationMs, command, runtime, cwd, branch, target, workspace, startedAt, pinned } = runResult(
      ended({ kind: 'timed_out', limit: 'wall' }),
    )
    const run = {
      id,
      state,
      outcome,
      durationMs,
      command,
      runtime,
      purpose: 'why',
      cwd,
      branch,
      target,
      workspace,
      startedAt,
      pinned,
      failing: true,
      outputBytes: 5,
    }
    const { client } = await world({ runs: () => Promise.resolve({ runs: [run], total: 1_234, warnings: [] }) })
    expect(textOf(await client.callTool({ name: 'runs' }))).toBe('r1 timed out, 12 ms: true (why)\n1 run shown of 1234')
  })

  it('resume gives the snapshot', async () => {
    const snapshot = { text: '# Context\nfixing\n', bytes: 17, path: null, warnings: [] }
    const { client } = await world({ resume: () => Promise.resolve(snapshot) })
    expect(await client.callTool({ name: 'resume' })).toEqual({ content: [{ type: 'text', text: '# Context\nfixing' }], structuredContent: snapshot })
  })

  it('note adds, lists, finds, changes and removes', async () => {
    const note = storedNote('n1', 'needs Redis', { tags: ['tests'] })
    const saved = { ...note, saved: 'added' as const, retires: [], similar: [] }
    const old = storedNote('n0', 'needs no Redis', { scope: 'user', retired: { at: note.createdAt, why: 'superseded', by: 'n1' } })
    const { client } = await world({
      addNote: (input) => Promise.resolve({ ...saved, text: input.text }),
      listNotes: () => Promise.resolve({ notes: [note] }),
      searchNotes: () => Promise.resolve({ notes: [old], more: true }),
      updateNote: () => Promise.resolve({ ...saved, saved: 'updated' as const, retires: [old], similar: [storedNote('n2', 'like it')] }),
      removeNote: (input) => Promise.resolve({ removed: input.note, text: note.text }),
    })
    const call = (args: Record<string, unknown>) => client.callTool({ name: 'note', arguments: args })
    expect(textOf(await call({ action: 'add', text: 'needs Redis' }))).toBe('added: n1 [gotcha, 0.8] needs Redis #tests')
    expect(textOf(await call({ text: 'needs Postgres' }))).toBe('added: n1 [gotcha, 0.8] needs Postgres #tests')
    expect(await call({ action: 'list' })).toMatchObject({ structuredContent: { notes: [note] } })
    expect(textOf(await call({ action: 'search', query: 'redis' }))).toBe('n0 [user, gotcha, 0.8, retired: superseded] needs no Redis\n[there are more]')
    expect(textOf(await call({ action: 'update', note: 'n1', supersedes: ['n0'] }))).toBe(
      'updated: n1 [gotcha, 0.8] needs Redis #tests\nretired (superseded): n0 needs no Redis\nsimilar: n2 [gotcha, 0.8] like it',
    )
    expect(textOf(await call({ action: 'remove', note: 'n1' }))).toBe('removed for good: n1')
  })
})

describe('progress', () => {
  it('is told while a command runs, with the last line as the app shows it, and ends with the call', async () => {
    const { client, events, lines } = await world()
    const cancel = new AbortController()
    const updates: { progress: number; message?: string | undefined }[] = []
    const onprogress = (update: { progress: number; message?: string | undefined }): void => {
      updates.push(update)
    }
    const call = client.callTool({ name: 'exec', arguments: { script: 'hold' } }, undefined, { signal: cancel.signal, onprogress })
    await until(() => updates.length === 2)
    cancel.abort()
    await expect(call).rejects.toThrow()
    await until(() => events.includes('canceled'))
    expect(updates[0]?.message).toMatch(/^[\d.]+ s, 7 bytes: last$/)
    expect(updates[1]?.progress).toBeGreaterThan(updates[0]?.progress ?? Number.POSITIVE_INFINITY)
    expect(lines().join()).not.toContain('hidden')
  })

  it('shows of a line that may begin inside a secret the end alone', async () => {
    const text = `${'s'.repeat(3_000)}${'e'.repeat(150)}`
    const { client } = await world({
      output: () => Promise.resolve({ id: 'r1', state: 'running', lines: [{ stream: 'stdout', line: 0, text }], text, truncated: false, next: null }),
    })
    const cancel = new AbortController()
    const message = new Promise<string | undefined>((resolve) => {
      const options = { signal: cancel.signal, onprogress: (update: { message?: string | undefined }) => resolve(update.message) }
      client.callTool({ name: 'exec', arguments: { script: 'hold' } }, undefined, options).catch(() => {})
    })
    expect(await message).toMatch(/bytes: e{150}$/)
    cancel.abort()
  })

  it('is not told to a client that did not ask for it', async () => {
    let finish = (): void => {}
    const asked: unknown[] = []
    const { client, lines } = await world({
      exec: (_, call) => {
        asked.push(call?.onOutput)
        return new Promise((resolve) => {
          finish = () => resolve(runResult())
        })
      },
    })
    const call = client.callTool({ name: 'exec', arguments: { script: 'x' } })
    await until(() => asked.length === 1)
    await new Promise((resolve) => setTimeout(resolve, 1_300))
    finish()
    await call
    expect(lines().filter((line) => line.includes('notifications/progress'))).toEqual([])
    expect(asked).toEqual([undefined])
  })
})

describe('the end', () => {
  it.each<[string, (made: World) => void]>([
    ['stdin ends', ({ stdin }) => void stdin.end()],
    ['stdin fails', ({ stdin }) => void stdin.destroy(new Error('EIO'))],
    ['stdout fails', ({ stdout }) => void stdout.destroy(new Error('EPIPE'))],
    ['a signal comes', () => void process.emit('SIGTERM')],
  ])('cancels what runs and closes the app when %s', async (_, leave) => {
    const made = await world()
    const call = made.client.callTool({ name: 'exec', arguments: { script: 'hold' } }).catch(() => {})
    await until(() => made.events.includes('held'))
    leave(made)
    await made.served
    expect(made.events.slice(-2)).toEqual(['canceled', 'closed'])
    expect(process.listenerCount('SIGTERM')).toBe(0)
    await made.client.close()
    await call
  })

  it('does not wait for an app that never finishes closing once a second signal comes', async () => {
    let closing = false
    const made = await world({
      close: () => {
        closing = true
        return new Promise(() => {})
      },
    })
    await made.client.callTool({ name: 'exec', arguments: { argv: ['true'] } })
    process.emit('SIGINT')
    await until(() => closing)
    process.emit('SIGINT')
    await made.served
  })

  it('comes without an app when none was ever needed', async () => {
    const made = await world()
    made.stdin.end()
    await made.served
    expect(made.events).toEqual([])
  })
})

describe('a call that takes long and is done in steps', () => {
  const call = (onProgress?: (update: { progress: number; message: string }) => void) => ({
    name: 'workspace',
    args: { action: 'open', branch: 'work' },
    signal: new AbortController().signal,
    onProgress,
  })

  it('is answered in time, goes on, and tells its steps', async () => {
    let finish: (value: never) => void = () => {}
    let aborted: AbortSignal | undefined
    const app = fakeApp(() => {}, {
      openWorkspace: (_, { onStep, signal } = {}) => {
        aborted = signal
        onStep?.('setup: npm ci')
        return new Promise((resolve) => {
          finish = resolve
        })
      },
    })
    const canceler = new AbortController()
    const result = await callTool({ ...call(), signal: canceler.signal }, async () => app, 20)
    expect(result).toEqual({
      content: [{ type: 'text', text: 'workspace open goes on (setup: npm ci); ask the same again to wait for its end' }],
      structuredContent: { unfinished: true, step: 'setup: npm ci' },
    })
    // Whoever leaves after the answer does not end it.
    canceler.abort()
    expect(aborted?.aborted).toBe(false)
    finish(undefined as never)
  })

  it('says what went wrong, also of a list that is short', async () => {
    const app = fakeApp(() => {}, { openWorkspace: () => Promise.reject(failure('unborn_base', { base: 'main' })), listWorkspaces: async () => [] })
    expect(await callTool(call(), async () => app, 20)).toMatchObject({ isError: true, structuredContent: { error: { details: { reason: 'unborn_base' } } } })
    expect(await callTool({ ...call(), args: { action: 'list' } }, async () => app)).toMatchObject({
      content: [{ text: 'no workspaces' }],
      structuredContent: { workspaces: [] },
    })
  })
})

describe('a command at a target that has to be made first', () => {
  const exec = { name: 'exec', args: { script: 'x', target: 'pod' }, signal: new AbortController().signal, onProgress: undefined }
  const opening = (begins: boolean, begun: RunResult) =>
    fakeApp(() => {}, {
      exec: (_, { onStep, onBegin, signal } = {}) => {
        onStep?.('waiting for pod box')
        if (begins) onBegin?.(begun)
        return new Promise((resolve, reject) => {
          signal?.addEventListener('abort', () => reject(failure('canceled_before_start', {})))
          if (begins) setTimeout(resolve, 60, begun)
        })
      },
    })

  it('is answered in time where that takes longer, and is not started then', async () => {
    expect(await callTool(exec, async () => opening(false, runResult()), 20)).toEqual({
      content: [{ type: 'text', text: 'nothing was started yet (waiting for pod box); ask the same again to wait for it' }],
      structuredContent: { unfinished: true, step: 'waiting for pod box' },
    })
  })

  it('is waited for as long as it wants once it runs', async () => {
    expect(await callTool(exec, async () => opening(true, runResult({ id: 'r2' })), 20)).toMatchObject({ structuredContent: { id: 'r2' } })
  })

  it('tells what is done in its progress', async () => {
    const canceler = new AbortController()
    let answered: Promise<unknown> = Promise.resolve()
    const told = new Promise<string>((resolve) => {
      const onProgress = ({ message }: { message: string }): void => resolve(message)
      answered = callTool({ ...exec, signal: canceler.signal, onProgress }, async () => opening(false, runResult()))
    })
    expect(await told).toMatch(/^[\d.]+ m?s: waiting for pod box$/)
    canceler.abort()
    expect(await answered).toMatchObject({ isError: true })
  })
})
