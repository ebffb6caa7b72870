import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree } from '../git/admin.ts'
import { branchRef } from '../git/names.ts'
import { findRef } from '../git/refs.ts'
import { addTree, deleteTree, repairTree } from '../git/trees.ts'
import { lockReasonOf } from './identity.ts'
import { checkFree, type Mendable } from './mend.ts'
import type { Report } from './report.ts'
import { registeringPath } from './resume.ts'
import type { Wanted } from './wanted.ts'

/**
 * Makes git know a tree again that it forgot (`git worktree prune`). A tree without files is registered beside it, and its administrative
 * folder is given to the files that are there. What was staged went with the old one and becomes a change.
 */
export async function registerAgain(wanted: Wanted, record: WorkspaceRecord, path: string, report: Report): Promise<Mendable> {
  const { repository, branch } = wanted
  const sha = branch === null ? record.base.sha : await findRef(repository, branchRef(branch))
  if (sha === undefined) throw failure('workspace_unusable', { workspace: record.id, why: `git forgot its tree, and there is no branch ${branch} any more` })
  const beside = registeringPath(path)
  // An attempt that was cut short.
  if (findTree(repository.commonDir, beside)?.lockReason === lockReasonOf(record)) await deleteTree(repository, beside)
  checkFree(wanted, undefined, () => undefined)
  if (existsSync(beside)) throw failure('path_occupied', { path: beside, what: 'something that is not ours' })
  const at = branch === null ? { sha } : { branch }
  const { answer, exitCode } = await addTree(repository, { path: beside, at, lockReason: lockReasonOf(record), noCheckout: true })
  const tree = findTree(repository.commonDir, beside)
  if (exitCode !== 0 || tree === undefined) throw failure('git_failed', { what: `registering ${path} again`, git: answer })
  repairTree({ adminDir: tree.adminDir, path })
  rmSync(join(beside, '.git'), { force: true })
  rmdirSync(beside)
  report.did('registered-again', `git had forgotten the tree ${path}; its files are as they were, what was staged is a change now`)
  return { tree: { ...tree, path }, path, isLinked: true }
}
