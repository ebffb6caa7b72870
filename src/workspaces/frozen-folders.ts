import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import type { GitRepository } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'
import { type FrozenStore, freezeTimeoutMs, requireFrozen } from './frozen.ts'
import { runTool } from './run-tool.ts'
import { holdsSecretFile } from './secret-files.ts'

/** Ignored folders of a checkout that trees look through instead of having copies of their own: dependencies. */
export interface FrozenFoldersRequest {
  readonly source: string
  /** Paths inside of it. */
  readonly entries: readonly string[]
  /** The commit of the tree: what it has of its own is not covered up. */
  readonly sha: string
  readonly signal?: AbortSignal | undefined
}

type FrozenFoldersContext = Pick<WorkspaceContext, 'runProgram' | 'ownEnv' | 'root' | 'lock' | 'newName'>

/**
 * A frozen copy of those of the entries that are folders of the source and in which the commit has nothing; undefined where there is none.
 * Made once for each content: a lower layer must not change, so it is never the live folder. With the lock of the store.
 */
export async function requireFolders(
  context: FrozenFoldersContext,
  repo: Pick<GitRepository, 'require'>,
  store: FrozenStore,
  { source, entries, sha, signal }: FrozenFoldersRequest,
): Promise<string | undefined> {
  const root = realpathSync(source)
  // A secret is carried over by its own name alone, and a layer has all that is in its folders.
  const folders = withoutInner(entries.map(clean).filter((entry) => isOwnFolder(root, entry) && !holdsSecretFile(root, entry)))
  if (folders.length === 0) return undefined
  const listed = await repo.require(`listing ${sha}`, ['ls-tree', '-r', '-z', '--name-only', sha, '--', ...folders], { signal })
  const tracked = listed.stdout.split('\0').filter(Boolean)
  const free = folders.filter((folder) => !tracked.some((path) => path === folder || path.startsWith(`${folder}/`)))
  if (free.length === 0) return undefined
  const before = contentKey(root, free)
  const folder = await requireFrozen(
    context,
    store,
    `folders-${before}`,
    async (making) => {
      // `--parents` keeps the mode of the folders above; hard links among the files stay links among the copies.
      const argv = ['cp', '-a', '--reflink=auto', '--parents', '--', ...free, join(making, 'tree')] as const
      const copied = await runTool(context, argv, { cwd: root, timeoutMs: freezeTimeoutMs, signal })
      if (!copied.ok) throw failure('copy_on_write_unavailable', { why: `${free.join(', ')} cannot be copied (${copied.said})` })
      if (contentKey(root, free) !== before) throw failure('copy_on_write_unavailable', { why: `${free.join(', ')} changed while it was copied` })
    },
    signal,
  )
  return join(folder, 'tree')
}

const clean = (entry: string): string => entry.replace(/\/+$/, '')

function isOwnFolder(root: string, entry: string): boolean {
  try {
    const path = join(root, entry)
    // Also no link on the way there: what it leads to is not of this checkout.
    return entry !== '' && path.startsWith(`${root}/`) && realpathSync(path) === path && lstatSync(path).isDirectory()
  } catch {
    return false
  }
}

const withoutInner = (folders: readonly string[]): readonly string[] => {
  const distinct = [...new Set(folders)].sort()
  return distinct.filter((folder) => !distinct.some((other) => folder.startsWith(`${other}/`)))
}

/** Names, kinds, modes, sizes and times of everything in the folders. A file that is written to has another time. */
function contentKey(root: string, folders: readonly string[]): string {
  const hash = createHash('sha256')
  const visit = (path: string): void => {
    const { mode, size, mtimeMs, uid, gid } = lstatSync(join(root, path))
    const isFolder = (mode & kindMask) === folderKind
    // A folder has another time also where something came and went, and as many bytes as it once needed.
    hash.update(`${path}\0${mode} ${uid} ${gid} ${isFolder ? '' : `${size} ${mtimeMs}`}\0`)
    if (isFolder) for (const name of readdirSync(join(root, path)).sort()) visit(`${path}/${name}`)
  }
  for (const folder of folders) visit(folder)
  return hash.digest('hex').slice(0, 32)
}

const kindMask = 0o170000
const folderKind = 0o040000
