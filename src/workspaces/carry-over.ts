import type { WorkspaceAction, WorkspaceKind } from '../core/workspace.ts'
import type { WorkspaceContext } from './context.ts'

export interface CarryOver {
  /** The checkout that files are carried over from; null: there is none. */
  readonly source: string | null
  /** The tree that they are carried into. */
  readonly path: string
  /** Paths inside the source, besides those that `.worktreeinclude` lists. */
  readonly entries: readonly string[]
  readonly kind: WorkspaceKind
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

/** Copies files that git ignores from one checkout to another tree of the repository. */
export async function carryOver(_context: WorkspaceContext, _request: CarryOver): Promise<WorkspaceAction[]> {
  return []
}
