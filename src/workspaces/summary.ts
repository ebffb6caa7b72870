import { lstatSync, realpathSync } from 'node:fs'
import type { WorkspaceRecord } from '../core/workspace.ts'
import type { ShownWorkspaceState, WorkspaceSummary } from '../core/workspace-provider.ts'
import type { Tree } from '../git/admin.ts'
import type { WorkspaceContext } from './context.ts'
import { lockReasonOf } from './identity.ts'
import { lastUseOf } from './last-use.ts'
import { isMounted } from './overlay.ts'
import { adminDirNamedBy } from './repositories.ts'

/** What is shown of a workspace without a look at its files or at the history: it is read from a few small files. */
export type PlainSummary = Omit<WorkspaceSummary, 'running'>

/** `tree`: as git has it at the path of the record, if it has. */
export function summarize(context: Pick<WorkspaceContext, 'root'>, commonDir: string, record: WorkspaceRecord, tree: Tree | undefined): PlainSummary {
  const { id, kind, path, branch, operator, base, setup, ports, overlay, createdAt } = record
  const usedAt = lastUseOf(commonDir, record)
  const isThere = isFolder(path)
  const headBranch = tree !== undefined && tree.branch !== branch ? tree.branch : null
  const state = stateOf(record, isThere, tree)
  return {
    ...{ id, kind, path, repository: commonDir, branch, operator, state, base },
    head: tree?.commit ?? null,
    headBranch,
    ...{ ahead: null, behind: null, dirty: null },
    operation: tree?.operation ?? null,
    locked: tree === undefined || isOurLock(tree.lockReason, record) ? null : tree.lockReason,
    ...{ setup, bytes: null, ports, overlay, createdAt, usedAt },
    warnings: isUnmounted(context, record) ? [`its copy-on-write tree is not mounted; ${mend}`] : warningsOf(commonDir, record, state, tree),
  }
}

/** git's lock on a tree that is our own is no lock for anybody who asks. */
export const isOurLock = (reason: string | null, record: Pick<WorkspaceRecord, 'id' | 'nonce'>): boolean => reason === lockReasonOf(record)

/** After the machine was started anew, the folder of a copy-on-write tree is empty until it is mounted: what git says of it then is not true. */
export const isUnmounted = (context: Pick<WorkspaceContext, 'root'>, { overlay, path, state }: WorkspaceRecord): boolean =>
  state === 'ready' && overlay !== null && !isMounted(context, overlay, path)

function stateOf({ state }: WorkspaceRecord, isThere: boolean, tree: Tree | undefined): ShownWorkspaceState {
  if (state !== 'ready') return state
  if (!isThere) return 'missing'
  return tree === undefined ? 'unregistered' : 'ready'
}

const mend = 'open the workspace again, which mends it'

function warningsOf(commonDir: string, record: WorkspaceRecord, state: ShownWorkspaceState, tree: Tree | undefined): string[] {
  const { branch, path } = record
  const warnings: string[] = []
  if (state === 'missing') warnings.push(`its folder ${path} is gone, not by a release; ${mend}`)
  if (state === 'unregistered') warnings.push(`git does not know the tree ${path} any more; ${mend}`)
  if (state === 'ready' && tree !== undefined) {
    const named = adminDirNamedBy(path)
    if (named === undefined) warnings.push(`the file ${path}/.git is gone; ${mend}`)
    else if (!isSame(named, tree.adminDir)) {
      const moved = record.commonDir === commonDir ? '' : `, as the repository moved from ${record.commonDir}`
      warnings.push(`${path}/.git leads to ${named} and not to ${tree.adminDir}${moved}; ${mend}`)
    }
    if (branch !== null && tree.branch !== branch && tree.operation === null)
      warnings.push(tree.branch === null ? `it is detached and not on ${branch}` : `${tree.branch} is checked out and not ${branch}`)
  }
  return warnings
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory()
  } catch {
    return false
  }
}

function isSame(a: string, b: string): boolean {
  if (a === b) return true
  try {
    return realpathSync.native(a) === realpathSync.native(b)
  } catch {
    return false
  }
}
