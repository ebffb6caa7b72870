import { basename } from 'node:path'
import { failure } from '../core/errors.ts'
import type { FileEntry, Files } from '../core/files.ts'
import { formatCount } from '../core/text.ts'

/** Files and folders from one place to another: streamed, compared by their hashes, each written in one step. */

export interface CopyEnd {
  readonly files: Files
  readonly path: string
}

export interface Copied {
  /** What was copied, and where it is now, each from its root. */
  readonly from: string
  readonly path: string
  readonly files: number
  readonly directories: number
  readonly bytes: number
  /** Of a single file, in hexadecimal. */
  readonly sha256: string | null
  /** Links, pipes and the state of git, which are not copied, from the root; the first hundred. */
  readonly skipped: readonly string[]
}

interface Tally {
  files: number
  directories: number
  bytes: number
  readonly skipped: string[]
}

export interface FileCall {
  readonly signal?: AbortSignal | undefined
  readonly onStep?: ((what: string) => void) | undefined
}

const maxSkipped = 100
const pageEntries = 1_000
/** How often it is told how far it is. */
const tellEveryMs = 500

/** A folder is merged into one that is there; a file goes into a folder that is there. Rejects with `file_changed` where other bytes arrive than were sent. */
export async function copyBetween(from: CopyEnd, to: CopyEnd, call: FileCall = {}): Promise<Copied> {
  const source = await from.files.stat(from.path)
  const tally: Tally = { files: 0, directories: 0, bytes: 0, skipped: [] }
  const tell = teller(call, tally)
  if (source.kind === 'directory') {
    const { path } = await to.files.mkdir(to.path)
    await copyFolder(from.files, source.path, to.files, path, tally, tell, call.signal)
    return { from: source.path, path, ...tally, sha256: null }
  }
  if (source.kind !== 'file') throw failure('file_kind', { path: from.path, is: source.kind, needed: 'a file or a directory' })
  const path = (await isFolder(to)) ? join(to.path, basename(source.path)) : to.path
  const { path: written, sha256 } = await copyFile(from.files, source.path, source.mode, to.files, path, tally, tell)
  return { from: source.path, path: written, ...tally, sha256 }
}

async function isFolder({ files, path }: CopyEnd): Promise<boolean> {
  return (await files.exists(path)) && (await files.stat(path)).kind === 'directory'
}

async function copyFolder(
  from: Files,
  folder: string,
  to: Files,
  into: string,
  tally: Tally,
  tell: () => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  tally.directories += 1
  let after: string | undefined
  for (;;) {
    const { entries, more } = await from.list(folder, { max: pageEntries, after })
    for (const entry of entries) {
      if (signal?.aborted) throw failure('canceled', {})
      await copyEntry(from, join(folder, entry.name), entry, to, join(into, entry.name), tally, tell, signal)
    }
    after = entries.at(-1)?.name
    if (!more || after === undefined) return
  }
}

async function copyEntry(
  from: Files,
  path: string,
  { kind, name }: FileEntry,
  to: Files,
  target: string,
  tally: Tally,
  tell: () => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (name === '.git' || kind === 'link' || kind === 'other') {
    if (tally.skipped.length < maxSkipped) tally.skipped.push(path)
  } else if (kind === 'directory') {
    await to.mkdir(target)
    await copyFolder(from, path, to, target, tally, tell, signal)
  } else {
    await copyFile(from, path, (await from.stat(path)).mode, to, target, tally, tell)
  }
}

async function copyFile(
  from: Files,
  path: string,
  mode: string,
  to: Files,
  target: string,
  tally: Tally,
  tell: () => void,
): Promise<{ path: string; sha256: string }> {
  const { pieces: read, sha256 } = await from.download(path, { reuse: true })
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const piece of read) {
      yield piece
      tally.bytes += piece.length
      tell()
    }
  }
  // The hash is made where the bytes are read, and compared with what has arrived before that takes its place.
  const written = await to.upload(target, pieces(), { mode: Number.parseInt(mode, 8) & 0o777, sha256 })
  tally.files += 1
  return { path: written.path, sha256: written.sha256 }
}

const join = (folder: string, name: string): string => (folder === '.' ? name : `${folder}/${name}`)

function teller({ onStep }: FileCall, tally: Tally): () => void {
  let at = performance.now()
  return () => {
    if (!onStep || performance.now() - at < tellEveryMs) return
    at = performance.now()
    try {
      onStep(`${formatCount(tally.files)} files, ${formatCount(tally.bytes)} bytes`)
    } catch {
      // Who looks on stops nothing.
    }
  }
}
