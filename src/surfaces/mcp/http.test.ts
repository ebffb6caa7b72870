import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, describe, expect, it } from 'vitest'
import { fakeApp } from '../../../test/support/fake-app.ts'
import { openWorld } from '../../../test/support/world.ts'
import type { App } from '../../app/api.ts'
import { serveMcpHttp } from './http.ts'
import { refusalOf } from './http-guard.ts'
import { checkToken, readOrMakeToken } from './token.ts'

const token = 'a-token-of-some-length'
const leave: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of leave.splice(0)) await end()
})

async function serve(own: Partial<App> = {}, idleMs?: number) {
  const ending = new AbortController()
  const events: string[] = []
  const notes: string[] = []
  let served: Promise<void> = Promise.resolve()
  const url = await new Promise<string>((resolve, reject) => {
    served = serveMcpHttp({
      openApp: async () => {
        events.push('opened')
        return fakeApp((event) => events.push(event), own)
      },
      version: '1',
      host: '127.0.0.1',
      port: 0,
      token,
      signal: ending.signal,
      onListening: resolve,
      onNote: (line) => notes.push(line),
      idleMs,
    })
    served.catch(reject)
  })
  const end = async (): Promise<void> => {
    ending.abort()
    await served
  }
  leave.push(end)
  return { url, events, notes, end }
}

async function connect(url: string, given = token): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${given}` } } })
  await client.connect(transport as Parameters<Client['connect']>[0])
  leave.unshift(() => client.close())
  return client
}

/** One request as it is written, since `fetch` sets Host and Origin by itself. */
function send(url: string, headers: Record<string, string>, body: string | Buffer = '', method = 'POST', own: { path?: string } = {}) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(url, { method, headers, ...own }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
})
const usual = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

describe('MCP over HTTP', () => {
  it('serves several clients with one app, which is opened at the first call', async () => {
    const { url, events } = await serve()
    const clients = await Promise.all([connect(url), connect(url), connect(url)])
    expect((await clients[0]?.listTools())?.tools.length).toBeGreaterThan(5)
    expect(events).toEqual([])
    const results = await Promise.all(clients.map((client) => client.callTool({ name: 'exec', arguments: { argv: ['true'] } })))
    expect(results.map(({ structuredContent }) => (structuredContent as { id: string }).id)).toEqual(['r1', 'r1', 'r1'])
    expect(events.filter((event) => event === 'opened')).toHaveLength(1)
  })

  it('tells progress while a call goes on, and cancels what the client cancels', async () => {
    const { url, events } = await serve()
    const client = await connect(url)
    const cancel = new AbortController()
    const told = new Promise<string | undefined>((resolve) => {
      const options = { signal: cancel.signal, onprogress: ({ message }: { message?: string | undefined }) => resolve(message) }
      client.callTool({ name: 'exec', arguments: { script: 'hold' } }, undefined, options).catch(() => {})
    })
    expect(await told).toMatch(/7 bytes: last$/)
    cancel.abort()
    while (!events.includes('canceled')) await new Promise((resolve) => setTimeout(resolve, 5))
  })

  it('cancels what runs and closes the app in the end', async () => {
    const { url, events, end } = await serve()
    const client = await connect(url)
    const call = client.callTool({ name: 'exec', arguments: { script: 'hold' } }).catch((error: unknown) => error)
    while (!events.includes('held')) await new Promise((resolve) => setTimeout(resolve, 5))
    await end()
    expect(events.slice(-2)).toEqual(['canceled', 'closed'])
    await expect(send(url, usual, initialize)).rejects.toThrow(/ECONNREFUSED/)
    await client.close()
    await call
  })

  it.each<[string, Record<string, string>, number, string]>([
    ['without a token', { ...usual, authorization: '' }, 401, 'Authorization: Bearer TOKEN is missing'],
    ['with another token', { ...usual, authorization: 'Bearer something-else' }, 401, 'the token is another one'],
    ['under the name of another host', { ...usual, host: 'evil.example' }, 403, 'Host is \\"evil.example\\"'],
    ['from a page of another host', { ...usual, origin: 'https://evil.example' }, 403, 'Origin is \\"https://evil.example\\"'],
    ['from a page without an origin', { ...usual, origin: 'null' }, 403, 'Origin is \\"null\\"'],
    ['from a page of this machine', { ...usual, origin: 'http://localhost:3000' }, 200, 'holdfast'],
    ['under the name localhost', { ...usual, host: 'localhost:99' }, 200, 'holdfast'],
    ['for a session that never was', { ...usual, 'mcp-session-id': 'x' }, 404, 'initialize a new one'],
  ])('answers a request %s', async (_, headers, status, part) => {
    const { url } = await serve()
    const answer = await send(url, headers, initialize)
    expect(answer.status).toBe(status)
    expect(answer.text).toContain(part)
  })

  it('refuses what is no message in one sentence, and goes on', async () => {
    const { url, notes } = await serve()
    expect(await send(url, usual, '{')).toMatchObject({ status: 400, text: expect.stringContaining('the body is no JSON') })
    expect(await send(url, usual, '{"jsonrpc":"2.0","id":1,"method":"ping"}')).toMatchObject({ status: 400 })
    expect(await send(url.replace('/mcp', '/'), usual, '')).toMatchObject({ status: 404, text: expect.stringContaining('MCP is at /mcp') })
    for (const path of ['//', 'http://['])
      expect(await send(url, usual, '', 'POST', { path }), path).toMatchObject({ status: 404, text: expect.stringContaining('MCP is at /mcp') })
    expect((await send(url, usual, '', 'PUT')).status).toBeGreaterThanOrEqual(400)
    expect(await send(url, usual, initialize)).toMatchObject({ status: 200 })
    expect(notes.join()).not.toContain(token)
  })

  it('lets go of a session that nobody uses any more, and of the idlest where there are too many', async () => {
    // A busy machine takes its time between the messages of a client that connects.
    const idleMs = 500
    const { url } = await serve({}, idleMs)
    const client = await connect(url)
    const id = (client.transport as StreamableHTTPClientTransport).sessionId as string
    // The stream on which the server may speak counts as use; a client that is gone has none.
    await client.close()
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' })
    let status = 0
    while (status !== 404) {
      // A question counts as use.
      await new Promise((resolve) => setTimeout(resolve, 1.5 * idleMs))
      status = (await send(url, { ...usual, 'mcp-session-id': id }, ping)).status
    }
    for (let count = 0; count < 70; count += 1) expect((await send(url, usual, initialize)).status).toBe(200)
  })

  it('says where it cannot listen', async () => {
    const { url } = await serve()
    const port = Number(new URL(url).port)
    const again = serveMcpHttp({
      openApp: async () => fakeApp(),
      version: '1',
      host: '127.0.0.1',
      port,
      token,
      signal: new AbortController().signal,
      onListening: () => {},
      onNote: () => {},
    })
    await expect(again).rejects.toThrow(`cannot listen at 127.0.0.1:${port}: EADDRINUSE`)
  })
})

it('elsewhere than on the loopback any name of the host is taken, and pages of it', () => {
  const own = { host: '0.0.0.0', token }
  const authorization = `Bearer ${token}`
  expect(refusalOf({ host: 'build.example:7421', authorization }, own)).toBeUndefined()
  expect(refusalOf({ host: 'build.example:7421', origin: 'http://build.example:7421', authorization }, own)).toBeUndefined()
  expect(refusalOf({ host: 'build.example:7421', origin: 'http://other.example', authorization }, own)?.status).toBe(403)
  expect(refusalOf({ host: 'build.example:7421' }, own)?.status).toBe(401)
})

describe('the token', () => {
  it('is made once, for its owner alone, and kept', async () => {
    await using world = openWorld()
    const path = world.path('state', 'holdfast', 'mcp-token')
    const made = readOrMakeToken(path)
    expect(made.length).toBeGreaterThanOrEqual(43)
    expect(readOrMakeToken(path)).toBe(made)
    expect([statSync(path).mode & 0o777, statSync(world.path('state', 'holdfast')).mode & 0o777]).toEqual([0o600, 0o700])
  })

  it('is refused where others can read it, or it is none, without being told', async () => {
    await using world = openWorld()
    const path = world.path('token')
    writeFileSync(path, 'a-token-that-all-can-read\n', { mode: 0o600 })
    chmodSync(path, 0o644)
    expect(() => readOrMakeToken(path)).toThrow(/others can read it \(mode 644\); accepted: 600/)
    writeFileSync(path, 'short\n')
    chmodSync(path, 0o600)
    expect(() => readOrMakeToken(path)).toThrow(/is "5 characters"; accepted: a token of at least 16/)
    expect(() => checkToken('with spaces in it, which a header ends', 'X')).toThrow(/^X is "38 characters"/)
    expect(() => readOrMakeToken(world.root)).toThrow(/cannot be read/)
  })
})
