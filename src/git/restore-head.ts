import type { HoldfastError } from '../core/errors.ts'
import type { Inspection } from './inspect.ts'
import type { RescueNote } from './rescue-note.ts'
import type { TreeGit } from './tree-place.ts'

export interface MoveHead {
  readonly note: RescueNote
  readonly inspection: Pick<Inspection, 'found' | 'headRef'>
  readonly isFree: (branchRef: string) => boolean
  readonly refuse: (why: string) => HoldfastError
}

const checkoutTimeoutMs = 15 * 60_000

/**
 * Puts HEAD where it was when the work was saved. The tree is clean, so nothing is lost by that. No branch is moved: where its branch went
 * on, what was saved does not fit on it as it is, and that is refused.
 */
export async function moveHead(tree: TreeGit, { note, inspection, isFree, refuse }: MoveHead): Promise<string[]> {
  const now = { head: inspection.found.head, ref: inspection.headRef }
  if (now.head === note.head && now.ref === note.headRef) return []
  if (note.head === null) {
    if (now.head !== null || note.headRef === null) throw refuse('its HEAD had no commit when the work was saved, and has one now')
    await tree.require('putting HEAD back', ['symbolic-ref', '-m', 'holdfast: restore', 'HEAD', note.headRef])
    return []
  }
  if (note.headRef !== null && now.ref === note.headRef && now.head !== null) {
    throw refuse(`its branch was at ${note.head} when the work was saved and is at ${now.head} now (an exported patch can be applied to it)`)
  }
  const options = ['--quiet', '--detach', '--no-overwrite-ignore', '--no-recurse-submodules']
  if (now.head !== note.head) await tree.require('putting HEAD back', ['checkout', ...options, note.head], { timeoutMs: checkoutTimeoutMs })
  if (note.headRef === null) {
    if (now.head === note.head) await tree.require('putting HEAD back', ['update-ref', '--no-deref', '-m', 'holdfast: restore', 'HEAD', note.head])
    return []
  }
  const found = await tree.run(['rev-parse', '--verify', '--quiet', `${note.headRef}^{commit}`], { reads: true })
  const branch = note.headRef.replace(/^refs\/heads\//, '')
  if (found.stdout.trim() !== note.head || !isFree(note.headRef)) {
    if (now.head === note.head) await tree.require('putting HEAD back', ['update-ref', '--no-deref', '-m', 'holdfast: restore', 'HEAD', note.head])
    const why = found.stdout.trim() === note.head ? 'is checked out elsewhere' : 'is somewhere else now'
    return [`HEAD is detached at ${note.head}, since the branch ${branch} ${why}`]
  }
  await tree.require('putting HEAD back', ['symbolic-ref', '-m', 'holdfast: restore', 'HEAD', note.headRef])
  return []
}
