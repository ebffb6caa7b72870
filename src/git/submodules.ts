import { statSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError, hasReason, messageOf } from '../core/errors.ts'
import type { GitResult } from './git.ts'
import { type GitPlace, type GitRepository, inTree } from './open.ts'

/** Repositories inside of a repository. Each tree has clones of its own; they are made from those of the main checkout. */

export interface Submodule {
  readonly name: string
  /** Where it is in the tree above it. */
  readonly path: string
}

export interface SubmoduleOutcome {
  /** Path from the top of the tree. */
  readonly path: string
  /** null: it is checked out. */
  readonly failed: string | null
  /** Whether that is because nothing of it is here. */
  readonly isAbsent: boolean
  readonly from: 'here' | 'network'
}

const localTimeoutMs = 5 * 60_000
const networkTimeoutMs = 10 * 60_000
/** Deeper than anybody nests them. */
const maxDepth = 10

/** Those that the commit of a tree has, and names of such as cannot be passed to git. */
export async function listSubmodules(tree: GitPlace): Promise<{ readonly usable: readonly Submodule[]; readonly refused: readonly Submodule[] }> {
  const asked = await tree.run(['config', '-z', '--blob', 'HEAD:.gitmodules', '--get-regexp', '^submodule\\..*\\.path$'], { reads: true })
  const named = asked.stdout.split('\0').flatMap((entry) => {
    const [, name, path] = /^submodule\.(.*)\.path\n(.*)$/s.exec(entry) ?? []
    return name !== undefined && path !== undefined ? [{ name, path }] : []
  })
  if (named.length === 0) return { usable: [], refused: [] }
  // What is left out by a sparse checkout, or named and not there, is none.
  const listed = await tree.require('listing submodules', ['ls-files', '-s', '-t', '-z'], { reads: true })
  const present = new Set(Array.from(listed.stdout.matchAll(/(?:^|\0)H 160000 [0-9a-f]+ 0\t([^\0]*)/g), ([, path]) => path as string))
  const found = named.filter(({ path }) => present.has(path))
  const isUsable = ({ name, path }: Submodule): boolean => isSafeName(name) && isSafePath(path)
  return { usable: found.filter(isUsable), refused: found.filter((each) => !isUsable(each)) }
}

// The name becomes a part of a setting on the command line and of a path: `=` would end the name of the setting.
const isSafeName = (name: string): boolean => isSafePath(name) && !name.includes('=')
const isSafePath = (path: string): boolean =>
  !/\p{Cc}|^[-/]/u.test(path) && !path.split('/').some((part) => ['', '.', '..', '.git'].includes(part.toLowerCase()))

export interface CheckoutSubmodules {
  /** Top of the tree. */
  readonly path: string
  /** Where there is nothing of one here, or not the commit that is wanted, it is fetched. */
  readonly network: boolean
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

/** Checks out the submodules of a tree, with those inside of them. What happened to each is a value. */
export async function checkoutSubmodules(repository: GitRepository, options: CheckoutSubmodules): Promise<SubmoduleOutcome[]> {
  return below(repository, options, { folder: '', modules: join(repository.commonDir, 'modules'), depth: 0 })
}

interface Level {
  /** From the top of the tree. */
  readonly folder: string
  /** Where the clones of this level are kept by the main checkout. */
  readonly modules: string
  readonly depth: number
}

async function below(repository: GitRepository, options: CheckoutSubmodules, { folder, modules, depth }: Level): Promise<SubmoduleOutcome[]> {
  const tree = inTree(repository.git, join(options.path, folder))
  const { usable, refused } = await listSubmodules(tree)
  const outcomes: SubmoduleOutcome[] = refused.map(({ name, path }) => ({
    path: join(folder, path),
    failed: `its name (${JSON.stringify(name)}) or path is not one that can be passed to git safely`,
    isAbsent: false,
    from: 'here',
  }))
  for (const submodule of usable) {
    const path = join(folder, submodule.path)
    options.onProgress?.(`submodule ${path}`)
    const kept = join(modules, submodule.name)
    const outcome = await checkoutOne(repository, tree, { submodule, path, kept, options }).catch((error: unknown): SubmoduleOutcome => {
      if (hasReason(error, 'canceled') || !isOurs(error)) throw error
      return { path, failed: messageOf(error), isAbsent: false, from: 'here' }
    })
    outcomes.push(outcome)
    if (outcome.failed === null && depth < maxDepth) {
      outcomes.push(...(await below(repository, options, { folder: path, modules: join(kept, 'modules'), depth: depth + 1 })))
    }
  }
  return outcomes
}

interface One {
  readonly submodule: Submodule
  readonly path: string
  /** The clone of the main checkout. */
  readonly kept: string
  readonly options: CheckoutSubmodules
}

async function checkoutOne(repository: GitRepository, tree: GitPlace, { submodule, path, kept, options }: One): Promise<SubmoduleOutcome> {
  const { name } = submodule
  const { signal, network } = options
  // `--checkout`, and the setting besides: another way of updating may be a program that the repository names.
  const update = ['submodule', '--quiet', 'update', '--init', '--checkout', '--', submodule.path]
  const ways = [`submodule.${name}.update=checkout`]
  let here: string | undefined
  if (isFolder(join(kept, 'objects'))) {
    const config = [...ways, `submodule.${name}.url=${kept}`, 'protocol.file.allow=always']
    const done = await tree.run(update, { config, signal, timeoutMs: localTimeoutMs })
    await pointToOrigin(repository, join(options.path, path), kept)
    if (done.exitCode === 0) return { path, failed: null, isAbsent: false, from: 'here' }
    here = saidBy(done)
  }
  if (!network) return { path, failed: here ?? 'it was never fetched here', isAbsent: here === undefined, from: 'here' }
  const done = await tree.run(update, { config: ways, network: true, signal, timeoutMs: networkTimeoutMs })
  return { path, failed: done.exitCode === 0 ? null : saidBy(done), isAbsent: false, from: 'network' }
}

const saidBy = ({ stderr, exitCode }: GitResult): string => stderr.trim().replaceAll(/\s*\n\s*/g, '; ') || `git ended with exit code ${exitCode}`

const isOurs = (error: unknown): boolean => error instanceof HoldfastError

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Whoever fetches or pushes in the clone means where the main checkout has it from, and not the main checkout. */
async function pointToOrigin(repository: GitRepository, tree: string, kept: string): Promise<void> {
  // Without one of its own, git would find the repository above.
  if (!statSync(join(tree, '.git'), { throwIfNoEntry: false })) return
  const asked = await repository.git.run({ args: ['config', '--get', 'remote.origin.url'], cwd: kept, gitDir: kept, reads: true })
  const url = asked.stdout.replace(/\n$/, '')
  if (asked.exitCode !== 0 || url === '' || url.startsWith('-')) return
  await inTree(repository.git, tree).require(`telling the submodule ${tree} its origin`, ['config', 'remote.origin.url', url])
}
