import { chmodSync, mkdirSync, renameSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import { type ByteText, below, toShown } from './byte-text.ts'
import type { Git } from './git.ts'
import { anyName, indexInfo, requireAllTaken } from './raw-objects.ts'
import { lookAt } from './tree-changes.ts'
import type { TreeGit } from './tree-place.ts'

/** One path as it shall be: with the object of that mode, or, without one, not there. */
export interface WantedFile {
  readonly path: ByteText
  readonly mode: string
  readonly oid: string | null
}

const checkoutTimeoutMs = 30 * 60_000

/**
 * Writes files into an empty folder, byte for byte as their objects have them. A repository of its own that borrows the objects does it,
 * so that no setting, attribute or filter of the one around has a say. Gives the folder that holds them.
 */
export async function checkoutRaw(tree: TreeGit, files: readonly WantedFile[], scratch: string): Promise<string> {
  const [gitDir, target] = [join(scratch, 'git'), join(scratch, 'files')]
  mkdirSync(target, { recursive: true, mode: 0o700 })
  const isLong = files.some(({ oid }) => oid?.length === 64)
  await makeBorrower(tree.git, { gitDir, commonDir: tree.commonDir, cwd: scratch, isLong })
  const place = { cwd: target, gitDir, workTree: target, indexFile: join(scratch, 'index'), config: [anyName], timeoutMs: checkoutTimeoutMs }
  const lines = files.flatMap(({ path, mode, oid }) => (oid === null ? [] : [{ path, mode, oid }]))
  const what = 'writing files'
  requireAllTaken(what, await tree.git.require(what, { ...place, args: ['update-index', '-z', '--index-info'], stdin: indexInfo(lines) }))
  await tree.git.require(what, { ...place, args: ['checkout-index', '--all', '--quiet'] })
  return target
}

/** Makes a bare repository that has the objects of another one and nothing else of it. `isLong`: its names are of SHA-256. */
export async function makeBorrower(
  git: Git,
  place: { readonly gitDir: string; readonly commonDir: string; readonly cwd: string; readonly isLong: boolean },
): Promise<void> {
  const { gitDir, commonDir, cwd, isLong } = place
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${isLong ? 'sha256' : 'sha1'}`, gitDir]
  await git.require('making a place for files', { args, cwd })
  mkdirSync(join(gitDir, 'objects', 'info'), { recursive: true })
  writeFileSync(join(gitDir, 'objects', 'info', 'alternates'), `${JSON.stringify(join(commonDir, 'objects'))}\n`)
}

/** What stands where a new file shall be, or on the way to it; undefined where nothing does. `leaving`: what is taken away first. */
export function findObstacle(folder: string, path: ByteText, leaving: ReadonlySet<ByteText>): string | undefined {
  const parts = path.split('/')
  for (let length = 1; length <= parts.length; length++) {
    const part = parts.slice(0, length).join('/')
    const found = leaving.has(part) ? undefined : lookAt(folder, part)
    if (found === undefined) return undefined
    if (length === parts.length ? !(found.isDirectory() && holdsOnly(part, leaving)) : !found.isDirectory()) return toShown(part)
  }
  return undefined
}

/** A folder goes away when the last file in it does. */
const holdsOnly = (folder: ByteText, leaving: ReadonlySet<ByteText>): boolean => [...leaving].some((path) => path.startsWith(`${folder}/`))

/** Takes a file away, and the folders that it was the last in. */
export function takeAway(folder: string, path: ByteText): void {
  if (lookAt(folder, path) !== undefined) unlinkSync(below(folder, path))
  const parts = path.split('/')
  for (let length = parts.length - 1; length > 0; length--) {
    try {
      rmdirSync(below(folder, parts.slice(0, length).join('/')))
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') continue
      return
    }
  }
}

/** Puts a file in its place by a rename, in folders that are made where they are missing; never through a link. */
export function putInPlace(from: string, folder: string, path: ByteText): void {
  makeFolder(folder, path.split('/').slice(0, -1).join('/'))
  renameSync(below(from, path), below(folder, path))
}

export function makeFolder(folder: string, path: ByteText): void {
  const parts = path === '' ? [] : path.split('/')
  for (let length = 1; length <= parts.length; length++) {
    const part = parts.slice(0, length).join('/')
    const found = lookAt(folder, part)
    if (found === undefined) mkdirSync(below(folder, part))
    else if (!found.isDirectory()) throw new Error(`${toShown(part)} is not a folder`)
  }
}

export function setPermissions(folder: string, path: ByteText, permissions: number): void {
  if (lookAt(folder, path)?.isFile()) chmodSync(below(folder, path), permissions)
}
