import { existsSync, fsyncSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errnoOf, failure, hasReason } from '../core/errors.ts'
import { readPlainText, replacePlain } from '../git/plain-file.ts'
import type { WorkspaceContext } from './context.ts'
import { repositoryFolder } from './layout.ts'
import { layersInUse } from './overlay-folders.ts'
import { runTool } from './run-tool.ts'
import { moveToTrash } from './trash.ts'

/**
 * Folders that are made once, never changed, and looked through by any number of copy-on-write trees: checkouts of commits, and copies of
 * folders with dependencies. Each is known by a marker that stands outside of it and is written when it is whole and on disk; what has no
 * marker is unfinished, and nothing looks through it. The lock of the store is held while one is made, taken into use or collected.
 */

/** Where the frozen folders of a repository are. */
export interface FrozenStore {
  readonly folder: string
}

type FrozenContext = Pick<WorkspaceContext, 'runProgram' | 'ownEnv' | 'root' | 'lock' | 'newName'>

/** A checkout of many files on a slow disk takes long, and whoever needs the same one waits for it. */
export const freezeTimeoutMs = 15 * 60_000

const maxMarkerBytes = 64 * 1024

const storesFolder = (root: string): string => join(root, '.bases')

export function storeOf(root: string, { commonDir, mainRoot }: { readonly commonDir: string; readonly mainRoot: string }): FrozenStore {
  return { folder: join(storesFolder(root), basename(repositoryFolder(root, commonDir, mainRoot))) }
}

export function listStores(root: string): readonly FrozenStore[] {
  return namesIn(storesFolder(root)).map((name) => ({ folder: join(storesFolder(root), name) }))
}

/** Does something with the lock of a store. Nothing else is waited for meanwhile than programs that make what is frozen. */
export async function withStore<T>(
  context: Pick<WorkspaceContext, 'lock'>,
  { folder }: FrozenStore,
  { timeoutMs = freezeTimeoutMs, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined },
  action: () => Promise<T>,
): Promise<T> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const unlock = await context.lock(join(folder, 'lock'), { what: `the frozen checkouts in ${folder}`, timeoutMs, signal })
  try {
    return await action()
  } finally {
    unlock()
  }
}

/** The folder that is frozen under a key, if it is whole. */
export function findFrozen(store: FrozenStore, key: string): string | undefined {
  const { folder } = store
  try {
    const { name } = JSON.parse(readPlainText(markerOf(store, key), maxMarkerBytes)) as { name?: unknown }
    const found = typeof name === 'string' && isFolderName(name) ? join(folder, name) : undefined
    return found !== undefined && existsSync(join(found, 'tree')) ? found : undefined
  } catch (error) {
    if (error instanceof SyntaxError || errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * The folder that is frozen under a key, made where it is not there: `make` fills `tree`, which is empty, in a folder of its own. With the
 * lock of the store. Whatever it throws, nothing half-made is taken for whole.
 */
export async function requireFrozen(
  context: FrozenContext,
  store: FrozenStore,
  key: string,
  make: (folder: string) => Promise<void>,
  signal?: AbortSignal | undefined,
): Promise<string> {
  const found = findFrozen(store, key)
  if (found !== undefined) {
    // When it was last taken into use.
    const now = new Date()
    utimesSync(markerOf(store, key), now, now)
    return found
  }
  const isUsed = layersInUse(context.root)
  for (const left of unmarked(store)) if (!isUsed(left)) moveToTrash(context, left, basename(left))
  const name = `${key}.${context.newName()}`
  const folder = join(store.folder, name)
  mkdirSync(join(folder, 'tree'), { recursive: true })
  await make(folder)
  // The marker must not be on disk before what it vouches for: a lost file would be lost in every tree that looks through.
  const synced = await runTool(context, ['sync', '-f', folder], { cwd: store.folder, timeoutMs: freezeTimeoutMs, signal })
  if (!synced.ok) throw failure('copy_on_write_unavailable', { why: `the frozen checkout cannot be brought to disk (${synced.said})` })
  writeMarker(store, key, name)
  return folder
}

/**
 * Removes what is frozen and used by no tree, also by none that is not mounted now, and what was never finished. Returns the folders. A
 * store whose lock is not free is left for the next time.
 */
export async function collectFrozen(
  context: FrozenContext,
  { unusedForMs, dryRun }: { readonly unusedForMs: number; readonly dryRun: boolean },
): Promise<readonly string[]> {
  const collected: string[] = []
  for (const store of listStores(context.root)) {
    try {
      await withStore(context, store, { timeoutMs: 0 }, async () => {
        // Trees take layers into use with this lock, so nobody begins to use one meanwhile.
        const isUsed = layersInUse(context.root)
        const old = keysOf(store).filter((key) => Date.now() - statSync(markerOf(store, key)).mtimeMs >= unusedForMs)
        const unused = old.flatMap((key) => ({ key, folder: findFrozen(store, key) })).filter(({ folder }) => folder === undefined || !isUsed(folder))
        const left = unmarked(store).filter((folder) => !isUsed(folder))
        collected.push(...unused.flatMap(({ folder }) => folder ?? []), ...left)
        if (dryRun) return
        // Without its marker a folder is taken for whole by nobody.
        for (const { key } of unused) rmSync(markerOf(store, key), { force: true })
        for (const folder of [...unused.flatMap(({ folder }) => folder ?? []), ...left]) moveToTrash(context, folder, basename(folder))
      })
    } catch (error) {
      if (!hasReason(error, 'lock_timeout')) throw error
    }
  }
  return collected
}

const markerOf = ({ folder }: FrozenStore, key: string): string => join(folder, `${key}.json`)

const keysOf = ({ folder }: FrozenStore): readonly string[] =>
  namesIn(folder).flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))

/** `<key>.<name>`: nothing else in a store has a name of this length at its end. */
const isFolderName = (name: string): boolean => /^[a-z0-9-]+\.[a-z0-9]{12}$/i.test(name)

/** Folders that no marker names: of a process that was ended while it made them. */
function unmarked(store: FrozenStore): readonly string[] {
  const whole = new Set(keysOf(store).flatMap((key) => findFrozen(store, key) ?? []))
  return namesIn(store.folder)
    .filter(isFolderName)
    .map((name) => join(store.folder, name))
    .filter((folder) => !whole.has(folder))
}

function writeMarker(store: FrozenStore, key: string, name: string): void {
  const temporary = join(store.folder, `${key}.new`)
  replacePlain(markerOf(store, key), `${JSON.stringify({ version: 1, name })}\n`, { temporary, finish: fsyncSync })
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
