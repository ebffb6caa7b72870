import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree, listTrees, type Tree, usesBranch } from '../git/admin.ts'
import { checkIndex, findIndexLock } from '../git/index-file.ts'
import { inTree } from '../git/open.ts'
import { lockTree, repairTree } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import { lockReasonOf, ownerOf, readAdminCopy, writeAdminCopy } from './identity.ts'
import { mendHead } from './mend-head.ts'
import { writeRecord } from './records.ts'
import type { Report } from './report.ts'
import { registeringPath } from './resume.ts'
import type { Wanted } from './wanted.ts'

/** A git that was killed leaves its lock behind; one that lives and holds it for longer is found by its process. */
const staleLockMs = 60_000
/** An index of many files is compared with each of them. */
const indexTimeoutMs = 10 * 60_000

/** A tree that has its files, whatever else it has. */
export interface Mendable {
  readonly tree: Tree
  readonly path: string
  readonly isLinked: boolean
}

/**
 * Mends what can be mended without touching a file of the tree: its links, git's lock on it, its index, its HEAD; and writes the record
 * as it is true now. Called with the lock of the repository.
 */
export async function mendTree(context: WorkspaceContext, wanted: Wanted, given: WorkspaceRecord, found: Mendable, report: Report): Promise<WorkspaceRecord> {
  const { repository, key } = wanted
  const { commonDir } = repository
  const { path } = found
  const owner = ownerOf(found.tree.lockReason) ?? readAdminCopy(found.tree.adminDir)
  if (owner !== undefined && owner.id !== given.id) {
    throw failure('identity_mismatch', { path, expected: `the workspace ${given.id}`, found: `the workspace ${owner.id}` })
  }
  const record: WorkspaceRecord = { ...given, nonce: owner?.nonce ?? given.nonce }
  mendLinks(record, found, report)
  const tree = findTree(commonDir, path) ?? found.tree
  await mendLock(wanted, record, tree, report)
  writeAdminCopy(tree.adminDir, { ...record, commonDir, key })
  const isIndexLocked = mendIndexLock(context, tree, path, report)
  await mendHead(context, wanted, record, tree, report)
  await mendIndex(context, tree, path, isIndexLocked, report)
  const mended: WorkspaceRecord = { ...record, state: 'ready', holder: null, path, commonDir, usedAt: context.now().toISOString() }
  writeRecord(commonDir, key, mended)
  if (record.commonDir !== commonDir) report.did('repository-moved', `its repository is at ${commonDir} now, and was at ${record.commonDir}`)
  if (record.path !== path) report.did('moved', `its tree is at ${path} now, and was at ${record.path}`)
  if (record.state === 'releasing') report.did('kept', 'its release was cut short before anything was removed')
  return mended
}

function mendLinks(record: WorkspaceRecord, { tree, path, isLinked }: Mendable, report: Report): void {
  if (!isLinked) {
    repairTree({ adminDir: tree.adminDir, path })
    report.did('repaired-links', `the tree ${path} and its administrative folder ${tree.adminDir} name each other again`)
  }
  const rest = registeringPath(record.path)
  if (!existsSync(rest) || readdirSync(rest).some((name) => name !== '.git')) return
  rmSync(join(rest, '.git'), { force: true })
  rmdirSync(rest)
}

async function mendLock({ repository }: Wanted, record: WorkspaceRecord, tree: Tree, report: Report): Promise<void> {
  if (tree.lockReason !== null) return
  await lockTree(repository, tree.path, lockReasonOf(record))
  report.did('locked', 'the lock that keeps git from forgetting the tree was gone, and is there again')
}

/** Whether somebody may be at work on the index. */
function mendIndexLock({ now }: WorkspaceContext, tree: Tree, path: string, report: Report): boolean {
  const lock = findIndexLock(tree.adminDir, path, now())
  if (lock === undefined) return false
  if (lock.holder === null && lock.ageMs > staleLockMs) {
    rmSync(lock.path, { force: true })
    report.did('removed-index-lock', `the lock of a git that is gone was ${Math.round(lock.ageMs / 1000)} s old`)
    return false
  }
  report.warn(`its index is locked${lock.holder ? ` by ${lock.holder}` : ''} since ${Math.round(lock.ageMs / 1000)} s`)
  return true
}

async function mendIndex({ git, now }: WorkspaceContext, tree: Tree, path: string, isLocked: boolean, report: Report): Promise<void> {
  const health = checkIndex(tree.adminDir)
  if (health === 'whole') return
  if (isLocked) {
    const lock = findIndexLock(tree.adminDir, path, now())
    if (lock !== undefined) throw failure('index_locked', { path: lock.path, ageMs: lock.ageMs, holder: lock.holder })
  }
  if (health === 'damaged') renameSync(join(tree.adminDir, 'index'), join(tree.adminDir, `index.damaged-${now().getTime()}`))
  // A mixed reset would forget the merge that goes on; without one it also knows which files a sparse checkout leaves out.
  const how = tree.operation === null ? ['reset', '--quiet'] : ['read-tree', 'HEAD']
  await inTree(git, path, tree.adminDir).require(`making the index of ${path} anew`, how, { timeoutMs: indexTimeoutMs })
  report.did('repaired-index', `the index was ${health} and is as the last commit; no file was touched, and what was staged is a change now`)
}

/** Refuses a branch that another tree has, or has set aside for an operation. */
export function checkFree({ repository, branch, root }: Wanted, own: Tree | undefined, workspaceAt: (path: string) => string | undefined): void {
  if (branch === null) return
  const other = listTrees(repository.commonDir).find((tree) => tree.adminDir !== own?.adminDir && usesBranch(tree, branch))
  if (other === undefined) return
  const { path } = other
  throw failure('branch_in_use', { branch, path, workspace: path.startsWith(root) ? workspaceAt(path) : undefined })
}
