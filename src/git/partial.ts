import { failure, hasReason } from '../core/errors.ts'
import type { GitAnswer } from '../core/workspace-reasons.ts'
import type { GitRepository } from './open.ts'
import { isInCone } from './sparse.ts'

export interface FetchMissing {
  readonly sha: string
  /** The remote that promised the rest. */
  readonly remote: string
  /** Only what a checkout of these folders takes; null: everything. */
  readonly cone: readonly string[] | null
  readonly signal?: AbortSignal | undefined
}

const fetchTimeoutMs = 10 * 60_000

/**
 * Fetches what a partial clone lacks of the files of a commit, so that its checkout needs nobody. Resolves to the number of files. Rejects
 * with `promisor_unreachable`.
 */
export async function fetchMissing(repository: GitRepository, { sha, remote, cone, signal }: FetchMissing): Promise<number> {
  const unreachable = (git: GitAnswer | undefined, cause?: unknown) => failure('promisor_unreachable', { path: repository.mainRoot, git }, cause)

  /** As git does when it meets what is missing (promisor-remote.c), but never by a program that the repository names for the other side. */
  async function fetch(objects: ReadonlySet<string>): Promise<void> {
    const how = ['--no-tags', '--no-write-fetch-head', '--recurse-submodules=no', '--no-auto-maintenance', '--filter=blob:none']
    const args = ['fetch', '--quiet', ...how, '--upload-pack=git-upload-pack', '--stdin', '--end-of-options', remote]
    const stdin = `${[...objects].join('\n')}\n`
    try {
      const config = ['fetch.negotiationAlgorithm=noop']
      const result = await repository.run(args, { network: true, signal, config, stdin, timeoutMs: fetchTimeoutMs })
      if (result.exitCode !== 0) throw unreachable(result.answer)
    } catch (error) {
      throw hasReason(error, 'git_timeout') ? unreachable(error.details.git as GitAnswer | undefined, error) : error
    }
  }

  async function missing(...how: string[]): Promise<Set<string>> {
    const args = ['rev-list', '--objects', '--missing=print', '--no-walk', ...how, sha]
    const { stdout } = await repository.require('looking for what is missing', args, { reads: true })
    return new Set(Array.from(stdout.matchAll(/^\?([0-9a-f]+)$/gm), ([, object]) => object as string))
  }

  // What is in a folder is known when it is there: a round for each level, where the other side gives no more.
  for (let folders = await missing('--filter=blob:none'); folders.size > 0; ) {
    await fetch(folders)
    const before = folders
    folders = await missing('--filter=blob:none')
    if ([...folders].some((object) => before.has(object))) throw unreachable(undefined)
  }
  const files = await missing()
  if (files.size === 0) return 0
  const listed = await repository.require('listing the base', ['ls-tree', '-r', '-z', '--full-tree', sha], { reads: true })
  const wanted = new Set(
    listed.stdout.split('\0').flatMap((entry) => {
      const [, object, path] = /^\d+ blob ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? []
      if (object === undefined || path === undefined || !files.has(object)) return []
      // The attributes of all folders are looked at before anything is made.
      return cone === null || isInCone(cone, path) || /(?:^|\/)\.gitattributes$/.test(path) ? [object] : []
    }),
  )
  if (wanted.size > 0) await fetch(wanted)
  return wanted.size
}
