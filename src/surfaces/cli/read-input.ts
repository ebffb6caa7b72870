import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { errnoOf, failure } from '../../core/errors.ts'
import { formatCount } from '../../core/text.ts'
import type { CliIo } from './io.ts'

/** More than this is not read into memory. */
export const maxInputBytes = 256 * 1024 * 1024

/** The bytes of a file, or of standard input for `-`. Throws `file_unreadable`, or `command_too_large` past 256 MiB. */
export async function readInput(io: CliIo, field: string, source: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunksOf(io, source)) {
    bytes += chunk.length
    if (bytes > maxInputBytes) throw failure('command_too_large', { field, bytes, maxBytes: maxInputBytes })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

/** Text of a log of any length: past 256 MiB its head and its tail, with a line in between that says what is missing. */
export async function readLog(io: CliIo, source: string, maxBytes = maxInputBytes): Promise<string> {
  const half = Math.floor(maxBytes / 2)
  const head: Uint8Array[] = []
  const tail: Uint8Array[] = []
  let [headBytes, tailBytes, droppedBytes] = [0, 0, 0]
  for await (const chunk of chunksOf(io, source)) {
    const toHead = chunk.subarray(0, Math.max(0, half - headBytes))
    head.push(toHead)
    headBytes += toHead.length
    const rest = chunk.subarray(toHead.length)
    tail.push(rest)
    tailBytes += rest.length
    while (tailBytes - (tail[0]?.length ?? 0) >= half) {
      const first = tail.shift()?.length ?? 0
      tailBytes -= first
      droppedBytes += first
    }
  }
  if (droppedBytes === 0) return decode(Buffer.concat([...head, ...tail]))
  return `${decode(Buffer.concat(head))}\n[${formatCount(droppedBytes)} bytes left out]\n${decode(Buffer.concat(tail))}`
}

// UTF-16 announces itself by its first two bytes; everything else is read as UTF-8 with what is broken replaced.
function decode(bytes: Uint8Array): string {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}

/** The same as it comes, of any length; a missing file is told when it is read. */
export async function* chunksOf(io: CliIo, source: string): AsyncGenerator<Uint8Array> {
  if (source === '-') {
    for await (const chunk of io.stdin) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    return
  }
  const path = resolve(io.cwd, source)
  try {
    yield* createReadStream(path)
  } catch (error) {
    throw failure('file_unreadable', { path, why: errnoOf(error) ?? String(error) }, error)
  }
}

/** What comes until the signal aborts; what is waited for then is left. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]()
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  while (!signal.aborted) {
    const next = await Promise.race([iterator.next(), aborted])
    if (!next || next.done) return
    yield next.value
  }
}
