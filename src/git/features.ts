import type { WorkspaceAction, WorkspaceOptions } from '../core/workspace.ts'

/** What a tree is to be made with, so that nothing of the repository stands in the way of its checkout. */
export interface CheckoutPlan {
  /** Settings for the call that makes the tree, as `name=value`. */
  readonly config: readonly string[]
  /** Whether the tree is to be made without files: `finishCheckout` writes them. */
  readonly noCheckout: boolean
  /** What was decided before, for the answer. */
  readonly actions: readonly WorkspaceAction[]
}

export type CheckoutOptions = Pick<WorkspaceOptions, 'lfs' | 'submodules' | 'sparse'>
