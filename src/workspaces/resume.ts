import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree, listTrees, type Tree } from '../git/admin.ts'
import { checkIndex } from '../git/index-file.ts'
import { lockReasonOf, ownerOf, readAdminCopy } from './identity.ts'
import { canonical, whatIsAt } from './placement.ts'
import { adminDirNamedBy } from './repositories.ts'

/**
 * What is there of a workspace, as files tell of it: the record says what should be, git's administrative folder what is registered, and
 * the folder itself what it belongs to. Nothing is changed here and no process is started.
 */
export type Situation =
  /** No registration, and nothing in the way of making one. */
  | { readonly kind: 'nothing' }
  /** Registered, and its folder is gone or empty. */
  | { readonly kind: 'gone'; readonly tree: Tree }
  /** Registered, with its files at `path`. `isLinked`: the links between both are as they should be. */
  | { readonly kind: 'there'; readonly tree: Tree; readonly path: string; readonly isLinked: boolean }
  /** Registered, and its folder has files and no `.git`: they may be those of the tree, or of somebody else. */
  | { readonly kind: 'unlinked'; readonly tree: Tree; readonly path: string }
  /** The files of the tree are there, and git forgot it. */
  | { readonly kind: 'unregistered'; readonly path: string }
  /** The folder is the tree of something else. */
  | { readonly kind: 'foreign'; readonly path: string; readonly belongsTo: string }
  /** Something is in the way that is no tree. */
  | { readonly kind: 'occupied'; readonly path: string; readonly what: string }

export interface Place {
  readonly commonDir: string
  readonly path: string
  readonly root: string
  readonly record: WorkspaceRecord | undefined
}

export function look(place: Place): Situation {
  const tree = findTree(place.commonDir, place.path) ?? findByLock(place)
  return tree === undefined ? lookAtUnregistered(place) : lookAtTree(place, tree)
}

/** Where a tree is registered for the moment in which one is registered again. */
export const registeringPath = (path: string): string => `${path}.registering`

function lookAtTree(place: Place, tree: Tree): Situation {
  const path = tree.path === registeringPath(place.path) ? place.path : tree.path
  const what = whatIsAt(path)
  if (what === 'file' || what === 'link') return { kind: 'occupied', path, what: `a ${what}` }
  if (what !== 'folder') {
    const moved = findMoved(place, tree)
    return moved === undefined ? { kind: 'gone', tree } : { kind: 'there', tree, path: moved, isLinked: false }
  }
  if (isFolder(join(path, '.git'))) return { kind: 'foreign', path, belongsTo: path }
  const link = adminDirNamedBy(path)
  if (link === undefined) return { kind: 'unlinked', tree, path }
  if (canonical(link) === tree.adminDir) return { kind: 'there', tree, path, isLinked: tree.path === path }
  // A link that leads nowhere is that of a repository that was moved; one that leads somewhere is another's.
  return existsSync(link) ? { kind: 'foreign', path, belongsTo: dirname(dirname(link)) } : { kind: 'there', tree, path, isLinked: false }
}

function lookAtUnregistered({ path, record, commonDir }: Place): Situation {
  const what = whatIsAt(path)
  if (what === 'nothing' || what === 'empty folder') return { kind: 'nothing' }
  const link = what === 'folder' ? adminDirNamedBy(path) : undefined
  if (link === undefined) return { kind: 'occupied', path, what: `a ${what} that is no tree of this repository` }
  if (existsSync(link)) return { kind: 'foreign', path, belongsTo: dirname(dirname(link)) }
  const isOurs = record !== undefined && record.state !== 'creating' && [commonDir, record.commonDir].includes(dirname(dirname(link)))
  return isOurs ? { kind: 'unregistered', path } : { kind: 'occupied', path, what: `a tree whose repository ${dirname(dirname(link))} does not know it` }
}

/** A tree that was moved by git, or by hand and then repaired, is somewhere else than its record says, and has our lock on it. */
function findByLock({ commonDir, record, path }: Place): Tree | undefined {
  if (record === undefined) return undefined
  const reason = lockReasonOf(record)
  const link = adminDirNamedBy(path)
  return listTrees(commonDir).find((tree) => tree.lockReason === reason && (tree.path !== registeringPath(path) || tree.adminDir === link))
}

/** A folder that says that it is this tree, among those where trees of the repository are, or were when the root was another. */
function findMoved({ root, record }: Place, tree: Tree): string | undefined {
  const folder = dirname(tree.path)
  const candidates = new Set([folder, join(root, basename(folder))])
  const isIt = (path: string): boolean => {
    const link = adminDirNamedBy(path)
    if (link === undefined) return false
    const isOld = basename(link) === tree.name && dirname(dirname(link)) === record?.commonDir && !existsSync(link)
    return link === tree.adminDir || isOld
  }
  return [...candidates].flatMap((parent) => namesIn(parent).map((name) => join(parent, name))).find(isIt)
}

/** Whether a workspace can be given back as it is, without anything to mend. */
export function isHealthy(situation: Situation, record: WorkspaceRecord | undefined, commonDir: string): situation is Situation & { kind: 'there' } {
  if (record?.state !== 'ready' || situation.kind !== 'there' || !situation.isLinked) return false
  const { tree, path } = situation
  if (path !== record.path || record.commonDir !== commonDir || !isHeadFine(tree, record.branch)) return false
  const isOurs = tree.lockReason === lockReasonOf(record) && readAdminCopy(tree.adminDir)?.nonce === record.nonce
  return isOurs && !existsSync(join(tree.adminDir, 'index.lock')) && checkIndex(tree.adminDir) === 'whole'
}

/** Another branch, and what was begun and is not over, are the business of whoever works there. */
function isHeadFine(tree: Tree, branch: string | null): boolean {
  if (branch === null || tree.operation !== null) return tree.commit !== null
  return tree.branch !== null && (tree.branch !== branch || tree.commit !== null)
}

/** What whoever gets the workspace should know of its HEAD. */
export function warningsOf(tree: Tree, branch: string | null): string[] {
  const warnings: string[] = []
  if (tree.operation !== null) warnings.push(`a ${tree.operation} was begun in it and is not over`)
  else if (branch !== null && tree.branch !== null && tree.branch !== branch) warnings.push(`${tree.branch} is checked out in it and not ${branch}`)
  const owner = ownerOf(tree.lockReason)
  if (tree.lockReason !== null && owner === undefined) warnings.push(`somebody locked the tree: ${tree.lockReason || 'without a reason'}`)
  return warnings
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
