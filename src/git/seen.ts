import { lstatSync } from 'node:fs'
import type { ByteText } from './byte-text.ts'
import { below } from './byte-text.ts'
import type { Inspection } from './inspect.ts'

/**
 * What was seen of a tree, to be compared with what is seen of it later, also where it lies somewhere else then: equal where nothing that
 * counts was written in between. Made right after the look and before anything is saved, so that what changes while it is saved differs.
 */
export function seenOf({ tree, found, headRef, operation, commits, hidden, nested }: Inspection): string {
  const { path: top } = tree.place
  const changes = found.changes.map(({ path, index, worktree }) => [path, index, worktree, markOf(top, path)])
  const untold = hidden.map((path) => [path, markOf(top, path)])
  const inner = nested.map(({ path, inspection }) => [path, seenOf(inspection)])
  const index = markOf(tree.place.adminDir, 'index')
  return JSON.stringify([found.head, headRef, operation, commits, index, changes, untold, inner])
}

/** Changes with each write to a file, and not when a folder around it is moved. */
function markOf(folder: string, path: ByteText): string | null {
  try {
    const { ino, size, mtimeNs, ctimeNs } = lstatSync(below(folder, path), { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join(' ')
  } catch {
    return null
  }
}
