import { StringDecoder } from 'node:string_decoder'
import type { StreamName } from '../core/command.ts'
import type { RunRecord } from '../core/run.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { readChunks } from '../engine/log-reader.ts'
import type { Call, LiveOutput } from './api.ts'
import { aliveCheckMs, awaitEnd, type HeldRuns, pollMs } from './following.ts'
import { piecesOf } from './reading.ts'

/** How often somebody who follows output hears that there is more. */
const followEveryMs = 50

/** Hands over what the logs of a run hold, and what comes, until the run is over. */
export async function followLogs(
  held: HeldRuns,
  record: RunRecord,
  streams: readonly StreamName[],
  call: Call & { onOutput(chunk: LiveOutput): void },
): Promise<void> {
  const readers = streams.map((stream) => ({ stream, offset: 0, decoder: new StringDecoder('utf8') }))
  const news = await listenForNews(held, record)
  let current = record
  try {
    for (;;) {
      const heard = news?.next()
      // The record is read first: what the logs hold after an end is all there will be.
      current = await awaitEnd(held, current, 0, call.signal)
      for (const reader of readers) {
        for (const piece of piecesOf(held.context, current, reader.stream)) {
          const from = Math.max(0, reader.offset - piece.offset)
          for (const chunk of readChunks(piece, from)) {
            const bytes = Uint8Array.from(chunk)
            call.onOutput({ stream: reader.stream, bytes, text: reader.decoder.write(chunk) })
          }
          reader.offset = Math.max(reader.offset, piece.offset + piece.length)
        }
      }
      if (current.state !== 'running' || call.signal?.aborted) return
      if (heard) await heardWithin(heard, aliveCheckMs, call.signal)
      else await awaitEnd(held, current, pollMs, call.signal)
    }
  } finally {
    news?.stop()
  }
}

/** Leaves nothing behind that waits: output may come twenty times a second. */
async function heardWithin(heard: Promise<void>, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const over = new AbortController()
  await Promise.race([heard, pause(systemClock, ms, signal, over.signal)])
  over.abort(null)
}

/** Says when there is something new to read; undefined where nobody tells. The logs are what is read. */
async function listenForNews(held: HeldRuns, record: RunRecord): Promise<{ next(): Promise<void>; stop(): void } | undefined> {
  if (record.state !== 'running' || record.holder.socket === undefined) return undefined
  const run = await held.places.attach(record, { kind: 'tail', everyMs: followEveryMs })
  if (run === undefined || run === 'unreachable') return undefined
  let isOver = false
  let wake = (): void => {}
  let next = new Promise<void>((resolve) => {
    wake = resolve
  })
  const ring = (): void => {
    wake()
    if (isOver) return
    next = new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  void (async () => {
    for await (const _ of run.output) ring()
    await run.ended.catch(() => {})
    isOver = true
    ring()
  })()
  return { next: () => (isOver ? pause(systemClock, pollMs) : next), stop: () => run.release() }
}
