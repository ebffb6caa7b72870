import { join, resolve } from 'node:path'
import { failure, hasReason } from '../core/errors.ts'
import type { Rescue, WorkspaceAction } from '../core/workspace.ts'
import type { ProviderCall } from '../core/workspace-provider.ts'
import { findTree, listTrees, usesBranch } from '../git/admin.ts'
import { whyNeeded } from '../git/integrated.ts'
import { branchRef } from '../git/names.ts'
import { type GitRepository, openRepository } from '../git/open.ts'
import { deleteRef, findRef } from '../git/refs.ts'
import { findRepository } from '../git/repository.ts'
import { type FoundRescue, filesOf, patchOf, readRescues } from '../git/rescue-list.ts'
import { restoreWork } from '../git/restore.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'
import { type FoundWorkspace, findWorkspace } from './find.ts'
import { isMounted, mountAgain } from './overlay.ts'
import { readRecord } from './records.ts'
import { rootOf } from './release-owned.ts'
import { repositoriesBelow } from './repositories.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { scratchFolder } from './trash.ts'

export interface RescueReference {
  /** Its id, or its ref. */
  readonly rescue: string
  /** Default: where Holdfast works, then every repository with a workspace. */
  readonly repo?: string | undefined
}

/** Saved work, oldest first: of the repository that is named, else of the one where Holdfast works, else of all that have workspaces. */
export async function listRescues(context: WorkspaceContext, { repo }: { readonly repo?: string | undefined }): Promise<readonly Rescue[]> {
  const [first] = await repositories(context, repo)
  const all = repo === undefined && findRepository(context.base) === undefined ? await repositories(context, repo) : first ? [first] : []
  const found = await Promise.all(all.map(readRescues))
  return found.flat().map(({ rescue }) => rescue)
}

export async function showRescue(context: WorkspaceContext, reference: RescueReference): Promise<Rescue & { files: { path: string; status: string }[] }> {
  const { repository, found } = await requireRescue(context, reference)
  return { ...found.rescue, files: await filesOf(repository, found) }
}

export interface ExportedRescue {
  readonly rescue: string
  /** The commit that the patch fits on. */
  readonly from: string | null
  readonly patch: string
}

/** A patch that `git apply --index` takes. */
export async function exportRescue(context: WorkspaceContext, reference: RescueReference): Promise<ExportedRescue> {
  const { repository, found } = await requireRescue(context, reference)
  return { rescue: found.rescue.id, ...(await patchOf(repository, found)) }
}

export interface RestoredRescue {
  readonly rescue: string
  /** Of the workspace that has it now. */
  readonly id: string
  readonly path: string
  readonly actions: readonly WorkspaceAction[]
}

/**
 * Puts saved work back into a workspace (default: the one that it is of), as it was. The rescue is kept. Rejects with `restore_refused`,
 * before anything is changed, where the tree is not clean or the work does not fit on it.
 */
export async function restoreRescue(
  context: WorkspaceContext,
  request: RescueReference & { readonly workspace?: string | undefined },
  { signal, onProgress }: ProviderCall = {},
): Promise<RestoredRescue> {
  const { repository, found } = await requireRescue(context, request)
  const { rescue } = found
  const { commonDir, key, record } = await findTarget(context, request, repository, rescue)
  if (commonDir !== repository.commonDir)
    throw failure('restore_refused', { path: record.path, why: `it belongs to ${commonDir}, and the rescue to ${repository.commonDir}` })
  onProgress?.(`putting ${rescue.holds.join(', ')} back`)
  const notes = await withRepositoryLock(context, repository, signal, async () => {
    const now = readRecord(commonDir, key)
    if (now?.state !== 'ready') throw failure('workspace_unusable', { workspace: record.id, why: now ? `it is ${now.state}` : 'it was released' })
    if (now.overlay !== null && !isMounted(context, now.overlay, now.path)) await mountAgain(context, now.overlay, now.path)
    const tree = findTree(commonDir, now.path)
    if (tree === undefined) throw failure('workspace_unusable', { workspace: record.id, why: 'git does not know its tree' })
    const isFree = (ref: string): boolean => {
      const branch = ref.replace(/^refs\/heads\//, '')
      return listTrees(commonDir).every((other) => other.adminDir === tree.adminDir || !usesBranch(other, branch))
    }
    const scratch = join(scratchFolder(rootOf(context)), context.newName())
    return restoreWork(context.git, { path: now.path, adminDir: tree.adminDir }, { commit: rescue.sha, scratch, isFree })
  })
  tell(commonDir, key, {
    at: context.now().toISOString(),
    workspace: record.id,
    name: 'restored',
    durationMs: null,
    facts: { ref: rescue.ref, sha: rescue.sha },
  })
  const skipped = notes.map((detail): WorkspaceAction => ({ name: 'restored', status: 'skipped', detail }))
  return {
    ...{ rescue: rescue.id, id: record.id, path: record.path },
    actions: [{ name: 'restored', status: 'done', detail: `${rescue.holds.join(', ')} are as they were` }, ...skipped],
  }
}

async function findTarget(
  context: WorkspaceContext,
  { workspace, repo }: { readonly workspace?: string | undefined; readonly repo?: string | undefined },
  { commonDir }: GitRepository,
  rescue: Rescue,
): Promise<FoundWorkspace> {
  if (workspace !== undefined) return findWorkspace(context, workspace, repo)
  try {
    return await findWorkspace(context, rescue.workspace, commonDir)
  } catch (error) {
    // In a repository that was moved, the branch has a workspace with another id.
    if (rescue.branch === null || !hasReason(error, 'workspace_not_found')) throw error
    return findWorkspace(context, `refs/heads/${rescue.branch}`, commonDir)
  }
}

export interface DropRescues {
  readonly repo?: string | undefined
  readonly rescue?: string | undefined
  /** All that are older. */
  readonly olderThanMs?: number | undefined
  /** Also those whose branch does not hold their work. */
  readonly force?: boolean | undefined
}

export interface DroppedRescues {
  readonly dropped: readonly string[]
  readonly kept: readonly { readonly id: string; readonly why: string }[]
}

/** Lets go of saved work. What its branch does not hold is kept (`rescue_needed` for one that was named), unless `force`. */
export async function dropRescue(context: WorkspaceContext, { repo, rescue, olderThanMs, force }: DropRescues): Promise<DroppedRescues> {
  if (rescue !== undefined) {
    const { repository, found } = await requireRescue(context, { rescue, repo })
    const why = force ? undefined : await reasonToKeep(repository, found)
    if (why !== undefined) throw failure('rescue_needed', { rescue: found.rescue.id, branch: found.rescue.branch ?? 'HEAD' })
    await deleteRef(repository, found.rescue.ref, found.rescue.sha)
    return { dropped: [found.rescue.id], kept: [] }
  }
  if (olderThanMs === undefined) throw failure('invalid', { field: 'rescue', value: undefined, accepted: 'the id of a rescue, or an age' })
  const [dropped, kept]: [string[], { id: string; why: string }[]] = [[], []]
  for (const repository of (await repositories(context, repo)).slice(0, 1)) {
    for (const found of await readRescues(repository)) {
      const { id, ref, sha, savedAt } = found.rescue
      if (context.now().getTime() - Date.parse(savedAt) < olderThanMs) continue
      const why = force ? undefined : await reasonToKeep(repository, found)
      if (why === undefined) {
        await deleteRef(repository, ref, sha)
        dropped.push(id)
      } else kept.push({ id, why })
    }
  }
  return { dropped, kept }
}

async function reasonToKeep(repository: GitRepository, found: FoundRescue): Promise<string | undefined> {
  const { branch } = found.rescue
  const tip = branch === null ? undefined : await findRef(repository, branchRef(branch))
  if (tip === undefined) return branch === null ? 'it is of no branch' : `there is no branch ${branch} any more`
  return whyNeeded(repository, found, tip)
}

async function requireRescue(context: WorkspaceContext, { rescue, repo }: RescueReference): Promise<{ repository: GitRepository; found: FoundRescue }> {
  for (const repository of await repositories(context, repo)) {
    const found = (await readRescues(repository)).find((each) => each.rescue.id === rescue || each.rescue.ref === rescue)
    if (found !== undefined) return { repository, found }
  }
  throw failure('rescue_not_found', { rescue })
}

/** The repositories that may be meant, the nearest one first. */
async function repositories(context: WorkspaceContext, repo: string | undefined): Promise<GitRepository[]> {
  if (repo !== undefined) return [await openRepository(context, resolve(context.base, repo))]
  const here = findRepository(context.base)?.commonDir
  const others = repositoriesBelow(rootOf(context)).commonDirs.filter((dir) => dir !== here)
  return Promise.all([...(here === undefined ? [] : [context.base]), ...others].map((folder) => openRepository(context, folder)))
}
