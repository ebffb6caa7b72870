import { setMaxListeners } from 'node:events'
import { join } from 'node:path'
import type { Channel, ChannelRequest, Door } from '../../core/channel.ts'
import { failure } from '../../core/errors.ts'
import { type Attempt, attemptChannel, type SshChannel } from './channel.ts'
import { doorThrough } from './door.ts'
import { findMaster, isServing, startMaster } from './master.ts'
import type { SshCall } from './settings.ts'

/** Connections to one account: each carries as many sessions as the server allows (MaxSessions, 10 by default). */
const maxConnections = 8
/** How long a channel waits for another one to end where all connections are full. */
const queueMs = 60_000
/** Others may have left room in a connection that was full a moment ago. */
const retryMs = 1_000
/** A connection may end just when it is used: nothing was run then, so it is tried again. */
const maxAttempts = 4
/** While channels are open it is looked so often whether the master answers, which a stopped one never does. */
const watchMs = 10_000

interface Connection {
  /** Under which all processes find its master. */
  readonly name: string
  /** Ours, with the sockets of their masters. */
  readonly channels: Map<SshChannel, string>
  /** How many are being opened. */
  opening: number
  /** No room when last tried. */
  full: boolean
  /** The socket of a master that is no more, or does not answer. */
  dead: string | undefined
  starting: Promise<string> | undefined
}

export interface ConnectionsSettings {
  readonly call: SshCall
  readonly folder: string
  readonly idleMs: number
  readonly loginMs: number
  readonly greetMs: number
}

/** The connections of one site. Masters are shared with other processes; channels are our own. */
export class Connections {
  private readonly settings: ConnectionsSettings
  private readonly all: Connection[]
  private readonly closing = new AbortController()
  private readonly waiting = new Set<() => void>()
  private readonly watch: NodeJS.Timeout
  private watching = false

  constructor(settings: ConnectionsSettings) {
    this.settings = settings
    this.all = Array.from({ length: maxConnections }, (_, at) => ({
      name: join(settings.folder, `${settings.call.key}-${at}`),
      channels: new Map<SshChannel, string>(),
      opening: 0,
      full: false,
      dead: undefined,
      starting: undefined,
    }))
    // One for each channel that is being opened.
    setMaxListeners(0, this.closing.signal)
    this.watch = setInterval(() => void this.lookAfter(), watchMs)
    this.watch.unref()
  }

  /** Connects where nobody is connected yet. */
  async connect(signal: AbortSignal | undefined): Promise<void> {
    const [first] = this.all
    if (first) await this.serve(first, signal)
  }

  async open({ argv, signal: given }: ChannelRequest): Promise<Channel> {
    const { title } = this.settings.call.place
    const signal = given ? AbortSignal.any([given, this.closing.signal]) : this.closing.signal
    const deadline = performance.now() + queueMs
    for (let failed = 0; ; ) {
      if (this.closing.signal.aborted) throw failure('contact_lost', { target: title, why: 'the site was closed here' })
      if (signal.aborted) throw failure('canceled_before_start', {})
      const connection = this.all.find(({ full }) => !full)
      if (!connection) {
        if (performance.now() > deadline) {
          throw failure('backend_exhausted', {
            target: title,
            why: `the server takes no more sessions over ${maxConnections} connections (MaxSessions), and none ended for ${queueMs / 1000} seconds`,
          })
        }
        await this.room(signal)
        continue
      }
      const socket = await this.serve(connection, signal)
      const attempt = await this.attempt(connection, socket, { argv, signal })
      if (socket !== undefined && attempt.kind === 'open') return this.hold(connection, socket, attempt.channel)
      const isFull = attempt.kind === 'full' || (attempt.kind === 'unsure' && isInUse(connection))
      if (isFull) connection.full = true
      else if (findMaster(connection.name) === socket) connection.dead = socket
      failed += isFull ? 0 : 1
      if (failed >= maxAttempts) throw failure('backend_unavailable', { target: title, why: 'each connection ended before it could be used' })
    }
  }

  /** Through the first connection, which serves where anything was opened. */
  async door(socket: string): Promise<Door | undefined> {
    const master = this.all[0] && findMaster(this.all[0].name)
    return master === undefined || this.closing.signal.aborted ? undefined : doorThrough(this.settings.call, master, socket)
  }

  private async attempt(connection: Connection, socket: string | undefined, request: ChannelRequest): Promise<Attempt> {
    if (socket === undefined) return { kind: 'full' }
    connection.opening += 1
    try {
      return await attemptChannel(this.settings.call, socket, { ...this.settings, ...request })
    } finally {
      connection.opening -= 1
    }
  }

  /** Lets go of all channels; what others share lives on. */
  close(): void {
    clearInterval(this.watch)
    this.closing.abort()
    for (const { channels } of this.all) for (const channel of [...channels.keys()]) channel.close()
  }

  /** The socket of a master that serves, which is started where there is none; undefined where the server allows no further connection. */
  private async serve(connection: Connection, signal: AbortSignal | undefined): Promise<string | undefined> {
    const { call, idleMs } = this.settings
    if (!connection.starting) {
      const socket = findMaster(connection.name)
      if (socket !== undefined && socket !== connection.dead && (connection.channels.size > 0 || (await isServing(socket, this.settings.greetMs))))
        return socket
    }
    // Once for all who wait for it; whoever gives up does not take it from the others.
    connection.starting ??= startMaster(call, connection.name, idleMs, this.closing.signal).finally(() => {
      connection.starting = undefined
    })
    connection.starting.catch(() => {})
    try {
      return await unlessAborted(connection.starting, signal)
    } catch (error) {
      if (connection === this.all[0] || signal?.aborted || !this.all.some(isInUse)) throw error
      return undefined
    }
  }

  private hold(connection: Connection, socket: string, channel: SshChannel): Channel {
    connection.channels.set(channel, socket)
    void channel.ended
      .catch(() => {})
      .then(() => {
        connection.channels.delete(channel)
        for (const each of this.all) each.full = false
        for (const wake of [...this.waiting]) wake()
      })
    return channel
  }

  /** Waits until there may be room again. */
  private room(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.waiting.delete(wake)
        for (const each of this.all) each.full = false
        resolve()
      }
      const timer = setTimeout(wake, retryMs)
      signal.addEventListener('abort', wake)
      this.waiting.add(wake)
    })
  }

  private async lookAfter(): Promise<void> {
    if (this.watching) return
    this.watching = true
    const open = this.all.flatMap(({ channels }) => [...channels])
    for (const socket of new Set(open.map(([, each]) => each))) {
      if (await isServing(socket, 3 * this.settings.greetMs)) continue
      for (const [channel, its] of open) if (its === socket) channel.lose('the ssh that holds the connection does not answer any more')
    }
    this.watching = false
  }
}

const isInUse = ({ channels, opening }: Connection): boolean => channels.size + opening > 0

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  let cancel: () => void = () => {}
  const aborted = new Promise<never>((_, reject) => {
    cancel = () => reject(failure('canceled_before_start', {}))
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
