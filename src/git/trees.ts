import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import { findTree, type Tree } from './admin.ts'
import type { GitResult } from './git.ts'
import type { GitRepository } from './open.ts'
import { replacePlain } from './plain-file.ts'

/** What changes the registration of worktrees. Every caller holds the lock of the repository. */

/** A tree of many files on a slow disk takes long to write. */
const checkoutTimeoutMs = 15 * 60_000

export interface AddTree {
  /** Absolute; nothing is there. Its parent exists. */
  readonly path: string
  /** A branch that exists, without `refs/heads/`; or the commit that the tree is detached at. */
  readonly at: { readonly branch: string } | { readonly sha: string }
  readonly lockReason: string
  /** Only registered: no file is written but the link. */
  readonly noCheckout?: boolean | undefined
  /** For this call alone, as `name=value`. */
  readonly config?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Registers a tree and writes its files. Locked from its first moment, so that nobody prunes it. What git answered is a value: a tree may
 * be there although git says that it failed, and the other way around.
 */
export function addTree(repository: GitRepository, { path, at, lockReason, noCheckout, config, signal }: AddTree): Promise<GitResult> {
  const what = 'branch' in at ? [path, at.branch] : ['--detach', path, at.sha]
  const options = ['--quiet', '--lock', '--reason', lockReason, ...(noCheckout ? ['--no-checkout'] : [])]
  return repository.run(['worktree', 'add', ...options, ...what], { config, signal, timeoutMs: checkoutTimeoutMs })
}

/** Forgets the tree that was at a path, whatever it is locked for. Nothing is there any more: `path_occupied` otherwise. */
export async function removeRegistration(repository: GitRepository, path: string): Promise<void> {
  // git would delete what it finds there.
  if (existsSync(path)) throw failure('path_occupied', { path, what: 'a tree that is registered' })
  if (!findTree(repository.commonDir, path)) return
  await repository.require(`forgetting the worktree ${path}`, ['worktree', 'remove', '--force', '--force', path])
}

/** Deletes a tree with all that is in it, and forgets it. Only for one that was never handed out. */
export async function deleteTree(repository: GitRepository, path: string): Promise<void> {
  const tree = findTree(repository.commonDir, path)
  if (tree?.isMain) throw failure('not_owned', { path, why: 'it is the main checkout' })
  // git refuses to delete a tree that lost its link, and one with submodules; the files are taken away first, so that it only forgets.
  rmSync(path, { recursive: true, force: true, maxRetries: 3 })
  await removeRegistration(repository, path)
}

/** Writes the two links between a tree and its administrative folder anew, as they are now. The tree is surely that one. */
export function repairTree({ adminDir, path }: Pick<Tree, 'adminDir' | 'path'>): void {
  replaceLine(join(path, '.git'), `gitdir: ${adminDir}`)
  replaceLine(join(adminDir, 'gitdir'), join(path, '.git'))
}

export async function lockTree(repository: GitRepository, path: string, reason: string): Promise<void> {
  await repository.require(`locking the worktree ${path}`, ['worktree', 'lock', '--reason', reason, path])
}

function replaceLine(file: string, line: string): void {
  // Always the same name, so that what is left of a call that was cut short is taken up by the next one.
  const temporary = `${file}.holdfast`
  replacePlain(file, `${line}\n`, { temporary, mode: 0o666 })
}
