import type { OutputChunk } from '../core/backend.ts'
import type { StreamName } from '../core/command.ts'

interface Waiting {
  readonly stream: StreamName
  readonly offset: number
  room: Buffer
  used: number
}

/** What is joined while it waits: many small pieces would need far more memory than their bytes. */
const maxJoinedBytes = 64 * 1024

/** Output on its way to the one who iterates it. `took` is told of the bytes that were handed over. */
export class OutputQueue implements AsyncIterable<OutputChunk>, AsyncIterator<OutputChunk> {
  readonly #took: (bytes: number) => void
  #waiting: Waiting[] = []
  /** Those before it were handed over. */
  #head = 0
  #wake: ((result: IteratorResult<OutputChunk>) => void) | undefined
  #isOver = false

  constructor(took: (bytes: number) => void) {
    this.#took = took
  }

  /** The bytes are the queue's from now on. */
  push(stream: StreamName, offset: number, bytes: Buffer): void {
    if (this.#isOver) return
    const wake = this.#wake
    if (wake) {
      this.#wake = undefined
      wake({ done: false, value: { stream, offset, bytes } })
      this.#took(bytes.length)
      return
    }
    const last = this.#waiting.at(-1)
    if (last?.stream === stream && last.offset + last.used === offset && last.used + bytes.length <= maxJoinedBytes) join(last, bytes)
    else this.#waiting.push({ stream, offset, room: bytes, used: bytes.length })
  }

  /** Nothing more comes; what is there is still handed over. */
  end(): void {
    this.#isOver = true
    this.#wake?.({ done: true, value: undefined })
    this.#wake = undefined
  }

  [Symbol.asyncIterator](): AsyncIterator<OutputChunk> {
    return this
  }

  next(): Promise<IteratorResult<OutputChunk>> {
    const first = this.#waiting[this.#head]
    if (first) {
      this.#head += 1
      if (this.#head === this.#waiting.length) {
        this.#waiting = []
        this.#head = 0
      }
      this.#took(first.used)
      return Promise.resolve({ done: false, value: { stream: first.stream, offset: first.offset, bytes: first.room.subarray(0, first.used) } })
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Whoever iterates has seen enough: what comes is dropped, and not asked for by giving window back. */
  return(): Promise<IteratorResult<OutputChunk>> {
    this.#waiting = []
    this.#head = 0
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }
}

function join(last: Waiting, bytes: Buffer): void {
  const length = last.used + bytes.length
  if (length > last.room.length) {
    const room = Buffer.allocUnsafeSlow(Math.max(1024, length * 2))
    last.room.copy(room, 0, 0, last.used)
    last.room = room
  }
  bytes.copy(last.room, last.used)
  last.used = length
}
