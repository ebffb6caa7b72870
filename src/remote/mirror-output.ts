import type { OutputChunk } from '../core/backend.ts'
import { type StreamName, streamNames } from '../core/command.ts'
import type { Listening } from '../core/supervised.ts'
import type { LocalLog } from './local-log.ts'

type Logs = Readonly<Record<StreamName, LocalLog>>
type Offsets = Record<StreamName, number>

/** What waits for a listener at most; one that is slower is served from the logs. */
const maxWaitingBytes = 1024 * 1024
const pieceBytes = 64 * 1024

/** The output of a mirrored run on its way to one listener, by the rules of `Listening`. */
export class MirrorOutput implements AsyncIterable<OutputChunk>, AsyncIterator<OutputChunk> {
  readonly #listen: Listening
  readonly #logs: Logs
  /** Where the listener stands, and where the run does. */
  readonly #at: Offsets
  readonly #end: Offsets
  #waiting: OutputChunk[] = []
  #waitingBytes = 0
  /** The newest of each stream, for those who want no more. */
  readonly #newest: Partial<Record<StreamName, OutputChunk>> = {}
  #timer: NodeJS.Timeout | undefined
  #shownAt = Number.NEGATIVE_INFINITY
  #wake: (() => void) | undefined
  #isOver = false

  constructor(listen: Listening, logs: Logs, from: Offsets) {
    this.#listen = listen
    this.#logs = logs
    this.#at = { ...from }
    this.#end = { ...from }
  }

  /** Whoever pushes has written it to the log before. */
  push(chunk: OutputChunk): void {
    const { stream, offset, bytes } = chunk
    this.#end[stream] = Math.max(this.#end[stream], offset + bytes.length)
    if (this.#isOver || this.#listen.kind === 'nothing') return
    if (this.#listen.kind === 'tail') {
      this.#show(chunk, this.#listen.everyMs)
      return
    }
    this.#waiting.push(chunk)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > maxWaitingBytes) this.#drop()
    this.#wake?.()
  }

  /** The run has had as much as that: what the listener does not have of it is in the log. */
  reach(stream: StreamName, end: number): void {
    this.#end[stream] = Math.max(this.#end[stream], end)
  }

  /** Nothing more comes; what is there is still handed over. */
  end(): void {
    if (!this.#isOver && this.#listen.kind === 'tail') this.#flush()
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#wake?.()
  }

  [Symbol.asyncIterator](): AsyncIterator<OutputChunk> {
    return this
  }

  async next(): Promise<IteratorResult<OutputChunk>> {
    for (;;) {
      const chunk = this.#take()
      if (chunk) return { done: false, value: chunk }
      if (this.#isOver) return { done: true, value: undefined }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
  }

  /** Whoever iterates has seen enough. */
  return(): Promise<IteratorResult<OutputChunk>> {
    this.#drop()
    for (const stream of streamNames) this.#at[stream] = Number.POSITIVE_INFINITY
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }

  #drop(): void {
    this.#waiting = []
    this.#waitingBytes = 0
  }

  #take(): OutputChunk | undefined {
    for (;;) {
      const first = this.#waiting[0]
      if (!first) return this.#listen.kind === 'everything' ? streamNames.map((stream) => this.#fromLog(stream, this.#end[stream])).find(Boolean) : undefined
      const { stream, offset, bytes } = first
      const at = this.#at[stream]
      if (this.#listen.kind === 'everything' && offset > at) {
        const before = this.#fromLog(stream, offset)
        if (before) return before
      }
      this.#waiting.shift()
      this.#waitingBytes -= bytes.length
      if (this.#listen.kind === 'everything' && offset + bytes.length <= at) continue
      const known = this.#listen.kind === 'everything' ? Math.max(0, at - offset) : 0
      this.#at[stream] = offset + bytes.length
      return known === 0 ? first : { stream, offset: offset + known, bytes: bytes.subarray(known) }
    }
  }

  /** What the listener did not get in time; what the log does not have either is left out. */
  #fromLog(stream: StreamName, to: number): OutputChunk | undefined {
    const offset = this.#at[stream]
    if (offset >= to) return undefined
    const bytes = this.#logs[stream].read(offset, Math.min(pieceBytes, to - offset))
    this.#at[stream] = bytes.length > 0 ? offset + bytes.length : to
    return bytes.length > 0 ? { stream, offset, bytes } : undefined
  }

  #show(chunk: OutputChunk, everyMs: number): void {
    const before = this.#newest[chunk.stream]
    this.#newest[chunk.stream] = before && before.offset + before.bytes.length === chunk.offset ? joined(before, chunk) : chunk
    if (this.#timer) return
    const wait = this.#shownAt + everyMs - performance.now()
    if (wait <= 0) this.#flush()
    else this.#timer = setTimeout(() => this.#flush(), wait)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#shownAt = performance.now()
    for (const stream of streamNames) {
      const newest = this.#newest[stream]
      if (!newest) continue
      delete this.#newest[stream]
      this.#waiting = [...this.#waiting.filter((each) => each.stream !== stream), newest]
    }
    this.#wake?.()
  }
}

function joined(before: OutputChunk, chunk: OutputChunk): OutputChunk {
  const bytes = Buffer.concat([before.bytes, chunk.bytes]).subarray(-pieceBytes)
  return { stream: chunk.stream, offset: chunk.offset + chunk.bytes.length - bytes.length, bytes }
}
