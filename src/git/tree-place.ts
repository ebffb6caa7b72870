import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Git, GitResult } from './git.ts'
import type { GitCallOptions, GitPlace } from './open.ts'
import { readPlainText } from './plain-file.ts'

/** A working tree and the folder of its own state, as its `.git` should name it. Either may be asked without the other. */
export interface TreePlace {
  /** Absolute. */
  readonly path: string
  readonly adminDir: string
}

/** git in a tree whose administrative folder is known; the tree itself may be gone. */
export interface TreeGit extends GitPlace {
  readonly git: Git
  readonly place: TreePlace
  /** Whether its folder is there. */
  readonly isThere: boolean
  readonly commonDir: string
}

export function treeGit(git: Git, place: TreePlace): TreeGit {
  const isThere = statSync(place.path, { throwIfNoEntry: false })?.isDirectory() === true
  // Whatever the `.git` of the tree says, it is asked with the folder that is known to be its own.
  const where = isThere
    ? { cwd: place.path, workTree: place.path, gitDir: place.adminDir, ceiling: dirname(place.path) }
    : { cwd: place.adminDir, gitDir: place.adminDir }
  return {
    git,
    place,
    isThere,
    commonDir: commonDirOf(place.adminDir),
    run: (args: readonly string[], options?: GitCallOptions): Promise<GitResult> => git.run({ ...where, ...options, args }),
    require: (what: string, args: readonly string[], options?: GitCallOptions): Promise<GitResult> => git.require(what, { ...where, ...options, args }),
  }
}

export function commonDirOf(adminDir: string): string {
  try {
    return resolve(adminDir, readPlainText(`${adminDir}/commondir`).trim())
  } catch {
    return adminDir
  }
}
