import { lstatSync, type Stats } from 'node:fs'
import { errnoOf, failure } from '../core/errors.ts'
import { type ByteText, below, nulParts } from './byte-text.ts'
import type { TreeGit } from './tree-place.ts'

/** One path of a tree that is not as its last commit has it, by its bytes. */
export interface TreeChange {
  readonly path: ByteText
  /** Letters of git-status(1); `.`: no difference. Of an untracked path `?`. */
  readonly index: string
  readonly worktree: string
  readonly kind: 'changed' | 'unmerged' | 'untracked'
}

/** One entry of an index. */
export interface IndexEntry {
  readonly path: ByteText
  readonly mode: string
  readonly oid: string
  readonly stage: string
  /** What git was told not to look at: its changes are not among those of the status. */
  readonly hidden: 'skip-worktree' | 'assume-unchanged' | null
}

export interface TreeChanges {
  readonly head: string | null
  readonly changes: readonly TreeChange[]
  /** Of its index what is out of the ordinary: conflicts, submodules, and what git was told not to look at. */
  readonly entries: readonly IndexEntry[]
  /** Folders that git ignores as a whole. */
  readonly ignored: readonly ByteText[]
}

const statusTimeoutMs = 5 * 60_000

/**
 * What differs in a tree. Only reads. Rejects wherever it is not certain that all was seen: what is not known must
 * not look like what is clean.
 */
export async function readChanges(tree: TreeGit): Promise<TreeChanges> {
  const [entries, found] = await Promise.all([readIndex(tree), tree.isThere ? readTree(tree) : stagedAlone(tree)])
  return { ...found, entries }
}

async function readIndex(tree: TreeGit): Promise<IndexEntry[]> {
  const listed = await tree.require('reading the index', ['ls-files', '-z', '--stage', '-v'], { reads: true, config: ownSettings, timeoutMs: statusTimeoutMs })
  const parts = nulParts(listed.bytes)
  // An index that was cut off names nothing in place of objects.
  if (parts.some((part) => part.startsWith(' 0000000000', 8)) || /error|corrupt|fatal/.test(listed.stderr)) {
    throw failure('git_failed', { what: 'reading the index', git: listed.answer })
  }
  return parts.filter((part) => !/^H 1(?:00|20)/.test(part)).map(toIndexEntry)
}

type Found = Omit<TreeChanges, 'entries'>

async function readTree(tree: TreeGit): Promise<Found> {
  const args = ['status', '--porcelain=v2', '-z', '--branch', '--untracked-files=all', '--ignored=matching', '--ignore-submodules=dirty']
  const status = await tree.require('looking at the changes', [...args, '--no-renames', '--no-ahead-behind'], {
    reads: true,
    config: ownSettings,
    timeoutMs: statusTimeoutMs,
  })
  // git goes on without a folder that it may not read, and says so here alone.
  if (/could not open|unable to|cannot|error:|fatal:/i.test(status.stderr)) throw failure('git_failed', { what: 'looking at the changes', git: status.answer })
  return parseChanges(status.bytes)
}

// Shortcuts that trust what somebody wrote into the repository are not taken.
const ownSettings = ['core.untrackedCache=false', 'core.checkStat=default', 'core.trustctime=true', 'core.ignoreStat=false', 'core.splitIndex=false']

function parseChanges(bytes: Uint8Array): Found {
  let head: string | null = null
  const ignored: ByteText[] = []
  const changes: TreeChange[] = []
  for (const part of nulParts(bytes)) {
    if (part.startsWith('# branch.oid ')) head = part.endsWith('(initial)') ? null : part.slice('# branch.oid '.length)
    else if (part.startsWith('1 ')) changes.push({ ...letters(part), path: after(part, 8), kind: 'changed' })
    else if (part.startsWith('u ')) changes.push({ ...letters(part), path: after(part, 10), kind: 'unmerged' })
    else if (part.startsWith('! ') && part.endsWith('/')) ignored.push(part.slice(2, -1))
    else if (part.startsWith('? ')) changes.push({ path: part.slice(2), index: '.', worktree: '?', kind: 'untracked' })
  }
  return { head, changes, ignored }
}

const letters = (part: string) => ({ index: part[2] as string, worktree: part[3] as string })

/** What stands behind so many fields with a space each. */
function after(part: string, fields: number): string {
  let start = 0
  for (let n = 0; n < fields; n++) start = part.indexOf(' ', start) + 1
  return part.slice(start)
}

/** Of a tree whose folder is gone, only what was staged can be left. */
async function stagedAlone(tree: TreeGit): Promise<Found> {
  const found = await tree.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { reads: true })
  const head = found.exitCode === 0 ? found.stdout.trim() : null
  const args = ['diff-index', '--cached', '-z', '--name-status', '--no-renames', '--ignore-submodules=dirty', head ?? (await emptyTree(tree)), '--']
  const parts = nulParts((await tree.require('looking at what is staged', args, { reads: true })).bytes)
  const changes: TreeChange[] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const letter = parts[at] as string
    changes.push({ path: parts[at + 1] as string, index: letter, worktree: '.', kind: letter === 'U' ? 'unmerged' : 'changed' })
  }
  return { head, changes, ignored: [] }
}

export async function emptyTree(tree: TreeGit): Promise<string> {
  return (await tree.require('writing an empty tree', ['mktree', '-z'], { stdin: '' })).stdout.trim()
}

/** `<tag> <mode> <object> <stage>\t<path>`; a small tag: git assumes that it did not change, `S`: it is not to be looked at (git-ls-files(1)). */
function toIndexEntry(part: ByteText): IndexEntry {
  const tab = part.indexOf('\t')
  const [tag = '', mode = '', oid = '', stage = ''] = part.slice(0, tab).split(' ')
  const hidden = tag.toUpperCase() === 'S' ? 'skip-worktree' : tag !== tag.toUpperCase() ? 'assume-unchanged' : null
  return { path: part.slice(tab + 1), mode, oid, stage, hidden }
}

/** Whether something is at the path, which is not followed where it is a link. */
export function isAt(tree: TreeGit, path: ByteText): boolean {
  return tree.isThere && lookAt(tree.place.path, path) !== undefined
}

/** Whether a file or a link is at the path. */
export function isFile(tree: TreeGit, path: ByteText): boolean {
  const found = tree.isThere ? lookAt(tree.place.path, path) : undefined
  return found !== undefined && (found.isFile() || found.isSymbolicLink())
}

export function lookAt(folder: string, path: ByteText): Stats | undefined {
  try {
    return lstatSync(below(folder, path))
  } catch (error) {
    // A file where the path has a folder.
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
