import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { failure } from '../core/errors.ts'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import type { Tree } from '../git/admin.ts'
import { findIndexLock } from '../git/index-file.ts'
import type { WorkspaceContext } from './context.ts'
import { ownerOf, readAdminCopy } from './identity.ts'
import { mountPoints } from './mounts.ts'
import { isMounted } from './overlay.ts'
import { canonical } from './placement.ts'
import type { Releasing } from './release.ts'
import { look } from './resume.ts'

/** What is there of a workspace and surely its own. */
export interface OwnTree {
  /** Undefined where git forgot it. */
  readonly tree: Tree | undefined
  /** Undefined where its folder is gone. */
  readonly path: string | undefined
  /** Whether the folder is there and its files are not. */
  readonly isEmpty: boolean
}

export const rootOf = ({ root }: Pick<WorkspaceContext, 'root'>): string => canonical(resolve(root))

/**
 * The tree that may be removed: below the root, on record, and by its registration, git's lock and the copy of the record the very one that
 * was made. Rejects where anything of that is not so.
 */
export function requireOwn({ context, repository, request }: Pick<Releasing, 'context' | 'repository' | 'request'>, record: WorkspaceRecord): OwnTree {
  const { commonDir } = repository
  const root = rootOf(context)
  const mounted = record.overlay !== null && isMounted(context, record.overlay, record.path)
  const situation = look({ commonDir, path: record.path, root, record })
  const unusable = (why: string) => failure('workspace_unusable', { workspace: record.id, why })
  switch (situation.kind) {
    case 'nothing':
      return { tree: undefined, path: existsSync(record.path) ? requireOwnPath(root, commonDir, record.path, mounted) : undefined, isEmpty: true }
    case 'gone':
      requireOwnRegistration(record, situation.tree)
      return { tree: situation.tree, path: existsSync(record.path) ? requireOwnPath(root, commonDir, record.path, mounted) : undefined, isEmpty: true }
    case 'there': {
      const { tree, path } = situation
      requireOwnRegistration(record, tree)
      requireUnlocked(context, tree, path)
      return { tree, path: requireOwnPath(root, commonDir, path, mounted), isEmpty: false }
    }
    case 'unregistered':
      // Without its registration nobody knows its HEAD and its index; opening it mends that.
      if (request.mode !== 'discard') throw unusable('git forgot its tree, so that it cannot be told what is only there')
      return { tree: undefined, path: requireOwnPath(root, commonDir, situation.path, mounted), isEmpty: false }
    case 'unlinked':
      throw unusable(`its folder ${situation.path} lost its .git, so that it is not certain whose files they are`)
    case 'foreign':
      throw failure('identity_mismatch', { path: situation.path, expected: commonDir, found: situation.belongsTo })
    case 'occupied':
      throw failure('not_owned', { path: situation.path, why: `it is ${situation.what}` })
  }
}

function requireOwnRegistration(record: WorkspaceRecord, tree: Tree): void {
  const { path, isMain, lockReason, adminDir } = tree
  if (isMain) throw failure('not_owned', { path, why: 'it is the main checkout' })
  const locked = ownerOf(lockReason)
  if (lockReason !== null && locked === undefined) throw failure('locked_foreign', { path, why: lockReason })
  const owners = [locked, readAdminCopy(adminDir)].filter((owner) => owner !== undefined)
  const other = owners.find(({ id, nonce }) => id !== record.id || nonce !== record.nonce)
  if (other !== undefined)
    throw failure('identity_mismatch', { path, expected: `the workspace ${record.id}`, found: `the workspace ${other.id} (${other.nonce})` })
  if (owners.length === 0) throw failure('not_owned', { path, why: 'nothing says that it was made by Holdfast' })
}

/** A git that is alive and writes the index has work in its hands that is not on disk. */
function requireUnlocked({ now }: WorkspaceContext, { adminDir }: Tree, path: string): void {
  const lock = findIndexLock(adminDir, path, now())
  if (lock !== undefined && lock.holder !== null) throw failure('index_locked', { path: lock.path, ageMs: lock.ageMs, holder: lock.holder })
}

function requireOwnPath(root: string, commonDir: string, path: string, isOverlay: boolean): string {
  const refuse = (why: string) => failure('not_owned', { path, why })
  if (!isBelow(root, path)) throw refuse(`it is not inside of ${root}`)
  if (realpathSync.native(path) !== path) throw refuse('it leads somewhere else by a symbolic link')
  if (commonDir === path || isBelow(path, commonDir)) throw refuse('it holds the repository itself')
  const mount = mountPoints().find((point) => (point === path && !isOverlay) || isBelow(path, point))
  if (mount !== undefined) throw refuse(`a file system is mounted at ${mount}`)
  return path
}
