import { failure } from '../core/errors.ts'
import { type ByteText, nulParts } from './byte-text.ts'
import type { GitPlace } from './open.ts'
import type { WantedFile } from './raw-checkout.ts'
import { parseNote, type RescueNote } from './rescue-note.ts'

export async function readNote(tree: GitPlace, commit: string): Promise<RescueNote> {
  const { stdout } = await tree.require('reading a rescue', ['cat-file', 'commit', commit], { reads: true })
  const note = parseNote(stdout)
  if (note === undefined) throw failure('rescue_not_found', { rescue: commit })
  return note
}

export type Difference = WantedFile & { readonly isNew: boolean }

/** What has to be done to a tree of files so that it becomes another one. */
export async function differences(tree: GitPlace, from: string, to: string): Promise<Difference[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--end-of-options', from, to]
  const parts = nulParts((await tree.require('comparing what was saved', args, { reads: true })).bytes)
  const found: Difference[] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = '', , oid = '', letter = ''] = (parts[at] as string).slice(1).split(' ')
    found.push({ path: parts[at + 1] as ByteText, mode, oid: letter === 'D' ? null : oid, isNew: letter === 'A' })
  }
  return found
}

/** A part of what no tree of files can hold; empty where it was not kept. */
export async function readKept(tree: GitPlace, note: RescueNote, name: string): Promise<Buffer> {
  const found = await tree.run(['cat-file', 'blob', `${note.state}:kept/${name}`], { reads: true })
  return found.exitCode === 0 ? Buffer.from(found.bytes) : Buffer.alloc(0)
}
