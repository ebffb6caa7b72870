import { failure } from '../core/errors.ts'
import type { WorkspaceOptions } from '../core/workspace.ts'
import { isOn, type Settings } from './features.ts'
import type { GitPlace } from './open.ts'

const checkoutTimeoutMs = 15 * 60_000

/** The folders of a cone, as git takes them. Throws `invalid` for what is no folder inside the repository. */
export function parseCone(folders: readonly string[]): readonly string[] {
  return folders.map((folder) => {
    const parts = folder.replace(/\/+$/, '').split('/')
    if (parts.some((part) => part === '' || part === '.' || part === '..') || /\p{Cc}/u.test(folder)) {
      throw failure('invalid', { field: 'sparse', value: folder, accepted: '"inherit", "full", or folders of the repository such as src/app' })
    }
    return parts.join('/')
  })
}

export const isSparse = (settings: Settings): boolean => isOn(settings, 'core.sparsecheckout')

/**
 * The folders whose files a checkout has, besides those at the top and beside these folders. Null: all, or patterns that only git can judge.
 */
export async function coneOf(checkout: GitPlace, settings: Settings): Promise<readonly string[] | null> {
  if (!isSparse(settings) || !isOn(settings, 'core.sparsecheckoutcone')) return null
  const { exitCode, stdout } = await checkout.run(['sparse-checkout', 'list'], { reads: true })
  const folders = stdout.split('\n').filter(Boolean)
  // Names that are quoted are not needed exactly enough to read them.
  return exitCode === 0 && !folders.some((folder) => folder.startsWith('"')) ? folders : null
}

/** Whether a file is checked out where the cone consists of these folders. */
export function isInCone(cone: readonly string[], file: string): boolean {
  const folder = file.slice(0, Math.max(0, file.lastIndexOf('/')))
  return folder === '' || cone.some((each) => folder === each || folder.startsWith(`${each}/`) || each.startsWith(`${folder}/`))
}

/** Writes the files of a tree that was made without any. The settings of other trees stay as they are. */
export async function checkoutSparse(tree: GitPlace, sparse: Exclude<WorkspaceOptions['sparse'], 'inherit'>, signal?: AbortSignal): Promise<void> {
  const options = { signal, timeoutMs: checkoutTimeoutMs }
  const how = sparse === 'full' ? ['disable'] : ['set', '--cone', '--end-of-options', ...parseCone(sparse)]
  await tree.require('the sparse checkout', ['sparse-checkout', ...how], options)
  await tree.require('the checkout', ['read-tree', '-m', '-u', 'HEAD'], options)
}
