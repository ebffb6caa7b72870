import { PassThrough } from 'node:stream'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it } from 'vitest'
import { ended, fakeApp, runResult } from '../../../test/support/fake-app.ts'
import type { App, RunSummary } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { serveMcp } from './serve.ts'
import { stdioTransport } from './stdio-transport.ts'

const leave: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of leave.splice(0)) await end()
})

async function connect(own: Partial<App>, capabilities = {}, roots: string[] = []): Promise<{ client: Client; opened: string[] }> {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const opened: string[] = []
  const openApp = async (root: string): Promise<App> => {
    opened.push(root)
    return fakeApp(() => {}, own)
  }
  const served = serveMcp({ openApp, cwd: '/', stdin, stdout, version: '1' })
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  if (roots.length > 0) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map((uri) => ({ uri })) }))
  await client.connect(stdioTransport(stdout, stdin, () => {}))
  leave.push(async () => {
    stdin.end()
    await served
    await client.close()
  })
  return { client, opened }
}

function summary(id: string, part: Partial<RunSummary> = {}): RunSummary {
  const { state, outcome, durationMs, command, runtime, purpose, cwd, branch, target, workspace, startedAt, pinned } = runResult(ended({ exitCode: 2 }))
  const all = { id, state, outcome, durationMs, command, runtime, purpose, cwd, branch, target, workspace, startedAt, pinned, failing: true, outputBytes: 5 }
  return { ...all, ...part }
}

const history: Partial<App> = {
  runs: async ({ failing, limit = 20 }) => {
    const all = [
      summary('bbb', { failing: false, outcome: { kind: 'exited', exitCode: 0, signal: null, limit: null } }),
      summary('aaa', { purpose: 'why\nnot' }),
    ]
    return { runs: all.filter((run) => !failing || run.failing).slice(0, limit), total: 2, warnings: [] }
  },
  show: async ({ run }) => {
    if (!['aaa', 'bbb', 'last'].includes(run)) throw failure('run_not_found', { run })
    return runResult({ id: run === 'last' ? 'bbb' : run, digest: `digest of ${run}` })
  },
  output: async ({ run, lines }) => ({ id: run, state: 'ended', lines: [], text: `output of ${run}, lines ${lines}\n`, truncated: false, next: null }),
  resume: async () => ({ text: '# Context snapshot\n', bytes: 19, path: null, warnings: [] }),
}

const codeOf = (error: unknown): number => (error as { code: number }).code

describe('resources', () => {
  it('are the context snapshot and the newest runs, with how each ended', async () => {
    const { client } = await connect(history)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri, title, description }) => [uri, title, description])).toEqual([
      ['holdfast://snapshot', 'Context snapshot', 'Work in hand, notes, recent runs.'],
      ['holdfast://run/bbb', 'true', 'exit 0, 12 ms, started 2026-01-01T00:00:00.000Z'],
      ['holdfast://run/aaa', 'true', 'exit 2, 12 ms, started 2026-01-01T00:00:00.000Z: why not'],
    ])
  })

  it.each([
    ['holdfast://run/aaa', 'digest of aaa'],
    ['holdfast://run/last', 'digest of last'],
    ['holdfast://run/aaa/output', 'output of aaa, lines undefined'],
    ['holdfast://run/aaa/output/-20', 'output of aaa, lines -20'],
    ['holdfast://run/aaa/output/stdout%3A1-3', 'output of aaa, lines stdout:1-3'],
    ['holdfast://snapshot', '# Context snapshot\n'],
  ])('are read by address: %s', async (uri, text) => {
    const { client } = await connect(history)
    expect(await client.readResource({ uri })).toEqual({ contents: [{ uri, mimeType: 'text/plain', text }] })
  })

  it('that are not there are an error of the protocol that says so', async () => {
    const { client } = await connect(history)
    const missing = await client.readResource({ uri: 'holdfast://run/zzz' }).catch((error: unknown) => error)
    expect([codeOf(missing), String(missing)]).toEqual([-32002, expect.stringContaining('zzz')])
    for (const uri of ['holdfast://run/', 'holdfast://run/a/b', 'file:///etc/passwd', 'holdfast://run/../x/output/1/2']) {
      const wrong = await client.readResource({ uri }).catch((error: unknown) => error)
      expect([codeOf(wrong), String(wrong)]).toEqual([-32602, expect.stringContaining('holdfast://run/{run}/output')])
    }
  })

  it('have templates, whose runs are completed', async () => {
    const { client } = await connect(history)
    const { resourceTemplates } = await client.listResourceTemplates()
    const uris = resourceTemplates.map(({ uriTemplate }) => uriTemplate)
    expect(uris).toEqual(['holdfast://run/{run}', 'holdfast://run/{run}/output', 'holdfast://run/{run}/output/{lines}'])
    const complete = (name: string, value: string) => client.complete({ ref: { type: 'ref/resource', uri: uris[0] as string }, argument: { name, value } })
    expect((await complete('run', '')).completion.values).toEqual(['last', 'bbb', 'aaa'])
    expect((await complete('run', 'a')).completion).toEqual({ values: ['aaa'], total: 1, hasMore: false })
    expect((await complete('lines', '')).completion.values).toEqual([])
  })
})

describe('prompts', () => {
  it('explain the last failure, with its digest', async () => {
    const { client } = await connect(history)
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['explain-last-failure', 'resume-work'])
    const { messages, description } = await client.getPrompt({ name: 'explain-last-failure' })
    expect(description).toBe('Why run aaa failed')
    expect(messages[0]?.content).toMatchObject({ type: 'text', text: expect.stringContaining('Run aaa has kept all of its output') })
    expect(messages[1]?.content).toEqual({ type: 'resource', resource: { uri: 'holdfast://run/aaa', mimeType: 'text/plain', text: 'digest of aaa' } })
  })

  it('take another run', async () => {
    const { client } = await connect(history)
    expect((await client.getPrompt({ name: 'explain-last-failure', arguments: { run: ' bbb ' } })).description).toBe('Why run bbb failed')
  })

  it('say that nothing has failed where nothing has', async () => {
    const { client } = await connect({ ...history, runs: async () => ({ runs: [], total: 0, warnings: [] }) })
    const { messages } = await client.getPrompt({ name: 'explain-last-failure' })
    expect(messages).toHaveLength(1)
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining('No command has failed here yet') })
  })

  it('bring the snapshot to go on from, and refuse other names', async () => {
    const { client } = await connect(history)
    const { messages } = await client.getPrompt({ name: 'resume-work' })
    expect(messages[1]?.content).toMatchObject({ resource: { uri: 'holdfast://snapshot', text: '# Context snapshot\n' } })
    const wrong = await client.getPrompt({ name: 'toString' }).catch((error: unknown) => error)
    expect([codeOf(wrong), String(wrong)]).toEqual([-32602, expect.stringContaining('accepted: explain-last-failure, resume-work')])
  })
})

describe('roots', () => {
  it('are asked for when the app is opened first, and lead to the folder that is open in the client', async () => {
    const { client, opened } = await connect(history, { roots: {} }, ['file:///tmp'])
    await client.callTool({ name: 'resume' })
    await client.listResources()
    expect(opened).toEqual(['/tmp'])
  })
})
