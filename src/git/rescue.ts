import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure, hasReason } from '../core/errors.ts'
import type { Rescue } from '../core/workspace.ts'
import type { GitAnswer } from '../core/workspace-reasons.ts'
import { type ByteText, toBytes } from './byte-text.ts'
import type { Git } from './git.ts'
import { handOver } from './hand-over.ts'
import { type Inspection, inspectTree, ownBranches } from './inspect.ts'
import { headLog, operationState, stashLog } from './kept-state.ts'
import { listOwnRefs, listRefs } from './lone-commits.ts'
import { readPlain } from './plain-file.ts'
import { hashFiles, type IndexLine, type RawFile, takenOut, treeOf, writeBlobs, writeCommit } from './raw-objects.ts'
import { type NestedRescue, refOf, toMessage, toRescue } from './rescue-note.ts'
import { isFile, type TreeChange } from './tree-changes.ts'
import type { TreeGit, TreePlace } from './tree-place.ts'

export interface SaveWork {
  /** The id of the workspace. */
  readonly workspace: string
  readonly branch: string | null
  readonly at: Date
  /** A name that no other rescue of this workspace in the same second has. */
  readonly name: string
  /** Commits that are not the tree's to lose: where it began. */
  readonly known?: readonly string[] | undefined
  /** What was found already. */
  readonly inspection?: Inspection | undefined
}

/**
 * Saves all that would be lost with a tree under one ref, which `git gc` then keeps; null where there is nothing. The tree, its index and
 * its branch are left as they are. The tree need not be there any more. Rejects with `rescue_failed` where anything could not be saved.
 */
export async function saveWork(git: Git, place: TreePlace, request: SaveWork): Promise<Rescue | null> {
  try {
    const inspection = request.inspection ?? (await inspectTree(git, place, { known: request.known }))
    if (inspection.holds.length === 0) return null
    const { tree } = inspection
    const { commit, note } = await saveTree(inspection, request)
    await checkWhole(tree, commit)
    const ref = refOf(request.workspace, request.at, request.name)
    const zero = '0'.repeat(commit.length)
    await tree.require('keeping what was saved', ['update-ref', '--create-reflog', '-m', 'holdfast: rescue', ref, commit, zero])
    return toRescue(ref, commit, note)
  } catch (error) {
    throw rescueFailed(request.workspace, error)
  }
}

/** What a failed look or save is to whoever wanted to remove the tree. */
export function rescueFailed(workspace: string, error: unknown): unknown {
  if (hasReason(error, 'rescue_failed') || hasReason(error, 'canceled')) return error
  return failure('rescue_failed', { workspace, what: whatFailed(error), git: gitOf(error) }, error)
}

/** Everything that the commit names is there: a rescue that cannot be read would be none. */
async function checkWhole(tree: TreeGit, commit: string): Promise<void> {
  const args = ['rev-list', '--objects', '--quiet', '--exclude-promisor-objects', commit, '--not', '--branches', '--tags', '--remotes']
  await tree.require('reading again what was saved', args, { reads: true, timeoutMs: 10 * 60_000 })
}

async function saveTree(inspection: Inspection, about: SaveWork) {
  const { tree, found, headRef, operation, holds, commits } = inspection
  const scratch = mkdtempSync(join(tree.place.adminDir, 'holdfast-rescue-'))
  try {
    const nested = await saveNested(inspection, about)
    const files = await hashFiles(tree, changedPaths(inspection), scratch, { write: true })
    const index = await saveIndex(inspection, scratch)
    const root = await saveFiles(inspection, files, scratch)
    const state = await saveState(inspection, { files, index, scratch, at: about.at })
    const note = {
      version: 1 as const,
      workspace: about.workspace,
      branch: about.branch,
      savedAt: about.at.toISOString(),
      head: found.head,
      headRef,
      operation,
      state,
      nested,
      holds,
    }
    const tips = await fewer(tree, commits.tips, about.at)
    const parents = [...(found.head === null ? [] : [found.head]), state, ...tips, ...nested.map(({ commit }) => commit)]
    return { note, commit: await writeCommit(tree, { tree: root, parents, message: toMessage(note), at: about.at }) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Paths whose bytes on disk may be in no commit: of what is staged git has what it converted. A nested repository is not one of them. */
function changedPaths({ tree, found: { changes }, hidden }: Pick<Inspection, 'tree' | 'found' | 'hidden'>): ByteText[] {
  const isOnDisk = ({ path, index, worktree }: TreeChange): boolean => worktree !== '.' || (index !== 'D' && isFile(tree, path))
  const paths = changes.filter((change) => (change.kind === 'unmerged' || isOnDisk(change)) && !change.path.endsWith('/')).map(({ path }) => path)
  return [...new Set([...paths, ...hidden])]
}

// Of some million files.
const maxIndexBytes = 1024 ** 3

/** A copy to work on; a tree that was never finished has none. */
function copyIndex(tree: TreeGit, scratch: string, name: string): string {
  const copy = join(scratch, name)
  const own = join(tree.place.adminDir, 'index')
  if (existsSync(own)) writeFileSync(copy, readPlain(own, maxIndexBytes))
  return copy
}

/** What is staged, without what is in conflict. */
function saveIndex({ tree, found }: Inspection, scratch: string): Promise<string> {
  const lines = found.entries.filter(({ stage }) => stage !== '0').map(({ path, oid }) => takenOut(path, oid))
  return treeOf(tree, copyIndex(tree, scratch, 'index'), lines)
}

/** The files as they are on disk. */
function saveFiles({ tree, found, hidden, nested }: Inspection, files: readonly RawFile[], scratch: string): Promise<string> {
  const indexFile = copyIndex(tree, scratch, 'files')
  // A tree that is gone has no files: then what was staged is the newest that is left.
  const gone = tree.isThere ? changedPaths({ tree, found, hidden }) : found.entries.filter(({ stage }) => stage !== '0').map(({ path }) => path)
  const links = nested.flatMap(({ path, kind, inspection }) =>
    inspection.found.head === null || kind === 'ignored' ? [] : [{ path, mode: '160000', oid: inspection.found.head }],
  )
  const width = (found.head ?? files[0]?.oid ?? '0'.repeat(40)).length
  const lines: IndexLine[] = [...gone.map((path) => takenOut(path, '0'.repeat(width))), ...files, ...links]
  return treeOf(tree, indexFile, lines)
}

/** What no tree of files can hold: conflicts, flags, permissions, the files of an operation. Gives a commit. */
async function saveState(
  { tree, found, hidden }: Inspection,
  { files, index, scratch, at }: { files: readonly RawFile[]; index: string; scratch: string; at: Date },
): Promise<string> {
  const conflicts = found.entries.filter(({ stage }) => stage !== '0')
  const flagged = found.entries.filter(({ hidden: flag, path }) => flag === 'assume-unchanged' || (flag !== null && hidden.includes(path)))
  const intended = found.changes.filter(({ kind, index: letter, worktree }) => kind === 'changed' && letter === '.' && worktree === 'A')
  const unusual = files.filter(({ permissions, mode }) => permissions !== null && permissions !== (mode === '100755' ? 0o755 : 0o644))
  const own = await listOwnRefs(tree)
  const remains = await ownConfiguration(tree)
  const kept: readonly (readonly [string, Uint8Array | string])[] = [
    ['conflicts', toBytes(conflicts.map(({ mode, oid, stage, path }) => `${mode} ${oid} ${stage}\t${path}\0`).join(''))],
    ['flags', toBytes(flagged.map(({ hidden: flag, path }) => `${flag} ${path}\0`).join(''))],
    ['intended', toBytes(intended.map(({ path }) => `${path}\0`).join(''))],
    ['permissions', toBytes(unusual.map(({ permissions, path }) => `${(permissions ?? 0).toString(8)} ${path}\0`).join(''))],
    ['refs', own.map(({ name, sha }) => `${sha} ${name}\n`).join('')],
    ...remains,
    ...[...operationState(tree.place.adminDir), ...headLog(tree.place.adminDir)].map(({ name, content }) => [`git/${name}`, content] as const),
  ]
  const oids = await writeBlobs(
    tree,
    kept.map(([, content]) => content),
    scratch,
  )
  const lines = [
    ...kept.map(([name], n) => ({ mode: '100644', oid: oids[n] as string, path: name })),
    // So that the objects of a conflict stay as long as its list.
    ...conflicts.filter(({ mode }) => mode !== '160000').map(({ oid }, n) => ({ mode: '100644', oid, path: `stages/${n}` })),
  ]
  const below = await treeOf(tree, join(scratch, 'state'), lines)
  const entries = `040000 tree ${index}\tindex\0${`040000 tree ${below}\tkept\0`}`
  const root = (await tree.require('saving the index', ['mktree', '-z', '--missing'], { stdin: entries })).stdout.trim()
  return writeCommit(tree, { tree: root, parents: [], message: 'What was staged, and what no tree of files holds', at })
}

/** Of a repository of its own that goes away: its branches and its settings. Of a worktree nothing: the repository stays. */
async function ownConfiguration(tree: TreeGit): Promise<[string, Uint8Array | string][]> {
  if (tree.commonDir !== tree.place.adminDir) return []
  const refs = await listRefs(tree, ownBranches)
  const config = join(tree.commonDir, 'config')
  return [
    ['branches', refs.map(({ name, sha }) => `${sha} ${name}\n`).join('')],
    ['stashes', stashesIn(tree.commonDir).join('')],
    ...(existsSync(config) ? [['config', readPlain(config)] as [string, Uint8Array]] : []),
  ]
}

/** Oldest first: `<commit> <message>`. */
function stashesIn(commonDir: string): string[] {
  const log = stashLog(commonDir)
    .map(({ content }) => content.toString('utf8'))
    .join('')
  return log.split('\n').flatMap((line) => {
    const [, sha, message] = /^[0-9a-f]+ ([0-9a-f]+) [^\t]*\t(.*)$/.exec(line) ?? []
    return sha && message !== undefined ? [`${sha} ${message}\n`] : []
  })
}

/** Every nested repository that holds something, or that git does not know, is saved in itself and then fetched into the one around it. */
async function saveNested({ nested, tree }: Inspection, about: SaveWork): Promise<NestedRescue[]> {
  const saved: NestedRescue[] = []
  for (const { path, kind, inspection } of nested) {
    // What git sees of a submodule, and has from elsewhere, is there again with the tree; what it ignores is no part of the tree.
    if (kind !== 'untracked' && inspection.holds.length === 0) continue
    const { commit } = await saveTree(inspection, about)
    await handOver(inspection.tree, tree, commit)
    saved.push({ path, kind, commit })
  }
  return saved
}

/** So many commits are named one by one; of more, some are put together first. */
const maxParents = 100

async function fewer(tree: TreeGit, tips: readonly string[], at: Date): Promise<readonly string[]> {
  if (tips.length <= maxParents) return tips
  const empty = (await tree.require('writing an empty tree', ['mktree', '-z'], { stdin: '' })).stdout.trim()
  const joined: string[] = []
  for (let start = 0; start < tips.length; start += maxParents) {
    const parents = tips.slice(start, start + maxParents)
    joined.push(await writeCommit(tree, { tree: empty, parents, message: 'Commits on no branch', at }))
  }
  return fewer(tree, joined, at)
}

const gitOf = (error: unknown): GitAnswer | undefined => (error as { details?: { git?: GitAnswer } }).details?.git
const whatFailed = (error: unknown): string => (error as { details?: { what?: string } }).details?.what ?? 'the work'
