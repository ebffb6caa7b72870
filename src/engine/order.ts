import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import type { StreamName } from '../core/command.ts'
import type { Clock } from './clock.ts'

/**
 * The order in which the bytes of both streams came, in the format of docs/log-format.md; native/order.c writes the same.
 * It is worth less than the logs: where it cannot be written it ends early, and nobody is told.
 */
export interface OrderWriter {
  /** So many bytes of a stream came. */
  add(stream: StreamName, bytes: number): void
  /** Writes what is known and closes the file. There is none where only one stream came. */
  finish(): void
}

const flushBytes = 4 * 1024
/** Whoever reads a run that goes on sees the order up to this long ago. */
const flushAfterMs = 50
const maxOrderBytes = 4 * 1024 * 1024

export function openOrderWriter(path: string, clock: Clock): OrderWriter {
  let turn: StreamName | undefined
  let length = 0
  let waiting: number[] = []
  let written = 0
  let both = false
  let descriptor = -1
  let over = false
  let cancelFlush: (() => void) | undefined

  function flush(): void {
    cancelFlush?.()
    cancelFlush = undefined
    const bytes = Uint8Array.from(waiting)
    waiting = []
    written += bytes.length
    try {
      if (descriptor === -1) descriptor = openSync(path, 'w', 0o600)
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    } catch {
      over = true
    }
  }

  function endPiece(): void {
    const number = toLeb128(length)
    if (written + waiting.length + number.length > maxOrderBytes) {
      flush()
      over = true
      return
    }
    waiting.push(...number)
    both = true
  }

  return {
    add(stream, bytes) {
      if (bytes === 0 || over) return
      if (stream === turn) {
        length += bytes
        return
      }
      if (turn) endPiece()
      else waiting.push(stream === 'stdout' ? 0x31 : 0x32)
      turn = stream
      length = bytes
      if (!both || over) return
      if (waiting.length >= flushBytes) flush()
      else cancelFlush ??= clock.after(flushAfterMs, flush)
    },
    finish() {
      if (both && !over) {
        endPiece()
        flush()
      }
      cancelFlush?.()
      over = true
      if (descriptor !== -1) closeSync(descriptor)
      descriptor = -1
    },
  }
}

function toLeb128(number: number): number[] {
  const bytes: number[] = []
  let rest = number
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  bytes.push(rest)
  return bytes
}

/** So many bytes of this stream came in a row. */
export interface Arrival {
  readonly stream: StreamName
  readonly bytes: number
}

const readBytes = 64 * 1024

/** What the file says, as it is read; nothing where there is none. What follows an end in the middle of a number is not known. */
export function* readOrder(path: string): Generator<Arrival> {
  let turn: StreamName | undefined
  let number = 0
  let scale = 1
  for (const chunk of chunksOf(path)) {
    for (const byte of chunk) {
      if (turn === undefined) {
        if (byte !== 0x31 && byte !== 0x32) return
        turn = byte === 0x31 ? 'stdout' : 'stderr'
        continue
      }
      number += (byte & 0x7f) * scale
      scale *= 0x80
      if (!Number.isSafeInteger(number)) return
      if (byte >= 0x80) continue
      yield { stream: turn, bytes: number }
      turn = turn === 'stdout' ? 'stderr' : 'stdout'
      number = 0
      scale = 1
    }
  }
}

/** Ends where there is nothing, or nothing that can be read. */
function* chunksOf(path: string): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(readBytes)
  let descriptor = -1
  try {
    descriptor = openSync(path, 'r')
    for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) yield buffer.subarray(0, read)
  } catch {
    // The order is then not known.
  } finally {
    if (descriptor !== -1) closeSync(descriptor)
  }
}

/**
 * How many bytes of both streams came before a byte of this one; infinite where the file does not say. The offsets that
 * are asked for must not go back.
 */
export function arrivalOf(path: string, stream: StreamName): { before(offset: number): number; close(): void } {
  const pieces = readOrder(path)
  let start = 0
  let end = 0
  let before = 0
  let all = 0
  return {
    before(offset) {
      while (offset >= end) {
        const { value, done } = pieces.next()
        if (done) return Number.POSITIVE_INFINITY
        if (value.stream === stream) {
          start = end
          end += value.bytes
          before = all
        }
        all += value.bytes
      }
      return before + offset - start
    },
    close: () => void pieces.return(undefined),
  }
}
