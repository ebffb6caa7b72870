import { errnoOf, hasReason, messageOf } from '../core/errors.ts'
import type { WorkspaceAction, WorkspaceKind } from '../core/workspace.ts'
import { type CarryList, listCarried, shownPaths, topsOf } from './carry-list.ts'
import type { WorkspaceContext } from './context.ts'
import { type Copied, copyFiles } from './copy-files.ts'

export interface CarryOver {
  /** The checkout that files are carried over from; null: there is none. */
  readonly source: string | null
  /** The tree that they are carried into. */
  readonly path: string
  /** Paths inside the source, besides those that `.worktreeinclude` lists. */
  readonly entries: readonly string[]
  readonly kind: WorkspaceKind
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

const name = 'carried-over'

/**
 * Copies files that git ignores from one checkout to another tree of the repository: those that `.worktreeinclude` lists, and `entries`.
 * Secrets only by their names, and never into a sandbox. What cannot be copied is told, and fails nothing. Rejects where it was canceled,
 * with nothing copied, and with `invalid` for an entry that is no path inside the checkout.
 */
export async function carryOver(context: WorkspaceContext, request: CarryOver): Promise<WorkspaceAction[]> {
  const { source, path, entries, kind, signal, onProgress } = request
  if (source === null) {
    if (entries.length === 0) return []
    return [{ name, status: 'skipped', detail: `${shownPaths(entries)}: there is no checkout to carry it over from` }]
  }
  let list: CarryList
  let copied: Copied
  try {
    list = await listCarried({ git: context.git, source, path, entries, kind, never: [context.root, path], signal })
    const { files } = list
    if (files.length === 0) return told(list.left)
    onProgress?.(`carrying over ${files.length} files`)
    copied = await copyFiles({ source, target: path, files, signal, onCopied: (count) => onProgress?.(`carried over ${count} of ${files.length} files`) })
  } catch (error) {
    // A fault of ours and a wish that nobody can fulfil are told as such. All else is no reason to go without the tree.
    if (hasReason(error, 'invalid') || hasReason(error, 'canceled') || errnoOf(error) === undefined) throw error
    return [{ name, status: 'failed', detail: `nothing was carried over: ${messageOf(error)}` }]
  }
  const tops = shownPaths(topsOf(list.files.map((file) => file.path)))
  const amount = copied.files > 0 ? [`${counted(copied.files)}, ${copied.bytes} bytes, by ${copied.how}`] : []
  const same = copied.same > 0 ? [`${counted(copied.same)} there already, the same`] : []
  const detail = [...amount, ...same].join('; ')
  return [...(detail === '' ? [] : [{ name, status: 'done', detail: `${tops} (${detail})` } as const]), ...told(copied.left), ...told(list.left)]
}

const counted = (files: number): string => `${files} file${files === 1 ? '' : 's'}`

function told(left: ReadonlyMap<string, readonly string[]>): WorkspaceAction[] {
  return Array.from(left, ([why, paths]) => ({ name, status: 'skipped', detail: `${shownPaths([...paths].sort())}: ${why}` }))
}
