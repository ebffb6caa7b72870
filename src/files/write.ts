import { closeSync, constants, fchmodSync, fchownSync, fstatSync, ftruncateSync, linkSync, renameSync, type Stats } from 'node:fs'
import { errnoOf, failure } from '../core/errors.ts'
import { joinNames, meansDirectory } from '../core/file-path.ts'
import type { FileWritten, WriteRoute } from '../core/files.ts'
import type { Directory, DirectoryOpener } from './directory.ts'
import { type OpenFile, openRegular, readAt, requireFilePlace, Swapped, writeAll } from './open-file.ts'
import { openStage, type Stage, type Staging, sweep } from './staged.ts'
import { type Landing, walk } from './walk.ts'

export interface WriteContext {
  readonly opener: DirectoryOpener
  readonly root: string
  readonly staging: Staging
  readonly now: () => number
}

const { O_APPEND, O_RDONLY, O_WRONLY } = constants

/** Where it is written. */
export interface Target {
  readonly landing: Landing
  readonly parent: Directory
  readonly name: string
}

/** What is written. */
export interface Content {
  readonly bytes: number
  into(fd: number): Promise<void>
  /** Where it is staged already, as its opener found the target. */
  readonly ready?: { readonly stage: Stage; readonly dev: number; readonly ino: number; readonly existed: boolean } | undefined
  /** Permissions of a file that is made; absent: what the mask of this process leaves. */
  readonly mode?: number | undefined
}

/** See Files.write. Throws Swapped where another process was in between. */
export async function writeFile(context: WriteContext, path: string, content: Uint8Array): Promise<FileWritten> {
  return placeContent(context, path, { bytes: content.length, into: (fd) => requireAll(fd, content) })
}

/** Gives a file this content. Throws Swapped where another process was in between: then it may be called anew. */
export async function placeContent(context: WriteContext, path: string, content: Content): Promise<FileWritten> {
  return atTarget(context, path, async (target, exists) => {
    const existing = exists ? openForReplacing(target) : undefined
    try {
      const route = await replace(context, target, existing, content)
      return written(target, content.bytes, existing === undefined, route)
    } finally {
      if (existing) closeSync(existing.fd)
    }
  })
}

/** See Files.append. Throws Swapped where another process was in between. */
export async function appendFile(context: WriteContext, path: string, content: Uint8Array): Promise<FileWritten> {
  return atTarget(context, path, async (target, exists) => {
    if (!exists) {
      await create(context, target, content)
      return written(target, content.length, true, 'staged')
    }
    const existing = openRegular(path, target.parent, target.name, O_WRONLY | O_APPEND)
    try {
      // Under its other names it may be in a place that is not ours to change.
      const isShared = content.length > 0 && (await hasOtherNames(existing))
      if (isShared) await stageLonger(context, target, existing, content)
      else await addToEnd(path, existing.fd, content)
      return written(target, content.length, false, isShared ? 'staged' : 'in-place')
    } finally {
      closeSync(existing.fd)
    }
  })
}

/** How long a file that is just being made has a second name at most, in all, and how often that is looked at. */
const namedTwiceMs = 40
const lookMs = 5

/** Whoever makes a file links it to its name and removes the one that it was staged under: in between it has two, and is replaced for neither. */
async function hasOtherNames({ fd, stats }: OpenFile): Promise<boolean> {
  let { nlink } = stats
  for (let waitedMs = 0; nlink > 1 && waitedMs < namedTwiceMs; waitedMs += lookMs) {
    await new Promise((resolve) => setTimeout(resolve, lookMs))
    nlink = fstatSync(fd).nlink
  }
  return nlink > 1
}

/** Does it where a file is, or is to be. The landing is closed behind it. */
async function atTarget<T>(context: WriteContext, path: string, act: (target: Target, exists: boolean) => Promise<T>): Promise<T> {
  const { target, exists } = openTarget(context, path)
  try {
    return await act(target, exists)
  } finally {
    target.landing.close()
  }
}

/** Makes the directories above it. Whoever calls closes the landing. */
export function openTarget({ opener, root, staging, now }: WriteContext, path: string): { readonly target: Target; readonly exists: boolean } {
  const isFile = !meansDirectory(path)
  const landing = walk(opener, root, path, { changes: true, makeParents: isFile })
  try {
    if (!isFile) throw failure('file_kind', { path, is: 'a directory', needed: 'a file' })
    const { parent, name, exists } = requireFilePlace(landing)
    sweep(parent, staging, now)
    return { target: { landing, parent, name }, exists }
  } catch (error) {
    landing.close()
    throw error
  }
}

const written = ({ landing }: Target, bytes: number, created: boolean, route: WriteRoute): FileWritten => ({
  path: joinNames(landing.names),
  bytes,
  created,
  route,
})

/** What this user may not write is not replaced either. A program that runs cannot be written to, but replaced. */
export function openForReplacing({ landing: { path }, parent, name }: Target): OpenFile {
  try {
    return openRegular(path, parent, name, O_WRONLY)
  } catch (error) {
    if (errnoOf(error) === 'ETXTBSY') return openRegular(path, parent, name, O_RDONLY)
    throw error
  }
}

/** Puts a file with the same content and more in its place. */
async function stageLonger(context: WriteContext, target: Target, existing: OpenFile, content: Uint8Array): Promise<void> {
  const { landing, parent, name } = target
  const source = openRegular(landing.path, parent, name, O_RDONLY)
  try {
    if (source.stats.ino !== existing.stats.ino) throw new Swapped(landing.path)
    const into = async (fd: number): Promise<void> => {
      await copyInto(fd, source.fd)
      await requireAll(fd, content)
    }
    await stageInto(context, target, existing, { bytes: content.length, into })
  } finally {
    closeSync(source.fd)
  }
}

const pieceBytes = 4 * 1024 * 1024

/** Adds all that is in another file. */
export async function copyInto(fd: number, source: number): Promise<void> {
  for (let at = 0; ; ) {
    const piece = await readAt(source, at, pieceBytes)
    if (piece.length === 0) return
    await requireAll(fd, piece)
    at += piece.length
  }
}

export async function requireAll(fd: number, content: Uint8Array): Promise<void> {
  const { error } = await writeAll(fd, content)
  if (error) throw error
}

async function replace(context: WriteContext, target: Target, existing: OpenFile | undefined, content: Content): Promise<WriteRoute> {
  if (await stageInto(context, target, existing, content, 'or-not')) return 'staged'
  const { path } = target.landing
  if (!existing) throw failure('file_denied', { path, why: 'its directory takes no new file' })
  await writeInPlace(path, existing, content)
  return 'in-place'
}

/**
 * Puts the content in the place of the target in one step. False where that cannot be done and nothing was changed, when this may be;
 * else it throws.
 */
async function stageInto(
  { staging }: WriteContext,
  { parent, name, landing: { path } }: Target,
  existing: OpenFile | undefined,
  content: Content,
  failing?: 'or-not',
): Promise<boolean> {
  const refused = (): boolean => {
    if (failing) return false
    throw failure('file_denied', { path, why: 'it has other names (hard links), and its directory takes no new file' })
  }
  const { ready } = content
  const isReady = ready?.dev === parent.dev && ready.ino === parent.ino && (ready.existed === (existing !== undefined) || content.mode !== undefined)
  const stage = isReady ? ready.stage : openStage(parent, staging, existing ? 0o600 : 0o666)
  if (!stage) return refused()
  try {
    if (!isReady) await content.into(stage.fd)
    if (existing && !takesOver(stage, existing.stats)) return refused()
    if (!existing && content.mode !== undefined) fchmodSync(stage.fd, content.mode & 0o777)
    try {
      renameSync(parent.at(stage.name), parent.at(name))
    } catch (error) {
      // A directory stands there by now; a file system is mounted on the file; the directory lets only owners replace (sticky).
      if (errnoOf(error) === 'EISDIR') throw new Swapped(path)
      if (['EBUSY', 'EPERM', 'EACCES'].includes(errnoOf(error) ?? '')) return refused()
      throw error
    }
    return true
  } finally {
    // One that was there before may be needed again, and is its owner's.
    if (!isReady) stage.drop()
  }
}

/** Gives the staged file the owner and the permissions of the one that it replaces. False where the owner cannot be kept. */
function takesOver({ fd }: Stage, { uid, gid, mode }: Stats): boolean {
  const own = fstatSync(fd)
  try {
    if (own.uid !== uid || own.gid !== gid) fchownSync(fd, uid, gid)
  } catch (error) {
    if (errnoOf(error) === 'EPERM') return false
    throw error
  }
  fchmodSync(fd, mode & 0o777)
  return true
}

async function writeInPlace(path: string, { fd, stats }: OpenFile, content: Content): Promise<void> {
  if (stats.nlink > 1) throw failure('file_denied', { path, why: 'it has other names (hard links), and its directory takes no new file' })
  try {
    ftruncateSync(fd, 0)
  } catch (error) {
    // Opened for reading only, see openForReplacing.
    throw failure('file_denied', { path, why: 'it is a program that runs, and its directory takes no new file' }, error)
  }
  await content.into(fd)
}

/** One call of the system adds all of it, at what is the end at that moment. */
async function addToEnd(path: string, fd: number, content: Uint8Array): Promise<void> {
  const { size: before } = fstatSync(fd)
  const { written: added, error } = await writeAll(fd, content, content.length)
  if (!error) return
  // What others added meanwhile is not cut off.
  if (fstatSync(fd).size === before + added) ftruncateSync(fd, before)
  else if (added > 0) throw failure('file_failed', { path, errno: `${errnoOf(error)}, after ${added} of ${content.length} bytes` }, error)
  throw error
}

/** Makes a file with its content, where none is. Throws Swapped where one is by now. */
async function create({ staging }: WriteContext, { parent, name, landing: { path } }: Target, content: Uint8Array): Promise<void> {
  const stage = openStage(parent, staging, 0o666)
  if (!stage) throw failure('file_denied', { path, why: 'its directory takes no new file' })
  try {
    await requireAll(stage.fd, content)
    try {
      // Unlike a rename, it replaces nothing.
      linkSync(parent.at(stage.name), parent.at(name))
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') throw new Swapped(path)
      // Some file systems know no links.
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errnoOf(error) ?? '')) throw error
      renameSync(parent.at(stage.name), parent.at(name))
    }
  } finally {
    stage.drop()
  }
}
