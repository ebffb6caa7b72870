import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type StatusBody, success } from './api-status.ts'
import type { StartedProcess } from './pod-process.ts'
import type { ExecFault } from './switches.ts'

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const

/** Past so much that waits to be sent, the command waits, too. */
const highWater = 256 * 1024

/** After its end, so long what else it started may hold its output open. */
const drainMs = 2_000

export interface ExecTerms {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly fault: ExecFault | undefined
  readonly argv: readonly string[]
  readonly process: StartedProcess
  /** What is told in the place of the status of the process, where there is none. */
  readonly status?: StatusBody
}

/** The status that an end of a command is told with. */
export function statusOf(code: number, argv: readonly string[] = []): StatusBody {
  if (code === 0) return success()
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: error executing command [${argv.join(' ')}], exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  }
}

/** Which subprotocol both sides speak; undefined: none. */
export function commonProtocol(request: IncomingMessage, offered: readonly string[]): string | undefined {
  const asked = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  return asked.find((name) => offered.includes(name))
}

export class ExecSockets {
  private readonly server = new WebSocketServer({ noServer: true, perMessageDeflate: false, handleProtocols: () => false })
  private readonly open = new Set<WebSocket>()

  get size(): number {
    return this.open.size
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer, protocol: string, terms: ExecTerms): void {
    // The one that was agreed on: the choice of `ws` would be another.
    this.server.options.handleProtocols = () => protocol
    this.server.handleUpgrade(request, socket, head, (connection) => {
      this.open.add(connection)
      connection.on('close', () => this.open.delete(connection))
      new ExecConnection(connection, protocol, terms).begin()
    })
  }

  /** Ends all connections without a word; the commands go on. */
  cutAll(): void {
    for (const connection of this.open) connection.terminate()
  }

  /** Ends all of them as a proxy would that is going down: with a close and no status. */
  closeAll(code: number): void {
    for (const connection of this.open) connection.close(code)
  }
}

class ExecConnection {
  private readonly connection: WebSocket
  private readonly protocol: string
  private readonly terms: ExecTerms
  private sent = 0
  private waiting: { channel: number; bytes: Buffer } | undefined
  private isStalled = false
  private isDropped = false
  private readonly queue: (() => void)[] = []

  constructor(connection: WebSocket, protocol: string, terms: ExecTerms) {
    this.connection = connection
    this.protocol = protocol
    this.terms = terms
  }

  begin(): void {
    const { connection, terms } = this
    const { process } = terms
    connection.on('error', () => {})
    connection.on('message', (data, isBinary) => this.hear(isBinary ? (data as Buffer) : Buffer.from(data.toString())))
    // A command whose client is gone only sees the end of its input. What it prints is read and thrown away.
    connection.on('close', () => {
      process.stdin?.destroy()
      process.stdout.resume()
      process.stderr.resume()
    })
    // An empty message to the first channel says that the command was started.
    this.send(terms.stdout ? channels.stdout : terms.stderr ? channels.stderr : channels.status, Buffer.alloc(0))
    if (!terms.stdin) process.stdin?.end()
    const over = [this.carry(process.stdout, channels.stdout, terms.stdout), this.carry(process.stderr, channels.stderr, terms.stderr)]
    void process.exited.then(async (code) => {
      let timer: NodeJS.Timeout | undefined
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, drainMs)
      })
      // A client that is slow to take the output is waited for.
      while (!(await Promise.race([Promise.all(over).then(() => true), enough.then(() => !this.isBehind())])))
        await new Promise((resolve) => setTimeout(resolve, 20))
      clearTimeout(timer)
      this.finish(code)
    })
  }

  private hear(message: Buffer): void {
    const channel = message[0]
    const bytes = message.subarray(1)
    const { stdin } = this.terms.process
    if (channel === channels.close && this.protocol.startsWith('v5')) {
      if (bytes[0] === channels.stdin && this.terms.stdin) stdin?.end()
      return
    }
    if (channel !== channels.stdin || !this.terms.stdin || bytes.length === 0 || !stdin?.writable) return
    if (stdin.write(bytes)) return
    this.connection.pause()
    const go = (): void => {
      stdin.off('drain', go).off('close', go)
      if (this.connection.readyState === this.connection.OPEN) this.connection.resume()
    }
    stdin.on('drain', go).on('close', go)
  }

  private carry(stream: StartedProcess['stdout'], channel: number, isWanted: boolean): Promise<void> {
    return new Promise((resolve) => {
      stream.on('close', resolve).on('end', resolve)
      if (!isWanted) {
        stream.resume()
        return
      }
      stream.on('data', (piece: Buffer) => {
        this.output(channel, piece)
        if (this.connection.bufferedAmount <= highWater && !this.isStalled) return
        stream.pause()
        this.whenRoom(() => stream.resume())
      })
    })
  }

  private isBehind(): boolean {
    return this.connection.readyState === this.connection.OPEN && (this.isStalled || this.connection.bufferedAmount > 0)
  }

  private whenRoom(go: () => void): void {
    if (this.connection.readyState !== this.connection.OPEN) go()
    else if (this.isStalled) this.queue.push(() => this.whenRoom(go))
    else if (this.connection.bufferedAmount <= highWater) go()
    else setTimeout(() => this.whenRoom(go), 5)
  }

  private output(channel: number, piece: Buffer): void {
    const { fault } = this.terms
    let bytes = piece
    if (fault?.gatherBytes !== undefined || fault?.status === 'early') {
      const before = this.waiting
      if (before && before.channel === channel && fault.gatherBytes !== undefined && before.bytes.length + bytes.length < fault.gatherBytes) {
        this.waiting = { channel, bytes: Buffer.concat([before.bytes, bytes]) }
        return
      }
      this.waiting = { channel, bytes }
      if (!before) return
      bytes = before.bytes
      this.say(before.channel, bytes)
      return
    }
    this.say(channel, bytes)
  }

  /** Output with what goes wrong on its way. */
  private say(channel: number, bytes: Buffer): void {
    const { fault } = this.terms
    if (this.isDropped) return
    if (this.isStalled) {
      this.queue.push(() => this.say(channel, bytes))
      return
    }
    const size = fault?.messageBytes ?? 32 * 1024
    for (let start = 0; start < bytes.length && !this.isDropped; start += size) {
      const piece = bytes.subarray(start, start + size)
      const stallAt = fault?.stall && this.sent < fault.stall.afterBytes && this.sent + piece.length >= fault.stall.afterBytes ? fault.stall : undefined
      const dropAt = fault?.dropAfterBytes
      if (dropAt !== undefined && this.sent + piece.length >= dropAt) {
        this.send(channel, piece.subarray(0, dropAt - this.sent))
        this.drop()
        return
      }
      this.send(channel, piece)
      this.sent += piece.length
      if (stallAt) {
        this.stall(stallAt.forMs)
        const rest = bytes.subarray(start + size)
        if (rest.length > 0) this.queue.push(() => this.say(channel, rest))
        return
      }
    }
  }

  private stall(ms: number): void {
    this.isStalled = true
    if (!Number.isFinite(ms)) return
    setTimeout(() => {
      this.isStalled = false
      for (const go of this.queue.splice(0)) go()
    }, ms)
  }

  private drop(): void {
    this.isDropped = true
    const { end = 'abrupt' } = this.terms.fault ?? {}
    // What was sent is to arrive first.
    if (end === 'abrupt') this.whenSent(() => this.connection.terminate())
    else this.connection.close(end)
  }

  private whenSent(go: () => void): void {
    if (this.connection.bufferedAmount === 0 || this.connection.readyState !== this.connection.OPEN) go()
    else setTimeout(() => this.whenSent(go), 2)
  }

  private finish(code: number): void {
    if (this.isDropped) return
    if (this.isStalled) {
      this.queue.push(() => this.finish(code))
      return
    }
    const { fault } = this.terms
    const last = this.waiting
    this.waiting = undefined
    if (last && fault?.status !== 'early') this.say(last.channel, last.bytes)
    if (this.isStalled || this.isDropped) {
      this.queue.push(() => this.finish(code))
      return
    }
    if (fault?.status === 'none') {
      this.drop()
      return
    }
    // The node says it without a kind and a version.
    const { kind: _, apiVersion: __, ...told } = this.terms.status ?? statusOf(code, this.terms.argv)
    const status = JSON.stringify(told)
    this.send(channels.status, Buffer.from(fault?.status === 'text' ? (code === 0 ? 'Success' : `command terminated with exit code ${code}`) : status))
    if (last && fault?.status === 'early') this.say(last.channel, last.bytes)
    this.connection.close(1000)
  }

  private send(channel: number, bytes: Buffer): void {
    if (this.connection.readyState !== this.connection.OPEN) return
    const message = Buffer.concat([Buffer.from([channel]), bytes])
    const size = this.terms.fault?.fragmentBytes
    if (size === undefined || message.length <= size) {
      this.connection.send(message)
      return
    }
    for (let start = 0; start < message.length; start += size) {
      this.connection.send(message.subarray(start, start + size), { fin: start + size >= message.length })
    }
  }
}
