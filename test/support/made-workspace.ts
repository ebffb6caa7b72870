import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkspaceRecord } from '../../src/core/workspace.ts'
import { findRepository } from '../../src/git/repository.ts'
import type { WorkspaceContext } from '../../src/workspaces/context.ts'
import { idOf, keyOf, treePath } from '../../src/workspaces/layout.ts'
import { writeRecord } from '../../src/workspaces/records.ts'
import type { GitWorld } from './git-world.ts'

export interface MadeWorkspace {
  readonly key: string
  readonly commonDir: string
  readonly record: WorkspaceRecord
  readonly path: string
}

/** A workspace as it stands when it was opened, made by git and a record alone: for what is done with those that are there. */
export function makeWorkspace(
  world: GitWorld,
  context: WorkspaceContext,
  repository: string,
  branch: string,
  overrides: Partial<WorkspaceRecord> = {},
): MadeWorkspace {
  const found = findRepository(repository)
  if (found === undefined) throw new Error(`${repository} is no repository`)
  const { commonDir } = found
  const path = treePath(context.root, found, { branch })
  const sha = world.sh(repository, 'rev-parse', 'HEAD')
  const at = context.now().toISOString()
  const record: WorkspaceRecord = {
    ...{ version: 1, id: idOf(commonDir, { branch }), kind: 'branch', branch, operator: null, state: 'ready', path, commonDir, nonce: 'n0n0n0n0n0n0' },
    baseName: 'main',
    base: { source: 'local', ref: 'refs/heads/main', sha, behind: 0, remoteError: null },
    options: context.settings.options,
    ...{ createdAt: at, usedAt: at, setup: null, ports: [], overlay: null, holder: null },
    ...overrides,
  }
  const key = keyOf({ branch })
  world.sh(repository, 'worktree', 'add', '--quiet', '--lock', '--reason', `holdfast:${record.id}:${record.nonce}`, '-b', branch, path, sha)
  writeRecord(commonDir, key, record)
  const adminDir = world.sh(path, 'rev-parse', '--absolute-git-dir')
  writeFileSync(join(adminDir, 'holdfast.json'), JSON.stringify({ id: record.id, key, nonce: record.nonce, commonDir }))
  return { key, commonDir, record, path }
}
