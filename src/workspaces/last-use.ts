import { statSync } from 'node:fs'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { keyOf, repositoryFiles } from './layout.ts'

/**
 * When a workspace was last used: opened, or a command begun or ended in it. Of commands the folder of their leases tells, which is written
 * to by each, so that no lock has to be taken for one.
 */
export function lastUseOf(commonDir: string, { branch, operator, usedAt }: Pick<WorkspaceRecord, 'branch' | 'operator' | 'usedAt'>): string {
  const key = keyOf(branch === null ? { operator: operator ?? '' } : { branch })
  const folder = statSync(repositoryFiles(commonDir).leases(key), { throwIfNoEntry: false })
  const opened = Date.parse(usedAt)
  return folder && folder.mtimeMs > opened ? folder.mtime.toISOString() : usedAt
}
