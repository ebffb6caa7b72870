import { mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { WorkspaceOverlay } from '../core/workspace.ts'
import { readPlainText, replacePlain } from '../git/plain-file.ts'
import { listOverlayMounts } from './mounts.ts'

/**
 * The folders in which copy-on-write trees keep what was changed. Each says in a note which layers it needs and where it belongs: what it
 * needs is kept for as long as the folder is there, also when it is not mounted.
 */

export interface OverlayNote {
  readonly version: 1
  readonly path: string
  readonly overlay: WorkspaceOverlay
}

const maxNoteBytes = 1024 ** 2

const overlaysFolder = (root: string): string => join(root, '.overlays')

export const overlayFolder = (root: string, name: string): string => join(overlaysFolder(root), name)

/** Makes the folder of a tree that looks through these layers. With the lock of their store. */
export function makeOverlayFolder(root: string, name: string, { path, lower }: { readonly path: string; readonly lower: readonly string[] }): WorkspaceOverlay {
  const folder = overlayFolder(root, name)
  mkdirSync(overlaysFolder(root), { recursive: true, mode: 0o700 })
  mkdirSync(folder, { mode: 0o700 })
  const overlay: WorkspaceOverlay = { lower, upper: join(folder, 'upper'), work: join(folder, 'work') }
  const note: OverlayNote = { version: 1, path, overlay }
  replacePlain(join(folder, 'overlay.json'), `${JSON.stringify(note)}\n`)
  // The tree has the mode of this folder, so the umask decides, as it does for an ordinary tree.
  mkdirSync(overlay.upper)
  mkdirSync(overlay.work)
  return overlay
}

/** What the folder of a tree says of itself; undefined where it says nothing that can be understood. */
export function findOverlayNote(folder: string): OverlayNote | undefined {
  try {
    return toNote(readPlainText(join(folder, 'overlay.json'), maxNoteBytes))
  } catch {
    return undefined
  }
}

/** The names of all folders of changes. */
export function listOverlayFolders(root: string): readonly string[] {
  try {
    return readdirSync(overlaysFolder(root))
  } catch {
    return []
  }
}

/** The notes of all trees; `unreadable` are folders whose note cannot be understood. A folder without a note has no tree yet. */
export function listOverlayNotes(root: string): { readonly notes: readonly OverlayNote[]; readonly unreadable: readonly string[] } {
  const notes: OverlayNote[] = []
  const unreadable: string[] = []
  for (const name of listOverlayFolders(root)) {
    const folder = overlayFolder(root, name)
    let text: string
    try {
      text = readPlainText(join(folder, 'overlay.json'), maxNoteBytes)
    } catch {
      continue
    }
    const note = toNote(text)
    if (note) notes.push(note)
    else unreadable.push(folder)
  }
  return { notes, unreadable }
}

/** Tells of a frozen folder whether any tree looks through it, mounted or not. Where that cannot be told, all are in use. */
export function layersInUse(root: string): (folder: string) => boolean {
  const { notes, unreadable } = listOverlayNotes(root)
  if (unreadable.length > 0) return () => true
  const lower = new Set([
    ...notes.flatMap(({ overlay }) => overlay.lower),
    ...listOverlayMounts().flatMap((mount) => mount.lower.map((part) => resolve(root, part))),
  ])
  return (folder) => lower.has(join(folder, 'tree'))
}

function toNote(text: string): OverlayNote | undefined {
  try {
    const note = JSON.parse(text) as Partial<OverlayNote> | null
    const lower = note?.overlay?.lower
    const isWhole = note?.version === 1 && typeof note.path === 'string' && Array.isArray(lower) && lower.every((part) => typeof part === 'string')
    return isWhole ? (note as OverlayNote) : undefined
  } catch {
    return undefined
  }
}
