import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { TextDecoder } from 'node:util'
import { type CutSource, readBytes, sourceOf } from '../../core/byte-source.ts'
import { errnoOf, failure } from '../../core/errors.ts'
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

/** A log of any length: a file where it lies; of what comes through a pipe past 256 MiB its head and its tail, and how much is missing between them. */
export async function openLog(io: CliIo, source: string, maxBytes = maxInputBytes): Promise<OpenLog> {
  const file = source === '-' ? undefined : openFile(resolve(io.cwd, source))
  if (file && utf16Of(readBytes(file, 0, 2)) === undefined) return file
  file?.close()
  return readEnds(asUtf8(chunksOf(io, source)), maxBytes)
}

export interface OpenLog extends CutSource {
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

async function readEnds(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<OpenLog> {
  const half = Math.floor(maxBytes / 2)
  const head: Uint8Array[] = []
  const tail: Uint8Array[] = []
  const gap = { offset: 0, bytes: 0, lines: 0 }
  let tailBytes = 0
  for await (const chunk of chunks) {
    const toHead = chunk.subarray(0, half - gap.offset)
    // Also an empty part of a chunk would hold all of it in memory.
    if (toHead.length > 0) head.push(toHead)
    gap.offset += toHead.length
    const rest = chunk.subarray(toHead.length)
    if (rest.length > 0) tail.push(rest)
    tailBytes += rest.length
    while (tailBytes - (tail[0]?.length ?? 0) >= half) {
      const dropped = tail.shift()
      if (!dropped) break
      tailBytes -= dropped.length
      gap.bytes += dropped.length
      gap.lines += feedsIn(dropped)
    }
  }
  return { ...sourceOf(Buffer.concat([...head, ...tail])), gap: gap.bytes === 0 ? undefined : gap, close() {} }
}

function feedsIn(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count += 1
  return count
}

/** UTF-16 announces itself by its first two bytes; everything else is UTF-8. */
async function* asUtf8(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let first: Uint8Array | undefined = new Uint8Array()
  let decoder: TextDecoder | undefined
  for await (const chunk of chunks) {
    const bytes: Uint8Array = first ? Buffer.concat([first, chunk]) : chunk
    if (first && bytes.length < 2) {
      first = bytes
      continue
    }
    if (first) decoder = utf16Of(bytes)
    first = undefined
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes
  }
  yield decoder ? Buffer.from(decoder.decode()) : (first ?? new Uint8Array())
}

function utf16Of([first, second]: Uint8Array): TextDecoder | undefined {
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le')
  return first === 0xfe && second === 0xff ? new TextDecoder('utf-16be') : undefined
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
