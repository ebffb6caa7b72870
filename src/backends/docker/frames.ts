import type { StreamName } from '../../core/command.ts'

/** What says that the bytes of a connection are no frames: nothing of them may pass for output. */
export class BadFrame extends Error {}

const headerBytes = 8

/**
 * Takes the two streams of a container apart: a header of eight bytes (stream, three zeros, length in big-endian), then so many bytes. Pieces
 * are handed on as they come, so that a frame of any length costs no memory.
 */
export class FrameSplitter {
  readonly #take: (stream: StreamName, piece: Buffer) => void
  readonly #header = Buffer.alloc(headerBytes)
  #headerFill = 0
  #left = 0
  #stream: StreamName | 'trouble' = 'stdout'
  #trouble = ''

  constructor(take: (stream: StreamName, piece: Buffer) => void) {
    this.#take = take
  }

  /** Whether the last frame is complete. */
  get whole(): boolean {
    return this.#headerFill === 0 && this.#left === 0
  }

  /** What the engine said of itself in the midst of the streams; empty: nothing. */
  get trouble(): string {
    return this.#trouble
  }

  /** Throws a BadFrame at what is no header. */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#left > 0) {
        const piece = chunk.subarray(at, at + this.#left)
        at += piece.length
        this.#left -= piece.length
        if (this.#stream !== 'trouble') this.#take(this.#stream, piece)
        else if (this.#trouble.length < 4_096) this.#trouble += piece.toString('utf8')
        continue
      }
      const taken = chunk.copy(this.#header, this.#headerFill, at, at + headerBytes - this.#headerFill)
      at += taken
      this.#headerFill += taken
      if (this.#headerFill === headerBytes) this.#begin()
    }
  }

  #begin(): void {
    const header = this.#header
    const stream = header[0] === 1 ? 'stdout' : header[0] === 2 ? 'stderr' : header[0] === 3 ? 'trouble' : undefined
    if (stream === undefined || header[1] !== 0 || header[2] !== 0 || header[3] !== 0) {
      throw new BadFrame(`${header.toString('hex')} is no header of a frame`)
    }
    this.#stream = stream
    this.#left = header.readUInt32BE(4)
    this.#headerFill = 0
  }
}
