import { type Dirent, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { failure } from '../core/errors.ts'
import { isInside } from '../core/paths.ts'
import { type ByteText, below, toBytes, toShown } from './byte-text.ts'
import { readPlainText } from './plain-file.ts'
import type { TreeChanges } from './tree-changes.ts'
import { commonDirOf, type TreeGit, type TreePlace } from './tree-place.ts'

export type NestedKind = 'submodule' | 'untracked' | 'ignored'

/** A repository that lies inside a tree. */
export interface NestedRepository {
  /** From the top of the tree, without a slash at its end. */
  readonly path: ByteText
  readonly place: TreePlace
  /** `submodule`: the tree names its commit. `untracked`: git sees a folder that it does not look into. `ignored`: git was told not to see it. */
  readonly kind: NestedKind
  /** Whether its objects and branches are somewhere that is not removed with the tree. */
  readonly outlives: boolean
}

/** The repositories in a tree: its submodules that are there, those that nobody told git of, and those near the top of ignored folders. */
export function findNested(tree: TreeGit, { entries, changes, ignored }: Pick<TreeChanges, 'entries' | 'changes' | 'ignored'>): NestedRepository[] {
  if (!tree.isThere) return []
  const submodules = new Set(entries.filter(({ mode }) => mode === '160000').map(({ path }) => path))
  const untracked = changes.filter(({ kind, path }) => kind === 'untracked' && path.endsWith('/')).map(({ path }) => path.slice(0, -1))
  return [
    ...[...submodules].flatMap((path) => toNested(tree, path, 'submodule')),
    ...untracked.filter((path) => !submodules.has(path)).flatMap((path) => toNested(tree, path, 'untracked')),
    ...findIgnored(tree, ignored).flatMap((path) => toNested(tree, path, 'ignored')),
  ]
}

/** So many folders are looked into, and so deep: what was installed there may be as large as a disk, and is no work. */
const maxFolders = 1000
const maxDepth = 3

/** Folders with a `.git` among those that git ignores, the nearest to the top first. */
function findIgnored(tree: TreeGit, ignored: readonly ByteText[]): ByteText[] {
  const found: ByteText[] = []
  let level = [...ignored]
  let looked = 0
  for (let depth = 0; depth <= maxDepth && level.length > 0; depth++) {
    const next: ByteText[] = []
    for (const path of level) {
      if (looked++ >= maxFolders) return found
      const entries = entriesIn(below(tree.place.path, path))
      if (entries.some(({ name }) => name === '.git')) found.push(path)
      else next.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${path}/${name}`))
    }
    level = next
  }
  return found
}

function entriesIn(folder: Buffer): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true, encoding: 'latin1' })
  } catch {
    return []
  }
}

function toNested(tree: TreeGit, path: ByteText, kind: NestedRepository['kind']): NestedRepository[] {
  const shown = toShown(path)
  // git cannot be started in a folder whose name is no text.
  if (Buffer.compare(Buffer.from(shown), toBytes(path)) !== 0) throw failure('git_failed', { what: `looking into the repository ${shown}` })
  const folder = join(tree.place.path, shown)
  if (!isFolderItself(folder)) return []
  const adminDir = adminDirOf(folder)
  if (adminDir === undefined) return []
  const common = real(commonDirOf(adminDir))
  const outlives = ![tree.place.path, tree.place.adminDir].some((dying) => isInside(real(dying), common))
  return [{ path, kind, place: { path: folder, adminDir }, outlives }]
}

/** Where the state of the repository is whose top is this folder; undefined where it is none. */
export function adminDirOf(folder: string): string | undefined {
  const dotGit = join(folder, '.git')
  const stat = statSync(dotGit, { throwIfNoEntry: false })
  const named = stat?.isFile() ? /^gitdir: ([^\r\n\0]+)/.exec(readPlainText(dotGit))?.[1] : undefined
  const adminDir = stat?.isDirectory() ? dotGit : named && resolve(folder, named)
  return adminDir && statSync(join(adminDir, 'HEAD'), { throwIfNoEntry: false })?.isFile() ? adminDir : undefined
}

const isFolderItself = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

function real(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}
