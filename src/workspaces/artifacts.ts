import { realpathSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { inTree } from '../git/open.ts'
import { readPlainText } from '../git/plain-file.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'
import { mountPoints } from './mounts.ts'
import { readRecord, writeRecord } from './records.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { emptyTrashLater, moveToTrash } from './trash.ts'

/** Folders that a tool fills again by itself from what is in the tree. Where a person might keep something, as in `dist`, is none of them. */
const madeByTools = new Set(['node_modules', '.venv', '__pycache__', '.next', '.nuxt', '.turbo', '.parcel-cache', '.gradle', '.tox'])

/** What a tool writes into a folder to say the same (bford.info/cachedir). */
const cacheTag = 'Signature: 8a477f597d28d172789f06886806bc55'
const maxTagBytes = 4096

/**
 * The folders of a tree, by their paths in it, that git ignores as a whole and that can be made again. One with a repository, a mount or a
 * link on its way is none.
 */
export async function findArtifacts({ git }: Pick<WorkspaceContext, 'git'>, { path }: Pick<WorkspaceRecord, 'path'>): Promise<readonly string[]> {
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']
  const { stdout } = await inTree(git, path).require('listing what is ignored', args, { reads: true })
  const folders = stdout.split('\0').flatMap((name) => (name.endsWith('/') ? [name.slice(0, -1)] : []))
  const mounts = mountPoints()
  const found: string[] = []
  for (const folder of folders) {
    const full = join(path, folder)
    if (!madeByTools.has(basename(folder)) && !hasCacheTag(full)) continue
    if (realpathSync.native(full) !== full || mounts.some((mount) => mount === full || isBelow(full, mount))) continue
    const inside = await readdir(full, { recursive: true })
    if (!inside.some((name) => basename(name) === '.git')) found.push(folder)
  }
  return found
}

/**
 * Takes them away, and has the setup run again when the workspace is opened next. Resolves to those that went; none where something came
 * to run there meanwhile.
 */
export async function clearArtifacts(
  context: WorkspaceContext,
  { commonDir, key, record }: { readonly commonDir: string; readonly key: string; readonly record: WorkspaceRecord },
  folders: readonly string[],
): Promise<readonly string[]> {
  return withRepositoryLock(context, { commonDir, mainRoot: commonDir }, undefined, async () => {
    const now = readRecord(commonDir, key)
    const isSame = now?.state === 'ready' && now.nonce === record.nonce && now.path === record.path
    if (!isSame || (await context.commands.running(now)).length > 0) return []
    // On record first: a setup that runs again with all in place does no harm, one that does not with nothing in place does.
    if (now.setup !== null) writeRecord(commonDir, key, { ...now, setup: { ...now.setup, state: 'pending', attempt: 0 } })
    for (const folder of folders) moveToTrash(context, join(record.path, folder), record.id)
    tell(commonDir, key, { at: context.now().toISOString(), workspace: record.id, name: 'cleared', durationMs: null, facts: { folders: folders.join(', ') } })
    emptyTrashLater(context)
    return folders
  })
}

function hasCacheTag(folder: string): boolean {
  try {
    return readPlainText(join(folder, 'CACHEDIR.TAG'), maxTagBytes).startsWith(cacheTag)
  } catch {
    return false
  }
}
