import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { readPlainText } from '../git/plain-file.ts'
import type { Repository } from '../git/repository.ts'
import { keyOf } from '../workspaces/layout.ts'
import { portVariables } from '../workspaces/ports.ts'
import { readRecord } from '../workspaces/records.ts'

/** The workspace that a command runs in. */
export interface RunWorkspace {
  readonly commonDir: string
  readonly key: string
  readonly record: WorkspaceRecord
}

/** What a command needs of the repository that holds a folder. */
export type FindRepository = (folder: string) => Repository | undefined

/** The copy of a record that dies with its tree. */
const copyName = 'holdfast.json'
const maxCopyBytes = 64 * 1024

/**
 * The workspace that a repository's worktree is, told by its files alone: the copy in its administrative folder names a record of the
 * repository that is the very same. Undefined for every other tree.
 */
export function workspaceOf({ gitDir, commonDir }: Repository): RunWorkspace | undefined {
  const copy = readCopy(adminFolderOf(gitDir))
  if (!copy) return undefined
  try {
    const record = readRecord(commonDir, copy.key)
    return record && record.id === copy.id && record.nonce === copy.nonce ? { commonDir, key: copy.key, record } : undefined
  } catch {
    return undefined
  }
}

// A submodule of a worktree keeps its state inside the administrative folder of that.
const adminFolderOf = (gitDir: string): string => /^(.*\/worktrees\/[^/]+)\/modules\//.exec(gitDir)?.[1] ?? gitDir

interface Copy {
  readonly id: string
  readonly key: string
  readonly nonce: string
}

function readCopy(adminFolder: string): Copy | undefined {
  try {
    const { id, key, nonce } = JSON.parse(readPlainText(join(adminFolder, copyName), maxCopyBytes)) as Partial<Copy>
    // The key becomes the name of a file.
    return typeof id === 'string' && typeof nonce === 'string' && typeof key === 'string' && /^[0-9a-f]{16}$/.test(key) ? { id, key, nonce } : undefined
  } catch {
    return undefined
  }
}

/**
 * Throws `workspace_unusable` unless the tree of a workspace is whole and its own: a folder that has lost its `.git` belongs to whatever
 * repository lies above it, and a command in it would work on that.
 */
export function checkUsable(found: RunWorkspace, findRepository: FindRepository): void {
  const { record } = found
  const unusable = (why: string) => failure('workspace_unusable', { workspace: record.id, why })
  checkState(record)
  const repository = findRepository(record.path)
  if (!repository) throw unusable(`${record.path} is gone, or in no repository any more`)
  if (repository.root !== record.path) throw unusable(`${record.path} has no .git of its own and lies in ${repository.root}`)
  const there = workspaceOf(repository)
  if (!there || there.record.id !== record.id || there.record.nonce !== record.nonce) throw unusable(`${record.path} is another tree now`)
}

export function checkState({ id, state }: WorkspaceRecord): void {
  if (state !== 'ready') throw failure('workspace_unusable', { workspace: id, why: state === 'releasing' ? 'it is being released' : 'it is not whole yet' })
}

/** What a command in a workspace is told about it. */
export function workspaceVariables({ record }: RunWorkspace): Record<string, string> {
  const branch = record.branch === null ? {} : { HOLDFAST_BRANCH: record.branch }
  return { HOLDFAST_WORKSPACE: record.id, ...branch, ...portVariables(record.ports) }
}

export const namedInWords = ({ id, branch, operator }: WorkspaceRecord): string =>
  branch === null ? `workspace ${id} (sandbox of ${operator ?? '?'})` : `workspace ${id} (branch ${branch})`

/** Where a record is, as it says itself. */
export const placeOf = (record: WorkspaceRecord): Pick<RunWorkspace, 'commonDir' | 'key'> => ({
  commonDir: record.commonDir,
  key: keyOf(record.branch === null ? { operator: record.operator ?? '' } : { branch: record.branch }),
})
