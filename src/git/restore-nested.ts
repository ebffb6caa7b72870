import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import { toShown } from './byte-text.ts'
import { handOver } from './hand-over.ts'
import { adminDirOf } from './nested.ts'
import { makeFolder } from './raw-checkout.ts'
import { readKept, readNote } from './read-rescue.ts'
import type { NestedRescue, RescueNote } from './rescue-note.ts'
import { type TreeGit, type TreePlace, treeGit } from './tree-place.ts'

/** Puts a tree back; gives what could not be. */
export type Restore = (place: TreePlace, commit: string, scratch: string) => Promise<readonly string[]>

/** Puts the repositories inside of a tree back: into the ones that are there already, else into new ones with the branches and settings that they had. */
export async function restoreNested(tree: TreeGit, nested: readonly NestedRescue[], scratch: string, restore: Restore): Promise<string[]> {
  const notes: string[] = []
  for (const [at, { path, commit }] of nested.entries()) {
    const note = await readNote(tree, commit)
    const folder = join(tree.place.path, toShown(path))
    makeFolder(tree.place.path, path)
    const known = adminDirOf(folder)
    const adminDir = known ?? (await makeRepository(tree, note, folder, scratch))
    const inner = treeGit(tree.git, { path: folder, adminDir })
    await handOver(tree, inner, commit)
    notes.push(...(await restoreBranches(inner, note)).map((text) => `${toShown(path)}: ${text}`))
    notes.push(...(await restore(inner.place, commit, join(scratch, `nested-${at}`))).map((text) => `${toShown(path)}: ${text}`))
  }
  return notes
}

async function makeRepository(tree: TreeGit, note: RescueNote, folder: string, scratch: string): Promise<string> {
  mkdirSync(scratch, { recursive: true })
  const format = note.state.length === 64 ? 'sha256' : 'sha1'
  await tree.git.require('making a nested repository', { args: ['init', '--quiet', '--template=', `--object-format=${format}`, folder], cwd: folder })
  const adminDir = adminDirOf(folder)
  if (adminDir === undefined || !existsSync(join(adminDir, 'config'))) throw failure('git_failed', { what: `making the repository ${folder}` })
  const config = await readKept(tree, note, 'config')
  if (config.length === 0) return adminDir
  // It was that of a submodule, perhaps, which lies apart from its files: changed before it is that of a repository again.
  const file = join(scratch, 'config')
  writeFileSync(file, config)
  await tree.git.run({ args: ['config', '--file', file, '--unset-all', 'core.worktree'], cwd: scratch })
  writeFileSync(join(adminDir, 'config'), readFileSync(file))
  return adminDir
}

async function restoreBranches(inner: TreeGit, note: RescueNote): Promise<string[]> {
  const notes: string[] = []
  const lines = (await readKept(inner, note, 'branches')).toString('utf8').split('\n').filter(Boolean)
  for (const line of lines) {
    const [sha = '', ref = ''] = line.split(' ')
    if (ref === 'refs/stash') continue
    const made = await inner.run(['update-ref', '-m', 'holdfast: restore', ref, sha, '0'.repeat(sha.length)])
    if (made.exitCode === 0) continue
    const there = await inner.run(['rev-parse', '--verify', '--quiet', ref], { reads: true })
    if (there.stdout.trim() !== sha) notes.push(`${ref} was at ${sha} and was not put back`)
  }
  const stashes = (await readKept(inner, note, 'stashes')).toString('utf8').split('\n').filter(Boolean)
  for (const line of stashes) {
    const [sha = '', ...message] = line.split(' ')
    await inner.require('putting a stash back', ['stash', 'store', '--quiet', '-m', message.join(' '), sha])
  }
  return notes
}
