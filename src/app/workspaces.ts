import { resolve } from 'node:path'
import { hasReason } from '../core/errors.ts'
import type { ProviderCall } from '../core/workspace-provider.ts'
import { createGit, type Git } from '../git/git.ts'
import type { WorkspaceContext } from '../workspaces/context.ts'
import { forgetVariables } from '../workspaces/declared.ts'
import { deleteWorkspaceBranch } from '../workspaces/delete-branch.ts'
import { diffWorkspace } from '../workspaces/diff.ts'
import { examineWorkspaces, repair } from '../workspaces/examine.ts'
import { findWorkspace } from '../workspaces/find.ts'
import type { Finding } from '../workspaces/finding.ts'
import { collectWorkspaces, everyCommonDir } from '../workspaces/gc.ts'
import { listWorkspaces, summaryOf } from '../workspaces/list.ts'
import { openWorkspace } from '../workspaces/open.ts'
import { isMounted, mountAgain } from '../workspaces/overlay.ts'
import { releaseWorkspace } from '../workspaces/release.ts'
import { withRepositoryLock } from '../workspaces/repository-lock.ts'
import { dropRescue, exportRescue, listRescues, restoreRescue, showRescue } from '../workspaces/rescues.ts'
import { rerunSetup } from '../workspaces/setup.ts'
import { showWorkspace } from '../workspaces/show.ts'
import { emptyTrashLater, moveToTrash } from '../workspaces/trash.ts'
import type { App, WorkspaceCall } from './api.ts'
import type { AppContext } from './context.ts'
import { newRunId } from './run-id.ts'
import type { RunWorkspace } from './run-workspace.ts'
import { findPrivateFolder } from './sandbox-environment.ts'
import { createWorkspaceCommands, type RunUseCases } from './workspace-commands.ts'
import { masked } from './workspace-masking.ts'
import { notesOfRepository, retireCollected, withRetiredNotes } from './workspace-notes.ts'

/** What the app does with workspaces; loaded when it is asked for one. */
export interface WorkspaceUseCases
  extends Pick<
    App,
    | 'openWorkspace'
    | 'releaseWorkspace'
    | 'listWorkspaces'
    | 'showWorkspace'
    | 'workspaceStatus'
    | 'diffWorkspace'
    | 'setupWorkspace'
    | 'listRescues'
    | 'showRescue'
    | 'restoreRescue'
    | 'exportRescue'
    | 'dropRescues'
    | 'collectWorkspaces'
    | 'deleteBranch'
  > {
  /** What the room of workspaces works with, for the repository that holds a folder. */
  contextFor(repo: string | undefined): Promise<WorkspaceContext>
  /** A copy-on-write tree is not mounted any more after the machine was started anew; then it is mounted again. */
  ensureMounted(workspace: RunWorkspace): Promise<void>
  /** What workspaces stand on, looked at; nothing is changed. */
  examine(): Promise<readonly Finding[]>
  /** Mends one of what that found; resolves to what was done. */
  repair(item: string): Promise<string>
  close(): Promise<void>
}

export function createWorkspaces(context: AppContext, runs: RunUseCases): WorkspaceUseCases {
  const commands = createWorkspaceCommands(context, runs)
  let tools: ReturnType<AppContext['workspaces']['openTools']> | undefined

  // It keeps what it learned of the person's settings.
  let git: Git | undefined

  async function contextFor(repo: string | undefined): Promise<WorkspaceContext> {
    tools ??= context.workspaces.openTools()
    const { base, ownEnv, machine, now } = context
    const [opened, settings] = await Promise.all([tools, context.workspaces.settingsOf(resolve(base, repo ?? '.'))])
    git ??= createGit({ runProgram: opened.runProgram, ownEnv })
    return { ...opened, git, ownEnv, root: context.workspaces.root(), base, settings, machine, commands, now, newName: newRunId }
  }

  const shown = <T>(result: T): T => masked(result, context.masking.general.mask)

  /** The homes of workspaces that are gone. They may hold much, so that they are deleted later, like trees. */
  function discardHomes(room: WorkspaceContext, ids: readonly string[]): void {
    for (const id of ids) forgetVariables(room.root, id)
    const homes = ids.flatMap((id) => findPrivateFolder(room.root, id) ?? [])
    for (const home of homes) moveToTrash(room, home, 'home')
    if (homes.length > 0) emptyTrashLater(room)
  }

  return {
    contextFor,
    async ensureMounted({ commonDir, record: { overlay, path } }) {
      if (overlay === null || isMounted({ root: context.workspaces.root() }, overlay, path)) return
      const room = await contextFor(undefined)
      await withRepositoryLock(room, { commonDir, mainRoot: commonDir }, undefined, () => mountAgain(room, overlay, path))
    },
    close: () => commands.close(),
    async openWorkspace(input, call = {}) {
      return shown(await openWorkspace(await contextFor(input.repo), input, callOf(call)))
    },
    async releaseWorkspace(input, call = {}) {
      const room = await contextFor(input.repo)
      const found = await findWorkspace(room, input.workspace, input.repo).catch(() => undefined)
      const released = await releaseWorkspace(room, input, callOf(call))
      if (released.released) discardHomes(room, [released.id])
      return shown(await withRetiredNotes(context, released, found ? notesOfRepository(context, found.commonDir) : context.records.notes))
    },
    async listWorkspaces(input) {
      return shown(await listWorkspaces(await contextFor(input.repo), input))
    },
    async workspaceStatus({ workspace, repo }) {
      const room = await contextFor(repo)
      return shown(await summaryOf(room, await findWorkspace(room, workspace, repo), { status: true, bytes: true }))
    },
    async diffWorkspace(input) {
      return diffWorkspace(await contextFor(input.repo), input)
    },
    async setupWorkspace(input, call = {}) {
      return shown(await rerunSetup(await contextFor(input.repo), input, callOf(call)))
    },
    async collectWorkspaces(input, call = {}) {
      const room = await contextFor(input.repo)
      const collected = await collectWorkspaces(room, { ...input, signal: call.signal })
      if (!collected.dryRun) {
        const ids = collected.released.map(({ id }) => id)
        discardHomes(room, ids)
        await retireCollected(context, ids, everyCommonDir(room, input))
      }
      return shown(collected)
    },
    async deleteBranch(input) {
      return deleteWorkspaceBranch(await contextFor(input.repo), input)
    },
    async showWorkspace({ workspace, repo }) {
      return shown(await showWorkspace(await contextFor(repo), workspace, repo))
    },
    async listRescues({ repo, workspace }) {
      const rescues = await listRescues(await contextFor(repo), { repo })
      return workspace === undefined ? rescues : rescues.filter((rescue) => rescue.workspace === workspace || rescue.branch === workspace)
    },
    async showRescue(input) {
      return showRescue(await contextFor(input.repo), input)
    },
    async restoreRescue(input, call = {}) {
      const room = await contextFor(input.repo)
      try {
        return shown(await restoreRescue(room, input, callOf(call)))
      } catch (error) {
        if (input.workspace !== undefined || !hasReason(error, 'workspace_not_found')) throw error
        // It was released: then its branch gets a tree again, in the repository that was named, or where Holdfast works.
        const repo = input.repo ?? context.base
        const { branch } = await showRescue(room, { rescue: input.rescue, repo }).catch(() => ({ branch: null }))
        if (branch === null) throw error
        await openWorkspace(room, { repo, branch }, callOf(call))
        return shown(await restoreRescue(room, { ...input, repo, workspace: branch }, callOf(call)))
      }
    },
    async exportRescue(input) {
      return exportRescue(await contextFor(input.repo), input)
    },
    async dropRescues(input) {
      return dropRescue(await contextFor(input.repo), input)
    },
    async examine() {
      return examineWorkspaces(await contextFor(undefined))
    },
    async repair(item) {
      return repair(await contextFor(undefined), { item })
    },
  }
}

const callOf = ({ signal, onStep }: WorkspaceCall): ProviderCall => ({ signal, onProgress: onStep })
