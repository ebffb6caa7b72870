import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { failure } from '../core/errors.ts'
import { appendPlain, readPlainText } from '../git/plain-file.ts'
import { findRepository } from '../git/repository.ts'

/** Where trees are, as a place on disk. */

/** A path without symbolic links, also where its last parts are not there yet. */
export function canonical(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(canonical(parent), basename(path))
  }
}

/**
 * Makes the folder of a tree's parent, and what is missing above it, for nobody else to look into. Gives warnings about the place. Refuses
 * (`not_owned`) a parent that is a link: what is made there would be somewhere else.
 */
export function preparePlace(root: string, path: string): string[] {
  const parent = dirname(path)
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  if (lstatSync(parent).isSymbolicLink() || realpathSync.native(parent) !== parent) {
    throw failure('not_owned', { path: parent, why: 'it leads somewhere else by a symbolic link' })
  }
  const around = findRepository(root)
  // A tree below the root is a repository, but nothing above it should be.
  if (around === undefined || around.root === around.commonDir) return []
  exclude(around.commonDir, relative(around.root, root))
  return [`the folder of all workspaces, ${root}, is inside the working tree ${around.root}, where \`git clean -ffdx\` deletes them; it is excluded there`]
}

function exclude(commonDir: string, folder: string): void {
  const file = join(commonDir, 'info', 'exclude')
  // The folder itself being the top of a working tree, there is no name for it.
  if (folder === '') return
  const line = `/${folder.replaceAll(/[\\*?[\]!# ]/g, '\\$&')}/`
  const text = existsSync(file) ? readPlainText(file) : ''
  if (text.split('\n').includes(line)) return
  mkdirSync(dirname(file), { recursive: true })
  appendPlain(file, `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`)
}

export type Found = 'nothing' | 'empty folder' | 'folder' | 'file' | 'link'

/** What is at a path, without following it. */
export function whatIsAt(path: string): Found {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 'nothing'
  if (found.isSymbolicLink()) return 'link'
  if (!found.isDirectory()) return 'file'
  return readdirSync(path).length === 0 ? 'empty folder' : 'folder'
}
