import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { failure } from '../core/errors.ts'
import { nulParts, toBytes, toShown } from './byte-text.ts'
import type { Git } from './git.ts'
import { inspectTree } from './inspect.ts'
import { isOperationState } from './kept-state.ts'
import { checkoutRaw, findObstacle, putInPlace, setPermissions, takeAway } from './raw-checkout.ts'
import { anyName, indexInfo, requireAllTaken, takenOut } from './raw-objects.ts'
import { type Difference, differences, readKept, readNote } from './read-rescue.ts'
import type { RescueNote } from './rescue-note.ts'
import { moveHead } from './restore-head.ts'
import { restoreNested } from './restore-nested.ts'
import { emptyTree } from './tree-changes.ts'
import { type TreeGit, type TreePlace, treeGit } from './tree-place.ts'

export interface RestoreWork {
  /** The commit of the rescue. */
  readonly commit: string
  /** A folder on the same device as the tree, where nothing is; it is made and removed. */
  readonly scratch: string
  /** Whether a branch (`refs/heads/…`) is checked out in no other tree. */
  readonly isFree: (branchRef: string) => boolean
}

/** What could not be put back, one sentence each. */
export type NotRestored = readonly string[]

/**
 * Puts saved work back into a tree, so that git says of it what it said when it was saved, byte for byte: files, index, conflicts, HEAD and
 * the state of an operation. Rejects with `restore_refused`, before anything is changed, where the tree is not clean, where its branch
 * moved on, or where something else stands in the place of a file.
 */
export async function restoreWork(git: Git, place: TreePlace, { commit, scratch, isFree }: RestoreWork): Promise<NotRestored> {
  const tree = treeGit(git, place)
  const note = await readNote(tree, commit)
  const inspection = await inspectTree(git, place)
  const refuse = (why: string) => failure('restore_refused', { path: place.path, why })
  const { changes } = inspection.found
  if (!tree.isThere) throw refuse('its folder is not there')
  if (changes.length > 0 || inspection.hidden.length > 0) throw refuse(`it is not clean: ${inspection.holds.join(', ')}`)
  if (inspection.operation !== null) throw refuse(`a ${inspection.operation} goes on in it`)
  mkdirSync(scratch, { recursive: true, mode: 0o700 })
  try {
    const base = note.head ?? (await emptyTree(tree))
    const files = await differences(tree, base, `${commit}^{tree}`)
    const index = await differences(tree, base, `${note.state}:index`)
    const plain = files.filter(({ mode }) => mode !== '160000')
    const nestedPaths = new Set(note.nested.map(({ path }) => path))
    const written = await checkoutRaw(tree, plain, scratch)
    const notes = await moveHead(tree, { note, inspection, isFree, refuse })
    const leaving = new Set(plain.filter(({ oid }) => oid === null).map(({ path }) => path))
    for (const { path, oid, isNew } of plain) {
      const obstacle = oid !== null && isNew ? findObstacle(place.path, path, leaving) : undefined
      if (obstacle !== undefined) throw refuse(`something that git ignores is in the way: ${obstacle}`)
    }
    for (const path of leaving) takeAway(place.path, path)
    for (const { path, oid } of plain) if (oid !== null) putInPlace(written, place.path, path)
    await restoreIndex(tree, note, index)
    const nested = await restoreNested(tree, note.nested, scratch, (inner, commit, innerScratch) =>
      restoreWork(git, inner, { commit, scratch: innerScratch, isFree: () => true }),
    )
    await restoreState(tree, note)
    const missing = files.filter(({ path, mode, oid }) => mode === '160000' && oid !== null && !nestedPaths.has(path))
    return [...notes, ...nested, ...missing.map(({ path }) => `the submodule ${toShown(path)} is not at ${note.head}`)]
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function restoreIndex(tree: TreeGit, note: RescueNote, index: readonly Difference[]): Promise<void> {
  const width = note.state.length
  const gone = index.filter(({ oid }) => oid === null).map(({ path }) => takenOut(path, '0'.repeat(width)))
  const there = index.flatMap(({ path, mode, oid }) => (oid === null ? [] : [{ path, mode, oid }]))
  const conflicts = await readKept(tree, note, 'conflicts')
  const inConflict = nulParts(conflicts).map((line) => takenOut(line.slice(line.indexOf('\t') + 1), '0'.repeat(width)))
  const stdin = Buffer.concat([indexInfo([...gone, ...there, ...inConflict]), conflicts])
  const what = 'writing the index'
  const config = [anyName]
  requireAllTaken(what, await tree.require(what, ['update-index', '-z', '--index-info'], { stdin, config }))
  const intended = await readKept(tree, note, 'intended')
  if (intended.length > 0) {
    const args = ['add', '--force', '--intent-to-add', '--pathspec-from-file=-', '--pathspec-file-nul']
    const literal = nulParts(intended).map((path) => `:(literal)${path}\0`)
    await tree.require(what, args, { stdin: toBytes(literal.join('')), config })
  }
  // It says that files differ by its exit code; that they may.
  await tree.run(['update-index', '-q', '--unmerged', '--refresh'])
  const flags = nulParts(await readKept(tree, note, 'flags')).map((line) => line.split(/ (.*)/s))
  for (const flag of ['skip-worktree', 'assume-unchanged']) {
    const paths = flags.filter(([name]) => name === flag).map(([, path]) => `${path}\0`)
    if (paths.length > 0) await tree.require(what, ['update-index', `--${flag}`, '-z', '--stdin'], { stdin: toBytes(paths.join('')), config })
  }
}

/** Permissions, the files of an operation, and the refs of this tree alone. */
async function restoreState(tree: TreeGit, note: RescueNote): Promise<void> {
  for (const line of nulParts(await readKept(tree, note, 'permissions'))) {
    setPermissions(tree.place.path, line.slice(line.indexOf(' ') + 1), Number.parseInt(line, 8))
  }
  for (const line of (await readKept(tree, note, 'refs')).toString('utf8').split('\n')) {
    const [sha, ref] = line.split(' ')
    if (sha && ref && /^refs\/(?:worktree|bisect|rewritten)\//.test(ref)) await tree.require('writing a ref', ['update-ref', ref, sha])
  }
  const listed = await tree.require('reading a rescue', ['ls-tree', '-r', '-z', '--name-only', '--full-tree', `${note.state}:kept`, 'git/'], { reads: true })
  for (const path of nulParts(listed.bytes)) {
    const name = path.slice('git/'.length)
    if (!isOperationState(name)) continue
    const file = join(tree.place.adminDir, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, await readKept(tree, note, path))
  }
}
