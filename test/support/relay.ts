import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a port of this machine that can be made to stall or to break, as networks do. */
export interface Relay extends AsyncDisposable {
  readonly port: number
  /** Bytes to the server so far. */
  readonly sent: number
  /** Passes nothing on, in either direction, and says nothing of it. */
  stall(): void
  /** Passes on again, with all that came meanwhile. */
  resume(): void
  /** Resets all connections. New ones are taken. */
  cut(): void
}

export async function openRelay(to: number): Promise<Relay> {
  const sockets = new Set<Socket>()
  let stalled = false
  let sent = 0
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: to, host: '127.0.0.1', allowHalfOpen: true })
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => into.destroy())
      from.on('data', (bytes) => {
        if (from === near) sent += bytes.length
        if (!into.write(bytes)) from.pause()
      })
      into.on('drain', () => stalled || from.resume())
      from.on('end', () => into.end())
      from.on('close', () => {
        sockets.delete(from)
        into.destroy()
      })
      if (stalled) from.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    get sent() {
      return sent
    },
    stall() {
      stalled = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      stalled = false
      for (const socket of sockets) socket.resume()
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
