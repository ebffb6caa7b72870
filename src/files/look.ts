import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { failure } from '../core/errors.ts'
import { joinNames } from '../core/file-path.ts'
import { defaultMaxEntries, type FileEntry, type FileList, type FileStat } from '../core/files.ts'
import type { Directory } from './directory.ts'
import { kindOf } from './open-file.ts'
import type { Landing } from './walk.ts'

export function statOf(path: string, stats: Stats): FileStat {
  return {
    path,
    kind: kindOf(stats),
    bytes: stats.size,
    mode: (stats.mode & 0o7777).toString(8).padStart(4, '0'),
    modifiedAt: new Date(stats.mtimeMs).toISOString(),
  }
}

export function statLanding({ path, names, stats }: Landing): FileStat {
  if (!stats) throw failure('file_missing', { path })
  return statOf(joinNames(names), stats)
}

export interface ListRange {
  readonly max?: number | undefined
  readonly after?: string | undefined
}

export function listLanding({ path, names, stats, directory }: Landing, { max = defaultMaxEntries, after }: ListRange): FileList {
  if (!stats) throw failure('file_missing', { path })
  if (!directory) throw failure('file_kind', { path, is: kindOf(stats) === 'file' ? 'a file' : 'no directory', needed: 'a directory' })
  const found = directory
    .names()
    .map((raw) => ({ raw, name: raw.toString('utf8') }))
    .filter(({ name }) => after === undefined || name > after)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : Buffer.compare(a.raw, b.raw)))
  return { path: joinNames(names), entries: found.slice(0, max).flatMap(({ raw, name }) => entryOf(directory, raw, name) ?? []), more: found.length > max }
}

/** Undefined where it is gone by now. */
function entryOf(directory: Directory, raw: Buffer, name: string): FileEntry | undefined {
  const stats = lstatSync(directory.at(raw), { throwIfNoEntry: false })
  if (!stats) return undefined
  return { name, kind: kindOf(stats), bytes: stats.size, target: stats.isSymbolicLink() ? targetOf(directory, raw) : null }
}

function targetOf(directory: Directory, raw: Buffer): string | null {
  try {
    return readlinkSync(directory.at(raw))
  } catch {
    // It is no link any more.
    return null
  }
}
