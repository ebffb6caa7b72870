import { readdirSync, rmdirSync } from 'node:fs'
import type { WorkspaceContext } from './context.ts'
import { problem, type Repairable } from './finding.ts'
import { freeOrphanPorts, orphanReservations } from './ports.ts'
import { listRecords } from './records.ts'
import { adminDirNamedBy, repositoriesBelow, requireCommonDir, treesBelow } from './repositories.ts'

/** What is below the root of all workspaces and belongs to none. */
export function examineRoot(context: WorkspaceContext): readonly Repairable[] {
  return [...orphanFolders(context), ...orphanPorts(context)]
}

function orphanFolders(context: WorkspaceContext): Repairable[] {
  const { commonDirs, lost } = repositoriesBelow(context.root)
  const recorded = new Set([...commonDirs, ...here(context)].flatMap((commonDir) => listRecords(commonDir).map(({ record }) => record.path)))
  const gone = new Map(lost.map(({ path, commonDir }) => [path, commonDir]))
  return treesBelow(context.root)
    .filter((path) => !recorded.has(path))
    .map((path) => {
      const name = `folder:${path}`
      if (isEmpty(path)) {
        const remove = async (): Promise<string> => {
          // Fails where something came into it meanwhile.
          rmdirSync(path)
          return `the empty folder ${path} was removed`
        }
        return problem(name, `${path} is empty and belongs to no workspace`, { fix: 'remove the empty folder', repair: remove })
      }
      const commonDir = gone.get(path)
      if (commonDir)
        return problem(name, `${path} belongs to a repository that is not at ${commonDir} any more; where it moved, open the workspace again in it`)
      if (commonDir === null)
        return problem(name, `${path} belongs to no workspace, and has no .git file of a worktree; it is left to whoever knows what it is`)
      return problem(
        name,
        `${path} is a worktree (${adminDirNamedBy(path)}) that is on no record of Holdfast; git worktree remove takes it away when it is not needed`,
      )
    })
}

function orphanPorts(context: WorkspaceContext): Repairable[] {
  const orphans = orphanReservations(context)
  if (orphans.length === 0) return []
  const free = async (): Promise<string> => `ports that were freed: ${(await freeOrphanPorts(context)).join(', ') || 'none any more'}`
  const detail = `ports are reserved for workspaces that are gone: ${orphans.map(({ port }) => port).join(', ')}`
  return [problem('ports', detail, { fix: 'free the ports', repair: free })]
}

function here(context: WorkspaceContext): string[] {
  try {
    return [requireCommonDir(context, undefined)]
  } catch {
    return []
  }
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0
  } catch {
    return false
  }
}
