import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { failure } from '../core/errors.ts'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree, listHalfMadeTrees } from '../git/admin.ts'
import { deleteTree } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import { ownerOf } from './identity.ts'
import { abandonOverlay } from './overlay.ts'
import { whatIsAt } from './placement.ts'
import type { Wanted } from './wanted.ts'

/**
 * Removes what is there of a tree that was never handed out, by a record that says `creating`: registration, files, mount. Only what bears
 * the nonce of that record is touched. Called with the lock of the repository; done twice, it does no harm.
 */
export async function removeHalfMade(
  context: WorkspaceContext,
  { repository, root }: Pick<Wanted, 'repository' | 'root'>,
  record: WorkspaceRecord,
): Promise<void> {
  const { path, id, nonce, options } = record
  const isOurs = (lockReason: string | null): boolean => {
    const owner = ownerOf(lockReason)
    return owner?.id === id && owner.nonce === nonce
  }
  const tree = findTree(repository.commonDir, path)
  // Records lie in the repository, where whoever works in a tree can write: a path in them is no permission to delete.
  if (!isBelow(root, path) && (tree !== undefined || existsSync(path))) throw failure('not_owned', { path, why: `it is not inside of ${root}` })
  if (options.copyOnWrite) await abandonOverlay(context, { name: overlayName(record), path })
  for (const { adminDir, lockReason } of listHalfMadeTrees(repository.commonDir)) {
    if (isOurs(lockReason)) rmSync(adminDir, { recursive: true, force: true })
  }
  // git writes its own reason where it was ended before it wrote ours.
  if (tree !== undefined && (isOurs(tree.lockReason) || tree.lockReason === 'initializing')) await deleteTree(repository, path)
  if (existsSync(path) && whatIsAt(path) === 'empty folder') rmdirSync(path)
}

/** What the changes of a copy-on-write tree are kept under. */
export const overlayName = ({ id, nonce }: Pick<WorkspaceRecord, 'id' | 'nonce'>): string => `${id}-${nonce}`
