import { failure } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree, listTrees, type Tree, usesBranch } from '../git/admin.ts'
import { branchRef } from '../git/names.ts'
import { inTree } from '../git/open.ts'
import { createRef, findRef } from '../git/refs.ts'
import { readText } from '../git/repository.ts'
import type { WorkspaceContext } from './context.ts'
import type { Report } from './report.ts'
import type { Wanted } from './wanted.ts'

/**
 * Puts HEAD back on the branch of the workspace where that changes nothing but the name. Another branch, and an operation that goes on,
 * are left alone.
 */
export async function mendHead(context: WorkspaceContext, wanted: Wanted, record: WorkspaceRecord, tree: Tree, report: Report): Promise<void> {
  const { branch } = record
  if (branch === null || tree.operation !== null) return
  if (tree.branch === null) return attach(context, wanted, branch, tree, report)
  if (tree.branch === branch && (await findRef(wanted.repository, branchRef(branch))) === undefined) await restoreBranch(wanted, record, branch, tree, report)
}

async function attach({ git }: WorkspaceContext, { repository }: Wanted, branch: string, tree: Tree, report: Report): Promise<void> {
  const { path } = tree
  const place = inTree(git, path, tree.adminDir)
  const other = listTrees(repository.commonDir).find((each) => each.adminDir !== tree.adminDir && usesBranch(each, branch))
  if (other !== undefined) throw failure('branch_in_use', { branch, path: other.path })
  const tip = await findRef(repository, branchRef(branch))
  const head = (await place.run(['rev-parse', '--verify', '--quiet', 'HEAD'], { reads: true })).stdout.trim()
  const refused = failure('detached_unpublished', { path, head: head || 'nothing', branch, tip: tip ?? null })
  if (tip === undefined || head !== tip || tree.commit !== tip) throw refused
  await place.require(`putting ${path} back on ${branch}`, ['symbolic-ref', '-m', 'holdfast: back on its branch', 'HEAD', branchRef(branch)])
  const now = findTree(repository.commonDir, path)
  if (now?.branch === branch && (await findRef(repository, branchRef(branch))) === tip) {
    report.did('reattached', `it was detached at the tip of ${branch}, ${tip}, and is on it again`, { sha: tip })
    return
  }
  // The branch moved in between, so that its tip is not what the files were made from.
  if (now?.branch === branch) await place.run(['update-ref', '--no-deref', 'HEAD', head])
  throw refused
}

/** Its branch was deleted under it. The reflog of its HEAD, which nobody else writes, says where it was. */
async function restoreBranch({ repository }: Wanted, record: WorkspaceRecord, branch: string, tree: Tree, report: Report): Promise<void> {
  const log = readText(`${tree.adminDir}/logs/HEAD`, maxLogBytes) ?? ''
  const last = log.trimEnd().split('\n').at(-1) ?? ''
  const sha = /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) /.exec(last)?.[1]
  if (sha === undefined || /^0+$/.test(sha)) {
    throw failure('workspace_unusable', { workspace: record.id, why: `there is no branch ${branch} any more, and nothing says where it was` })
  }
  await createRef(repository, branchRef(branch), sha)
  report.did('restored-branch', `the branch ${branch} was deleted, and is at ${sha} again, where the workspace last was`, { sha })
}

const maxLogBytes = 64 * 1024 ** 2
