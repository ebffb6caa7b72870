import { fsyncSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { makePlainFolder, readPlainText, replacePlain } from '../git/plain-file.ts'
import { repositoryFiles } from './layout.ts'
import { toRecord } from './to-record.ts'

/**
 * The records of the workspaces of a repository. Each is written before what it says is done, under the lock of the
 * repository, and whole or not at all, so that whoever comes after a crash knows how far it came.
 */

// All that git said of a remote is in it.
const maxRecordBytes = 4 * 1024 ** 2

/** Writes a record in the place of the one that is there. */
export function writeRecord(commonDir: string, key: string, record: WorkspaceRecord): void {
  const path = repositoryFiles(commonDir).record(key)
  makePlainFolder(commonDir, dirname(path))
  // Unlike a run, a workspace holds work that is not ours to lose: its record must be there after a power cut, too.
  replacePlain(path, `${JSON.stringify(record, null, 1)}\n`, { temporary: `${path}.${process.pid}.new`, finish: fsyncSync })
}

/** Undefined where there is none, or none that can be understood. */
export function readRecord(commonDir: string, key: string): WorkspaceRecord | undefined {
  try {
    return toRecord(JSON.parse(readPlainText(repositoryFiles(commonDir).record(key), maxRecordBytes)), key)
  } catch (error) {
    if (error instanceof SyntaxError || errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

export function removeRecord(commonDir: string, key: string): void {
  rmSync(repositoryFiles(commonDir).record(key), { force: true })
}

/** All records of a repository by their keys; what cannot be understood is left out. */
export function listRecords(commonDir: string): { readonly key: string; readonly record: WorkspaceRecord }[] {
  const { records } = repositoryFiles(commonDir)
  let names: string[]
  try {
    names = readdirSync(records)
  } catch {
    return []
  }
  return names.flatMap((name) => {
    const key = /^([0-9a-f]{16})\.json$/.exec(name)?.[1]
    if (key === undefined) return []
    try {
      const record = toRecord(JSON.parse(readPlainText(join(records, name), maxRecordBytes)), key)
      return record ? [{ key, record }] : []
    } catch {
      return []
    }
  })
}
