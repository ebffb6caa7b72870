import { createHash } from 'node:crypto'
import { failure, toHoldfastError } from '../core/errors.ts'
import { type FileReader, hashedPieces } from '../core/file-reading.ts'
import type { BoundFile, FileDownload, FileKind, FileStat } from '../core/files.ts'
import type { Talk } from './shell-talk.ts'

/** Opens a file there; `from` and `length` say what is sent at once. */
export type OpenThere = (path: string, from: number, length: number) => Promise<Talk & { readonly opened: readonly string[] }>

/** Most files are no longer. */
export const firstBytes = 128 * 1024
const pieceMs = 60_000
/** A processor hashes more than this in a second. */
const hashedBytesPerMs = 20_000

const kinds: Readonly<Record<number, FileKind>> = { 8: 'file', 4: 'directory', 10: 'link' }

export const kindOfMode = (hexadecimal: string): FileKind => kinds[Number.parseInt(hexadecimal, 16) >> 12] ?? 'other'

/** What `stat` says there, see shell-files-script.ts. */
export function statOf(path: string, facts: string): FileStat {
  const [, mode = '', bytes = '', permissions = '', , , seconds = '', ...written] = facts.trim().split(' ')
  const ms = /\.(\d{3})/.exec(written.join(' '))?.[1] ?? '0'
  return {
    path,
    kind: kindOfMode(mode),
    bytes: Number(bytes),
    mode: permissions.padStart(4, '0'),
    modifiedAt: new Date(Number(seconds) * 1_000 + Number(ms)).toISOString(),
  }
}

export interface ShellFile extends FileReader, BoundFile {
  /** SHA-256 of the first bytes, as the other side has it. */
  hash(bytes: number): Promise<string>
}

/** A file that a shell holds open at the other end of a channel; it is asked for one piece after the other. */
export async function openShellFile(openThere: OpenThere, path: string, from = 0, length = firstBytes): Promise<ShellFile> {
  const talk = await openThere(path, from, length)
  const [where = '', facts = ''] = talk.opened
  const stat = statOf(where, facts)
  let isOpen = true
  /** Whether what comes next is no answer to what is asked next. */
  let isAdrift = false
  let last: Promise<unknown> = Promise.resolve()

  async function* receive(): AsyncGenerator<Buffer> {
    const pieces = talk.stream('data')
    isAdrift = true
    for (;;) {
      const next = await talk.within(pieceMs, pieces.next())
      if (next.done) break
      yield next.value
    }
    isAdrift = false
  }

  const begun: Buffer[] = []
  try {
    for await (const bytes of receive()) begun.push(bytes)
  } catch (error) {
    talk.close()
    throw error
  }
  const head = Buffer.concat(begun)

  const demand = (): void => {
    if (!isOpen || isAdrift) throw failure('file_failed', { path, errno: 'EBADF' })
  }

  /** One after the other: whoever asks waits for those before. */
  async function* readOn(start: number, to: number): AsyncGenerator<Buffer> {
    demand()
    let next = start
    if (start >= from && start < from + head.length) {
      const part = head.subarray(start - from, to - from)
      yield part
      next += part.length
    }
    if (next >= Math.min(to, stat.bytes)) return
    let done: () => void = () => {}
    const before = last
    last = new Promise<void>((resolve) => {
      done = resolve
    })
    try {
      await before
      demand()
      await talk.within(pieceMs, talk.send(`${next} ${Math.min(to, stat.bytes) - next}\n`))
      yield* receive()
    } finally {
      done()
    }
  }

  return {
    path: where,
    stat: () => stat,
    async read(start, maxBytes) {
      const parts: Buffer[] = []
      for await (const part of readOn(start, start + maxBytes)) parts.push(part)
      return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    },
    blocks: (size) => readOn(0, size),
    async hash(bytes) {
      demand()
      await talk.within(pieceMs, talk.send(`hash ${bytes}\n`))
      return (await talk.within(pieceMs + bytes / hashedBytesPerMs, talk.next())).texts[0] ?? ''
    },
    close() {
      if (isOpen) talk.close()
      isOpen = false
    },
  }
}

/** See Files.download. */
export async function downloadShellFile(openThere: OpenThere, path: string): Promise<FileDownload> {
  const file = await openShellFile(openThere, path, 0, 0)
  const { bytes: size } = file.stat()

  async function* all(): AsyncGenerator<Uint8Array, string> {
    const hash = createHash('sha256')
    let taken = 0
    for await (const bytes of file.blocks?.(size) ?? []) {
      taken += bytes.length
      hash.update(bytes)
      yield bytes
    }
    if (taken < size) throw failure('file_changed', { path, why: `it had ${size} bytes, and ends after ${taken}` })
    const sha256 = hash.digest('hex')
    if ((await file.hash(size)) !== sha256) throw failure('file_changed', { path, why: 'other bytes arrived than are there' })
    return sha256
  }

  return { path: file.path, size, ...hashedPieces(all(), { close: file.close, fault: toHoldfastError }) }
}
