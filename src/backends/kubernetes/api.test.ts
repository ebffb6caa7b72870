import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect as netConnect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Api, type ApiRequest, openApi } from './api.ts'
import { ApiError, readStatus, toFailure, unwrap } from './api-error.ts'
import { openConnection } from './connection.ts'
import type { Cluster } from './kubeconfig.ts'
import type { Pod } from './resources.ts'
import { followObject } from './watch.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, attempt: number) => void
const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function serve(handler: Handler): Promise<number> {
  let attempts = 0
  const server = createServer((request, response) => {
    attempts += 1
    handler(request, response, attempts)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

function open(server: string, more: Partial<Cluster> = {}, env: Record<string, string> = {}): Api {
  const access = { cluster: { server, skipTlsVerify: false, ...more }, user: { token: 'abc' }, namespace: undefined, from: 'a test' }
  const api = openApi(openConnection({ access, env, userHome: undefined }))
  closers.push(() => api.close())
  return api
}

async function apiWith(handler: Handler): Promise<Api> {
  return open(`http://127.0.0.1:${await serve(handler)}/prefix`)
}

const json = (response: ServerResponse, http: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(http, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
const get: ApiRequest = { method: 'GET', path: '/api/v1/x', asked: 'get x' }
const post: ApiRequest = { method: 'POST', path: '/api/v1/x', body: {}, asked: 'create x' }

describe('a request', () => {
  it('goes below the path of the server, signed, with its query', async () => {
    const api = await apiWith(({ url, headers }, response) => json(response, 200, { url, authorization: headers.authorization }))
    expect(await api.ask({ ...get, query: { a: 'b c', none: undefined, yes: true } })).toEqual({
      url: '/prefix/api/v1/x?a=b+c&yes=true',
      authorization: 'Bearer abc',
    })
  })

  it('waits as it is told where the server has too much to do, whatever it asks for', async () => {
    const api = await apiWith((_, response, attempt) => (attempt < 3 ? json(response, 429, {}, { 'retry-after': '0' }) : json(response, 200, { attempt })))
    expect(await api.ask(post)).toEqual({ attempt: 3 })
  })

  it('is made again on a connection that broke only where that does no more than once', async () => {
    const handler: Handler = ({ socket }, response, attempt) => (attempt === 1 ? socket.destroy() : json(response, 200, { attempt }))
    expect(await (await apiWith(handler)).ask(get)).toEqual({ attempt: 2 })
    await expect((await apiWith(handler)).ask(post)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await (await apiWith(handler)).ask({ ...post, repeatable: true })).toEqual({ attempt: 2 })
  })

  it('is not made again where the server failed and says nothing of later', async () => {
    let seen = 0
    const api = await apiWith((_, response, attempt) => {
      seen = attempt
      json(response, 500, { message: 'boom' })
    })
    await expect(api.ask(get)).rejects.toMatchObject({ http: 500, message: 'boom' })
    expect(seen).toBe(1)
  })

  it('that gets no answer is bounded, and given up when nobody waits', async () => {
    const api = await apiWith(() => {})
    await expect(api.ask({ ...post, timeoutMs: 100 })).rejects.toMatchObject({ code: 'unavailable' })
    const waiting = new AbortController()
    const asked = api.ask({ ...get, signal: waiting.signal })
    setTimeout(() => waiting.abort(), 50)
    await expect(asked).rejects.toMatchObject({ details: { reason: 'canceled_before_start' } })
  })

  it('goes through the proxy that the kubeconfig names, and through no other kind', async () => {
    const port = await serve((_, response) => json(response, 200, { through: true }))
    const asked: string[] = []
    const proxy = createServer()
    proxy.on('connect', (request, socket) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
      const onward = netConnect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        onward.pipe(socket).pipe(onward)
      })
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    closers.push(() => void proxy.close())
    const at = (proxy.address() as AddressInfo).port
    const api = open('http://far.example:8443', { proxyUrl: `http://me:pass@127.0.0.1:${at}` })
    expect(await api.ask(get)).toEqual({ through: true })
    expect(asked).toEqual([`far.example:8443 Basic ${Buffer.from('me:pass').toString('base64')}`])
    expect(await open('http://far.example', {}, { HTTP_PROXY: `127.0.0.1:${at}`, NO_PROXY: 'other' }).ask(get)).toEqual({ through: true })
    expect(() => open('https://far.example', { proxyUrl: 'socks5://127.0.0.1:1' })).toThrow(
      /proxy-url of the kubeconfig is "socks5:\/\/127.0.0.1:1"; accepted: http/,
    )
  })
})

describe('an answer that is no success', () => {
  const failing = (http: number, body: object | string): Error => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return toFailure(new ApiError(http, readStatus(http, text), 'create pods'), 'kubernetes namespace dev')
  }

  it.each<[string, number, object | string, string, RegExp]>([
    ['nobody knows who asks', 401, { message: 'Unauthorized' }, 'backend_unauthenticated', /does not know who asks: Unauthorized/],
    ['a right is missing', 403, { message: 'pods is forbidden: User "me" cannot create' }, 'backend_denied', /the right to create pods/],
    ['a quota is used up', 403, { message: 'pods "p" is forbidden: exceeded quota: q' }, 'backend_exhausted', /exceeded quota/],
    ['the pod is not to the liking', 403, { message: 'violates PodSecurity "restricted:latest"' }, 'backend_refused', /does not take the pod/],
    ['a namespace is missing', 404, { message: 'm', details: { kind: 'namespaces', name: 'dev' } }, 'backend_missing', /there is no namespace dev/],
    [
      'a field is wrong',
      422,
      { message: 'm', details: { causes: [{ field: 'spec.containers[0].image', message: 'Required value' }] } },
      'backend_refused',
      /does not take spec.containers\[0\].image: Required value/,
    ],
    ['there is too much to do', 429, { message: 'm' }, 'backend_exhausted', /too much to do/],
    ['a proxy fails in HTML', 502, '<html><h1>Bad   Gateway</h1></html>', 'backend_unavailable', /answers 502 to create pods: Bad Gateway/],
    ['it is empty', 503, '', 'backend_unavailable', /HTTP 503/],
  ])('is told in our words: %s', (_, http, body, reason, sentence) => {
    expect(failing(http, body)).toMatchObject({ details: { reason }, message: expect.stringMatching(sentence) })
  })

  it.each<[unknown, string]>([
    [new AggregateError([new Error('a'), new Error('a'), new Error('b')], ''), 'a; b'],
    [{ type: 'error', message: '', error: new Error('inner') }, 'inner'],
    [{ body: { message: 'from the body' } }, 'from the body'],
    [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
    [{}, 'no reason was given'],
    [undefined, 'no reason was given'],
  ])('is unwrapped where its own text says nothing: %o', (value, text) => {
    expect(unwrap(value)).toBe(text)
  })
})

describe('an object that is followed', () => {
  const pod = (resourceVersion: string, phase: string): Pod => ({ metadata: { name: 'p', resourceVersion }, status: { phase } })

  it('is told with each change: over watches that end, that expire, and that are cut into pieces', async () => {
    const lists: string[] = []
    const watches: string[] = []
    const api = await apiWith(({ url = '' }, response) => {
      const query = new URL(url, 'http://x').searchParams
      if (!query.has('watch')) {
        lists.push(url)
        json(response, 200, { metadata: { resourceVersion: String(lists.length * 10) }, items: lists.length === 1 ? [] : [pod('19', 'Running')] })
        return
      }
      watches.push(query.get('resourceVersion') ?? '')
      response.writeHead(200)
      const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`
      if (watches.length === 1) {
        const text = line('ADDED', pod('11', 'Pending')) + line('BOOKMARK', { metadata: { resourceVersion: '15' } })
        response.write(text.slice(0, 30))
        setTimeout(() => response.end(text.slice(30)), 20)
      } else if (watches.length === 2) response.end(line('ERROR', { code: 410, reason: 'Expired', message: 'too old' }))
      else response.end(line('DELETED', pod('21', 'Running')))
    })
    const seen: (string | undefined)[] = []
    for await (const state of followObject<Pod>(api, { path: '/api/v1/namespaces/n/pods', name: 'p', resource: 'pods' }, new AbortController().signal)) {
      seen.push(state?.status?.phase)
      if (seen.length === 4) break
    }
    expect(seen).toEqual([undefined, 'Pending', 'Running', undefined])
    expect(watches).toEqual(['10', '15', '20'])
    expect(lists).toHaveLength(2)
  })

  it('is asked for again and again where watching is forbidden', async () => {
    let asked = 0
    const api = await apiWith(({ url = '' }, response) => {
      if (!url.endsWith('/pods/p')) return json(response, 403, { message: 'no' })
      asked += 1
      json(response, 200, pod('1', asked === 1 ? 'Pending' : 'Running'))
    })
    const seen: (string | undefined)[] = []
    for await (const state of followObject<Pod>(api, { path: '/api/v1/namespaces/n/pods', name: 'p', resource: 'pods' }, new AbortController().signal)) {
      seen.push(state?.status?.phase)
      if (seen.length === 2) break
    }
    expect(seen).toEqual(['Pending', 'Running'])
  })
})
