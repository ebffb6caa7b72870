import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The way to the server: a program in between that can be slow, silent or gone. */
export interface Link {
  readonly port: number
  /** Bytes each second and direction of a connection; undefined: as fast as it goes. */
  bytesPerSecond: number | undefined
  /** Nothing arrives any more, in both directions, on old and new connections; none is closed. */
  blackhole(): void
  /** What was held back goes on. */
  heal(): void
  /** A blackhole for so long. */
  stall(ms: number): void
  /** Ends all connections, as a reset. */
  cut(): void
  /** Refuses new connections and ends the old ones. */
  down(): Promise<void>
  /** On the same port as before. */
  up(): Promise<void>
  readonly connections: number
}

export async function openLink(to: number): Promise<Link> {
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>()
  const waiting = new Set<() => void>()
  let isBlack = false
  let listener: Server | undefined
  let port = 0

  const carry = (from: Socket, into: Socket): void => {
    from.on('data', (piece: Buffer) => {
      from.pause()
      const go = (): void => {
        if (isBlack) {
          waiting.add(go)
          return
        }
        const resume = (): void => void from.resume()
        const written = into.write(piece)
        const speed = link.bytesPerSecond
        if (speed !== undefined) setTimeout(resume, (piece.length / speed) * 1000)
        else if (written) resume()
        else into.once('drain', resume)
      }
      go()
    })
    const later = (end: () => void): void => {
      const go = (): void => void (isBlack ? waiting.add(go) : end())
      go()
    }
    from.on('end', () => later(() => into.end()))
    from.on('error', () => later(() => into.destroy()))
    from.on('close', () => later(() => into.destroySoon()))
  }
  const accept = (client: Socket): void => {
    const server = connect({ port: to, host: '127.0.0.1', allowHalfOpen: true })
    const pair = { client, server }
    pairs.add(pair)
    client.setNoDelay(true)
    server.setNoDelay(true)
    carry(client, server)
    carry(server, client)
    const forget = (): void => {
      if (client.destroyed && server.destroyed) pairs.delete(pair)
    }
    client.on('close', forget)
    server.on('close', forget)
  }
  const cut = (): void => {
    for (const { client, server } of [...pairs]) {
      client.resetAndDestroy()
      server.destroy()
    }
    pairs.clear()
  }
  const link: Link = {
    get port() {
      return port
    },
    get connections() {
      return pairs.size
    },
    bytesPerSecond: undefined,
    blackhole() {
      isBlack = true
    },
    heal() {
      isBlack = false
      for (const go of [...waiting]) {
        waiting.delete(go)
        go()
      }
    },
    stall(ms) {
      link.blackhole()
      setTimeout(() => link.heal(), ms).unref()
    },
    cut,
    async down() {
      const server = listener
      listener = undefined
      cut()
      if (server) await new Promise<void>((resolve) => server.close(() => resolve()))
    },
    up: () =>
      new Promise((resolve, reject) => {
        if (listener) {
          resolve()
          return
        }
        // A slow link must not be a large one: what is held back is held back at the sender.
        const server = createServer({ allowHalfOpen: true, highWaterMark: 16 * 1024 }, accept)
        listener = server
        server.on('error', reject)
        server.listen(port, '127.0.0.1', () => {
          port = (server.address() as AddressInfo).port
          resolve()
        })
      }),
  }
  await link.up()
  return link
}
