import { existsSync } from 'node:fs'
import type { WorkspaceProvider } from '../core/workspace-provider.ts'
import { findTree } from '../git/admin.ts'
import type { WorkspaceContext } from './context.ts'
import { listWorkspaces } from './list.ts'
import { openWorkspace } from './open.ts'
import { readRecord } from './records.ts'
import { releaseWorkspace } from './release.ts'
import { toWanted } from './wanted.ts'

/** Workspaces that are worktrees of a repository on this machine. */
export function createWorkspaceProvider(context: WorkspaceContext): WorkspaceProvider {
  return {
    name: 'git-worktree',
    async describe(request) {
      const { repository, key, id, path } = await toWanted(context, request)
      const record = readRecord(repository.commonDir, key)
      const place = record?.path ?? path
      return { id: record?.id ?? id, path: place, exists: existsSync(place) && findTree(repository.commonDir, place) !== undefined }
    },
    open: (request, call) => openWorkspace(context, request, call),
    release: (request, call) => releaseWorkspace(context, request, call),
    list: (request) => listWorkspaces(context, request),
  }
}
