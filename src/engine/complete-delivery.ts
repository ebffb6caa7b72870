import type { OutputChunk } from '../core/backend.ts'
import { type StreamName, streamNames } from '../core/command.ts'
import type { StreamTotals } from '../core/run.ts'
import { formatCount } from '../core/text.ts'
import type { DeliveryLine } from './delivery.ts'
import { findPieces, readChunks } from './log-reader.ts'

type Paths = Readonly<Record<StreamName, string>>

/**
 * Hands every byte of a run on once and in order within its stream, from what a supervisor sends and, where that left
 * something out, from the logs. What the logs left out, too, is counted.
 */
export interface CompleteDelivery {
  /** Where each stream stands: what comes is wanted from there. */
  readonly reached: Readonly<Record<StreamName, number>>
  push(chunk: OutputChunk): void
  /** Brings the listener to the end of both streams. */
  finish(totals: Readonly<Record<StreamName, StreamTotals>>): void
  notes(): string[]
}

export function completeDelivery(line: DeliveryLine, logs: Paths): CompleteDelivery {
  const reached = { stdout: 0, stderr: 0 }
  const missed = { stdout: 0, stderr: 0 }

  function hand(stream: StreamName, bytes: Uint8Array, offset: number): void {
    const known = reached[stream] - offset
    if (known >= bytes.length) return
    const fresh = known > 0 ? bytes.subarray(known) : bytes
    reached[stream] = offset + bytes.length
    line.push(stream, fresh, offset + bytes.length - fresh.length)
  }

  /** From the log, what is between where the stream stands and `to`. */
  function fill(stream: StreamName, to: number, totals?: StreamTotals): void {
    for (const piece of findPieces(logs[stream], totals)) {
      if (piece.offset >= to) break
      const from = Math.max(0, reached[stream] - piece.offset)
      if (from >= piece.length) continue
      let at = piece.offset + from
      skip(stream, at)
      for (const chunk of readChunks(piece, from, Math.min(piece.length, to - piece.offset))) {
        // The reader's room is used again for the next chunk, and the listener may keep what it gets.
        hand(stream, Uint8Array.from(chunk), at)
        at += chunk.length
      }
    }
    skip(stream, to)
  }

  function skip(stream: StreamName, to: number): void {
    if (to <= reached[stream]) return
    missed[stream] += to - reached[stream]
    reached[stream] = to
  }

  return {
    reached,
    push({ stream, offset, bytes }) {
      if (offset > reached[stream]) fill(stream, offset)
      hand(stream, bytes, offset)
    },
    finish(totals) {
      for (const stream of streamNames) if (totals[stream].bytes > reached[stream]) fill(stream, totals[stream].bytes, totals[stream])
    },
    notes: () =>
      streamNames.flatMap((stream) =>
        missed[stream] > 0
          ? [`${formatCount(missed[stream])} bytes of ${stream} did not reach the listener: it was slower than the command, and the log left them out`]
          : [],
      ),
  }
}
