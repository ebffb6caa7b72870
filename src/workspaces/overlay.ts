import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { failure, hasReason, messageOf } from '../core/errors.ts'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceOverlay } from '../core/workspace.ts'
import { gitFailure } from '../git/git.ts'
import type { GitRepository } from '../git/open.ts'
import { readText } from '../git/repository.ts'
import { addTree, removeRegistration } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import { collectFrozen, storeOf, withStore } from './frozen.ts'
import { type FrozenBase, requireBase } from './frozen-base.ts'
import { requireFolders } from './frozen-folders.ts'
import { listOverlayMounts, mountOverlay, unmount, upperAt } from './mounts.ts'
import { findOverlayNote, listOverlayFolders, listOverlayNotes, makeOverlayFolder, overlayFolder } from './overlay-folders.ts'
import { canonical } from './placement.ts'
import { moveToTrash } from './trash.ts'

/** Whether copy-on-write trees can be made here, and else why not, in a sentence without a full stop. */
export type OverlayProbe = { readonly ok: true } | { readonly ok: false; readonly why: string }

export interface OverlayTree {
  /** Absolute; nothing is there. Its parent exists. */
  readonly path: string
  readonly sha: string
  /** A branch that exists and is at `sha`, without `refs/heads/`; null: detached at `sha`. */
  readonly branch: string | null
  readonly lockReason: string
  /** `<id>-<nonce>`: what the changes of this tree are kept under, so that a half-made one is found again (`abandonOverlay`). */
  readonly name: string
  /** The settings of the plan of its checkout. */
  readonly config: readonly string[]
  /** Ignored folders of another checkout, to be had without a copy of their own: paths inside of `source`. */
  readonly folders?: { readonly source: string; readonly entries: readonly string[] } | undefined
  readonly signal?: AbortSignal | undefined
}

/** How a tree was taken away. `lazily`: something still used it, and sees it until it lets go. */
export type Unmounted = 'cleanly' | 'lazily' | 'was not mounted'

/** Tries it: a mount in a folder of its own below the root, undone at once. What went well once in this process is not tried again. Never throws. */
export async function probeOverlay(given: WorkspaceContext): Promise<OverlayProbe> {
  const context = located(given)
  const known = probed.get(context.runProgram)
  if (known?.has(context.root)) return { ok: true }
  try {
    const probe = await tryOverlay(context)
    if (probe.ok) probed.set(context.runProgram, new Set([...(known ?? []), context.root]))
    return probe
  } catch (error) {
    return { ok: false, why: messageOf(error) }
  }
}

/** By what runs the programs: the roots below which it went well. */
const probed = new WeakMap<WorkspaceContext['runProgram'], Set<string>>()

/** With the root as the records have it: without symbolic links. */
const located = (context: WorkspaceContext): WorkspaceContext => ({ ...context, root: canonical(resolve(context.root)) })

async function tryOverlay(context: WorkspaceContext): Promise<OverlayProbe> {
  if (process.platform !== 'linux') return { ok: false, why: `overlay mounts are of Linux, and this is ${process.platform}` }
  if (process.geteuid?.() !== 0) return { ok: false, why: 'it takes root here: a mount in a user namespace would be seen by nobody outside of it' }
  await sweepProbes(context)
  const folder = overlayFolder(context.root, `${probePrefix}${context.newName()}`)
  const [lower, upper, work, path] = ['lower', 'upper', 'work', 'path'].map((name) => join(folder, name)) as [string, string, string, string]
  for (const made of [lower, upper, work, path]) mkdirSync(made, { recursive: true, mode: 0o700 })
  try {
    mkdirSync(join(lower, 'a'))
    const mounted = await mountOverlay(context, { lower: [lower], upper, work }, path)
    if (!mounted.ok) return { ok: false, why: mounted.said }
    try {
      renameSync(join(path, 'a'), join(path, 'b'))
    } finally {
      await unmount(context, path)
    }
    return { ok: true }
  } finally {
    // While it is mounted, for whatever reason, nothing is deleted through it.
    if (!listOverlayMounts().some((mount) => mount.path === path)) rmSync(folder, { recursive: true, force: true })
  }
}

const probePrefix = 'probe-'
const probeMs = 60_000

/** Takes away what processes left that were ended in the middle of a probe. */
async function sweepProbes(context: WorkspaceContext): Promise<void> {
  const left = listOverlayFolders(context.root).filter((name) => name.startsWith(probePrefix))
  for (const folder of left.map((name) => overlayFolder(context.root, name))) {
    const since = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - since < probeMs) continue
    const path = join(folder, 'path')
    if (upperAt(context.root, path) === undefined || (await unmount(context, path)).how === 'cleanly') rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Makes sure that there is a frozen checkout of a commit, which takes as long as a checkout the first time: to be called before the lock
 * of the repository is taken. `makeOverlayTree` makes what is missing.
 */
export async function prepareBase(
  context: WorkspaceContext,
  repo: GitRepository,
  request: Pick<OverlayTree, 'sha' | 'config' | 'folders' | 'signal'>,
): Promise<void> {
  try {
    await withLayers(located(context), repo, request, () => {})
  } catch (error) {
    // Whoever makes the tree meets it again, and makes another one.
    if (!hasReason(error, 'copy_on_write_unavailable')) throw error
  }
}

/** Does something with the layers of a tree, made where they are not there. None of them is collected meanwhile. */
async function withLayers<T>(
  context: WorkspaceContext,
  repo: GitRepository,
  { sha, config, folders, signal }: Pick<OverlayTree, 'sha' | 'config' | 'folders' | 'signal'>,
  use: (layers: { readonly base: FrozenBase; readonly lower: readonly string[] }) => T,
): Promise<T> {
  const store = storeOf(context.root, repo)
  return withStore(context, store, { signal }, async () => {
    const base = await requireBase(context, repo, store, { sha, config, signal })
    const copies = folders ? await foldersOrNone(context, repo, store, { ...folders, sha, signal }) : undefined
    return use({ base, lower: copies ? [copies, base.tree] : [base.tree] })
  })
}

/** Folders that cannot be frozen are left to whoever copies what else is carried over. */
async function foldersOrNone(...[context, repo, store, request]: Parameters<typeof requireFolders>): Promise<string | undefined> {
  try {
    return await requireFolders(context, repo, store, request)
  } catch (error) {
    if (hasReason(error, 'copy_on_write_unavailable')) return undefined
    throw error
  }
}

/**
 * Registers a tree and mounts its files. Called with the lock of the repository. Where it rejects, nothing of it is left: no mount, no
 * registration, no folder; the branch is as it was, and an ordinary tree can be made in its place.
 */
export async function makeOverlayTree(given: WorkspaceContext, repo: GitRepository, request: OverlayTree): Promise<WorkspaceOverlay> {
  const context = located(given)
  const { name, path } = request
  if (existsSync(path) && readdirSync(path).length > 0) throw failure('path_occupied', { path, what: 'a folder that is not empty' })
  const { base, overlay } = await withLayers(context, repo, request, ({ base, lower }) => ({
    base,
    overlay: makeOverlayFolder(context.root, name, { path, lower }),
  }))
  try {
    await register(repo, request, base, overlay)
    const mounted = await mountOverlay(context, overlay, path)
    if (!mounted.ok) throw failure('copy_on_write_unavailable', { why: mounted.said })
    return overlay
  } catch (error) {
    await abandonOverlay(context, { name, path })
    rmSync(join(path, '.git'), { force: true })
    if (existsSync(path)) rmdirSync(path)
    await removeRegistration(repo, path)
    throw error
  }
}

/** Registers the tree with the index of the base, and puts its link among the changes. Its folder is empty then. */
async function register(
  repo: GitRepository,
  { path, sha, branch, lockReason, config, signal }: OverlayTree,
  base: FrozenBase,
  overlay: WorkspaceOverlay,
): Promise<void> {
  const at = branch === null ? { sha } : { branch }
  const added = await addTree(repo, { path, at, lockReason, noCheckout: true, config, signal })
  const link = join(path, '.git')
  const target = /^gitdir: (.+)$/m.exec(readText(link, maxLinkBytes) ?? '')?.[1]
  if (target === undefined) throw gitFailure(`registering the worktree ${path}`, added)
  const adminDir = resolve(path, target)
  writeFileSync(join(overlay.upper, '.git'), `gitdir: ${target}\n`)
  rmSync(link)
  // git copies the patterns of the source, and would take the files that they leave out for deleted by somebody.
  if (existsSync(join(adminDir, 'info', 'sparse-checkout'))) throw failure('copy_on_write_unavailable', { why: 'the source has a sparse checkout' })
  // A copy is younger than the files that it knows, so git does not look into them again (git, technical/racy-git).
  const index = join(adminDir, 'index.holdfast')
  copyFileSync(base.index, index, constants.COPYFILE_FICLONE)
  renameSync(index, join(adminDir, 'index'))
}

const maxLinkBytes = 16 * 1024

/**
 * Throws a half-made tree away, which was never handed out: unmounts what is mounted at its path and moves its changes to the trash. No
 * harm where there is none. The registration and the folder, which is empty then, are left to the caller.
 */
export async function abandonOverlay(context: WorkspaceContext, { name, path }: { readonly name: string; readonly path: string }): Promise<void> {
  const at = located(context)
  await takeAway(at, overlayFolder(at.root, name), path)
}

/** Unmounts a tree and moves its changes to the trash; all that is worth keeping was rescued. Its empty folder is left. Twice is no failure. */
export async function removeOverlay(context: WorkspaceContext, overlay: WorkspaceOverlay, path: string): Promise<Unmounted> {
  const at = located(context)
  return takeAway(at, folderOf(at, overlay), path)
}

/** Where the changes of a tree are; only a folder that is surely one of ours is ever moved. */
function folderOf({ root }: WorkspaceContext, overlay: WorkspaceOverlay): string {
  const folder = dirname(overlay.upper)
  if (dirname(folder) !== dirname(overlayFolder(root, 'x'))) throw failure('not_owned', { path: folder, why: `it is not in ${root}` })
  return folder
}

async function takeAway(context: WorkspaceContext, folder: string, path: string): Promise<Unmounted> {
  let how: Unmounted = 'was not mounted'
  // A mount that a dead process had asked for may come about after its changes were taken away.
  const isOurs = (upper: string): boolean => upper === join(folder, 'upper') || (dirname(dirname(upper)) === dirname(folder) && !existsSync(upper))
  for (let upper = upperAt(context.root, path); upper !== undefined && isOurs(upper); upper = upperAt(context.root, path)) {
    const unmounted = await unmount(context, path)
    if (unmounted.how === 'failed') throw failure('not_owned', { path, why: `it cannot be unmounted: ${unmounted.said}` })
    how = unmounted.how
  }
  if (existsSync(folder)) moveToTrash(context, folder, basename(folder))
  return how
}

/** Whether it is mounted: read from /proc, without a process. */
export function isMounted({ root }: Pick<WorkspaceContext, 'root'>, { upper }: WorkspaceOverlay, path: string): boolean {
  return upperAt(canonical(resolve(root)), path) === upper
}

/** The layers of the tree at a path, of which no record tells: the one that is mounted there, else the only one whose note names the path. */
export function findOverlay(context: Pick<WorkspaceContext, 'root'>, path: string): WorkspaceOverlay | undefined {
  const overlays = listOverlayNotes(canonical(resolve(context.root))).notes.flatMap((note) => (note.path === path ? [note.overlay] : []))
  return overlays.find((overlay) => isMounted(context, overlay, path)) ?? (overlays.length === 1 ? overlays[0] : undefined)
}

/**
 * Mounts a tree again, with all its changes, after the machine was started anew. Called with the lock of the repository, and before
 * anything looks into the tree: while it is not mounted, its folder is empty, also of `.git`. False where it was mounted. Throws
 * `workspace_unusable`.
 */
export async function mountAgain(context: WorkspaceContext, overlay: WorkspaceOverlay, path: string): Promise<boolean> {
  if (isMounted(context, overlay, path)) return false
  const unusable = (why: string) => failure('workspace_unusable', { workspace: path, why })
  requireOwnLayers(located(context), overlay, path)
  if (listOverlayMounts().some((mount) => mount.path === path)) throw unusable('something else is mounted at its folder')
  for (const layer of [...overlay.lower, overlay.upper]) if (!existsSync(layer)) throw unusable(`${layer}, which it looks through, is gone`)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const hidden = readdirSync(path).filter((name) => name !== '.git')
  if (hidden.length > 0) throw unusable(`it is not mounted, and ${hidden.slice(0, 3).join(', ')} in its folder would be hidden by it: move that away`)
  mkdirSync(overlay.work, { recursive: true })
  const mounted = await mountOverlay(located(context), overlay, path)
  if (!mounted.ok) throw unusable(`it cannot be mounted: ${mounted.said}`)
  return true
}

/** A record lies where whoever works in a tree can write: what is mounted, and where, is said by the folder of its changes as well. */
function requireOwnLayers(context: WorkspaceContext, overlay: WorkspaceOverlay, path: string): void {
  const { lower, upper, work } = overlay
  const folder = folderOf(context, overlay)
  const note = findOverlayNote(folder)
  const isSame = note?.path === path && JSON.stringify([note.overlay.lower, note.overlay.upper, note.overlay.work]) === JSON.stringify([lower, upper, work])
  if (!isSame || !isBelow(context.root, path)) {
    throw failure('workspace_unusable', { workspace: path, why: `its record names other layers, or another place, than ${join(folder, 'overlay.json')}` })
  }
}

/** Removes frozen checkouts that no workspace uses; those in use, also by trees that are not mounted now, stay. Returns their folders. */
export function collectBases(
  context: WorkspaceContext,
  { dryRun, unusedForMs = 0 }: { readonly dryRun: boolean; readonly unusedForMs?: number | undefined },
): Promise<readonly string[]> {
  return collectFrozen(located(context), { dryRun, unusedForMs })
}
