import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { failure, HoldfastError, hasReason } from '../core/errors.ts'
import type { WorkspaceAction, WorkspaceOptions } from '../core/workspace.ts'
import { isShallow, listFilters, promisorOf, readSettings, type Settings } from '../git/features.ts'
import { hasGitLfs, programsOfLfs, pullLfs } from '../git/lfs.ts'
import { type GitRepository, inTree } from '../git/open.ts'
import { fetchMissing } from '../git/partial.ts'
import { findRepository } from '../git/repository.ts'
import { checkoutSparse, coneOf, isSparse, parseCone } from '../git/sparse.ts'
import { checkoutSubmodules } from '../git/submodules.ts'
import type { WorkspaceContext } from './context.ts'

export type CheckoutOptions = Pick<WorkspaceOptions, 'lfs' | 'submodules' | 'sparse'>

/** What a tree is to be made with, so that nothing of the repository stands in the way of its checkout. */
export interface CheckoutPlan {
  /** Settings for the call that makes the tree, as `name=value`. */
  readonly config: readonly string[]
  /** Whether the tree is to be made without files: `finishCheckout` writes them. */
  readonly noCheckout: boolean
  readonly pullsLfs: boolean
  /** Whether the tree lacks files of its commit. */
  readonly isSparse: boolean
  /** What was done and decided before, for the answer. */
  readonly actions: readonly WorkspaceAction[]
}

interface PrepareCheckout extends CheckoutOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

/**
 * What the base takes to be checked out, before anything is made. Throws `lfs_unavailable`, `promisor_unreachable` or `invalid` where it
 * cannot be had as it was asked for. It may use the network, within bounds: not to be called while the repository is locked.
 */
export async function prepareCheckout(_context: WorkspaceContext, repo: GitRepository, sha: string, options: PrepareCheckout): Promise<CheckoutPlan> {
  const { sparse } = options
  if (typeof sparse !== 'string') parseCone(sparse)
  const settings = await readSettings(repo)
  const actions: WorkspaceAction[] = []
  if (isShallow(repo)) actions.push(done('shallow', 'the repository is a shallow clone: what its history lacks is not counted'))
  const missing = await prefetch(repo, { sha, settings, ...options })
  if (missing) actions.push(missing)

  const filters = await listFilters(repo, sha)
  const foreign = [...filters].filter((name) => name !== 'lfs')
  if (foreign.length > 0)
    actions.push(skipped('filters', `files with the filter ${foreign.join(', ')} are as they are committed: no program of a repository is run`))
  const lfs = filters.has('lfs') ? await decideLfs(repo, settings, options.lfs) : undefined
  if (lfs?.action) actions.push(lfs.action)
  return {
    config: [],
    noCheckout: typeof sparse !== 'string' || (sparse === 'full' && isSparse(settings)),
    isSparse: typeof sparse !== 'string' || (sparse === 'inherit' && isSparse(settings)),
    pullsLfs: lfs?.pulls ?? false,
    actions,
  }
}

interface Prefetch extends PrepareCheckout {
  readonly sha: string
  readonly settings: Settings
}

async function prefetch(repo: GitRepository, { sha, settings, sparse, signal, onProgress }: Prefetch): Promise<WorkspaceAction | undefined> {
  const remote = promisorOf(settings)
  if (remote === undefined) return undefined
  const inherited = async () => (repo.isBare ? null : coneOf(inTree(repo.git, repo.mainRoot), settings))
  const cone = sparse === 'full' ? null : sparse === 'inherit' ? await inherited() : parseCone(sparse)
  onProgress?.('fetching what the partial clone lacks')
  const files = await fetchMissing(repo, { sha, remote, cone, signal })
  return done('partial-clone', files === 0 ? 'everything of the base is here' : `${counted(files, 'file')} of the base fetched from ${remote}`)
}

async function decideLfs(
  repo: GitRepository,
  settings: Settings,
  mode: WorkspaceOptions['lfs'],
): Promise<{ readonly pulls: boolean; readonly action?: WorkspaceAction | undefined }> {
  if (mode === 'pointers') return { pulls: false, action: done('lfs', 'files in Git LFS are left as pointers') }
  const programs = programsOfLfs(settings)
  if (programs.length > 0) {
    const why = `the repository names programs that git-lfs would run: ${programs.join(', ')}`
    if (mode === 'pull') throw failure('feature_failed', { feature: 'Git LFS', why })
    return { pulls: false, action: skipped('lfs', `files in Git LFS are left as pointers: ${why}`) }
  }
  if (await hasGitLfs(repo)) return { pulls: true }
  if (mode === 'pull') throw failure('lfs_unavailable', { path: repo.mainRoot })
  return { pulls: false, action: skipped('lfs', 'files in Git LFS are left as pointers: git-lfs is not installed here') }
}

export interface FinishCheckout {
  /** The tree that was made by `plan`. */
  readonly path: string
  readonly options: CheckoutOptions
  readonly plan: CheckoutPlan
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

/**
 * Completes a tree that was made by the plan, and tells all that was done for it. Throws where its files cannot be written, and
 * `feature_failed` where something was required and cannot be had. It may use the network, like `prepareCheckout`; done twice, it does no harm.
 */
export async function finishCheckout(_context: WorkspaceContext, repo: GitRepository, request: FinishCheckout): Promise<WorkspaceAction[]> {
  const { path, options, plan, signal, onProgress } = request
  const { sparse } = options
  const actions = [...plan.actions]
  if (plan.noCheckout && sparse !== 'inherit') {
    onProgress?.('checking out')
    await checkoutSparse(inTree(repo.git, path), sparse, signal)
    actions.push(done('sparse', sparse === 'full' ? 'everything is checked out, unlike in the main checkout' : `checked out: ${sparse.join(', ')}`))
  } else if (plan.isSparse) {
    actions.push(done('sparse', 'as sparse as the main checkout'))
  }
  if (plan.pullsLfs) actions.push(await pull(repo, request))
  actions.push(...(await submodules(repo, request)))
  return actions
}

async function pull(repo: GitRepository, { path, options, signal, onProgress }: FinishCheckout): Promise<WorkspaceAction> {
  const adminDir = findRepository(path)?.gitDir
  if (adminDir === undefined) throw failure('feature_failed', { feature: 'Git LFS', why: `${path} is no worktree` })
  onProgress?.('fetching files of Git LFS')
  const { files, left, said } = await orFailed(pullLfs(repo, path, adminDir, signal), (said) => ({ files: 0, left: null, said }))
  if (left === 0) return done('lfs', files === 0 ? 'no file is a pointer' : `${counted(files, 'file')} fetched from Git LFS`)
  const why = `${left === null ? 'files' : counted(left, 'file')} could not be fetched from Git LFS${said ? `: ${said}` : ''}`
  if (options.lfs === 'pull') throw failure('feature_failed', { feature: 'Git LFS', why })
  return failed('lfs', `${why}; what is missing is left as pointers`)
}

async function submodules(repo: GitRepository, { path, options, plan, signal, onProgress }: FinishCheckout): Promise<WorkspaceAction[]> {
  if (options.submodules === 'none') return []
  // Where the list of them may be left out of the tree, git is asked.
  if (!plan.isSparse && !existsSync(join(path, '.gitmodules'))) return []
  const isRequired = options.submodules === 'require'
  const outcomes = await checkoutSubmodules(repo, { path, network: isRequired || options.submodules === 'init', signal, onProgress })
  const good = outcomes.filter((outcome) => outcome.failed === null)
  const summary = good.length === 0 ? [] : [done('submodules', `checked out: ${good.map((outcome) => outcome.path).join(', ')}`)]
  const bad = outcomes.flatMap((outcome) => {
    if (outcome.failed === null) return []
    const detail = `${outcome.path} is empty: ${outcome.failed}`
    if (isRequired) throw failure('feature_failed', { feature: 'a submodule', why: detail })
    return [outcome.isAbsent ? skipped('submodules', detail) : failed('submodules', detail)]
  })
  return [...summary, ...bad]
}

/** The value, or what stands for a failure that concerns this part alone: a cancellation goes on. */
async function orFailed<T, F>(promise: Promise<T>, instead: (said: string) => F): Promise<T | F> {
  try {
    return await promise
  } catch (error) {
    if (hasReason(error, 'canceled')) throw error
    if (error instanceof HoldfastError) return instead(error.message)
    throw error
  }
}

const counted = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`

const done = (name: string, detail: string): WorkspaceAction => ({ name, status: 'done', detail })
const skipped = (name: string, detail: string): WorkspaceAction => ({ name, status: 'skipped', detail })
const failed = (name: string, detail: string): WorkspaceAction => ({ name, status: 'failed', detail })
