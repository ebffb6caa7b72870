import { createHash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkspaceRecord } from '../core/workspace.ts'

/** Files that say which dependencies a tree has. */
const lockFiles = [
  ...['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb', 'deno.lock'],
  ...['requirements.txt', 'poetry.lock', 'Pipfile.lock', 'uv.lock', 'pdm.lock', 'Gemfile.lock', 'composer.lock'],
  ...['Cargo.lock', 'go.sum', 'mix.lock', 'Package.resolved', 'packages.lock.json', 'gradle.lockfile', 'flake.lock'],
]
const maxLockBytes = 64 * 1024 ** 2

/** A hash over what the setup depends on: the tree itself, the command, and the files of its dependencies. */
export function setupInputsOf({ path, nonce, options }: WorkspaceRecord): string {
  const hash = createHash('sha256').update(`${nonce}\0${options.setup}\0`)
  for (const name of lockFiles) {
    const file = join(path, name)
    const found = lstatSync(file, { throwIfNoEntry: false })
    if (found?.isFile() && found.size <= maxLockBytes) hash.update(`${name}\0${found.size}\0`).update(readFileSync(file))
  }
  return hash.digest('hex')
}
