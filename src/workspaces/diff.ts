import { failure } from '../core/errors.ts'
import type { WorkspaceDiff } from '../core/workspace-provider.ts'
import { commitFinder, findTree } from '../git/admin.ts'
import { diffTree } from '../git/diff.ts'
import { type GitPlace, inTree } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'
import { type FoundWorkspace, findWorkspace } from './find.ts'
import { findKnownBase, tipsOf } from './known-base.ts'
import { isUnmounted } from './summary.ts'

export interface DiffRequest {
  readonly workspace: string
  readonly repo?: string | undefined
  /**
   * A commit, a branch or a tag as seen in the tree, `HEAD` too; `base`: where its base is now. Default: where the workspace and its base
   * parted, so that what came to the base since does not count.
   */
  readonly from?: string | undefined
  /** Of the patch. */
  readonly maxBytes?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const defaultMaxBytes = 1024 ** 2
/** A look at a tree of many files that all changed. */
const diffMs = 60_000

/** What the files of a workspace differ in from a commit, those included that git does not know yet. Changes nothing, takes no lock. */
export async function diffWorkspace(context: WorkspaceContext, request: DiffRequest): Promise<WorkspaceDiff> {
  const found = await findWorkspace(context, request.workspace, request.repo)
  const { commonDir, record } = found
  const tree = findTree(commonDir, record.path)
  if (tree === undefined) throw failure('workspace_unusable', { workspace: record.id, why: `git does not know the tree ${record.path} any more` })
  if (isUnmounted(context, record)) throw failure('workspace_unusable', { workspace: record.id, why: 'its copy-on-write tree is not mounted' })
  const place = { path: record.path, adminDir: tree.adminDir }
  const from = await startOf(context, found, inTree(context.git, record.path, tree.adminDir), request.from)
  const { files, patch, truncated } = await diffTree(context.git, place, from, request.maxBytes ?? defaultMaxBytes, {
    timeoutMs: diffMs,
    signal: request.signal,
  })
  return { id: record.id, from, files, patch, truncated }
}

async function startOf({ settings }: WorkspaceContext, { commonDir, record }: FoundWorkspace, tree: GitPlace, from: string | undefined): Promise<string> {
  if (from !== undefined) {
    const named = await commitOf(tree, from)
    if (named !== undefined) return named
    if (from !== 'base') throw failure('unknown_base', { base: from, looked: [`${from} in ${record.path}`] })
  }
  const base = findKnownBase(record, settings.remote, commitFinder(commonDir))
  if (from === 'base') return (await commitOf(tree, base?.sha ?? record.base.sha)) ?? record.base.sha
  if (base === undefined) return record.base.sha
  // Where there is no common commit, or none that is here, all since it was opened counts.
  const { exitCode, stdout } = await tree.run(['merge-base', 'HEAD', ...tipsOf(base, record)], { reads: true })
  return exitCode === 0 ? stdout.trim() : record.base.sha
}

async function commitOf(tree: GitPlace, name: string): Promise<string | undefined> {
  const { exitCode, stdout } = await tree.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], { reads: true })
  return exitCode === 0 ? stdout.trim() : undefined
}
