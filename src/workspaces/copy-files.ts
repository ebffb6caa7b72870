import {
  closeSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errnoOf, failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'

export interface CopyFiles {
  readonly source: string
  readonly target: string
  /** Paths below both. A secret is given to its owner alone. */
  readonly files: readonly { readonly path: string; readonly isSecret: boolean }[]
  readonly signal?: AbortSignal | undefined
  /** After each thousand. */
  readonly onCopied?: ((files: number) => void) | undefined
}

export interface Copied {
  readonly files: number
  /** What was there already, of the same size and time, as in the layer of a copy-on-write tree. */
  readonly same: number
  readonly bytes: number
  /** `reflink`: both files share their blocks until one is changed. */
  readonly how: 'reflink' | 'copy'
  /** What is not there now, by the reason. */
  readonly left: ReadonlyMap<string, readonly string[]>
}

/** For so long others wait while small files are copied; one by one in turns with everything else they would take twice the time. */
const sliceMs = 10
/** A larger one is copied aside, unless it shares its blocks. */
const smallBytes = 1024 ** 2
const progressFiles = 1000

/** Pairs of devices between which files cannot share their blocks; found out by the first file. */
const withoutReflinks = new Set<string>()

/**
 * Copies files to where none are: nothing is overwritten, no link is followed out of the source or the target, and no file of both is one.
 * Links stay what they say. Where it is canceled or the disk is full, what was copied is removed before it rejects.
 */
export async function copyFiles({ source, target, files, signal, onCopied }: CopyFiles): Promise<Copied> {
  const left = new Map<string, string[]>()
  const leave = (why: string, path: string): void => void left.set(why, [...(left.get(why) ?? []), path])
  const made: string[] = []
  const folders = new Folders(source, target)
  const totals = { files: 0, bytes: 0, reflinks: 0, same: 0 }

  async function copyOne({ path, isSecret }: CopyFiles['files'][number]): Promise<void> {
    const from = join(source, path)
    const to = join(target, path)
    const found = lstatSync(from)
    if (!found.isFile() && !found.isSymbolicLink()) return leave('it is neither a file nor a link', path)
    if (!folders.make(dirname(path))) return leave('its folder is a link or a file in the tree', path)
    const onMade = (): void => void made.push(to)
    if (found.isSymbolicLink()) {
      symlinkSync(readlinkSync(from), to)
      onMade()
    } else if (isSecret) {
      copySecret(from, to, onMade)
    } else {
      const isReflink = await copyContent(from, to, { devices: `${found.dev}:${folders.device}`, isSmall: found.size <= smallBytes, onMade })
      if (isReflink) totals.reflinks++
      // Tools compare the times of what they made with those of what they made it from.
      utimesSync(to, found.atime, found.mtime)
    }
    totals.bytes += found.size
    totals.files++
    if (totals.files % progressFiles === 0) onCopied?.(totals.files)
  }

  try {
    let since = monotonicMs()
    for (const file of files) {
      if (signal?.aborted) throw failure('canceled', {})
      try {
        await copyOne(file)
      } catch (error) {
        const errno = errnoOf(error)
        if (errno === undefined || errno === 'ENOSPC' || errno === 'EDQUOT') throw error
        if (errno !== 'EEXIST') leave(`it cannot be copied (${errno})`, file.path)
        else if (isSame(join(source, file.path), join(target, file.path))) totals.same++
        else leave('it is there already', file.path)
      }
      if (monotonicMs() - since < sliceMs) continue
      await new Promise((resolve) => setImmediate(resolve))
      since = monotonicMs()
    }
  } catch (error) {
    // Nobody else knows of them yet.
    for (const path of made) unlinkSync(path)
    folders.remove()
    throw error
  }
  return { files: totals.files, same: totals.same, bytes: totals.bytes, how: totals.reflinks > 0 ? 'reflink' : 'copy', left }
}

/** Times are set to about a millisecond. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [lstatSync(one), lstatSync(other, { throwIfNoEntry: false })]
  if (second === undefined || first.mode !== second.mode || first.size !== second.size) return false
  return first.isSymbolicLink() ? readlinkSync(one) === readlinkSync(other) : Math.abs(first.mtimeMs - second.mtimeMs) < 2
}

/** Whether it shares its blocks with the source. */
async function copyContent(
  from: string,
  to: string,
  { devices, isSmall, onMade }: { readonly devices: string; readonly isSmall: boolean; readonly onMade: () => void },
): Promise<boolean> {
  if (!withoutReflinks.has(devices)) {
    try {
      copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
      onMade()
      return true
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') throw error
      withoutReflinks.add(devices)
    }
  }
  // What is copied in part is removed by the call itself, and what was there before is not touched.
  if (isSmall) copyFileSync(from, to, constants.COPYFILE_EXCL)
  else await copyFile(from, to, constants.COPYFILE_EXCL)
  onMade()
  return false
}

/** At no moment anybody else may read it. */
function copySecret(from: string, to: string, onMade: () => void): void {
  const content = readFileSync(from)
  const descriptor = openSync(to, 'wx', 0o600)
  onMade()
  try {
    writeFileSync(descriptor, content)
  } finally {
    closeSync(descriptor)
  }
}

/** The folders of the target, made as they are in the source. What is on the way and no folder is left as it is. */
class Folders {
  readonly device: number
  readonly #known = new Map<string, boolean>([['.', true]])
  readonly #made: string[] = []
  readonly #source: string
  readonly #target: string

  constructor(source: string, target: string) {
    this.#source = source
    this.#target = target
    this.device = lstatSync(target).dev
  }

  /** Whether there is one now. */
  make(path: string): boolean {
    const known = this.#known.get(path)
    if (known !== undefined) return known
    const isFolder = this.make(dirname(path)) && this.#makeOne(path)
    this.#known.set(path, isFolder)
    return isFolder
  }

  #makeOne(path: string): boolean {
    const found: Stats | undefined = lstatSync(join(this.#target, path), { throwIfNoEntry: false })
    if (found) return found.isDirectory()
    const original = lstatSync(join(this.#source, path))
    if (!original.isDirectory()) return false
    // Its owner must be able to write what is in it.
    mkdirSync(join(this.#target, path), { mode: (original.mode & 0o777) | 0o700 })
    this.#made.push(path)
    return true
  }

  remove(): void {
    for (const path of this.#made.reverse()) {
      try {
        rmdirSync(join(this.#target, path))
      } catch {
        // Something else was put there.
      }
    }
  }
}
