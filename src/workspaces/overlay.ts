import { failure } from '../core/errors.ts'
import type { WorkspaceOverlay } from '../core/workspace.ts'
import type { GitRepository } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'

/** Whether copy-on-write trees can be made here, and else why not, in a sentence without a full stop. */
export type OverlayProbe = { readonly ok: true; readonly kind: WorkspaceOverlay['kind'] } | { readonly ok: false; readonly why: string }

export interface OverlayTree {
  /** Absolute; nothing is there. Its parent exists. */
  readonly path: string
  readonly sha: string
  /** A branch that exists and is at `sha`, without `refs/heads/`; null: detached at `sha`. */
  readonly branch: string | null
  readonly lockReason: string
  /** `<id>-<nonce>`: what the changes of this tree are kept under, so that a half-made one is found again (`abandonOverlay`). */
  readonly name: string
  /** The settings of the plan of its checkout. */
  readonly config: readonly string[]
  /** Ignored folders of another checkout, to be had without a copy of their own: paths inside of `source`. */
  readonly folders?: { readonly source: string; readonly entries: readonly string[] } | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

/** How a tree was taken away. `lazily`: something still used it, and sees it until it lets go. */
export type Unmounted = 'cleanly' | 'lazily' | 'was not mounted'

export async function probeOverlay(_context: WorkspaceContext): Promise<OverlayProbe> {
  return { ok: false, why: 'this build cannot make them yet' }
}

/**
 * Makes sure that there is a frozen checkout of a commit, which takes as long as a checkout the first time: to be called before the lock
 * of the repository is taken. `makeOverlayTree` makes what is missing.
 */
export async function prepareBase(
  _context: WorkspaceContext,
  _repo: GitRepository,
  _request: Pick<OverlayTree, 'sha' | 'config' | 'folders' | 'signal' | 'onProgress'>,
): Promise<void> {}

/**
 * Registers a tree and mounts its files. Called with the lock of the repository. Where it rejects, nothing of it is left: no mount, no
 * registration, no folder; the branch is as it was, and an ordinary tree can be made in its place (`copy_on_write_unavailable`).
 */
export async function makeOverlayTree(_context: WorkspaceContext, _repo: GitRepository, _request: OverlayTree): Promise<WorkspaceOverlay> {
  throw failure('copy_on_write_unavailable', { why: 'this build cannot make them yet' })
}

/**
 * Throws a half-made tree away, which was never handed out: unmounts what is mounted at its path and moves its changes to the trash. No
 * harm where there is none. The registration and the folder are left to the caller.
 */
export async function abandonOverlay(_context: WorkspaceContext, _request: { readonly name: string; readonly path: string }): Promise<void> {}

/** Unmounts a tree and moves its changes to the trash; all that is worth keeping was rescued. Its empty folder is left. Twice is no failure. */
export async function removeOverlay(_context: WorkspaceContext, _overlay: WorkspaceOverlay, _path: string): Promise<Unmounted> {
  return 'was not mounted'
}

/** Whether it is mounted: read from /proc, without a process. */
export function isMounted(_context: WorkspaceContext, _overlay: WorkspaceOverlay, _path: string): boolean {
  return false
}

/**
 * Mounts a tree again, with all its changes, after the machine was started anew. To be called before anything looks into the tree: while
 * it is not mounted, its folder is empty, also of `.git`. False where it was mounted. Throws `workspace_unusable`.
 */
export async function mountAgain(_context: WorkspaceContext, _overlay: WorkspaceOverlay, _path: string): Promise<boolean> {
  return false
}

/** Removes frozen checkouts that no workspace uses; those in use, also by trees that are not mounted now, stay. Returns their folders. */
export async function collectBases(
  _context: WorkspaceContext,
  _options: { readonly dryRun: boolean; readonly unusedForMs?: number | undefined },
): Promise<readonly string[]> {
  return []
}
