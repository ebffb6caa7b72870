import type { GitRepository } from '../git/open.ts'
import { makePlainFolder } from '../git/plain-file.ts'
import type { WorkspaceContext } from './context.ts'
import { repositoryFiles } from './layout.ts'

/** A checkout of many files is made under it, and many may wait for their turn. */
export const repositoryLockMs = 5 * 60_000

/** Does something while no other process changes worktrees, branches or records of the repository. Nothing else is waited for meanwhile. */
export async function withRepositoryLock<T>(
  context: Pick<WorkspaceContext, 'lock'>,
  { commonDir, mainRoot }: Pick<GitRepository, 'commonDir' | 'mainRoot'>,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const { folder, lock } = repositoryFiles(commonDir)
  makePlainFolder(commonDir, folder)
  const unlock = await context.lock(lock, { what: `the repository ${mainRoot}`, timeoutMs: repositoryLockMs, signal })
  try {
    return await work()
  } finally {
    unlock()
  }
}
