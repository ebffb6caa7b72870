import { failure, type HoldfastError } from './errors.ts'
import { type BoundFile, defaultMaxFileBytes, defaultMaxLines, type FileBytes, type FileDownload, type FileLines, type FileText } from './files.ts'

/** What bytes, text and lines are taken from. */
export interface FileReader extends Pick<BoundFile, 'path' | 'stat' | 'read'> {
  /** The first `size` bytes, piece by piece, where that is faster than one `read` after the other. */
  blocks?(size: number): AsyncIterable<Uint8Array>
}

export interface ByteRange {
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly maxBytes?: number | undefined
}

export async function readBytesOf(file: FileReader, path: string, { from = 0, to, maxBytes = defaultMaxFileBytes }: ByteRange): Promise<FileBytes> {
  const { bytes: size } = file.stat()
  const wanted = Math.max(0, Math.min(to ?? size, size) - from)
  if (wanted > maxBytes) throw failure('file_too_large', { path, bytes: wanted, maxBytes })
  return { path: file.path, bytes: await file.read(from, wanted), size }
}

export async function readTextOf(file: FileReader, path: string, maxBytes?: number): Promise<FileText> {
  const { bytes, size } = await readBytesOf(file, path, { maxBytes })
  return { path: file.path, ...decode(bytes), size }
}

/** Bytes as UTF-8; a mark of the byte order stays in the text, so that it can be written back as it was. */
export function decode(bytes: Uint8Array): { readonly text: string; readonly replaced: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), replaced: false }
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), replaced: true }
  }
}

const blockBytes = 256 * 1024
const lineFeed = 10

/** The file piece by piece, as large as it was when that began. */
async function* blocksOf(file: FileReader): AsyncIterable<Uint8Array> {
  const { bytes: size } = file.stat()
  if (file.blocks) {
    yield* file.blocks(size)
    return
  }
  for (let at = 0; at < size; ) {
    const block = await file.read(at, Math.min(blockBytes, size - at))
    if (block.length === 0) return
    at += block.length
    yield block
  }
}

async function countLines(file: FileReader): Promise<number> {
  let lines = 0
  let last = lineFeed
  for await (const block of blocksOf(file)) {
    for (let at = block.indexOf(lineFeed); at !== -1; at = block.indexOf(lineFeed, at + 1)) lines += 1
    last = block[block.length - 1] ?? last
  }
  return last === lineFeed ? lines : lines + 1
}

export interface LineRange {
  readonly from?: number | undefined
  readonly max?: number | undefined
  readonly maxBytes?: number | undefined
}

export async function readLinesOf(file: FileReader, { from: asked = 1, max = defaultMaxLines, maxBytes = defaultMaxFileBytes }: LineRange): Promise<FileLines> {
  const { bytes: size } = file.stat()
  const from = asked < 0 ? Math.max(1, (await countLines(file)) + asked + 1) : Math.max(1, asked)
  const taken: ReturnType<typeof decode>[] = []
  let number = 0
  let room = maxBytes
  let isCut = false
  const take = (line: Line): boolean => {
    number += 1
    if (number < from) return true
    // The first line is given in part where it has no room; a further one waits for the next answer.
    if (taken.length >= max || (taken.length > 0 && (room === 0 || line.bytes > room))) return false
    isCut = line.bytes > room
    taken.push(decode(isCut ? wholeCharacters(line.head.subarray(0, room)) : line.head))
    room = Math.max(0, room - line.bytes - 1)
    return true
  }
  const next = (await takeLines(file, maxBytes, take)) ? null : number
  return {
    path: file.path,
    from,
    lines: taken.map(({ text }) => text),
    next,
    cut: isCut,
    replaced: taken.some(({ replaced }) => replaced),
    size,
  }
}

/** Without a last character of UTF-8 that was cut, of up to four bytes. */
function wholeCharacters(bytes: Buffer): Buffer {
  let start = bytes.length - 1
  while (start > bytes.length - 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  const first = bytes[start] ?? 0
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return start + length > bytes.length ? bytes.subarray(0, start) : bytes
}

interface Line {
  /** As much of it as is kept. */
  readonly head: Buffer
  readonly bytes: number
}

/** Hands out line by line, until one is not taken; whether all were. Of each line at most `keepBytes` are kept. */
async function takeLines(file: FileReader, keepBytes: number, take: (line: Line) => boolean): Promise<boolean> {
  /** What the last block had of a line that goes on. */
  let begun: Uint8Array[] = []
  let begunBytes = 0
  const finish = (end: Uint8Array): boolean => {
    const line = { head: Buffer.concat([...begun, end]), bytes: begunBytes + end.length }
    begun = []
    begunBytes = 0
    return take(line)
  }
  for await (const block of blocksOf(file)) {
    let start = 0
    for (let at = block.indexOf(lineFeed); at !== -1; at = block.indexOf(lineFeed, start)) {
      if (!finish(block.subarray(start, at))) return false
      start = at + 1
    }
    const rest = block.subarray(start)
    if (begunBytes < keepBytes) begun.push(rest)
    begunBytes += rest.length
  }
  return begunBytes === 0 || finish(new Uint8Array())
}

/** Pieces and their hash, which `read` gives when it has given all of them, as a download has them. Closes behind itself. */
export function hashedPieces(
  read: AsyncGenerator<Uint8Array, string>,
  { close, fault }: { readonly close: () => void; readonly fault: (error: unknown) => HoldfastError },
): Pick<FileDownload, 'pieces' | 'sha256'> {
  let resolve: (sha256: string) => void
  let reject: (error: HoldfastError) => void
  const sha256 = new Promise<string>((yes, no) => {
    resolve = yes
    reject = no
  })
  // Who only wants the pieces is told by them.
  sha256.catch(() => {})

  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      resolve(yield* read)
    } catch (error) {
      const failed = fault(error)
      reject(failed)
      throw failed
    } finally {
      close()
      // Of those that were not all taken.
      reject(failure('canceled', {}))
    }
  }
  return { pieces: pieces(), sha256 }
}
