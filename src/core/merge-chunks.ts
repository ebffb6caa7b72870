import type { Readable } from 'node:stream'
import type { OutputChunk } from './backend.ts'
import { type StreamName, streamNames } from './command.ts'

/** What may wait for the reader before the command is held back. */
const maxWaitingBytes = 1024 * 1024

/** Merges two streams into one iteration in order of arrival, with back-pressure. `release` ends it. */
export function mergeChunks(streams: Readonly<Record<StreamName, Readable>>): { output: AsyncIterable<OutputChunk>; release(): void } {
  const waiting: OutputChunk[] = []
  const offsets = { stdout: 0, stderr: 0 }
  let waitingBytes = 0
  let open: number = streamNames.length
  let wake: (() => void) | undefined

  for (const stream of streamNames) {
    const source = streams[stream]
    source.on('data', (bytes: Buffer) => {
      waiting.push({ stream, offset: offsets[stream], bytes })
      offsets[stream] += bytes.length
      waitingBytes += bytes.length
      if (waitingBytes > maxWaitingBytes) for (const name of streamNames) streams[name].pause()
      wake?.()
    })
    // A read error ends the stream like its end does; what was read before is kept.
    source.on('error', () => {})
    source.once('close', () => {
      open -= 1
      wake?.()
    })
  }

  async function* iterate(): AsyncGenerator<OutputChunk> {
    for (;;) {
      while (waiting.length > 0) {
        const chunks = waiting.splice(0)
        waitingBytes = 0
        for (const name of streamNames) if (streams[name].isPaused()) streams[name].resume()
        yield* chunks
      }
      if (open === 0) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      wake = undefined
    }
  }

  return {
    output: iterate(),
    release() {
      for (const name of streamNames) streams[name].destroy()
    },
  }
}
