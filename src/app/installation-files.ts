import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { TextDecoder } from 'node:util'
import { errnoOf, failure } from '../core/errors.ts'
import { maxFileLinks } from '../core/files.ts'
import type { Machine } from '../core/machine.ts'
import { fileFault } from '../files/fault.ts'
import { createHostFiles } from '../files/host-files.ts'

/** A configuration file as it is now. */
export interface HeldFile {
  /** As the host names it. */
  readonly path: string
  /** Where it is: a link stays one, and what it leads to is written. */
  readonly place: string
  /** Undefined where there is none. */
  readonly text: string | undefined
}

/** What a file is to have; undefined: it is to be gone. */
export interface Writing {
  readonly file: HeldFile
  readonly text: string | undefined
}

const maxConfigBytes = 16 * 1024 * 1024

/** Reads a file that need not be there. With `within`, links that lead out of that folder are refused. */
export function holdFile(path: string, within: string | undefined): HeldFile {
  const place = placeOf(path)
  if (within !== undefined && relative(realpathSync(within), place).startsWith('..'))
    throw failure('file_denied', { path, why: `a link leads out of ${within}, to ${place}` })
  return { path, place, text: readText(path, place) }
}

/** Where a path leads, also where nothing is there yet. */
function placeOf(path: string): string {
  let at = path
  for (let links = 0; links <= maxFileLinks; links += 1) {
    const parent = nearestFolder(dirname(at))
    at = join(realpathSync(parent), relative(parent, at))
    if (!lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) return at
    at = resolve(dirname(at), readlinkSync(at))
  }
  throw failure('file_loop', { path, links: maxFileLinks })
}

function nearestFolder(path: string): string {
  let folder = path
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

function readText(path: string, place: string): string | undefined {
  try {
    const stats = statSync(place)
    if (!stats.isFile()) throw failure('file_kind', { path, is: stats.isDirectory() ? 'a directory' : 'no regular file', needed: 'a file' })
    if (stats.size > maxConfigBytes) throw failure('file_too_large', { path, bytes: stats.size, maxBytes: maxConfigBytes })
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(place))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
    if (error instanceof TypeError) throw failure('host_config_broken', { path, line: 1, column: 1, problem: 'it is not in UTF-8' }, error)
    throw fileFault(path, error)
  }
}

/**
 * Gives each file its text, or takes it away: all of them, or none. What was changed since it was read is left as it is. Resolves to the
 * folders that were made.
 */
export async function writeFiles(writings: readonly Writing[], machine: Pick<Machine, 'self' | 'isAlive'>, isPrivate: boolean): Promise<string[]> {
  for (const { file } of writings) requireWritable(file)
  const made: string[] = []
  const done: Writing[] = []
  try {
    for (const { file, text } of writings) {
      if (readText(file.path, file.place) !== file.text) throw failure('host_config_changed', { path: file.path })
      made.push(...missingFolders(file.place))
      await putText(file, text, machine, isPrivate)
      done.push({ file, text })
    }
    return made
  } catch (error) {
    for (const { file } of done.toReversed()) await putText(file, file.text, machine, isPrivate)
    removeFolders(made)
    throw error
  }
}

// Somebody who may write everywhere would replace what was made read-only on purpose.
function requireWritable({ path, place }: HeldFile): void {
  const mode = statSync(place, { throwIfNoEntry: false })?.mode
  if (mode !== undefined && (mode & 0o222) === 0) throw failure('file_denied', { path, why: `it is read-only${place === path ? '' : ` (at ${place})`}` })
}

async function putText(
  { path, place, text: before }: HeldFile,
  text: string | undefined,
  machine: Pick<Machine, 'self' | 'isAlive'>,
  isPrivate: boolean,
): Promise<void> {
  const root = nearestFolder(dirname(place))
  const files = createHostFiles({ root, machine })
  const name = relative(root, place)
  try {
    if (text !== undefined) await files.write(name, text)
    else if (existsSync(place)) await files.remove(name)
  } catch (error) {
    // The name that people know, not the one below the folder that is written in.
    throw retold(path, error)
  }
  // Hosts keep the mode of a file, and write down secrets later.
  if (before === undefined && text !== undefined && isPrivate) chmodSync(place, 0o600)
}

function retold(path: string, error: unknown): unknown {
  const { reason, why } = ((error as { details?: { reason?: string; why?: string } } | null)?.details ?? {}) as { reason?: string; why?: string }
  return reason === 'file_denied' ? failure('file_denied', { path, why: why ?? 'this user may not' }, error) : error
}

/** The folders above a path that are not there, outer ones first. */
function missingFolders(place: string): string[] {
  const missing: string[] = []
  for (let folder = dirname(place); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder)
  return missing
}

/** Removes folders that have nothing in them, inner ones first. */
export function removeFolders(folders: readonly string[]): void {
  for (const folder of [...new Set(folders)].toSorted((one, other) => other.length - one.length)) {
    try {
      rmdirSync(folder)
    } catch {
      // It holds something by now, or is gone.
    }
  }
}

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
