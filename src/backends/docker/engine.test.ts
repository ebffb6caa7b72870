import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import type { Channel } from '../../core/channel.ts'
import { type HoldfastError, toHoldfastError } from '../../core/errors.ts'
import { findEndpoints } from './endpoint.ts'
import { type Engine, openEngine } from './engine.ts'
import { openExec } from './exec.ts'
import { FrameSplitter } from './frames.ts'
import { requireImage } from './image.ts'
import { EngineRefusal, troubleOf, unreachable } from './trouble.ts'

const never = new AbortController().signal
const frame = (stream: number, bytes: string | Buffer): Buffer => {
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(Buffer.byteLength(bytes), 4)
  return Buffer.concat([header, Buffer.from(bytes)])
}
const refused = (promise: Promise<unknown>): Promise<HoldfastError> =>
  promise.then(
    () => Promise.reject(new Error('it was done')),
    (error: unknown) => toHoldfastError(error),
  )

describe('frames', () => {
  it('are taken apart however they are cut, and a frame may be empty', () => {
    const said = [frame(1, 'out'), frame(2, ''), frame(2, 'err'), frame(1, 'x'.repeat(300)), frame(1, '\u20ac')]
    const whole = Buffer.concat(said)
    for (const size of [1, 2, 3, 7, 8, 9, 50, whole.length]) {
      const texts = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
      const splitter = new FrameSplitter((name, piece) => {
        texts[name] = Buffer.concat([texts[name], piece])
      })
      for (let at = 0; at < whole.length; at += size) splitter.push(whole.subarray(at, at + size))
      expect([texts.stdout.toString(), texts.stderr.toString(), splitter.whole]).toEqual([`out${'x'.repeat(300)}\u20ac`, 'err', true])
    }
  })

  it('with a header that is none are refused, and nothing of it is output', () => {
    const pieces: string[] = []
    const splitter = new FrameSplitter((_, piece) => pieces.push(piece.toString()))
    splitter.push(frame(1, 'good'))
    expect(() => splitter.push(Buffer.from('HTTP/1.1 502 Bad Gateway'))).toThrow(/no header/)
    expect(() => new FrameSplitter(() => {}).push(Buffer.from([1, 0, 1, 0, 0, 0, 0, 1]))).toThrow(/no header/)
    expect(pieces).toEqual(['good'])
  })
})

describe('the client', () => {
  let folder: string
  let socketPath: string
  let server: Server
  /** What the scripted engine answers besides pings. */
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let onUpgrade: (socket: Duplex) => void
  let version: string | undefined
  const asked: string[] = []
  let upgraded: Duplex[]

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hf-engine-'))
    socketPath = join(folder, 's')
    asked.length = 0
    upgraded = []
    version = '1.41'
    onUpgrade = (socket) => socket.end()
    answer = (request, response) => {
      if (request.url?.endsWith('/exec')) return void response.writeHead(201).end('{"Id":"e1"}')
      response.end('{"Running":false,"ExitCode":0}')
    }
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      if (request.url === '/_ping') return void response.writeHead(200, version ? { 'Api-Version': version } : {}).end('OK')
      answer(request, response)
    })
    server.on('upgrade', (_request, socket) => {
      upgraded.push(socket)
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
      onUpgrade(socket)
    })
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  })
  afterEach(async () => {
    server.closeAllConnections()
    for (const socket of upgraded) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true, force: true })
  })

  const endpoints = (path = socketPath) => findEndpoints({ socket: `unix://${path}` }, {}, 0)
  const open = (): Promise<Engine> => openEngine(endpoints())
  async function exec(): Promise<Channel & { readonly texts: { out: string; err: string } }> {
    const channel = await openExec(await open(), { container: 'c', argv: ['sh'], title: 'container c' })
    const texts = { out: '', err: '' }
    channel.stdout.on('data', (piece: Buffer) => {
      texts.out += piece
    })
    channel.stderr.on('data', (piece: Buffer) => {
      texts.err += piece
    })
    return Object.assign(channel, { texts })
  }

  it('speaks the version of an older engine, not more than it knows with a newer one, and none with one that is too old', async () => {
    expect((await open()).apiVersion).toBe('1.41')
    version = '1.99'
    const engine = await open()
    await engine.ask({ method: 'GET', path: '/info' })
    expect(asked.at(-1)).toBe('GET /v1.51/info')
    version = '1.24'
    expect(await refused(open())).toMatchObject({ code: 'failed_precondition', message: expect.stringContaining('1.24') })
    version = undefined
    expect(await refused(open())).toMatchObject({ code: 'unavailable', message: expect.stringContaining('neither Docker nor Podman') })
  })

  it('tells a socket that is not there from one where nobody listens, and says what to do', async () => {
    const nowhere = await refused(openEngine(endpoints(join(folder, 'none'))))
    expect(nowhere).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('there is no socket'),
      details: { remedy: expect.stringContaining('start') },
    })
    const dead = join(folder, 'dead')
    const listening = createNetServer().listen(dead)
    await new Promise((resolve) => listening.once('listening', resolve))
    renameSync(dead, `${dead}2`)
    await new Promise((resolve) => listening.close(resolve))
    expect(await refused(openEngine(endpoints(`${dead}2`)))).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('the daemon is not running'),
    })
    const [endpoint] = endpoints('/etc/passwd')
    expect(unreachable(endpoint, Object.assign(new Error('no'), { code: 'EACCES' }))).toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('group root'),
    })
  })

  it('gives up on an engine that says nothing, or begins and says no more, and when it is told to', async () => {
    const engine = await open()
    answer = () => {}
    const late = await refused(engine.ask({ method: 'GET', path: '/info', timeoutMs: 100 }))
    expect(late).toMatchObject({ code: 'unavailable', message: expect.stringContaining('no answer to GET /info within 0.1 s') })
    answer = (_, response) => void response.write('{"a":')
    expect((await refused(engine.ask({ method: 'GET', path: '/info', timeoutMs: 100 }))).code).toBe('unavailable')
    const stop = new AbortController()
    const asking = refused(engine.ask({ method: 'GET', path: '/info', signal: stop.signal }))
    stop.abort()
    expect((await asking).details.reason).toBe('canceled_before_start')
    expect((await refused(engine.ask({ method: 'GET', path: '/info', signal: stop.signal }))).details.reason).toBe('canceled_before_start')
  })

  it('says so where an answer breaks off', async () => {
    const engine = await open()
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"a":')
      setTimeout(() => response.destroy(), 20)
    }
    expect((await refused(engine.ask({ method: 'GET', path: '/info' }))).code).toBe('unavailable')
  })

  it('carries both streams of an exec, and gives its status', async () => {
    answer = (request, response) => {
      if (request.url?.endsWith('/exec')) return void response.writeHead(201).end('{"Id":"e1"}')
      response.end('{"Running":false,"ExitCode":3}')
    }
    onUpgrade = (socket) => {
      const bytes = Buffer.concat([frame(1, 'one'), frame(2, 'two'), frame(1, 'three')])
      for (const byte of bytes) socket.write(Buffer.from([byte]))
      socket.end()
    }
    const channel = await exec()
    expect(await channel.ended).toEqual({ exitCode: 3 })
    expect(channel.texts).toEqual({ out: 'onethree', err: 'two' })
  })

  it('never takes for an end what is none: a bad header, a cut in a frame, a cut without a status, a status that nobody knows', async () => {
    const ends: [string, (socket: Duplex) => void][] = [
      ['no header', (socket) => socket.write('HTTP/1.1 502 Bad Gateway')],
      ['in the midst of a frame', (socket) => socket.end(frame(1, 'more').subarray(0, 10))],
    ]
    for (const [words, end] of ends) {
      onUpgrade = (socket) => {
        socket.write(frame(1, 'kept'))
        setTimeout(() => end(socket), 20)
      }
      const channel = await exec()
      const error = await refused(channel.ended)
      expect(error).toMatchObject({ code: 'unavailable', details: { reason: 'contact_lost' }, message: expect.stringMatching(words) })
      expect(channel.texts.out).toMatch(/^kept(mo)?$/)
    }
    onUpgrade = (socket) => socket.end(frame(1, 'kept'))
    for (const states of [['{"Running":false,"ExitCode":null}'], ['no json'], ['{"Running":true,"ExitCode":0}', '{"message":"No such exec instance"}']]) {
      answer = (request, response) => {
        if (request.url?.endsWith('/exec')) return void response.writeHead(201).end('{"Id":"e1"}')
        const state = states.length > 1 ? states.shift() : states[0]
        response.writeHead(state?.includes('No such') ? 404 : 200).end(state)
      }
      const channel = await exec()
      expect((await refused(channel.ended)).details.reason).toBe('contact_lost')
      expect(channel.texts.out).toBe('kept')
    }
  })

  it('ends the input alone, and what nobody takes any more hurts nobody', async () => {
    let heard = ''
    onUpgrade = (socket) => {
      socket.on('data', (piece: Buffer) => {
        heard += piece
      })
      socket.on('end', () => {
        socket.write(frame(1, `heard ${heard.length}`))
        socket.end()
      })
    }
    const channel = await exec()
    expect(channel.canEndInput).toBe(true)
    channel.stdin.write('x'.repeat(100_000))
    channel.stdin.end('end')
    expect(await channel.ended).toEqual({ exitCode: 0 })
    expect(channel.texts.out).toBe('heard 100003')
    await new Promise<void>((resolve) => channel.stdin.end(resolve)).catch(() => {})
  })

  it('lets go at once, twice too', async () => {
    let closed = false
    onUpgrade = (socket) => {
      socket.on('end', () => {
        closed = true
      })
      socket.resume()
    }
    const channel = await exec()
    channel.close()
    channel.close()
    expect((await refused(channel.ended)).details.reason).toBe('contact_lost')
    await until(() => closed)
  })

  it('tells what a pull says, and what is wrong with it', async () => {
    const pull = async (lines: string, end: 'end' | 'destroy' = 'end') => {
      const told: string[] = []
      answer = (request, response) => {
        if (request.url?.includes('/images/create')) {
          response.write(lines)
          if (end === 'end') response.end()
          else setTimeout(() => response.destroy(), 20)
        } else response.writeHead(404).end('{"message":"No such image"}')
      }
      const error = await refused(requireImage(await open(), 'x/y', 'missing', { env: {}, progress: (line) => told.push(line) }, never))
      return { error, told }
    }
    const silent = await pull('{"status":"Pulling fs layer","id":"a1"}\n{"status":"Downloading","progress":"[=> ] 1MB/2MB","id":"a1"}\n')
    expect(silent.told).toEqual(['pulling x/y:latest', 'a1 Pulling fs layer', 'a1 Downloading [=> ] 1MB/2MB'])
    expect(asked).toContain('POST /v1.41/images/create?fromImage=x%2Fy%3Alatest')
    expect(silent.error.code).toBe('not_found')
    expect((await pull('{"error":"manifest for x/y:latest not found: manifest unknown"}\n')).error.code).toBe('not_found')
    expect((await pull('{"error":"pull access denied for x/y"}\n')).error).toMatchObject({
      code: 'not_found',
      details: { remedy: expect.stringContaining('docker login') },
    })
    expect((await pull('{"error":"Get https://r/v2/: dial tcp: lookup r: no such host"}\n')).error.message).toContain('the registry cannot be reached')
    expect((await pull('{"error":"write /var/x: no space left on device"}\n')).error.code).toBe('resource_exhausted')
    expect((await pull('{"status":"Downloading"}\n', 'destroy')).error.code).toBe('unavailable')
  })

  it('maps what an engine refuses by what to do about it', () => {
    const codes = (
      [
        [500, 'mkdir: no space left on device', 'resource_exhausted'],
        [404, 'No such container: c', 'failed_precondition'],
        [404, 'No such exec instance: e', 'unavailable'],
        [400, 'invalid reference format', 'failed_precondition'],
        [409, 'Conflict', 'failed_precondition'],
        [403, 'no', 'permission_denied'],
        [401, 'who?', 'unauthenticated'],
        [500, 'panic', 'unavailable'],
      ] as const
    ).map(([status, message, code]) => [code, toHoldfastError(troubleOf(new EngineRefusal(status, message), 't', 'x')).code])
    for (const [expected, code] of codes) expect(code).toBe(expected)
  })
})
