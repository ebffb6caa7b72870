import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { type ExecScript, openScriptedExec, type ScriptedExec, type ScriptedExecServer, statusOf } from '../../../test/support/scripted-exec.ts'
import type { Channel } from '../../core/channel.ts'
import { type Api, openApi } from './api.ts'
import { openConnection } from './connection.ts'
import { openExec, shorten } from './exec.ts'

let server: ScriptedExecServer
let api: Api
afterEach(async () => {
  api.close()
  await server[Symbol.asyncDispose]()
})

async function exec(
  script: ExecScript,
  { argv = ['prog'], livenessMs = 20_000 }: { argv?: [string, ...string[]]; livenessMs?: number } = {},
): Promise<Channel> {
  server = await openScriptedExec(script)
  const access = { cluster: { server: server.server.href, skipTlsVerify: false }, user: { token: 'abc' }, namespace: undefined, from: 'a test' }
  api = openApi(openConnection({ access, env: {}, userHome: undefined }))
  return openExec(api, { namespace: 'dev', pod: 'box', container: 'main', argv, target: 'kubernetes pod dev/box', livenessMs })
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}

async function all(channel: Channel): Promise<{ stdout: string; stderr: string; end: unknown }> {
  const [stdout, stderr, end] = await Promise.all([bytesOf(channel.stdout), bytesOf(channel.stderr), channel.ended.catch((error: unknown) => error)])
  return { stdout: stdout.toString(), stderr: stderr.toString(), end }
}

const saying =
  (status: string) =>
  ({ say, socket }: ScriptedExec): void => {
    say(3, status)
    socket.close(1000)
  }

const lost = (why: RegExp) => expect.objectContaining({ details: expect.objectContaining({ reason: 'contact_lost', why: expect.stringMatching(why) }) })

describe('an exec in a pod', () => {
  it('asks for the program word by word, signed, and gets both streams and the status', async () => {
    const channel = await exec(
      {
        run: ({ say, exit }) => {
          say(1, 'out')
          say(2, 'err')
          exit(7)
        },
      },
      { argv: ['printf', 'a b', 'ä&?=\n'] },
    )
    expect(await all(channel)).toEqual({ stdout: 'out', stderr: 'err', end: { exitCode: 7 } })
    const [asked] = server.execs
    expect(asked?.command).toEqual(['printf', 'a b', 'ä&?=\n'])
    expect(asked?.url.pathname).toBe('/api/v1/namespaces/dev/pods/box/exec')
    expect(asked?.url.searchParams.get('container')).toBe('main')
    expect(asked?.protocol).toBe('v5.channel.k8s.io')
  })

  it('keeps every frame that comes after the status (B074 c)', async () => {
    const channel = await exec({
      run: ({ say, socket }) => {
        say(1, 'first ')
        say(3, statusOf(0))
        setTimeout(() => {
          say(1, 'last')
          socket.close(1000)
        }, 100)
      },
    })
    expect(await all(channel)).toEqual({ stdout: 'first last', stderr: '', end: { exitCode: 0 } })
  })

  it.each<[string, (exec: ScriptedExec) => void, RegExp]>([
    ['closed in order (B074 a)', ({ socket }) => socket.close(1000), /without a status \(close code 1000\)/],
    ['broken in mid-output (B074 b)', ({ socket }) => setTimeout(() => socket.terminate(), 50), /without a status \(close code 1006\)/],
    ['closed with a reason', ({ socket }) => socket.close(1011, 'going away'), /1011: going away/],
    ['closed with a status that is plain text (B074 d)', saying('command terminated: 3'), /cannot be read: "command terminated: 3"/],
    ['closed with a status of an unknown kind', saying('{"status":"Perhaps"}'), /cannot be read/],
    ['closed with half a status', saying(statusOf(3).slice(0, 40)), /cannot be read/],
    ['told to have lost the way to the node', saying('{"status":"Failure","message":"stream reset"}'), /stream reset/],
  ])('that is %s is contact lost: no status is made up, and what came is there', async (_, ending, why) => {
    const channel = await exec({
      run: (each) => {
        each.say(1, 'partial')
        ending(each)
      },
    })
    expect(await all(channel)).toEqual({ stdout: 'partial', stderr: '', end: lost(why) })
    expect(server.execs).toHaveLength(1)
  })

  it('takes a status in pieces, an empty frame, and channels that it does not know', async () => {
    const channel = await exec({
      run: ({ say, socket }) => {
        socket.send(Buffer.alloc(0))
        say(9, 'noise')
        socket.send(Buffer.from([255, 1]))
        for (const byte of statusOf(42)) say(3, byte)
        socket.close(1000)
      },
    })
    expect(await all(channel)).toEqual({ stdout: '', stderr: '', end: { exitCode: 42 } })
  })

  it('keeps bytes whole whatever the frames are', async () => {
    const bytes = randomBytes(3_000_000)
    const channel = await exec({
      run: ({ say, exit }) => {
        for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 1) % 70_001) say(1, bytes.subarray(at, Math.min(at + size, bytes.length)))
        exit(0)
      },
    })
    const [stdout] = await Promise.all([bytesOf(channel.stdout), bytesOf(channel.stderr)])
    expect(stdout.equals(bytes)).toBe(true)
    expect(await channel.ended).toEqual({ exitCode: 0 })
  })

  it('holds the server up where nobody reads, and goes on then', async () => {
    const total = 24 * 1024 * 1024
    const channel = await exec({
      run: ({ say, exit, socket }) => {
        const more = (left: number): void => {
          const size = 1024 * 1024
          if (left > 0) say(1, Buffer.alloc(size, 120))
          if (left === 0) exit(0)
          else void until(() => socket.bufferedAmount <= size).then(() => more(left - size))
        }
        more(total)
      },
    })
    channel.stderr.resume()
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, channel.stdout.readableLength)
    }, 5)
    await until(() => (server.execs[0]?.socket.bufferedAmount ?? 0) > 1024 * 1024)
    let got = 0
    for await (const part of channel.stdout) got += part.length
    clearInterval(watch)
    expect(got).toBe(total)
    expect(most).toBeLessThan(4 * 1024 * 1024)
    expect(await channel.ended).toEqual({ exitCode: 0 })
  })

  it('gives the program its input and, with v5, the end of it alone (B073)', async () => {
    const bytes = randomBytes(1_048_576)
    const channel = await exec({
      run: (each) =>
        void until(() => each.inputEnded()).then(() => {
          each.say(1, `bytes=${each.input().length} ${each.input().equals(bytes)}`)
          each.exit(0)
        }),
    })
    expect(channel.canEndInput).toBe(true)
    channel.stdin.end(bytes)
    expect(await all(channel)).toEqual({ stdout: 'bytes=1048576 true', stderr: '', end: { exitCode: 0 } })
  })

  it('falls back to v4, where the end of the input ends the channel and is no status', async () => {
    const channel = await exec({ protocols: ['v4.channel.k8s.io'], run: ({ say }) => say(1, 'hello') })
    expect(channel.canEndInput).toBe(false)
    channel.stdin.write('x')
    await until(() => server.execs[0]?.input().toString() === 'x')
    channel.stdin.end()
    expect(await all(channel)).toEqual({ stdout: 'hello', stderr: '', end: lost(/input was ended/) })
  })

  it('offers v4 alone to a server that takes no other offer', async () => {
    const channel = await exec({
      refuse: ({ headers }) => (headers['sec-websocket-protocol']?.includes('v5') ? { http: 400, body: 'unknown subprotocol' } : undefined),
      run: ({ exit }) => exit(0),
    })
    expect(await channel.ended).toEqual({ exitCode: 0 })
    expect(channel.canEndInput).toBe(false)
  })

  it('notices a way that died without a word, and keeps what came (B089)', async () => {
    const channel = await exec(
      {
        run: ({ say, socket }) => {
          say(1, 'so far')
          // No pong any more, and no close: as if a cable had been pulled.
          ;(socket as unknown as { _socket: { pause(): void } })._socket.pause()
        },
      },
      { livenessMs: 300 },
    )
    expect(await all(channel)).toEqual({ stdout: 'so far', stderr: '', end: lost(/nothing was heard for/) })
  })

  it('survives a stall that is shorter than the limit, and silence of a command that has nothing to say', async () => {
    const channel = await exec(
      {
        run: ({ socket, exit }) => {
          const { _socket: wire } = socket as unknown as { _socket: { pause(): void; resume(): void } }
          wire.pause()
          setTimeout(() => wire.resume(), 600)
          setTimeout(() => exit(0), 2_500)
        },
      },
      { livenessMs: 1_500 },
    )
    expect(await all(channel)).toEqual({ stdout: '', stderr: '', end: { exitCode: 0 } })
  })

  it.each([
    ['OCI runtime exec failed: exec failed: unable to start container process: exec: "prog": executable file not found in $PATH: unknown', 'program_missing'],
    ['error executing command in container: exec: "prog": permission denied: unknown', 'program_not_executable'],
    ['container not found ("main")', 'site_gone'],
  ])('whose program could not be started says so: %s', async (message, reason) => {
    const channel = await exec({
      run: ({ say, socket }) => {
        say(3, JSON.stringify({ status: 'Failure', message, reason: 'InternalError', code: 500 }))
        socket.close(1000)
      },
    })
    await expect(channel.ended).rejects.toMatchObject({ details: { reason } })
  })

  it('knows the words of a runtime that prints them as output', async () => {
    const channel = await exec({
      run: ({ say, exit }) => {
        say(1, 'OCI runtime exec failed: exec failed: exec: "prog": executable file not found in $PATH: unknown\r\n')
        exit(126)
      },
    })
    expect((await all(channel)).end).toMatchObject({ details: { reason: 'program_missing', program: 'prog' } })
  })

  it.each([
    [404, { message: 'pods "box" not found', reason: 'NotFound', details: { name: 'box', kind: 'pods' } }, 'site_gone'],
    [400, { message: 'container other is not valid for pod box' }, 'backend_missing'],
    [400, { message: 'cannot exec into a container in a completed pod; current phase is Succeeded' }, 'site_gone'],
    [403, { message: 'pods "box" is forbidden: User "me" cannot get resource "pods/exec"' }, 'backend_denied'],
    [401, { message: 'Unauthorized' }, 'backend_unauthenticated'],
    [502, { message: 'bad gateway' }, 'backend_unavailable'],
  ])('that is refused with %s is an error before anything started: %o', async (http, body, reason) => {
    await expect(exec({ refuse: () => ({ http, body: JSON.stringify(body) }) })).rejects.toMatchObject({ details: { reason } })
    expect(server.execs).toHaveLength(0)
  })

  it('tries again where the server was too busy to look at it', async () => {
    const channel = await exec({ refuse: (_, attempt) => (attempt < 3 ? { http: 429, body: '{}' } : undefined), run: ({ exit }) => exit(0) })
    expect(await channel.ended).toEqual({ exitCode: 0 })
  })

  it('is let go at once when it is closed, and harmlessly twice', async () => {
    const channel = await exec({ run: ({ say }) => say(1, 'x') })
    channel.close()
    channel.close()
    expect((await all(channel)).end).toEqual(lost(/closed here/))
    await until(() => server.execs[0]?.socket.readyState === 3)
  })

  it('waits for a stream that nobody reads no longer than a moment', async () => {
    const channel = await exec({
      run: ({ say, exit }) => {
        say(1, 'unread')
        exit(0)
      },
    })
    expect(await channel.ended).toEqual({ exitCode: 0 })
  })
})

describe('a long command line', () => {
  it('does not travel in the address, but before the input', async () => {
    const argv: [string, ...string[]] = ['sh', '-c', `# ${'x'.repeat(9_000)}\necho "it's"; cat`]
    const { argv: short, first } = shorten(argv)
    expect(short.join(' ').length).toBeLessThan(200)
    const channel = await exec({ run: (each) => void until(() => each.inputEnded()).then(() => each.exit(0)) }, { argv })
    channel.stdin.end('the input')
    await channel.ended
    expect(server.execs[0]?.command).toEqual(short)
    expect(server.execs[0]?.input().toString()).toBe(`${first?.toString()}the input`)
  })

  it('stays as it is where it is short', () => {
    expect(shorten(['echo', 'hi'])).toEqual({ argv: ['echo', 'hi'], first: undefined })
  })
})
