import { closeSync, openSync, readSync, statSync, utimesSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Settings } from './features.ts'
import { type GitPlace, type GitRepository, inTree } from './open.ts'

/** Git LFS keeps the content of files apart; git itself has a pointer in the place of each. */

/** The program, named by us and not by the repository. */
const ownFilter = ['clean=git-lfs clean -- %f', 'smudge=git-lfs smudge -- %f', 'process=git-lfs filter-process', 'required=true'].map(
  (setting) => `filter.lfs.${setting}`,
)
/** A file that cannot be had stays a pointer, and a server that says nothing is not waited for. Seconds. */
const patience = ['lfs.skipdownloaderrors=true', 'lfs.dialtimeout=20', 'lfs.tlstimeout=20', 'lfs.activitytimeout=30', 'lfs.transfer.maxretries=2']
const pullTimeoutMs = 10 * 60_000

export async function hasGitLfs(place: GitPlace): Promise<boolean> {
  return (await place.run(['lfs', 'version'], { reads: true })).exitCode === 0
}

/** Settings of the repository by which git-lfs would run programs that it names: then it is not run at all. */
export function programsOfLfs(settings: Settings): string[] {
  return [...settings.keys()].filter((name) => /^lfs\.(?:extension|customtransfer)\.|^lfs\.(?:.*\.)?(?:standalonetransferagent|sshtransfer)$/s.test(name))
}

export interface Pulled {
  /** Files that now have their content. */
  readonly files: number
  /** Files that are still pointers. */
  readonly left: number
  /** What git-lfs said, where some are left. */
  readonly said: string
}

/** Puts the content of files in the place of their pointers, from what is here and else from the remote. Files that are no pointers stay. */
export async function pullLfs(repository: GitRepository, path: string, adminDir: string, signal?: AbortSignal): Promise<Pulled> {
  const tree = inTree(repository.git, path)
  const options = { config: [...ownFilter, ...patience], network: true, timeoutMs: pullTimeoutMs, signal }
  const before = await pointersOf(tree, path)
  if (before.length === 0) return { files: 0, left: 0, said: '' }
  const isMissing = before.some(({ object }) => !isHere(repository.commonDir, object))
  // All at once, where the files would be asked for one by one. A sparse tree wants few of those that the commit has.
  const fetched = isMissing && !(await isSparseTree(tree)) ? await tree.run(['lfs', 'fetch'], options) : undefined
  // git leaves alone what looks as it left it.
  for (const { file } of before) utimesSync(join(path, file), 0, 0)
  const names = before.map(({ file }) => `${file}\0`).join('')
  const written = await tree.run(['checkout-index', '--force', '--index', '-z', '--stdin'], { ...options, stdin: names })
  await settleIndex(join(adminDir, 'index'))
  const left = (await pointersOf(tree, path)).length
  return { files: before.length - left, left, said: (fetched?.stderr || written.stderr).trim() }
}

async function isSparseTree(tree: GitPlace): Promise<boolean> {
  return (await tree.run(['config', '--type=bool', '--get', 'core.sparseCheckout'], { reads: true })).stdout.trim() === 'true'
}

/**
 * Makes the index later than the files that it knows, by whole seconds, which is all that git compares. Of a file as young as the index it
 * reads the content, which without the filter is another than what it recorded, so that the file would be taken for changed.
 */
async function settleIndex(index: string): Promise<void> {
  const next = (Math.floor(statSync(index).mtimeMs / 1000) + 1) * 1000
  const waitMs = next - Date.now()
  // Later than a second from now only where the clock was turned back meanwhile.
  if (waitMs > 0) await pause(Math.min(waitMs, 1000) + 1)
  const now = new Date()
  utimesSync(index, now, now)
}

/** The files of a tree that have a pointer in the place of their content. */
async function pointersOf(tree: GitPlace, path: string): Promise<{ readonly file: string; readonly object: string }[]> {
  const listed = await tree.require('listing the files of Git LFS', ['ls-files', '-t', '-z', '--', ':(top,attr:filter=lfs)'], { reads: true })
  const files = listed.stdout.split('\0').flatMap((entry) => (entry.startsWith('H ') ? [entry.slice(2)] : []))
  const found = []
  for (const file of files) {
    const entry = await lstat(join(path, file)).catch(() => undefined)
    const object = entry?.isFile() && entry.size <= maxPointerBytes ? pointedTo(join(path, file)) : undefined
    if (object !== undefined) found.push({ file, object })
  }
  return found
}

/** A pointer is smaller than this (git-lfs, docs/spec.md). */
const maxPointerBytes = 1024

function pointedTo(file: string): string | undefined {
  const buffer = Buffer.alloc(maxPointerBytes)
  const descriptor = openSync(file, 'r')
  try {
    const text = buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, maxPointerBytes, 0))
    return /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n/.exec(text)?.[1]
  } finally {
    closeSync(descriptor)
  }
}

function isHere(commonDir: string, object: string): boolean {
  return statSync(join(commonDir, 'lfs', 'objects', object.slice(0, 2), object.slice(2, 4), object), { throwIfNoEntry: false }) !== undefined
}
