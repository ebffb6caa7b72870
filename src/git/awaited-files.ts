import { statSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import type { Repository } from './repository.ts'

/** What git reads whatever it is asked (gitrepository-layout(5)), and would wait for where a pipe stands in the place of the file. */
const shared = ['config', 'HEAD', 'packed-refs', 'shallow', 'info/attributes', 'info/exclude', 'info/sparse-checkout', 'objects/info/alternates']
const own = ['HEAD', 'index', 'config.worktree', 'commondir', 'gitdir', 'locked', 'info/sparse-checkout']

/** Throws `file_kind` where git would wait until it is ended. What it finds in a tree or among the refs is left to its bound of time. */
export function refuseAwaited({ commonDir, gitDir }: Pick<Repository, 'commonDir' | 'gitDir'>): void {
  for (const path of new Set([...shared.map((name) => join(commonDir, name)), ...own.map((name) => join(gitDir, name))])) {
    const found = look(path)
    if (found && !found.isFile() && !found.isDirectory()) throw failure('file_kind', { path, is: 'a pipe, a socket or a device', needed: 'a file' })
  }
}

function look(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A link that leads nowhere, or in a circle: git says so.
    return undefined
  }
}
