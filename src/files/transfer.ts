import { createHash, randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import { ContentFailed, toldApart } from '../core/file-content.ts'
import { hashedPieces } from '../core/file-reading.ts'
import type { DownloadOptions, FileDownload, FileWritten, UploadOptions } from '../core/files.ts'
import type { DirectoryOpener } from './directory.ts'
import { fileFault } from './fault.ts'
import { readAt, settled } from './open-file.ts'
import { openForReading } from './read.ts'
import { openStage } from './staged.ts'
import { type Content, copyInto, openForReplacing, openTarget, placeContent, requireAll, type WriteContext } from './write.ts'

/** See Files.upload. */
export async function uploadFile(
  context: WriteContext,
  path: string,
  content: AsyncIterable<Uint8Array>,
  { mode, sha256: given }: UploadOptions,
): Promise<FileWritten & { readonly sha256: string }> {
  try {
    const spool = await settled(path, () => openSpool(context, path))
    try {
      const { bytes, sha256 } = await fill(spool.fd, content)
      if (given && (await given) !== sha256) throw failure('file_changed', { path, why: 'other bytes arrived than were sent' })
      const { size } = fstatSync(spool.fd)
      if (size !== bytes) throw failure('file_changed', { path, why: `${bytes} bytes were written, and ${size} are there` })
      const whole: Content = { bytes, into: (fd) => copyInto(fd, spool.fd), ready: spool.ready, mode }
      return { ...(await settled(path, () => placeContent(context, path, whole))), sha256 }
    } finally {
      spool.close()
    }
  } catch (error) {
    throw error instanceof ContentFailed ? error.cause : fileFault(path, error)
  }
}

interface Spool {
  readonly fd: number
  readonly ready: Content['ready']
  close(): void
}

/** Where the content waits until all of it is there: staged beside its target, or, where that directory takes no new file, elsewhere. */
function openSpool(context: WriteContext, path: string): Spool {
  const { target, exists } = openTarget(context, path)
  const { parent, landing } = target
  try {
    if (exists) closeSync(openForReplacing(target).fd)
    const stage = openStage(parent, context.staging, exists ? 0o600 : 0o666)
    if (stage) {
      const close = (): void => {
        stage.drop()
        landing.close()
      }
      return { fd: stage.fd, ready: { stage, dev: parent.dev, ino: parent.ino, existed: exists }, close }
    }
    if (!exists) throw failure('file_denied', { path, why: 'its directory takes no new file' })
    const fd = openNameless()
    landing.close()
    return { fd, ready: undefined, close: () => closeSync(fd) }
  } catch (error) {
    landing.close()
    throw error
  }
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants

/** A file that nobody finds, and that goes with its descriptor. */
function openNameless(): number {
  const path = join(tmpdir(), `holdfast-upload-${randomBytes(8).toString('hex')}`)
  const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  unlinkSync(path)
  return fd
}

async function fill(fd: number, content: AsyncIterable<Uint8Array>): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of toldApart(content)) {
    hash.update(piece)
    bytes += piece.length
    await requireAll(fd, piece)
  }
  return { bytes, sha256: hash.digest('hex') }
}

const pieceBytes = 1024 * 1024

/** See Files.download. Throws Swapped where another process was in between. */
export function downloadFile(opener: DirectoryOpener, root: string, path: string, { reuse = false }: DownloadOptions): FileDownload {
  const file = openForReading(opener, root, path)
  const { bytes: size } = file.stat()
  const { mtimeNs } = fstatSync(file.fd, { bigint: true })

  async function* read(): AsyncGenerator<Uint8Array, string> {
    const hash = createHash('sha256')
    // One is read while the other one is used.
    const rooms = reuse ? [0, 1].map(() => Buffer.allocUnsafeSlow(Math.min(pieceBytes, size))) : []
    const readOn = (at: number): Promise<Buffer> => readAt(file.fd, at, Math.min(pieceBytes, size - at), rooms[(at / pieceBytes) & 1])
    let ahead: Promise<Buffer> | undefined
    try {
      for (let at = 0; at < size; ) {
        const piece = await (ahead ?? readOn(at))
        if (piece.length === 0) throw failure('file_changed', { path, why: `it had ${size} bytes, and ends after ${at}` })
        at += piece.length
        ahead = reuse && at < size && at % pieceBytes === 0 ? readOn(at) : undefined
        hash.update(piece)
        yield piece
      }
    } finally {
      // Whoever stops half-way closes the file next.
      await ahead?.catch(() => {})
    }
    const sha256 = hash.digest('hex')
    // What was only added to still has these bytes.
    const isSame = fstatSync(file.fd, { bigint: true }).mtimeNs === mtimeNs || (await hashOf(file.fd, size)) === sha256
    if (!isSame) throw failure('file_changed', { path, why: 'it was written to while it was read' })
    return sha256
  }

  return { path: file.path, size, ...hashedPieces(read(), { close: file.close, fault: (error) => fileFault(path, error) }) }
}

async function hashOf(fd: number, size: number): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < size; ) {
    const piece = await readAt(fd, at, Math.min(pieceBytes, size - at))
    if (piece.length === 0) break
    hash.update(piece)
    at += piece.length
  }
  return hash.digest('hex')
}
