import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { failure, messageOf } from '../core/errors.ts'
import type { Rescue, WorkspaceRecord } from '../core/workspace.ts'
import { type Inspection, inspectTree } from '../git/inspect.ts'
import { rescueFailed, saveWork } from '../git/rescue.ts'
import { seenOf } from '../git/seen.ts'
import type { TreePlace } from '../git/tree-place.ts'
import type { Releasing } from './release.ts'
import type { OwnTree } from './release-owned.ts'

/** What became of the work in a tree. */
export interface KeptWork {
  readonly rescue: Rescue | null
  /** What the tree was like when it was looked at (`seenOf`); null where that was of no account. */
  readonly seen: string | null
}

const nothing: KeptWork = { rescue: null, seen: null }

/**
 * Sees to it that nothing is lost with the tree, or that it was said that it may be. `before`: the same done before; where something was
 * written since, the tree is saved again whole.
 */
export async function keepWork(
  { context, request, call, report }: Releasing,
  record: WorkspaceRecord,
  own: Pick<OwnTree, 'tree' | 'path' | 'isEmpty'>,
  before?: KeptWork,
): Promise<KeptWork> {
  const { tree, path, isEmpty } = own
  if (tree === undefined) {
    if (path !== undefined && !isEmpty) report.did('discarded', 'git forgot the tree; its files were not looked at', { inspected: false })
    return nothing
  }
  // An empty folder is not a tree whose files somebody deleted one by one.
  const place: TreePlace = { path: path === undefined || isEmpty ? join(tree.adminDir, 'no-files') : path, adminDir: tree.adminDir }
  const known = [record.base.sha]
  call.onProgress?.('looking for what is only in this workspace')
  const look = (): Promise<Inspection> => inspectTree(context.git, place, { known })
  if (request.mode === 'discard') {
    const holds = await look().then(
      (inspection) => inspection.holds,
      (error: unknown) => [`what could not be told (${messageOf(error)})`],
    )
    if (holds.length > 0) report.did('discarded', `thrown away, as was asked for: ${holds.join(', ')}`, { holds: holds.join(', '), head: tree.commit })
    return nothing
  }
  const inspection = await look().catch((error: unknown) => {
    throw rescueFailed(record.id, error)
  })
  const seen = seenOf(inspection)
  if (before?.seen === seen) return before
  if (before === undefined && inspection.unpushed > 0 && record.branch !== null) {
    const { unpushed } = inspection
    report.warn(`${unpushed} ${unpushed === 1 ? 'commit' : 'commits'} of ${record.branch} ${unpushed === 1 ? 'is' : 'are'} on no remote; the branch keeps them`)
  }
  if (inspection.holds.length === 0) return { rescue: before?.rescue ?? null, seen }
  if (request.mode === 'refuse') throw failure('workspace_dirty', { workspace: record.id, holds: named(inspection) })
  call.onProgress?.(`saving ${inspection.holds.join(', ')}`)
  const about = { workspace: record.id, branch: record.branch, at: context.now(), name: context.newName(), known, inspection }
  const rescue = await saveWork(context.git, place, about)
  if (rescue !== null) report.did('rescued', `${rescue.holds.join(', ')} are kept as ${rescue.id}`, { ref: rescue.ref, sha: rescue.sha })
  return { rescue, seen }
}

/**
 * Looks once more at a tree that was moved away, where nobody can begin to write by its path any more: what was written while it was looked
 * at and saved is work like all else. Where that cannot be kept, the tree is put back.
 */
export async function keepLateWork(releasing: Releasing, record: WorkspaceRecord, own: OwnTree, moved: { path: string; before: KeptWork }): Promise<KeptWork> {
  const { path, before } = moved
  if (before.seen === null || own.path === undefined || own.isEmpty) return before
  try {
    return await keepWork(releasing, record, { ...own, path }, before)
  } catch (error) {
    renameSync(path, own.path)
    throw error
  }
}

/** So many paths of what is in the way are named. */
const shownPaths = 5

function named({ holds, found }: Inspection): string[] {
  const paths = found.changes.map(({ path }) => Buffer.from(path, 'latin1').toString('utf8'))
  const more = paths.length > shownPaths ? ` and ${paths.length - shownPaths} more` : ''
  return paths.length === 0 ? [...holds] : [...holds, `namely ${paths.slice(0, shownPaths).join(', ')}${more}`]
}
