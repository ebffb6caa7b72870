import { connect, type Socket } from 'node:net'
import type { StreamName } from '../core/command.ts'
import { errnoOf, failure, HoldfastError, hasReason, messageOf } from '../core/errors.ts'
import type { ProcessIdentity } from '../core/run.ts'
import { readWelcome, type WelcomeAnswer } from './answers.ts'
import { answers, type Frame, FrameReader, FrameWriter, requests } from './frames.ts'

/** One request and what may come of it. */
export interface Exchange<T> {
  /** As an error names it. */
  readonly request: string
  /** Begins the frame with this tag and adds its fields. */
  write(writer: FrameWriter, tag: number): unknown
  /** Undefined where the frame is no answer to this request: then the connection is given up. Throws what the request is to reject with. */
  read(frame: Frame): T | undefined
  /** What an ERROR with this code means; undefined: an error. */
  refused?(code: string): T | HoldfastError | undefined
  /** What to reject with where the request does not fit into a frame. */
  tooLarge?(): HoldfastError
}

/** What is told of a run, in order. */
export interface RunListener {
  readonly id: string
  onOutput(stream: StreamName, offset: number, bytes: Buffer): void
  /** `text` is the end record. The last word about the run. */
  onEnd(text: string): void
  onLost(error: HoldfastError): void
}

interface Waiting {
  readonly exchange: Exchange<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** What carries a connection, both ways. Whoever makes it has it hand what it reads to `Connection.read`, and its end to `Connection.lost`. */
export interface Carrier {
  /** `done` once the system has taken all of it, or will not. */
  write(bytes: Uint8Array, done: (error?: Error | null) => void): unknown
  /** Sends what was written, then lets go. */
  finish(): void
  /** Lets go at once. */
  destroy(): void
  /** Whether it is to keep this process alive. */
  hold(isNeeded: boolean): void
}

export interface ConnectionTerms {
  /** The path of the socket that the supervisor serves at, wherever that is. */
  readonly path: string
  /** After so long without a word the other side is asked whether it is there, after three times as long contact is lost. Absent: never. */
  readonly keepAliveMs?: number | undefined
}

const protocolVersion = 1
/** Larger than the largest frame of output, so that most frames are read where they arrive. */
const readBytes = 256 * 1024
const closeMs = 1_000
/** So much is taken only where somebody reads; what is less, a question for example, the system keeps for whoever reads no more. */
const largeBytes = 64 * 1024
/** In how many steps the silence before a question is counted. A process that was stopped for long counts one step, whatever time it was. */
const quietSteps = 3

/**
 * One connection to a supervisor, for any number of runs and requests at once. It keeps the process alive while an answer or an
 * end is waited for, and not otherwise. When contact is lost, everything that waits is told so, once.
 */
export class Connection {
  readonly path: string
  supervisor: ProcessIdentity = { pid: 0, startTime: '' }
  /** The same for the same program. */
  build = ''
  /** The folder that the supervisor keeps what it has; empty where it has none. */
  home = ''
  /** What the other side said of this connection before it closed it. */
  farewell: string | undefined
  readonly #carrier: Carrier
  readonly #writer = new FrameWriter()
  readonly #reader = new FrameReader((frame) => {
    if (!this.#receive(frame)) this.#distrust('what it sent is no answer of the protocol')
  })
  readonly #waiting = new Map<number, Waiting>()
  readonly #runs = new Map<string, RunListener>()
  #tag = 0
  #isFlushDue = false
  /** The tags of what is written and not handed to the system yet; 0 for what has none. */
  #due: number[] = []
  /** The last one that went out alone, until the system has taken all of it. */
  #leaving = 0
  #isHeld = true
  /** Why nothing can be asked any more. */
  #over: HoldfastError | undefined
  #isGone = false
  #whenGone: (() => void)[] = []
  /** How often in a row a look found that nothing had moved. */
  #quiet = 0
  #keepAlive: NodeJS.Timeout | undefined

  constructor({ path, keepAliveMs }: ConnectionTerms, carrier: Carrier) {
    this.path = path
    this.#carrier = carrier
    if (keepAliveMs !== undefined) this.#keepAlive = setInterval(() => this.#lookForLife(keepAliveMs), keepAliveMs / quietSteps).unref()
  }

  get open(): boolean {
    return this.#over === undefined
  }

  /** The carrier is gone; `error` where that is why. */
  lost(error?: Error): void {
    if (error) this.#lose(messageOf(error), error)
    else this.#lose(this.farewell ?? 'it closed the connection')
    this.#isGone = true
    for (const tell of this.#whenGone.splice(0)) tell()
  }

  read(piece: Buffer): void {
    this.#quiet = 0
    const state = this.#reader.push(piece)
    if (state === 'too_large' || state === 'bad_header') this.#distrust('what it sent is no frame of the protocol')
  }

  /** One answer to one request. */
  ask<T>(exchange: Exchange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => void this.send(exchange, resolve, reject))
  }

  /** Like `ask`, for those who may stop waiting: gives what `forget` takes. */
  send<T>(exchange: Exchange<T>, resolve: (value: T) => void, reject: (error: unknown) => void): number {
    if (this.#over) {
      reject(unsent(this.#over))
      return 0
    }
    const tag = this.#nextTag()
    exchange.write(this.#writer, tag)
    if (!this.#writer.end()) {
      reject(exchange.tooLarge?.() ?? failure('supervisor_refused', { request: exchange.request, answer: 'too_large', why: '' }))
      return 0
    }
    this.#waiting.set(tag, { exchange, resolve, reject } as Waiting)
    this.#due.push(tag)
    if (this.#writer.isLarge) this.#flush()
    else this.#flushSoon()
    this.#holdOrLetGo()
    return tag
  }

  /** The answer is not waited for any more. */
  forget(tag: number): void {
    if (this.#waiting.delete(tag)) this.#holdOrLetGo()
  }

  /** Sends a request whose answer nobody needs. Without effect where contact is lost. */
  tell(write: (writer: FrameWriter, tag: number) => unknown): void {
    if (this.#over) return
    write(this.#writer, this.#nextTag())
    if (!this.#writer.end()) return
    this.#due.push(0)
    this.#flushSoon()
  }

  isListening(run: string): boolean {
    return this.#runs.has(run)
  }

  listen(listener: RunListener): void {
    this.#runs.set(listener.id, listener)
    this.#holdOrLetGo()
  }

  unlisten(listener: RunListener): void {
    if (this.#runs.get(listener.id) === listener && this.#runs.delete(listener.id)) this.#holdOrLetGo()
  }

  async close(): Promise<void> {
    this.#flush()
    this.#end(failure('closed', {}))
    if (this.#isGone) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#carrier.destroy(), closeMs)
      this.#whenGone.push(() => {
        clearTimeout(timer)
        resolve()
      })
      this.#carrier.finish()
    })
  }

  /** Never 0: what carries that is no answer. */
  #nextTag(): number {
    do this.#tag = (this.#tag + 1) >>> 0 || 1
    while (this.#waiting.has(this.#tag))
    return this.#tag
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    // What is asked for in one turn goes out in one write.
    process.nextTick(() => {
      this.#isFlushDue = false
      this.#flush()
    })
  }

  #flush(): void {
    const bytes = this.#writer.take()
    const due = this.#due
    this.#due = []
    if (!bytes || this.#over) return
    const alone = due.length === 1 ? (due[0] as number) : 0
    this.#leaving = alone
    this.#carrier.write(bytes, (error) => {
      if (error) return
      this.#writer.giveBack(bytes)
      if (bytes.length >= largeBytes) this.#quiet = 0
      if (this.#leaving === alone) this.#leaving = 0
    })
  }

  #holdOrLetGo(): void {
    const isNeeded = this.#waiting.size > 0 || this.#runs.size > 0
    if (isNeeded === this.#isHeld) return
    this.#isHeld = isNeeded
    this.#carrier.hold(isNeeded)
  }

  /** A large request takes its time on a slow way: what is taken from us is a sign of life, too. */
  #lookForLife(keepAliveMs: number): void {
    this.#quiet += 1
    if (this.#quiet === quietSteps) this.tell((writer, tag) => writer.begin(requests.ping, tag))
    else if (this.#quiet > quietSteps * 3) this.#distrust(`nothing was heard of it for ${keepAliveMs * 3} ms`)
  }

  /** False where the frame is nothing that a supervisor says. */
  #receive(frame: Frame): boolean {
    if (frame.type === answers.output) return this.#receiveOutput(frame)
    if (frame.type === answers.ended) return this.#receiveEnd(frame)
    const waiting = this.#waiting.get(frame.tag)
    if (frame.type === answers.error) return this.#receiveError(frame, waiting)
    // It was forgotten meanwhile, or is the answer to what nobody needs to know.
    if (!waiting) return true
    let value: unknown
    try {
      value = waiting.exchange.read(frame)
    } catch (error) {
      this.#answered(frame.tag, () => waiting.reject(error))
      return true
    }
    while (frame.next()) {
      // To see whether the fields add up.
    }
    if (value === undefined || frame.malformed) return false
    this.#answered(frame.tag, () => waiting.resolve(value as never))
    return true
  }

  #answered(tag: number, settle: () => void): void {
    this.#waiting.delete(tag)
    settle()
    this.#holdOrLetGo()
  }

  #receiveOutput(frame: Frame): boolean {
    let run = ''
    let stream: number | undefined
    let offset: number | undefined
    let bytes: Buffer | undefined
    while (frame.next()) {
      if (frame.key === 1) run = frame.text()
      else if (frame.key === 2) stream = frame.number()
      else if (frame.key === 3) offset = frame.number()
      else if (frame.key === 4) bytes = frame.bytes()
    }
    if (frame.malformed || (stream !== 1 && stream !== 2) || offset === undefined || !bytes) return false
    this.#runs.get(run)?.onOutput(stream === 1 ? 'stdout' : 'stderr', offset, bytes)
    return true
  }

  #receiveEnd(frame: Frame): boolean {
    let run = ''
    let record: string | undefined
    while (frame.next()) {
      if (frame.key === 1) run = frame.text()
      else if (frame.key === 2) record = frame.text()
    }
    if (frame.malformed || record === undefined) return false
    const listener = this.#runs.get(run)
    if (listener) {
      this.#runs.delete(run)
      listener.onEnd(record)
      this.#holdOrLetGo()
    }
    return true
  }

  #receiveError(frame: Frame, waiting: Waiting | undefined): boolean {
    let code = ''
    let message = ''
    let field = ''
    while (frame.next()) {
      if (frame.key === 1) code = frame.text()
      else if (frame.key === 2) message = frame.text()
      else if (frame.key === 3) field = frame.text()
    }
    if (frame.malformed || code === '') return false
    const why = [message, field && `field ${field}`].filter(Boolean).join(', ')
    if (waiting) {
      const meaning = waiting.exchange.refused?.(code)
      this.#answered(frame.tag, () => {
        if (meaning !== undefined && !(meaning instanceof HoldfastError)) waiting.resolve(meaning as never)
        else waiting.reject(meaning ?? failure('supervisor_refused', { request: waiting.exchange.request, answer: code, why }))
      })
    }
    // Without a request it is about the connection, which is closed next.
    else if (frame.tag === 0) this.farewell = `${code}${why && ` (${why})`}`
    return true
  }

  /** Nothing that it sends now could be relied on. */
  #distrust(why: string): void {
    this.#lose(why, new Error(why))
  }

  #lose(why: string, cause?: unknown): void {
    this.#end(failure('supervisor_lost', { why }, cause))
    this.#carrier.destroy()
  }

  /** Tells everybody who waits, once. */
  #end(error: HoldfastError): void {
    if (this.#over) return
    this.#over = error
    clearInterval(this.#keepAlive)
    this.#reader.stop()
    // Nobody read a frame of which a part was refused.
    const unread = new Set(errnoOf(error.cause) === 'EPIPE' ? [...this.#due, this.#leaving] : this.#due)
    const waiting = [...this.#waiting]
    const runs = [...this.#runs.values()]
    this.#waiting.clear()
    this.#runs.clear()
    for (const [tag, { reject }] of waiting) reject(unread.has(tag) ? unsent(error) : error)
    for (const run of runs) run.onLost(error)
  }
}

/** The error of a request that surely never reached the supervisor: whoever asked may ask another one. */
function unsent(error: HoldfastError): HoldfastError {
  const { reason, why } = error.details
  return reason === 'supervisor_lost' ? failure('supervisor_lost', { why: String(why), unsent: true }, error.cause) : error
}

/** What is at a path: nobody who serves, somebody who has no time right now, or a connection. */
export type Reached = 'nobody' | 'busy' | Connection

const nobody = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'])

/**
 * Connects to a supervisor and greets it. Rejects where something is there that cannot be used, or does not answer in time. `terms` where
 * the path leads to a supervisor that is somewhere else.
 */
export async function openConnection(path: string, timeoutMs: number, terms: ConnectionTerms = { path }): Promise<Reached> {
  let connection: Connection | undefined
  const socket = connect({
    path,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback: (length, bytes) => {
        connection?.read((bytes as Buffer).subarray(0, length))
        return true
      },
    },
  })
  connection = new Connection(terms, socketCarrier(socket))
  const opened = connection
  socket.on('error', (error) => opened.lost(error))
  socket.on('close', () => opened.lost())
  try {
    await greet(connection, timeoutMs, (error) => socket.destroy(error))
    return connection
  } catch (error) {
    const cause = (error as Error).cause
    const errno = errnoOf(cause)
    if (errno === 'EAGAIN') return 'busy'
    // Closed without a word: it was just ending.
    if (errno ? nobody.has(errno) : hasReason(error, 'supervisor_lost') && !cause && !connection.farewell) return 'nobody'
    throw failure('supervisor_unavailable', { why: `${path}: ${connection.farewell ?? messageOf(cause ?? error)}` }, error)
  }
}

function socketCarrier(socket: Socket): Carrier {
  return {
    write: (bytes, done) => socket.write(bytes, done),
    finish: () => socket.destroySoon(),
    destroy: () => socket.destroy(),
    hold: (isNeeded) => (isNeeded ? socket.ref() : socket.unref()),
  }
}

/** The first words over a connection. Where they do not come in time, or are wrong, `giveUp` is called, and what it tells the connection is why. */
export async function greet(connection: Connection, timeoutMs: number, giveUp: (error?: Error) => void): Promise<void> {
  const timer = setTimeout(() => giveUp(new Error(`it did not answer within ${timeoutMs} ms`)), timeoutMs)
  try {
    const { pid, startTime, build, home } = await connection.ask(hello)
    connection.supervisor = { pid, startTime }
    connection.build = build
    connection.home = home
  } finally {
    clearTimeout(timer)
    if (!connection.supervisor.pid) giveUp()
  }
}

const hello: Exchange<WelcomeAnswer> = {
  request: 'HELLO',
  write: (writer, tag) => writer.begin(requests.hello, tag).number(1, protocolVersion).number(2, protocolVersion),
  read(frame) {
    const welcome = readWelcome(frame)
    return welcome?.version === protocolVersion ? welcome : undefined
  },
}
