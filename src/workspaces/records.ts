import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import { type WorkspaceRecord, workspaceKinds, workspaceStates } from '../core/workspace.ts'
import { repositoryFiles } from './layout.ts'

/**
 * The records of the workspaces of a repository. Each is written before what it says is done, under the lock of the
 * repository, and whole or not at all, so that whoever comes after a crash knows how far it came.
 */

/** Writes a record in the place of the one that is there. */
export function writeRecord(commonDir: string, key: string, record: WorkspaceRecord): void {
  const path = repositoryFiles(commonDir).record(key)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.new`
  const descriptor = openSync(temporary, 'w', 0o600)
  try {
    writeSync(descriptor, `${JSON.stringify(record, null, 1)}\n`)
    // Unlike a run, a workspace holds work that is not ours to lose: its record must be there after a power cut, too.
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(temporary, path)
}

/** Undefined where there is none, or none that can be understood. */
export function readRecord(commonDir: string, key: string): WorkspaceRecord | undefined {
  try {
    return toRecord(JSON.parse(readFileSync(repositoryFiles(commonDir).record(key), 'utf8')))
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
      const record = toRecord(JSON.parse(readFileSync(join(records, name), 'utf8')))
      return record ? [{ key, record }] : []
    } catch {
      return []
    }
  })
}

function toRecord(value: unknown): WorkspaceRecord | undefined {
  const record = value as Partial<WorkspaceRecord> | null
  if (typeof record !== 'object' || record?.version !== 1) return undefined
  const { id, kind, state, path, commonDir, nonce, options } = record
  const isWhole =
    [path, commonDir, nonce].every((text) => typeof text === 'string' && text !== '') &&
    typeof id === 'string' &&
    /^[0-9a-f]{10}$/.test(id) &&
    workspaceKinds.some((known) => known === kind) &&
    workspaceStates.some((known) => known === state) &&
    typeof options === 'object'
  return isWhole ? (record as WorkspaceRecord) : undefined
}
