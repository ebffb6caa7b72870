import { existsSync, lstatSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { failure } from '../core/errors.ts'
import type { Git, GitCall, GitResult } from './git.ts'
import { readPlainText } from './plain-file.ts'
import { findRepository, type Repository } from './repository.ts'

/** What may be said of a call besides its arguments; where it runs is fixed. */
export type GitCallOptions = Omit<GitCall, 'args' | 'cwd' | 'gitDir' | 'ceiling'>

/** git in one place. */
export interface GitPlace {
  run(args: readonly string[], options?: GitCallOptions): Promise<GitResult>
  /** Rejects with `git_failed` where git exits with anything but 0. */
  require(what: string, args: readonly string[], options?: GitCallOptions): Promise<GitResult>
}

/** A repository by its common folder: the same value from wherever in it one begins. Its calls run there, and know no worktree. */
export interface GitRepository extends GitPlace {
  readonly git: Git
  readonly commonDir: string
  /** That of the worktree where the search began; in the main checkout the same as `commonDir`. */
  readonly gitDir: string
  /** Top of the worktree where the search began; null in a bare repository. */
  readonly root: string | null
  /** Top of the main checkout; of a bare repository the repository itself. */
  readonly mainRoot: string
  /** Whether the repository has no main checkout. */
  readonly isBare: boolean
}

export interface OpenRepositoryContext {
  readonly git: Git
  readonly settings: { readonly trusted: readonly string[] }
}

/** The repository that holds a folder. Rejects with `not_a_repository`, or `dubious_ownership` where it is another user's and not trusted. */
export async function openRepository(context: OpenRepositoryContext, path: string): Promise<GitRepository> {
  const { settings } = context
  const found = findRepository(path)
  if (found === undefined) {
    const { answer } = await context.git.run({ args: ['rev-parse', '--git-dir'], cwd: existingFolder(path), reads: true })
    throw failure('not_a_repository', { path, git: answer })
  }
  const git = isForeign(found) ? await trusting(context.git, settings.trusted, found) : context.git
  const isBare = isBareRepository(found.commonDir)
  const { commonDir, gitDir, mainRoot } = found
  return {
    git,
    commonDir,
    gitDir,
    root: found.root === commonDir || (isBare && gitDir === commonDir) ? null : found.root,
    mainRoot,
    isBare,
    ...placeOf(git, { cwd: commonDir, gitDir: commonDir }),
  }
}

/** git that works in a repository of another user, where the person trusts that; asked of git itself, which also knows the settings of the person. */
async function trusting(git: Git, trusted: readonly string[], { root }: Repository): Promise<Git> {
  const config = trusted.map((folder) => `safe.directory=${folder}`)
  const withTrust: Git = {
    run: (call) => git.run({ ...call, config: [...config, ...(call.config ?? [])] }),
    require: (what, call) => git.require(what, { ...call, config: [...config, ...(call.config ?? [])] }),
  }
  const asked = await withTrust.run({ args: ['rev-parse', '--git-dir'], cwd: root, reads: true })
  if (asked.exitCode === 0) return withTrust
  throw failure(/dubious ownership/.test(asked.stderr) ? 'dubious_ownership' : 'not_a_repository', { path: root, git: asked.answer })
}

/**
 * git in a worktree. What lies above it is never taken for its repository, and whatever the configuration says, the tree is this
 * folder. With `adminDir` its repository is not looked for: that folder is its own state, whatever its `.git` says.
 */
export function inTree(git: Git, path: string, adminDir?: string): GitPlace {
  // A tree whose files look like a repository is none.
  const config = ['safe.bareRepository=explicit']
  return placeOf(git, { cwd: path, gitDir: adminDir, workTree: path, ceiling: dirname(path), config })
}

function placeOf(git: Git, place: Pick<GitCall, 'cwd' | 'gitDir' | 'workTree' | 'ceiling' | 'config'>): GitPlace {
  const callOf = (args: readonly string[], options?: GitCallOptions): GitCall => {
    return { ...place, ...options, config: [...(place.config ?? []), ...(options?.config ?? [])], args }
  }
  return {
    run: (args, options) => git.run(callOf(args, options)),
    require: (what, args, options) => git.require(what, callOf(args, options)),
  }
}

/** Whether git would say "dubious ownership": the tree, its `.git` or the git folder belongs to somebody else. */
function isForeign({ root, gitDir, commonDir }: Repository): boolean {
  const self = process.geteuid?.()
  if (self === undefined) return false
  return [root, join(root, '.git'), gitDir, commonDir].some((path) => {
    try {
      return lstatSync(path).uid !== self
    } catch {
      return false
    }
  })
}

function isBareRepository(commonDir: string): boolean {
  let config = ''
  try {
    config = readPlainText(join(commonDir, 'config'))
  } catch {
    return basename(commonDir) !== '.git'
  }
  // A setting that a worktree changed for all of them does not make a checkout go away: it has an index.
  return /^\s*bare\s*=\s*(true|yes|on|1)\s*$/im.test(config) && !existsSync(join(commonDir, 'index'))
}

function existingFolder(path: string): string {
  let folder = resolve(path)
  while (!statSync(folder, { throwIfNoEntry: false })?.isDirectory() && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}
