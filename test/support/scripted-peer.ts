import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { answers, FrameReader, requests } from '../../src/supervisor/frames.ts'
import { buildFrame, type Field } from './bare-supervisor.ts'

/** A request as the peer got it. */
export interface Asked {
  readonly type: number
  readonly tag: number
  number(key: number): number | undefined
  text(key: number): string | undefined
  bytes(key: number): Buffer
  say(type: number, fields?: readonly Field[], tag?: number): void
  /** Bytes as they are. */
  blurt(bytes: Uint8Array): void
  hangUp(): void
}

/** Something at a socket that speaks frames and does with each request what a test says. */
export interface ScriptedPeer extends AsyncDisposable {
  readonly path: string
  /** All requests after HELLO, of all connections. */
  readonly asked: readonly Asked[]
  /** Pieces as they arrived. */
  readonly pieces: readonly Buffer[]
  readonly connections: number
  /** Waits until that many requests came. */
  got(count: number): Promise<void>
}

export const welcome: readonly Field[] = [
  [1, 1],
  [2, 4711],
  [3, 'boot:1'],
  [4, '0123abcd'],
]

export async function openPeer(path: string, answer: (asked: Asked) => void, greet?: (asked: Asked) => void): Promise<ScriptedPeer> {
  const asked: Asked[] = []
  const pieces: Buffer[] = []
  const sockets: Socket[] = []
  let wake = (): void => {}
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    const reader = new FrameReader((frame) => {
      const fields: [number, Buffer][] = []
      while (frame.next()) fields.push([frame.key, frame.bytes()])
      const find = (key: number): Buffer | undefined => fields.findLast(([own]) => own === key)?.[1]
      const one: Asked = {
        type: frame.type,
        tag: frame.tag,
        number: (key) => (find(key) ? Number(find(key)?.readBigUInt64LE()) : undefined),
        text: (key) => find(key)?.toString(),
        bytes: (key) => find(key) ?? Buffer.alloc(0),
        say: (type, more = [], tag = one.tag) => void socket.write(buildFrame(type, more, tag)),
        blurt: (bytes) => void socket.write(bytes),
        hangUp: () => socket.destroy(),
      }
      if (one.type === requests.hello) return greet ? greet(one) : one.say(answers.welcome, welcome)
      asked.push(one)
      answer(one)
      wake()
    })
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      reader.push(piece)
    })
  })
  server.listen(path)
  await once(server, 'listening')
  return {
    path,
    asked,
    pieces,
    get connections() {
      return sockets.length
    },
    async got(count) {
      while (asked.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
      rmSync(path, { force: true })
    },
  }
}
