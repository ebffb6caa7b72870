import type { WorkspaceAction } from '../core/workspace.ts'
import type { CheckoutOptions, CheckoutPlan } from '../git/features.ts'
import type { GitRepository } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'

/**
 * What the base takes to be checked out, before anything is made. Throws `lfs_unavailable`, `promisor_unreachable` or `feature_failed`
 * where that cannot be had. It may use the network, within bounds: not for the time that a lock of the repository is held.
 */
export async function prepareCheckout(_context: WorkspaceContext, _repo: GitRepository, _sha: string, _options: CheckoutOptions): Promise<CheckoutPlan> {
  return { config: [], noCheckout: false, actions: [] }
}

export interface FinishCheckout {
  /** The tree that was made with `plan`. */
  readonly path: string
  readonly options: CheckoutOptions
  readonly plan: CheckoutPlan
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

/** Completes a tree that was made by the plan. It may use the network, like `prepareCheckout`; done twice, it does no harm. */
export async function finishCheckout(_context: WorkspaceContext, _repo: GitRepository, { plan }: FinishCheckout): Promise<WorkspaceAction[]> {
  return [...plan.actions]
}
