import { createHash } from 'node:crypto'
import { failure, toHoldfastError } from '../core/errors.ts'
import { fileCalls } from '../core/file-calls.ts'
import { parsePath } from '../core/file-path.ts'
import { type FileReader, hashedPieces } from '../core/file-reading.ts'
import { type BoundFile, defaultMaxEntries, type FileEntry, type FileList, type Files, type FileWritten } from '../core/files.ts'
import { readOk } from './answers.ts'
import type { Connection, Exchange } from './connection.ts'
import {
  type AskedFile,
  type FoundFile,
  readBytes,
  readEntries,
  readFile,
  readFileRefusal,
  readHash,
  readRemoved,
  readWritten,
  type WrittenFile,
} from './file-answers.ts'
import { type Frame, type FrameWriter, requests } from './frames.ts'

/** Of a file, in one frame: so small that it stays in the caches of both processors. So many frames are on the way at once. */
const pieceBytes = 192 * 1024
const window = 24
/** Is asked for together with the opening, since most files are no longer. */
const firstBytes = 128 * 1024
/** One answer lists no more. */
const maxListed = 10_000

const purposes = { replace: 1, append: 2 } as const

/** Names what is open over a connection; on each of them a name is taken once at a time. */
let lastHandle = 0
const newHandle = (): number => {
  lastHandle += 1
  return lastHandle
}

/** Nobody waits for it, or whoever does is told of something that came before it. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** Files below a folder of the machine that a supervisor runs on. `root` is absolute there. */
export function createSupervisedFiles(connection: Pick<Connection, 'ask'>, root: string): Files {
  function ask<T>(
    request: string,
    asked: Omit<AskedFile, 'root'>,
    write: (writer: FrameWriter, tag: number) => unknown,
    read: (frame: Frame) => T | undefined,
  ): Promise<T> {
    const exchange: Exchange<T> = {
      request,
      write,
      read(frame) {
        const refusal = readFileRefusal(frame, { root, ...asked })
        if (refusal) throw refusal
        return read(frame)
      },
    }
    return connection.ask(exchange)
  }

  const at = (writer: FrameWriter, type: number, tag: number, path: string): FrameWriter => writer.begin(type, tag).text(1, root).text(2, path)

  async function look(path: string): Promise<FoundFile> {
    parsePath(path)
    return ask('FILE_LOOK', { path }, (writer, tag) => at(writer, requests.fileLook, tag, path), readFile)
  }

  // ---- reading

  const read = (path: string, handle: number, from: number, length: number, room?: Buffer): Promise<Buffer> =>
    ask(
      'FILE_READ',
      { path },
      (writer, tag) => writer.begin(requests.fileRead, tag).number(6, handle).number(7, from).number(8, length),
      (frame) => readBytes(frame, room),
    )

  const close = (path: string, handle: number): Promise<unknown> =>
    quietly(ask('FILE_CLOSE', { path }, (writer, tag) => writer.begin(requests.fileClose, tag).number(6, handle), readOk))

  /**
   * From an offset up to another one, or to the end of the file: then the last piece is shorter than was asked for, or empty. `reuse`: of each
   * piece nothing is needed any more once the next one is asked for.
   */
  async function* pieces(
    path: string,
    handle: number,
    from: number,
    to: number,
    reuse = false,
  ): AsyncGenerator<{ readonly bytes: Buffer; readonly isLast: boolean }> {
    const asked: { readonly length: number; readonly bytes: Promise<Buffer>; readonly room: Buffer | undefined }[] = []
    const spare: Buffer[] = []
    let next = from
    const askMore = (): void => {
      while (asked.length < window && next < to) {
        const length = Math.min(pieceBytes, to - next)
        const room = reuse ? (spare.pop() ?? Buffer.allocUnsafeSlow(pieceBytes)) : undefined
        asked.push({ length, room, bytes: quietly(read(path, handle, next, length, room)) })
        next += length
      }
    }
    askMore()
    for (let one = asked.shift(); one; one = asked.shift()) {
      const bytes = await one.bytes
      askMore()
      yield { bytes, isLast: bytes.length < one.length }
      if (bytes.length < one.length) return
      if (one.room) spare.push(one.room)
    }
  }

  interface OpenedFile extends FileReader, BoundFile {
    readonly handle: number
  }

  async function open(
    path: string,
    { from = 0, length = firstBytes, hashes = false }: { from?: number; length?: number; hashes?: boolean } = {},
  ): Promise<OpenedFile> {
    parsePath(path)
    const handle = newHandle()
    const opening = ask(
      'FILE_OPEN',
      { path },
      (writer, tag) =>
        at(writer, requests.fileOpen, tag, path)
          .number(3, hashes ? 1 : 0)
          .number(6, handle),
      readFile,
    )
    const begun = length > 0 ? quietly(read(path, handle, from, length)) : undefined
    const found = await opening
    let isOpen = true
    const { stat } = found
    if (!stat) throw failure('file_missing', { path })

    async function* readOn(start: number, to: number): AsyncGenerator<Buffer> {
      if (!isOpen) throw failure('file_failed', { path, errno: 'EBADF' })
      let next = start
      if (begun && start === from) {
        const bytes = await begun
        yield bytes.subarray(0, to - start)
        if (bytes.length < length) return
        next += bytes.length
      }
      for await (const { bytes } of pieces(path, handle, next, to)) yield bytes
    }

    return {
      handle,
      path: found.path,
      stat: () => stat,
      async read(start, maxBytes) {
        const parts: Buffer[] = []
        for await (const part of readOn(start, start + maxBytes)) parts.push(part)
        return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
      },
      blocks: (size) => readOn(0, size),
      close() {
        if (isOpen) void close(path, handle)
        isOpen = false
      },
    }
  }

  // ---- writing

  type Purpose = keyof typeof purposes

  const stage = (path: string, handle: number, purpose: Purpose, mode?: number): Promise<FoundFile> =>
    ask(
      'FILE_STAGE',
      { path },
      (writer, tag) => {
        at(writer, requests.fileStage, tag, path).number(6, handle).number(10, purposes[purpose])
        if (mode !== undefined) writer.number(11, mode & 0o777)
      },
      readFile,
    )

  /** Sends what is staged, and has it take its place. The stage may not be confirmed yet. */
  async function send(
    path: string,
    handle: number,
    staged: Promise<unknown>,
    content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    given?: Promise<string>,
  ): Promise<WrittenFile & { readonly sha256: string }> {
    const hash = given ? undefined : createHash('sha256')
    const unanswered: Promise<unknown>[] = [quietly(staged)]
    try {
      for await (const piece of content) {
        while (unanswered.length >= window) await unanswered.shift()
        hash?.update(piece)
        unanswered.push(quietly(ask('FILE_FILL', { path }, (writer, tag) => writer.begin(requests.fileFill, tag).number(6, handle).raw(9, piece), readOk)))
      }
      const digest = hash?.digest() ?? Buffer.from((await given) ?? '', 'hex')
      const done = quietly(ask('FILE_COMMIT', { path }, (writer, tag) => writer.begin(requests.fileCommit, tag).number(6, handle).raw(12, digest), readWritten))
      // What failed first says why.
      for (const one of unanswered) await one
      return { ...(await done), sha256: digest.toString('hex') }
    } catch (error) {
      // What was staged is gone by then; where contact is lost, it goes with the connection.
      await close(path, handle).catch(() => {})
      throw error
    }
  }

  async function put(path: string, purpose: Purpose, content: string | Uint8Array): Promise<FileWritten> {
    parsePath(path)
    const handle = newHandle()
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    return writtenOf(await send(path, handle, stage(path, handle, purpose), cut(bytes)))
  }

  return {
    ...fileCalls({ look, open, firstBytes }),
    write: (path, content) => put(path, 'replace', content),
    append: (path, content) => put(path, 'append', content),
    async upload(path, content, { mode, sha256 } = {}) {
      parsePath(path)
      const handle = newHandle()
      // Before anything of the content is taken.
      const staged = await stage(path, handle, 'replace', mode)
      const written = await send(path, handle, Promise.resolve(staged), even(content), sha256)
      return { ...writtenOf(written), sha256: written.sha256 }
    },
    async download(path, { reuse } = {}) {
      const { handle, path: found, stat, close: end } = await open(path, { length: 0, hashes: true })
      const { bytes: size } = stat()

      async function* all(): AsyncGenerator<Uint8Array, string> {
        const hash = createHash('sha256')
        let taken = 0
        for await (const { bytes, isLast } of pieces(path, handle, 0, size, reuse)) {
          taken += bytes.length
          hash.update(bytes)
          if (bytes.length > 0) yield bytes
          if (isLast) throw failure('file_changed', { path, why: `it had ${size} bytes, and ends after ${taken}` })
        }
        const sha256 = hash.digest('hex')
        const there = await ask('FILE_HASH', { path }, (writer, tag) => writer.begin(requests.fileHash, tag).number(6, handle), readHash)
        if (there.sha256 !== sha256) throw failure('file_changed', { path, why: 'other bytes arrived than were sent' })
        return sha256
      }

      return { path: found, size, ...hashedPieces(all(), { close: end, fault: toHoldfastError }) }
    },
    async list(path, { max = defaultMaxEntries, after } = {}): Promise<FileList> {
      parsePath(path)
      const entries: FileEntry[] = []
      for (let behind = after; ; behind = entries.at(-1)?.name) {
        const most = Math.min(maxListed, max - entries.length)
        const answer = await ask(
          'FILE_LIST',
          { path },
          (writer, tag) => {
            at(writer, requests.fileList, tag, path).number(5, most)
            if (behind !== undefined) writer.text(4, behind)
          },
          readEntries,
        )
        entries.push(...answer.entries)
        if (!answer.more || answer.entries.length === 0 || entries.length >= max) return { path: answer.path, entries, more: answer.more }
      }
    },
    async mkdir(path) {
      parsePath(path)
      const { path: found, made } = await ask('FILE_MKDIR', { path }, (writer, tag) => at(writer, requests.fileMkdir, tag, path), readFile)
      return { path: found, created: made }
    },
    async remove(path, { recursive = false } = {}) {
      parsePath(path)
      return ask('FILE_REMOVE', { path }, (writer, tag) => at(writer, requests.fileRemove, tag, path).number(3, recursive ? 1 : 0), readRemoved)
    },
    async move(from, to, { replace = false } = {}) {
      parsePath(from)
      parsePath(to)
      const moved = await ask(
        'FILE_MOVE',
        { path: from, to },
        (writer, tag) =>
          at(writer, requests.fileMove, tag, from)
            .text(19, to)
            .number(3, replace ? 1 : 0),
        readWritten,
      )
      return { from: moved.from, path: moved.path, replaced: !moved.made }
    },
    async linkChain(path) {
      const { links, path: found, stat } = await look(path)
      return { links, path: found, exists: stat !== undefined }
    },
    openBound: (path) => open(path, { length: 0 }),
  }
}

const writtenOf = ({ path, bytes, made, inPlace }: WrittenFile): FileWritten => ({ path, bytes, created: made, route: inPlace ? 'in-place' : 'staged' })

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** The same bytes in pieces of a size that is worth a frame. */
async function* even(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  for await (const piece of content) {
    heldBytes += piece.length
    if (heldBytes < pieceBytes) {
      // Whoever gives it may fill it anew.
      held.push(Buffer.from(piece))
      continue
    }
    yield* cut(held.length === 0 ? piece : Buffer.concat([...held, piece]))
    held = []
    heldBytes = 0
  }
  yield* cut(Buffer.concat(held))
}
