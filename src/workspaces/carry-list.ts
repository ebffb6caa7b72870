import { lstatSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { errnoOf, failure } from '../core/errors.ts'
import { isInside } from '../core/paths.ts'
import type { WorkspaceKind } from '../core/workspace.ts'
import { type Git, gitFailure } from '../git/git.ts'
import { inTree } from '../git/open.ts'
import { isNamedIn, isSecretFile } from './secret-files.ts'

/** Lists, with the patterns of a `.gitignore`, which of the ignored files of a checkout are carried over to other trees of the repository. */
export const includeFile = '.worktreeinclude'
const maxIncludeBytes = 256 * 1024

export interface CarryList {
  readonly files: readonly { readonly path: string; readonly isSecret: boolean }[]
  /** What was asked for and stays, by the reason. */
  readonly left: ReadonlyMap<string, readonly string[]>
}

export interface CarryRequest {
  readonly git: Git
  readonly source: string
  /** The tree that files are carried into. */
  readonly path: string
  readonly entries: readonly string[]
  readonly kind: WorkspaceKind
  /** Folders that are never carried, wherever they are. */
  readonly never: readonly string[]
  readonly signal?: AbortSignal | undefined
}

/** Which files are to be carried over: those that git ignores in both trees and that are listed or named. */
export async function listCarried({ git, source, path, entries, kind, never, signal }: CarryRequest): Promise<CarryList> {
  const left = new Map<string, string[]>()
  const leave = (why: string, file: string): void => void left.set(why, [...(left.get(why) ?? []), file])
  const named = parseEntries(entries)
  const include = readInclude(source)
  const from = inTree(git, source)
  const list = async (...how: string[]): Promise<string[]> =>
    names((await from.require('listing what is carried over', ['ls-files', '-z', '--others', ...how], { reads: true, signal })).stdout)
  const listed = include === '' ? [] : await list('--ignored', `--exclude-from=${join(source, includeFile)}`)

  const below: string[] = []
  for (const entry of named) {
    const why = cannotBeNamed(source, entry)
    const found = why === undefined ? await list('--', `:(top,literal)${entry}`) : []
    if (found.length === 0) leave(why ?? 'git has it', entry)
    below.push(...found)
  }

  const wanted = [...new Set([...listed, ...below])].filter((file) => {
    if (file.endsWith('/')) leave('it is a repository of its own', file)
    else return !file.split('/').includes('.git') && !file.startsWith('.holdfast/') && !never.some((folder) => isInside(folder, join(source, file)))
    return false
  })
  const ignored = async (tree: string, files: readonly string[]): Promise<Set<string>> => {
    if (files.length === 0) return new Set()
    const args = ['check-ignore', '-z', '--stdin']
    const asked = await inTree(git, tree).run(args, { reads: true, stdin: files.map((file) => `${file}\0`).join(''), signal })
    // 1: none of them is.
    if (asked.exitCode > 1) throw gitFailure('asking which files are ignored', asked)
    return new Set(names(asked.stdout))
  }
  const here = await ignored(source, wanted)
  // git refuses to judge what is behind a link.
  const isReachable = reachableIn(path)
  const there = await ignored(
    path,
    [...here].filter((file) => isReachable(dirname(file))),
  )
  const files = wanted.flatMap((file) => {
    const isSecret = isSecretFile(file)
    if (!here.has(file)) {
      // Whoever lists a folder means what git ignores in it; whoever names a file is told.
      if (named.includes(file)) leave('git does not ignore it', file)
    } else if (!isReachable(dirname(file))) leave('its folder is a link or a file in the tree', file)
    else if (!there.has(file)) leave('the tree does not ignore it', file)
    else if (isSecret && kind === 'sandbox') leave('it looks like a secret, and those never go into a sandbox', file)
    else if (isSecret && !named.includes(file) && !isNamedIn(include, file)) leave('it looks like a secret, and those are carried only by their names', file)
    else return [{ path: file, isSecret }]
    return []
  })
  return { files, left }
}

const names = (stdout: string): string[] => stdout.split('\0').filter(Boolean)

/** Paths below the top of a checkout. Throws `invalid` for others. */
export function parseEntries(entries: readonly string[]): string[] {
  return entries.map((entry) => {
    const path = normalize(entry).replace(/\/+$/, '')
    if (/^(?:\/|\.\.?(?:\/|$))|\0/.test(path) || path === '' || path.split('/').includes('.git')) {
      throw failure('invalid', { field: 'carry', value: entry, accepted: 'a path below the top of the checkout, such as .env or node_modules' })
    }
    return path
  })
}

/** Why there is nothing at a path of the source that can be carried over. What is below a link is elsewhere. */
function cannotBeNamed(source: string, entry: string): string | undefined {
  const parts = entry.split('/')
  for (let count = 1; count <= parts.length; count++) {
    const found = lstatSync(join(source, ...parts.slice(0, count)), { throwIfNoEntry: false })
    if (!found) return 'it is not there'
    if (count < parts.length && !found.isDirectory()) return `${parts.slice(0, count).join('/')} is no folder of the checkout`
  }
  return undefined
}

/** Whether a folder of the tree is one, or can be made. */
function reachableIn(tree: string): (folder: string) => boolean {
  const known = new Map<string, boolean>([['.', true]])
  const isReachable = (folder: string): boolean => {
    const before = known.get(folder)
    if (before !== undefined) return before
    const found = isReachable(dirname(folder)) ? lstatSync(join(tree, folder), { throwIfNoEntry: false }) : null
    const is = found === undefined || found?.isDirectory() === true
    known.set(folder, is)
    return is
  }
  return isReachable
}

/** Empty where there is none. A link leads to what somebody else lists. */
function readInclude(source: string): string {
  const path = join(source, includeFile)
  try {
    const found = lstatSync(path)
    return found.isFile() && found.size <= maxIncludeBytes ? readFileSync(path, 'utf8') : ''
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'EACCES') return ''
    throw error
  }
}

/** The parts of a list that a person reads: at most so many. */
const maxShown = 5

/** `a, b and 3 more`: the folders and files at the top, or what is asked for. */
export function shownPaths(paths: readonly string[]): string {
  const more = paths.length - maxShown
  return more > 0 ? `${paths.slice(0, maxShown).join(', ')} and ${more} more` : paths.join(', ')
}

/** What files have in common at the top: `node_modules/`, `.env`. */
export const topsOf = (paths: readonly string[]): string[] =>
  [...new Set(paths.map((path) => path.replace(/\/.*/s, '/')))].map((top) => (top.endsWith('/') ? top : basename(top)))
