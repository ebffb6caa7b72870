import type { Stats } from 'node:fs'
import { lstat, open, readdir, readlink } from 'node:fs/promises'

/** Files of this machine as a tar archive (POSIX ustar, long names as GNU tar writes them, which busybox reads too). Names are bytes. */

export interface ArchiveTotals {
  files: number
  bytes: number
  /** Files that changed while they were read: what is missing of them are zeros. */
  readonly changed: string[]
}

const blockBytes = 512
const pieceBytes = 256 * 1024

/** Everything below a folder, what is in a folder after it; links are not followed. */
export async function* listTree(root: Buffer, below: Buffer = Buffer.alloc(0)): AsyncGenerator<Buffer> {
  const folder = below.length === 0 ? root : Buffer.concat([root, slash, below])
  for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
    const path = below.length === 0 ? entry.name : Buffer.concat([below, slash, entry.name])
    yield path
    if (entry.isDirectory()) yield* listTree(root, path)
  }
}

const slash = Buffer.from('/')

/** `last`: the name of an empty file behind all others. */
export async function* archive(
  root: Buffer,
  paths: AsyncIterable<Buffer> | Iterable<Buffer>,
  totals: ArchiveTotals,
  last?: string,
): AsyncGenerator<Uint8Array> {
  for await (const path of paths) {
    const full = Buffer.concat([root, slash, path])
    const found = await lstat(full).catch(() => undefined)
    // Listed by git and deleted since, or something that has no content.
    if (!found) continue
    if (found.isDirectory()) yield header(Buffer.concat([path, slash]), found, '5', 0)
    else if (found.isSymbolicLink()) yield header(path, found, '2', 0, await readlink(full, { encoding: 'buffer' }))
    else if (found.isFile()) yield* file(full, path, found, totals)
  }
  if (last !== undefined) yield block(Buffer.from(last), 0o600, 0, '0', 0, Buffer.alloc(0))
  yield Buffer.alloc(2 * blockBytes)
}

async function* file(full: Buffer, path: Buffer, found: Stats, totals: ArchiveTotals): AsyncGenerator<Uint8Array> {
  const handle = await open(full, 'r').catch(() => undefined)
  if (!handle) {
    totals.changed.push(path.toString())
    return
  }
  try {
    yield header(path, found, '0', found.size)
    let left = found.size
    while (left > 0) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(pieceBytes, left)))
      if (bytesRead === 0) break
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
    if (left > 0) totals.changed.push(path.toString())
    const missing = left + ((blockBytes - (found.size % blockBytes)) % blockBytes)
    for (let rest = missing; rest > 0; rest -= pieceBytes) yield Buffer.alloc(Math.min(rest, pieceBytes))
    totals.files += 1
    totals.bytes += found.size
  } finally {
    await handle.close()
  }
}

function header(path: Buffer, { mode, mtimeMs }: Stats, type: '0' | '2' | '5', size: number, link: Buffer = Buffer.alloc(0)): Buffer {
  const long = [...(link.length > 100 ? longName('K', link) : []), ...(path.length > 100 ? longName('L', path) : [])]
  return Buffer.concat([...long, block(path, mode & 0o777, Math.floor(mtimeMs / 1000), type, size, link)])
}

function longName(type: 'K' | 'L', text: Buffer): Buffer[] {
  const size = text.length + 1
  const content = Buffer.alloc(Math.ceil(size / blockBytes) * blockBytes)
  text.copy(content)
  return [block(Buffer.from('././@LongLink'), 0o644, 0, type, size, Buffer.alloc(0)), content]
}

function block(path: Buffer, mode: number, mtime: number, type: string, size: number, link: Buffer): Buffer {
  const head = Buffer.alloc(blockBytes)
  path.subarray(0, 100).copy(head, 0)
  number(head, mode, 100, 8)
  number(head, 0, 108, 8)
  number(head, 0, 116, 8)
  number(head, size, 124, 12)
  number(head, Math.max(0, mtime), 136, 12)
  head.fill(' ', 148, 156)
  head.write(type, 156)
  link.subarray(0, 100).copy(head, 157)
  // As GNU tar marks it, which goes with its long names.
  head.write('ustar  \0', 257, 'latin1')
  const sum = head.reduce((total, byte) => total + byte, 0)
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return head
}

/** What has no room in octal digits is written in base 256, as GNU tar does it. */
function number(head: Buffer, value: number, at: number, length: number): void {
  const digits = value.toString(8)
  if (digits.length < length) head.write(`${digits.padStart(length - 1, '0')}\0`, at)
  else {
    head[at] = 0x80
    head.writeUIntBE(value, at + length - 6, 6)
  }
}
