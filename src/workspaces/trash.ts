import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errnoOf, failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceContext } from './context.ts'
import { trashFolder } from './layout.ts'
import { mountPoints } from './mounts.ts'

/** Trees that are gone for everybody and are yet to be deleted. All that is in the folder is ours, and nothing in it is needed. */

/** Where it is being put back, saved work is prepared here, on the device of the trees. */
export const scratchFolder = (root: string): string => join(root, '.scratch')

/** Takes a folder away in one step, however large it is; gives where it is now. */
export function moveToTrash({ root, newName }: Pick<WorkspaceContext, 'root' | 'newName'>, path: string, name: string): string {
  const trash = trashFolder(root)
  makeFolder(trash)
  if (!lstatSync(trash).isDirectory()) throw failure('not_owned', { path: trash, why: 'it is not a folder' })
  const target = join(trash, `${name}-${newName()}`)
  move(path, target)
  return target
}

/** Takes a tree aside in one step, where nothing deletes it for a day and whoever goes on with its release finds it; gives where it is now. */
export function moveAside({ root, newName }: Pick<WorkspaceContext, 'root' | 'newName'>, path: string, owner: Owner): string {
  makeFolder(scratchFolder(root))
  const target = join(scratchFolder(root), `${asideName(owner)}${newName()}`)
  move(path, target)
  return target
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw failure('file_failed', { path, errno: errnoOf(error) ?? 'unknown' }, error)
  }
}

function move(path: string, target: string): void {
  try {
    renameSync(path, target)
  } catch (error) {
    throw failure('file_failed', { path, errno: errnoOf(error) ?? 'unknown' }, error)
  }
}

interface Owner {
  readonly id: string
  readonly nonce: string
}

const asideName = ({ id, nonce }: Owner): string => `${id}-${nonce}-`

/** Of a release that was cut short: puts the tree back where it was, unless something is there. */
export function putBack({ root }: Pick<WorkspaceContext, 'root'>, { path, ...owner }: Owner & { readonly path: string }): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
  const aside = entriesOf(scratchFolder(root), 0).find((entry) => basename(entry).startsWith(asideName(owner)))
  if (aside === undefined) return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  renameSync(aside, path)
}

/** Deletes all of the trash, in another process where there is one for that; otherwise while this one goes on. Returns at once. */
export function emptyTrashLater(context: Pick<WorkspaceContext, 'root' | 'background'>): void {
  const entries = entriesOf(trashFolder(context.root), 0)
  const old = entriesOf(scratchFolder(context.root), dayMs)
  if (entries.length + old.length === 0) return
  if (context.background === undefined) void deleteAll([...entries, ...old], Number.POSITIVE_INFINITY)
  else context.background(['sh', '-c', deletion, 'sh', ...entries, ...old])
}

const dayMs = 24 * 3_600_000

// A folder that may not be written to keeps what is in it; what is linked from elsewhere must not be changed, so folders alone are.
const deletion = 'for one do rm -rf -- "$one" 2>/dev/null || { find "$one" -type d ! -perm -700 -exec chmod u+rwx {} \\;; rm -rf -- "$one"; }; done'

export interface EmptiedTrash {
  readonly removed: readonly string[]
  readonly left: readonly string[]
}

/** Deletes what is in the trash for longer than that, as far as it gets in `budgetMs`. */
export function emptyTrash(
  { root }: Pick<WorkspaceContext, 'root'>,
  { olderThanMs = 0, budgetMs = Number.POSITIVE_INFINITY }: { readonly olderThanMs?: number | undefined; readonly budgetMs?: number | undefined } = {},
): Promise<EmptiedTrash> {
  return deleteAll([...entriesOf(trashFolder(root), olderThanMs), ...entriesOf(scratchFolder(root), Math.max(olderThanMs, dayMs))], budgetMs)
}

/** What lies there for so long, without what something is mounted in. */
function entriesOf(folder: string, olderThanMs: number): string[] {
  let names: string[]
  try {
    if (!lstatSync(folder).isDirectory()) return []
    names = readdirSync(folder)
  } catch {
    return []
  }
  const mounts = mountPoints()
  return names
    .map((name) => join(folder, name))
    .filter((path) => {
      // A rename changes when the folder itself was last changed, and not what is in it.
      const since = lstatSync(path, { throwIfNoEntry: false })?.ctimeMs
      const isOld = since !== undefined && (olderThanMs === 0 || Date.now() - since >= olderThanMs)
      return isOld && !mounts.some((mount) => mount === path || isBelow(path, mount))
    })
}

async function deleteAll(paths: readonly string[], budgetMs: number): Promise<EmptiedTrash> {
  const until = monotonicMs() + budgetMs
  const [removed, left]: [string[], string[]] = [[], []]
  for (const path of paths) {
    const isOver = monotonicMs() <= until && (await deleteTree(path))
    if (isOver) removed.push(path)
    else left.push(path)
  }
  return { removed, left }
}

async function deleteTree(path: string): Promise<boolean> {
  for (const prepare of [async () => {}, () => openFolders(path)]) {
    try {
      await prepare()
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
      return true
    } catch {
      // Tried once more with folders that may be written to; then somebody else's turn comes.
    }
  }
  return false
}

async function openFolders(folder: string): Promise<void> {
  chmodSync(folder, 0o700)
  for (const entry of await readdir(folder, { withFileTypes: true })) if (entry.isDirectory()) await openFolders(join(folder, entry.name))
}

/** Takes the folder of a repository away when its last tree is gone. */
export function removeEmptyParent(path: string): void {
  try {
    rmdirSync(dirname(path))
  } catch {
    // There is another tree.
  }
}
