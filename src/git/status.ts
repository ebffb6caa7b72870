import type { DirtyCounts } from '../core/workspace-provider.ts'
import type { Git } from './git.ts'
import { inTree } from './open.ts'

export interface StatusEntry {
  /** From the top of the tree, with `/`. */
  readonly path: string
  /** What differs between the last commit and the index, and between the index and the files: a letter of git-status(1), `.` for nothing. */
  readonly index: string
  readonly worktree: string
  readonly kind: 'changed' | 'renamed' | 'unmerged' | 'untracked'
  /** Of a renamed or copied path, where it came from. */
  readonly from?: string | undefined
}

export interface TreeStatus {
  /** null before the first commit. */
  readonly head: string | null
  /** null for a detached HEAD. */
  readonly branch: string | null
  readonly entries: readonly StatusEntry[]
  readonly counts: DirtyCounts
}

export interface StatusOptions {
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The administrative folder of the tree, where it is known: then its `.git` is not asked. */
  readonly adminDir?: string | undefined
  /** Default: all of them, one by one; else a folder that holds nothing else is one entry. */
  readonly untracked?: 'all' | 'folders' | undefined
}

/**
 * What differs in a tree from its last commit. Takes no lock and changes nothing. Of a submodule only its commit is compared: a look
 * at its files would let its own settings run programs.
 */
export async function readStatus(git: Git, path: string, { adminDir, timeoutMs, signal, untracked = 'all' }: StatusOptions = {}): Promise<TreeStatus> {
  const args = [
    ...['status', '--porcelain=v2', '-z', '--branch', '--no-ahead-behind', '--find-renames'],
    `--untracked-files=${untracked === 'all' ? 'all' : 'normal'}`,
  ]
  const { stdout } = await inTree(git, path, adminDir).require(`looking at the changes in ${path}`, args, { reads: true, timeoutMs, signal })
  return parseStatus(stdout)
}

/** The output of `git status --porcelain=v2 -z --branch`. */
export function parseStatus(text: string): TreeStatus {
  let head: string | null = null
  let branch: string | null = null
  const entries: StatusEntry[] = []
  const records = text.split('\0')
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as string
    if (record.startsWith('# branch.oid ')) head = record.endsWith(' (initial)') ? null : record.slice('# branch.oid '.length)
    else if (record.startsWith('# branch.head ')) branch = record.endsWith(' (detached)') ? null : record.slice('# branch.head '.length)
    // The old name of a rename is a record of its own.
    else if (record.startsWith('2 ')) entries.push(toEntry(record, 9, 'renamed', records[++at]))
    else if (record.startsWith('1 ')) entries.push(toEntry(record, 8, 'changed'))
    else if (record.startsWith('u ')) entries.push(toEntry(record, 10, 'unmerged'))
    else if (record.startsWith('? ')) entries.push({ path: record.slice(2), index: '.', worktree: '?', kind: 'untracked' })
  }
  return { head, branch, entries, counts: countDirty(entries) }
}

/** `fields`: how many stand before the path, with a space behind each; the path may hold any. */
function toEntry(record: string, fields: number, kind: StatusEntry['kind'], from?: string): StatusEntry {
  let start = 0
  for (let n = 0; n < fields; n++) start = record.indexOf(' ', start) + 1
  const entry = { path: record.slice(start), index: record[2] as string, worktree: record[3] as string, kind }
  return from === undefined ? entry : { ...entry, from }
}

/** A path may be both staged and changed since. */
export function countDirty(entries: readonly StatusEntry[]): DirtyCounts {
  const count = (counts: (entry: StatusEntry) => boolean): number => entries.filter(counts).length
  const isTracked = ({ kind }: StatusEntry): boolean => kind === 'changed' || kind === 'renamed'
  return {
    staged: count((entry) => isTracked(entry) && entry.index !== '.'),
    changed: count((entry) => isTracked(entry) && entry.worktree !== '.'),
    untracked: count(({ kind }) => kind === 'untracked'),
    conflicted: count(({ kind }) => kind === 'unmerged'),
  }
}

export const isDirty = (counts: DirtyCounts): boolean => Object.values(counts).some((count) => count > 0)
