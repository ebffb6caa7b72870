import { closeSync, constants, openSync, readSync, statSync, writeSync } from 'node:fs'
import { errnoOf } from '../core/errors.ts'

/**
 * The log of a stream here, as it is written while the run goes on: byte for byte at its offset, so that several processes may write the
 * same one. It has no holes: whoever writes begins at or before its end.
 */
export class LocalLog {
  readonly path: string
  /** The system's error that keeps it from being written. */
  failure: string | undefined
  readonly #most: number
  #file: number | undefined
  #reached: number

  /** What a log may not have more of stays at the site until the end. */
  constructor(path: string, most: number) {
    this.path = path
    this.#most = most
    this.#reached = sizeOf(path)
  }

  /** Up to here it is whole. */
  get reached(): number {
    return this.#reached
  }

  write(offset: number, bytes: Uint8Array): void {
    // Behind a gap, or a failure, nothing has its place until all of it is fetched.
    if (this.failure !== undefined || offset > this.#reached) return
    const known = this.#reached - offset
    const fresh = bytes.subarray(known, Math.max(known, Math.min(bytes.length, this.#most - offset)))
    try {
      this.#file ??= openSync(this.path, constants.O_RDWR | constants.O_CREAT, 0o600)
      for (let at = 0; at < fresh.length; ) {
        const written = writeSync(this.#file, fresh, at, fresh.length - at, this.#reached)
        at += written
        this.#reached += written
      }
    } catch (error) {
      this.failure = errnoOf(error) ?? 'unknown'
    }
  }

  /** At most so many bytes from there on; none where they are not here. */
  read(offset: number, most: number): Buffer {
    const length = Math.min(most, this.#reached - offset)
    if (length <= 0) return Buffer.alloc(0)
    let file = this.#file
    try {
      file ??= openSync(this.path, constants.O_RDONLY)
      const bytes = Buffer.allocUnsafe(length)
      return bytes.subarray(0, readSync(file, bytes, 0, length, offset))
    } catch {
      return Buffer.alloc(0)
    } finally {
      if (file !== undefined && file !== this.#file) closeSync(file)
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  /** It is complete as it is. Behind its gap the bytes stand elsewhere. */
  settle(gap: { readonly offset: number } | null, bytes: number): void {
    this.#reached = gap ? gap.offset : bytes
  }
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
