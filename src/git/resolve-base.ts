import { createHash, randomUUID } from 'node:crypto'
import { errnoOf, failure, type HoldfastError } from '../core/errors.ts'
import type { WorkspaceBase } from '../core/workspace.ts'
import { commitOfCheckout, isSafe, looksFor, type Wanted } from './base-names.ts'
import { type FailedFetch, fetchFailureOf } from './fetch-failure.ts'
import type { GitRepository } from './open.ts'
import { countMissing, type FoundRef, findRefs, listRefs } from './refs.ts'

export interface BaseRequest {
  /** A branch, a tag, a commit, `origin/x`, or a full ref. Undefined: the default branch of the remote, else what is checked out. */
  readonly base?: string | undefined
  /** Undefined or null: `origin`, or the only one. */
  readonly remote?: string | null | undefined
  readonly policy: 'prefer-remote' | 'require-remote' | 'local'
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((what: string) => void) | undefined
}

export interface ResolvedBase extends WorkspaceBase {
  /** ISO 8601, UTC; null where nothing was fetched. */
  readonly fetchedAt: string | null
  /** Lets go of what keeps a fetched commit from being collected: to be called once a branch holds it, or nobody wants it. Never rejects. */
  drop(): Promise<void>
}

/** Below it are fetched commits that no branch holds yet: `<milliseconds since 1970>-<pid of who fetched it>-<random>`. */
const fetchRefs = 'refs/holdfast/fetch/'
const leakedAfterMs = 86_400_000

/**
 * The commit that a workspace begins at. What is fetched goes under a ref of our own: no ref of the person moves, and no FETCH_HEAD is
 * written. Rejects with `unknown_base`, `unborn_base`, or `fetch_failed` where the remote is needed and cannot be had.
 */
export async function resolveBase(repo: GitRepository, request: BaseRequest): Promise<ResolvedBase> {
  const wanted = await looksFor(repo, request)
  // A commit is the same wherever it comes from.
  if (wanted.commit !== undefined) return local({ ref: wanted.commit, sha: wanted.commit }, 0, null)
  let failed: FailedFetch | undefined
  if (request.policy !== 'local') {
    const fetched = await fetchBase(repo, wanted, request)
    if ('sha' in fetched) return fetched
    failed = fetched
    if (request.policy === 'require-remote') throw failed.isAbsent ? unknown(wanted, failed, true) : unfetched(wanted, failed)
  }
  const known = await findRefs(repo, [...new Set([...wanted.locals, ...(wanted.tracking === null ? [] : [wanted.tracking])])])
  const found = await findLocally(repo, wanted, known)
  if (found !== undefined) {
    const published = wanted.tracking === null ? undefined : known.get(wanted.tracking)
    return local(found, published === undefined ? null : await countMissing(repo, found.sha, published.sha), failed?.error ?? null)
  }
  if (await isUnborn(repo, wanted)) throw failure('unborn_base', { base: wanted.name })
  if (failed !== undefined && failed.kind !== 'missing') throw unfetched(wanted, failed)
  throw unknown(wanted, failed, request.policy !== 'local')
}

const unfetched = (wanted: Wanted, { kind, answer }: FailedFetch) =>
  failure('fetch_failed', { kind, remote: wanted.remoteName, what: wanted.name, git: answer })

function unknown({ name, sources, remoteName, locals, besides }: Wanted, failed: FailedFetch | undefined, isAsked: boolean): HoldfastError {
  const there = isAsked ? sources.map((source) => `${source} of ${remoteName}`) : []
  return failure('unknown_base', { base: name, looked: [...there, ...locals, ...besides], git: failed?.answer })
}

async function fetchBase(repo: GitRepository, wanted: Wanted, request: BaseRequest): Promise<ResolvedBase | FailedFetch> {
  request.onProgress?.(`fetching ${wanted.name} from ${wanted.remoteName}`)
  const isThere = isSafe(wanted.remoteName) && (await hasRemote(repo, wanted.remoteName))
  if (!isThere) return { kind: 'missing', error: `there is no remote named ${wanted.remoteName}`, answer: undefined, isAbsent: false }
  let failed: FailedFetch | undefined
  for (const source of wanted.sources) {
    const tried = await fetchOne(repo, wanted, source, request)
    if ('sha' in tried) return tried
    // What went wrong first is about what was most likely meant.
    failed ??= tried
    if (tried.kind !== 'missing') return tried
  }
  return failed ?? { kind: 'missing', error: `there is nothing named ${wanted.name} that could be fetched`, answer: undefined, isAbsent: true }
}

/** What is no plain name may be an address, which needs no configuration. */
async function hasRemote(repo: GitRepository, name: string): Promise<boolean> {
  if (!/^[\w.-]+$/.test(name)) return true
  return (await repo.run(['remote'])).stdout.split('\n').includes(name)
}

/** Nothing but the ref that is named: no tags, no submodules, no ref of the person by way of the configured refspec, nothing pruned. */
const fetchOptions = [
  '--quiet',
  '--no-tags',
  '--no-write-fetch-head',
  '--refmap=',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-prune',
  '--no-show-forced-updates',
  // Otherwise the configuration of the repository names a program to start.
  '--upload-pack=git-upload-pack',
]

async function fetchOne(repo: GitRepository, wanted: Wanted, source: string, request: BaseRequest): Promise<ResolvedBase | FailedFetch> {
  const ref = `${fetchRefs}${Date.now()}-${process.pid}-${createHash('sha256').update(randomUUID()).digest('hex').slice(0, 16)}`
  const { timeoutMs, signal } = request
  try {
    const args = ['fetch', ...fetchOptions, '--end-of-options', wanted.remoteName, `+${source}:${ref}`]
    const result = await repo.run(args, { network: true, timeoutMs, signal })
    if (result.exitCode !== 0) return fetchFailureOf(result.answer)
  } catch (error) {
    const failed = fetchFailureOf(error)
    await drop(repo, ref)
    if (failed === undefined) throw error
    return failed
  }
  const fetchedAt = new Date().toISOString()
  const sha = await commitOf(repo, ref)
  if (sha === undefined) {
    await drop(repo, ref)
    return { kind: 'missing', error: `${source} of ${wanted.remoteName} is no commit`, answer: undefined, isAbsent: true }
  }
  const named = source === 'HEAD' ? await defaultOf(repo, wanted.remoteName, request) : source
  return { source: 'remote', ref: named, sha, behind: 0, remoteError: null, fetchedAt, drop: () => drop(repo, ref) }
}

/** What the remote calls `HEAD`, in full; that word where it does not say. */
async function defaultOf(repo: GitRepository, remoteName: string, { timeoutMs, signal }: BaseRequest): Promise<string> {
  try {
    const { stdout } = await repo.run(['ls-remote', '--symref', '--end-of-options', remoteName, 'HEAD'], { network: true, timeoutMs, signal })
    return /^ref: (refs\/\S+)\tHEAD$/m.exec(stdout)?.[1] ?? 'HEAD'
  } catch {
    return 'HEAD'
  }
}

/** Nobody else has a ref of this name. */
async function drop(repo: GitRepository, ref: string): Promise<void> {
  try {
    await repo.run(['update-ref', '--no-deref', '-d', ref])
  } catch {
    // What stays is swept later, and keeps nothing but a commit from being collected.
  }
}

/** What fetches that died left behind, of more than a day: full refs. */
export async function findLeakedFetchRefs(repo: GitRepository, now: Date): Promise<readonly string[]> {
  return (await listRefs(repo, fetchRefs)).filter((ref) => {
    const [, begun, pid] = /^(\d{13})-(\d+)-[0-9a-f]+$/.exec(ref.slice(fetchRefs.length)) ?? []
    return begun !== undefined && (now.getTime() - Number(begun) > leakedAfterMs || !isThere(Number(pid)))
  })
}

/** A pid that was given to another process only means that the ref stays for a day. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) !== 'ESRCH'
  }
}

/** Deletes them; how many. */
export async function sweepFetchRefs(repo: GitRepository, now: Date): Promise<number> {
  const leaked = await findLeakedFetchRefs(repo, now)
  for (const ref of leaked) await drop(repo, ref)
  return leaked.length
}

const local = (found: { ref: string; sha: string }, behind: number | null, remoteError: string | null): ResolvedBase => ({
  source: 'local',
  ...found,
  behind,
  remoteError,
  fetchedAt: null,
  drop: async () => {},
})

async function findLocally(repo: GitRepository, wanted: Wanted, known: ReadonlyMap<string, FoundRef>): Promise<{ ref: string; sha: string } | undefined> {
  for (const ref of wanted.locals) {
    const found = known.get(ref)
    const sha = ref === 'HEAD' ? await commitOfCheckout(repo) : found?.isCommit ? found.sha : found && (await commitOf(repo, ref))
    if (sha !== undefined) return { ref, sha }
  }
  return undefined
}

async function isUnborn(repo: GitRepository, wanted: Wanted): Promise<boolean> {
  const { stdout, exitCode } = await repo.run(['symbolic-ref', '--quiet', 'HEAD'], { reads: true })
  return exitCode === 0 && (wanted.name === 'HEAD' || wanted.locals.includes(stdout.trim()))
}

/** The commit that a name stands for, through annotated tags. */
async function commitOf(repo: GitRepository, name: string): Promise<string | undefined> {
  const { stdout, exitCode } = await repo.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], { reads: true })
  const sha = stdout.trim()
  return exitCode === 0 && /^[0-9a-f]{40,64}$/.test(sha) ? sha : undefined
}
