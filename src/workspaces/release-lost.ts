import { existsSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { failure, hasReason } from '../core/errors.ts'
import { isBelow } from '../core/paths.ts'
import type { ReleasedWorkspace, ReleaseWorkspaceRequest } from '../core/workspace-provider.ts'
import type { WorkspaceContext } from './context.ts'
import { type FoundWorkspace, findWorkspace } from './find.ts'
import { mountPoints } from './mounts.ts'
import { requireNobodyIn } from './occupied.ts'
import { canonical } from './placement.ts'
import { rootOf } from './release-owned.ts'
import { repositoriesBelow } from './repositories.ts'
import { emptyTrashLater, moveToTrash, removeEmptyParent } from './trash.ts'

/** The workspace that is meant; undefined where there is none any more. */
export async function findReleasable(context: WorkspaceContext, { workspace, repo }: ReleaseWorkspaceRequest): Promise<FoundWorkspace | undefined> {
  try {
    return await findWorkspace(context, workspace, repo)
  } catch (error) {
    if (hasReason(error, 'workspace_not_found') || hasReason(error, 'not_a_repository')) return undefined
    throw error
  }
}

/**
 * What is on no record: mostly, what was released before. A tree of ours whose repository is gone cannot be asked what it holds, so it
 * goes only where that is said. A folder of somebody else is never touched.
 */
export async function releaseLost(context: WorkspaceContext, request: ReleaseWorkspaceRequest): Promise<ReleasedWorkspace> {
  const { workspace, mode, stop } = request
  const answer = (released: boolean): ReleasedWorkspace => ({ id: workspace, released, rescue: null, branch: null, stopped: [], actions: [], warnings: [] })
  const root = rootOf(context)
  const named = canonical(resolve(context.base, workspace))
  const lost = repositoriesBelow(root).lost.find(({ path }) => path === named || isBelow(path, named) || path.endsWith(`-${workspace}`))
  if (lost === undefined) {
    const isFolder = (isAbsolute(workspace) || workspace.startsWith('.')) && statSync(named, { throwIfNoEntry: false })?.isDirectory() === true
    if (isFolder) throw failure('not_owned', { path: named, why: 'no workspace is on record there' })
    return answer(false)
  }
  const { path, commonDir } = lost
  if (commonDir === null || existsSync(commonDir)) throw failure('not_owned', { path, why: 'nothing says that it was made by Holdfast' })
  if (mode !== 'discard') {
    throw failure('workspace_unusable', { workspace: path, why: `its repository ${commonDir} is gone, so that it cannot be told what is only there` })
  }
  requireNobodyIn(path, path, stop === true)
  if (realpathSync.native(path) !== path || mountPoints().some((point) => point === path || isBelow(path, point))) {
    throw failure('not_owned', { path, why: 'it is mounted, or leads somewhere else' })
  }
  moveToTrash(context, path, 'lost')
  removeEmptyParent(path)
  emptyTrashLater(context)
  return {
    ...answer(true),
    actions: [{ name: 'discarded', status: 'done', detail: `the tree ${path}, whose repository ${commonDir} is gone, was thrown away` }],
  }
}
