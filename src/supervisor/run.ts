import type { Confirmed, OutputChunk } from '../core/backend.ts'
import type { StreamName } from '../core/command.ts'
import { type EndRecord, parseEndRecord } from '../core/end-record.ts'
import { failure, type HoldfastError } from '../core/errors.ts'
import type { Leftover, ProcessIdentity } from '../core/run.ts'
import { linuxSignals } from '../core/signals.ts'
import type { RunStatus, SupervisedRun } from '../core/supervised.ts'
import { type ListedProcess, readDone, readOk, readProcesses, readStatus, readTaken } from './answers.ts'
import type { Connection, Exchange, RunListener } from './connection.ts'
import { type FrameWriter, requests } from './frames.ts'
import { OutputQueue } from './output-queue.ts'

/** What may be on the way to a listener without an ACK: the default of the protocol. */
const windowBytes = 1024 * 1024
const maxInputBytes = 64 * 1024
/** The cause of a STOP: somebody wants it. */
const canceled = 1

export interface RunTerms {
  readonly id: string
  readonly process: ProcessIdentity
  /** What requests go over. */
  readonly connection: Connection
  /** What tells of output and end, until the run is over or released; `connection` where it is absent. */
  readonly listening?: Connection
  /** Called once, when nothing more will be told. */
  readonly whenDone?: () => void
}

/** One run of a supervisor. It listens from its making on. */
export class Run implements SupervisedRun, RunListener {
  readonly id: string
  readonly process: ProcessIdentity
  /** The end record as the supervisor made it, once there is one. */
  recordText: string | undefined
  readonly #connection: Connection
  readonly #listening: Connection
  readonly #whenDone: (() => void) | undefined
  readonly #queue = new OutputQueue((bytes) => this.#took(bytes))
  /** Handed over and not yet given back to the window. */
  #takenBytes = 0
  #record: EndRecord | undefined
  /** Why nothing is told any more although the run may go on. */
  #loss: HoldfastError | undefined
  #ended: Promise<EndRecord> | undefined
  #settleEnded: { resolve: (record: EndRecord) => void; reject: (error: HoldfastError) => void } | undefined
  /** Writes go out one after the other. */
  #writing: Promise<void> = Promise.resolve()
  /** Lets a write that waits for the command go. */
  #stopWriting: (() => void) | undefined

  constructor({ id, process, connection, listening, whenDone }: RunTerms) {
    this.id = id
    this.process = process
    this.#connection = connection
    this.#listening = listening ?? connection
    this.#whenDone = whenDone
    this.#listening.listen(this)
  }

  get output(): AsyncIterable<OutputChunk> {
    return this.#queue
  }

  get ended(): Promise<EndRecord> {
    if (this.#ended) return this.#ended
    if (this.#record) this.#ended = Promise.resolve(this.#record)
    else if (this.#loss) this.#ended = Promise.reject(this.#loss)
    else {
      this.#ended = new Promise((resolve, reject) => {
        this.#settleEnded = { resolve, reject }
      })
    }
    // Whoever waits is told; a rejection that nobody waits for is no reason to end the process.
    this.#ended.catch(() => {})
    return this.#ended
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#afterWrites(async () => {
      for (let at = 0; at < bytes.length && !this.#record; at += maxInputBytes) await this.#writePart(bytes.subarray(at, at + maxInputBytes))
    })
  }

  endInput(): Promise<void> {
    return this.#afterWrites(async () => {
      if (!this.#record) await this.#ask('END_INPUT', requests.endInput, () => {}, readOk, true)
    })
  }

  async resize(rows: number, columns: number): Promise<void> {
    if (!this.#record) await this.#ask('RESIZE', requests.resize, (writer) => writer.number(9, rows).number(10, columns), readOk, true)
  }

  async signal(name: NodeJS.Signals): Promise<Confirmed> {
    const number = signalNumber(name)
    if (this.#record) return { delivered: false }
    return { delivered: (await this.#ask('SIGNAL', requests.signal, (writer) => writer.number(2, number), readDone, 0)) > 0 }
  }

  async stop(request: { readonly signal?: NodeJS.Signals | undefined; readonly graceMs?: number | undefined }): Promise<{ readonly left: number }> {
    const first = request.signal && signalNumber(request.signal)
    if (this.#record) return { left: 0 }
    const fields = (writer: FrameWriter): void => {
      writer.number(2, canceled)
      if (first !== undefined) writer.number(3, first)
      if (request.graceMs !== undefined) writer.number(4, Math.ceil(request.graceMs))
    }
    return { left: await this.#ask('STOP', requests.stop, fields, readDone, 0) }
  }

  async tree(): Promise<readonly Leftover[]> {
    if (this.#record) return this.#record.leftovers.map(({ pid, name }) => ({ pid, name }))
    const found = await this.#ask('TREE', requests.tree, () => {}, readProcesses, [] as readonly ListedProcess[])
    return found.flatMap(({ pid, startTime, name }) => (pid === this.process.pid && startTime === this.process.startTime ? [] : [{ pid, name }]))
  }

  async status(): Promise<RunStatus> {
    if (this.#record) return statusAtEnd(this.#record)
    return this.#connection.ask({
      request: 'STATUS',
      write: (writer, tag) => void writer.begin(requests.status, tag).text(1, this.id),
      read: readStatus,
      refused: (code) => (code === 'no_such_run' ? failure('run_ended', { run: this.id }) : undefined),
    })
  }

  release(): void {
    if (this.#record || this.#loss) return
    this.#listening.unlisten(this)
    this.#listening.tell((writer, tag) => writer.begin(requests.unwatch, tag).text(1, this.id))
    this.onLost(failure('supervisor_lost', { why: `nobody listens to run ${this.id} any more` }))
  }

  onOutput(stream: StreamName, offset: number, bytes: Buffer): void {
    this.#queue.push(stream, offset, bytes)
  }

  onEnd(text: string): void {
    const record = parseEndRecord(text, this.id)
    if (!record) {
      this.onLost(failure('supervisor_lost', { why: `the end record of run ${this.id} cannot be read` }))
      return
    }
    this.#record = record
    this.recordText = text
    this.#settleEnded?.resolve(record)
    this.#stopWriting?.()
    this.#queue.end()
    this.#whenDone?.()
  }

  onLost(error: HoldfastError): void {
    this.#loss = error
    this.#settleEnded?.reject(error)
    this.#queue.end()
    this.#whenDone?.()
  }

  /** Window is given back in few messages; a run that is over needs none. */
  #took(bytes: number): void {
    this.#takenBytes += bytes
    if (this.#takenBytes < windowBytes / 2 || this.#record || this.#loss) return
    const taken = this.#takenBytes
    this.#takenBytes = 0
    this.#listening.tell((writer, tag) => writer.begin(requests.ack, tag).text(1, this.id).number(2, taken))
  }

  #afterWrites(step: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(step)
    this.#writing = done.catch(() => {})
    return done
  }

  /** Also over when the run is: something that it left behind may hold the pipe without reading. */
  #writePart(bytes: Uint8Array): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const exchange: Exchange<true> = {
        request: 'INPUT',
        write: (writer, tag) => void writer.begin(requests.input, tag).text(1, this.id).raw(2, bytes),
        read: readTaken,
        refused: (code) => inputRefusals[code]?.(this.id),
      }
      const tag = this.#connection.send(exchange, () => resolve(), reject)
      this.#stopWriting = () => {
        this.#connection.forget(tag)
        resolve()
      }
    })
  }

  /** A request about this run; `over` is the answer where there is no such run any more. */
  #ask<T>(request: string, type: number, fields: (writer: FrameWriter) => unknown, read: Exchange<T>['read'], over: T): Promise<T> {
    return this.#connection.ask<T>({
      request,
      write: (writer, tag) => void fields(writer.begin(type, tag).text(1, this.id)),
      read,
      refused: (code) => (code === 'no_such_run' ? over : undefined),
    })
  }
}

// A command that is gone reads nothing more, which is its business.
const inputRefusals: Readonly<Record<string, ((run: string) => HoldfastError | true) | undefined>> = {
  no_such_run: () => true,
  input_closed: (run) => failure('input_closed', { run }),
  input_full: (run) => failure('input_full', { run }),
}

function signalNumber(name: NodeJS.Signals): number {
  const number = linuxSignals[name]
  if (number === undefined) throw failure('invalid', { field: 'signal', value: name, accepted: 'the name of a signal, like SIGTERM' })
  return number
}

function statusAtEnd(record: EndRecord): RunStatus {
  const { stdout, stderr } = record
  return {
    state: 'ended',
    elapsedMs: record.durationMs,
    stdout: { bytes: stdout.bytes, lines: stdout.lines },
    stderr: { bytes: stderr.bytes, lines: stderr.lines },
    silentMs: 0,
    takesInput: false,
  }
}
