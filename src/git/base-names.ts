import { readSettings } from './features.ts'
import type { GitRepository } from './open.ts'
import { findRefs } from './refs.ts'
import { headOf } from './repository.ts'

/** What the name of a base may mean: where it is looked for, and in which order. */
export interface Wanted {
  /** As the caller said it; of a default its branch, or `HEAD`. */
  readonly name: string
  /** A commit that is here. Then nothing else is looked for. */
  readonly commit?: string | undefined
  /** Also where no such remote is configured: git then says so. */
  readonly remoteName: string
  /** What to ask the remote for: full refs, `HEAD`, or a whole commit. */
  readonly sources: readonly string[]
  /** Full refs here. */
  readonly locals: readonly string[]
  /** What is known here of the branch of the remote. */
  readonly tracking: string | null
  /** What else it may have been, for an error. */
  readonly besides: readonly string[]
}

export async function looksFor(
  repo: GitRepository,
  request: { readonly base?: string | undefined; readonly remote?: string | null | undefined },
): Promise<Wanted> {
  const remotes = await remotesOf(repo)
  const chosen = request.remote ?? (remotes.includes('origin') || remotes.length !== 1 ? 'origin' : (remotes[0] as string))
  const wanted = (remoteName: string, name: string, sources: readonly string[], locals: readonly string[], tracking: string | null): Wanted => {
    return { name, remoteName, sources, locals, tracking, besides: [] }
  }
  const branch = (remoteName: string, name: string, said = name): Wanted => {
    const tracking = isSafe(remoteName) ? `refs/remotes/${remoteName}/${name}` : null
    const tracked = tracking === null ? [] : [tracking]
    const locals = said === name ? [`refs/heads/${name}`, `refs/tags/${name}`, ...tracked] : [...tracked, `refs/heads/${said}`]
    const sources = said === name ? [`refs/heads/${name}`, `refs/tags/${name}`] : [`refs/heads/${name}`]
    return wanted(remoteName, said, sources, locals, tracking)
  }
  const { base } = request
  if (base === undefined) {
    const known = await defaultBranch(repo, chosen)
    // The remote may call another one so by now.
    if (known !== undefined) return { ...branch(chosen, known), sources: [`refs/heads/${known}`, 'HEAD'] }
    const here = headOf(repo.gitDir).branch
    if (here === null) return wanted(chosen, 'HEAD', ['HEAD'], ['HEAD'], null)
    return { ...branch(chosen, here), sources: ['HEAD', `refs/heads/${here}`] }
  }
  if (!isSafe(base)) return { ...wanted(chosen, base, [], [], null), besides: [`refs/heads/${base}`] }
  // Of that the remote knows nothing, and calls something else so.
  if (base === 'HEAD') return { ...wanted(chosen, base, [], ['HEAD'], null), commit: await commitOfCheckout(repo) }
  const tracked = /^refs\/remotes\/(.+)$/.exec(base)?.[1]
  const short = tracked ?? base
  const prefix = remotes.filter((name) => short.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)[0]
  if (prefix !== undefined) return { ...branch(prefix, short.slice(prefix.length + 1), short), name: base }
  if (/^refs\//.test(base)) {
    const known = /^refs\/heads\/(.+)$/.exec(base)?.[1]
    return wanted(chosen, base, tracked === undefined ? [base] : [], [base], known === undefined ? null : `refs/remotes/${chosen}/${known}`)
  }
  if (/^[0-9a-f]{4,64}$/i.test(base)) {
    const commit = await commitHere(repo, base)
    if (commit !== undefined) return { ...branch(chosen, base), commit }
    const besides = [`the commit ${base}`]
    return isWhole(base) ? { ...wanted(chosen, base, [base.toLowerCase()], [], null), besides } : { ...branch(chosen, base), besides }
  }
  return branch(chosen, base)
}

/** What is checked out where the request was made; undefined where that has no commit. */
export async function commitOfCheckout({ git, gitDir }: GitRepository): Promise<string | undefined> {
  const { stdout, exitCode } = await git.run({ args: ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], cwd: gitDir, gitDir, reads: true })
  return exitCode === 0 ? stdout.trim() : undefined
}

const isWhole = (sha: string): boolean => sha.length === 40 || sha.length === 64

/** Whether a name can stand in a refspec and means one ref: nothing that git reads as an option, a pattern or a way from one commit to another. */
export const isSafe = (name: string): boolean =>
  !/^-|[\p{Cc}\p{Cs} ~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.lock$|^\/|\.$/u.test(name) && name !== '@' && name !== '' && Buffer.byteLength(name) < 1000

/** A commit by its name, unless a branch or tag has the very same name and the digits are not all of them. */
async function commitHere(repo: GitRepository, digits: string): Promise<string | undefined> {
  if (!isWhole(digits)) {
    const refs = [`refs/heads/${digits}`, `refs/tags/${digits}`]
    if ((await findRefs(repo, refs)).size > 0) return undefined
  }
  const { stdout, exitCode } = await repo.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${digits}^{commit}`], { reads: true })
  const sha = stdout.trim()
  return exitCode === 0 && sha.startsWith(digits.toLowerCase()) ? sha : tagged(repo, digits, exitCode === 0 ? sha : undefined)
}

/** The digits may be those of an annotated tag. */
async function tagged(repo: GitRepository, digits: string, commit: string | undefined): Promise<string | undefined> {
  if (commit === undefined) return undefined
  const { stdout } = await repo.run(['rev-parse', '--verify', '--quiet', '--end-of-options', digits], { reads: true })
  return stdout.startsWith(digits.toLowerCase()) ? commit : undefined
}

/** Names of the remotes that have an address. */
async function remotesOf(repo: GitRepository): Promise<readonly string[]> {
  const settings = await readSettings(repo)
  return [...settings.keys()].flatMap((key) => /^remote\.(.*)\.url$/s.exec(key)?.[1] ?? []).filter(isSafe)
}

/** The default branch of a remote as it was last known. */
async function defaultBranch(repo: GitRepository, remote: string): Promise<string | undefined> {
  const head = `refs/remotes/${remote}/HEAD`
  const { stdout, exitCode } = await repo.run(['symbolic-ref', '--quiet', head], { reads: true })
  const prefix = `refs/remotes/${remote}/`
  return exitCode === 0 && stdout.startsWith(prefix) ? stdout.trim().slice(prefix.length) : undefined
}
