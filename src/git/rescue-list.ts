import { isUtf8 } from 'node:buffer'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Rescue } from '../core/workspace.ts'
import { toShown } from './byte-text.ts'
import type { GitRepository } from './open.ts'
import { makeBorrower } from './raw-checkout.ts'
import { differences } from './read-rescue.ts'
import { parseNote, type RescueNote, rescueRefs, toRescue } from './rescue-note.ts'

export interface FoundRescue {
  readonly rescue: Rescue
  readonly note: RescueNote
}

/** The rescues of a repository, oldest first; refs that are none of ours are left out. */
export async function readRescues(repo: GitRepository): Promise<FoundRescue[]> {
  const format = '%(refname)%00%(objectname)%00%(contents)%00'
  const { stdout } = await repo.require('reading rescues', ['for-each-ref', `--format=${format}`, '--', `${rescueRefs}/`], { reads: true })
  const parts = stdout.split('\0')
  const found: FoundRescue[] = []
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const note = parseNote(parts[at + 2] as string)
    if (note !== undefined) found.push({ note, rescue: toRescue((parts[at] as string).trim(), parts[at + 1] as string, note) })
  }
  return found.sort((a, b) => (a.rescue.savedAt < b.rescue.savedAt ? -1 : 1))
}

/** What a rescue changes against the commit that was checked out. `?`: git did not know the file. */
export async function filesOf(repo: GitRepository, { rescue, note }: FoundRescue): Promise<{ path: string; status: string }[]> {
  const base = note.head ?? (await emptyTreeOf(repo))
  const [files, untracked] = [await differences(repo, base, `${rescue.sha}^{tree}`), await differences(repo, `${note.state}:index`, `${rescue.sha}^{tree}`)]
  const unknown = new Set(untracked.filter(({ isNew }) => isNew).map(({ path }) => path))
  return files.map(({ path, oid, isNew }) => ({ path: toShown(path), status: unknown.has(path) ? '?' : oid === null ? 'D' : isNew ? 'A' : 'M' }))
}

/**
 * Saved work as a patch that `git apply --index` takes, with the content of binary files. It begins at the commit that was checked out or,
 * where no branch has that, where it left the branch. Repositories inside of the tree are not in it.
 */
export async function patchOf(repo: GitRepository, { rescue, note }: FoundRescue): Promise<{ readonly from: string | null; readonly patch: string }> {
  const from = await baseOf(repo, note)
  const format = ['--binary', '--full-index', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color', '--src-prefix=a/', '--dst-prefix=b/']
  const args = ['diff-tree', '-r', '-p', ...format, '--ignore-submodules=all', '--end-of-options', from ?? (await emptyTreeOf(repo)), `${rescue.sha}^{tree}`]
  const { bytes } = await repo.require('making a patch', args, { reads: true, timeoutMs: patchTimeoutMs })
  if (isUtf8(bytes)) return { from, patch: Buffer.from(bytes).toString('utf8') }
  // What is no text in UTF-8 cannot be handed on as text: all of it is written like binary files then.
  mkdirSync(join(repo.commonDir, 'holdfast'), { recursive: true, mode: 0o700 })
  const scratch = mkdtempSync(join(repo.commonDir, 'holdfast', 'patch-'))
  try {
    const gitDir = join(scratch, 'git')
    await makeBorrower(repo.git, { gitDir, commonDir: repo.commonDir, cwd: scratch, isLong: rescue.sha.length === 64 })
    mkdirSync(join(gitDir, 'info'), { recursive: true })
    writeFileSync(join(gitDir, 'info', 'attributes'), '* -diff\n')
    const asBinary = await repo.git.require('making a patch', { args, gitDir, cwd: scratch, reads: true, timeoutMs: patchTimeoutMs })
    return { from, patch: asBinary.stdout }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const patchTimeoutMs = 5 * 60_000

async function baseOf(repo: GitRepository, { head, branch }: RescueNote): Promise<string | null> {
  if (head === null || branch === null) return head
  const alone = await repo.require('looking for the base', ['rev-list', '--max-count=1', head, '--not', '--branches', '--tags', '--remotes'], { reads: true })
  if (alone.stdout.trim() === '') return head
  const base = await repo.run(['merge-base', head, `refs/heads/${branch}`], { reads: true })
  return base.exitCode === 0 ? base.stdout.trim() : head
}

export async function emptyTreeOf(repo: GitRepository): Promise<string> {
  return (await repo.require('writing an empty tree', ['mktree', '-z'], { stdin: '' })).stdout.trim()
}
