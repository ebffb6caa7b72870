import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ByteSource, readBytes, sourceOf } from '../../core/byte-source.ts'
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

/** A log of any length: a file where it lies; of what comes through a pipe past 256 MiB its head and its tail, with a line in between that says what is missing. */
export async function openLog(io: CliIo, source: string, maxBytes = maxInputBytes): Promise<OpenLog> {
  const file = source === '-' ? undefined : openFile(resolve(io.cwd, source))
  if (file && !isUtf16(readBytes(file, 0, 2))) return file
  file?.close()
  const bytes = await readEnds(io, source, maxBytes)
  return { ...sourceOf(isUtf16(bytes) ? Buffer.from(decode(bytes)) : bytes), close() {} }
}

export interface OpenLog extends ByteSource {
  close(): void
}

/** Undefined for what has no length: a pipe, a device, a file that the kernel makes up. */
function openFile(path: string): OpenLog | undefined {
  const descriptor = openOr(path)
  const info = fstatSync(descriptor)
  const close = (): void => closeSync(descriptor)
  if (info.isFile() && info.size > 0) return { length: info.size, read: (target, from) => readFully(descriptor, target, from), close }
  close()
  return undefined
}

function openOr(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw failure('file_unreadable', { path, why: errnoOf(error) ?? String(error) }, error)
  }
}

function readFully(descriptor: number, target: Uint8Array, from: number): number {
  let done = 0
  while (done < target.length) {
    const read = readSync(descriptor, target, done, target.length - done, from + done)
    if (read === 0) break
    done += read
  }
  return done
}

async function readEnds(io: CliIo, source: string, maxBytes: number): Promise<Uint8Array> {
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
  const note = droppedBytes === 0 ? [] : [Buffer.from(`\n[${formatCount(droppedBytes)} bytes left out]\n`)]
  return Buffer.concat([...head, ...note, ...tail])
}

// UTF-16 announces itself by its first two bytes; everything else is UTF-8.
const isUtf16 = (bytes: Uint8Array): boolean => (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
const decode = (bytes: Uint8Array): string => new TextDecoder(bytes[0] === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes)

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
