import type { GitRepository } from './open.ts'
import { findRefs } from './refs.ts'
import { headOf } from './repository.ts'

/** What the name of a base may mean: where it is looked for, and in which order. */
export interface Wanted {
  /** As the caller said it; of a default its branch, or `HEAD`. */
  readonly name: string
  /** A commit that is here. Then nothing else is looked for. */
  readonly commit?: string | undefined
  /** The configured remote; null where there is none, in which case git says so about `remoteName`. */
  readonly remote: string | null
  readonly remoteName: string
  /** What to ask the remote for: full refs, `HEAD`, or a whole commit. */
  readonly sources: readonly string[]
  /** Full refs here. */
  readonly locals: readonly string[]
  /** What is known here of the branch of the remote. */
  readonly tracking: string | null
  /** For an error: everything that was looked for. */
  readonly looked: readonly string[]
}

export async function looksFor(
  repo: GitRepository,
  request: { readonly base?: string | undefined; readonly remote?: string | null | undefined },
): Promise<Wanted> {
  const remotes = await remotesOf(repo)
  const configured = (name: string): string | null => (remotes.includes(name) ? name : null)
  const chosen = request.remote ?? (remotes.includes('origin') || remotes.length !== 1 ? 'origin' : (remotes[0] as string))
  const wanted = (remoteName: string, name: string, sources: readonly string[], locals: readonly string[], tracking: string | null): Wanted => {
    const looked = [...new Set([...sources.map((source) => `${source} of ${remoteName}`), ...locals])]
    return { name, remote: configured(remoteName), remoteName, sources, locals, tracking, looked }
  }
  const branch = (remoteName: string, name: string, said = name): Wanted => {
    const tracking = `refs/remotes/${remoteName}/${name}`
    const locals = said === name ? [`refs/heads/${name}`, `refs/tags/${name}`, tracking] : [tracking, `refs/heads/${said}`]
    const sources = said === name ? [`refs/heads/${name}`, `refs/tags/${name}`] : [`refs/heads/${name}`]
    return wanted(remoteName, said, sources, locals, tracking)
  }
  const { base } = request
  if (base === undefined) {
    const name = await defaultBranch(repo, chosen)
    return name === undefined ? wanted(chosen, 'HEAD', ['HEAD'], ['HEAD'], null) : branch(chosen, name)
  }
  if (!isSafe(base)) return { ...wanted(chosen, base, [], [], null), looked: [`refs/heads/${base}`] }
  const full = /^refs\/(heads|tags|remotes)\/(.+)$/.exec(base)
  if (full?.[1] === 'heads') return wanted(chosen, base, [base], [base], `refs/remotes/${chosen}/${full[2]}`)
  if (full?.[1] === 'tags') return wanted(chosen, base, [base], [base], null)
  const short = full?.[1] === 'remotes' ? (full[2] as string) : base
  const prefix = remotes.filter((name) => short.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)[0]
  if (prefix !== undefined) return { ...branch(prefix, short.slice(prefix.length + 1), short), name: base }
  if (/^[0-9a-f]{4,64}$/i.test(base)) {
    const commit = await commitHere(repo, base)
    if (commit !== undefined) return { ...branch(chosen, base), commit }
    if (isWhole(base)) return { ...wanted(chosen, base, [base.toLowerCase()], [], null), looked: [`the commit ${base}`] }
    const asBranch = branch(chosen, base)
    return { ...asBranch, looked: [...asBranch.looked, `the commit ${base}`] }
  }
  return branch(chosen, base)
}

const isWhole = (sha: string): boolean => sha.length === 40 || sha.length === 64

/** Whether a name can stand in a refspec and means one ref: nothing that git reads as an option, a pattern or a way from one commit to another. */
const isSafe = (name: string): boolean =>
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
export async function remotesOf(repo: GitRepository): Promise<readonly string[]> {
  const { stdout } = await repo.run(['config', '-z', '--name-only', '--get-regexp', '^remote\\..*\\.url$'], { reads: true })
  const names = stdout.split('\0').flatMap((key) => /^remote\.(.*)\.url$/s.exec(key)?.[1] ?? [])
  return [...new Set(names)].filter(isSafe)
}

/** The default branch of a remote as it was last known; else what is checked out in the main checkout. */
async function defaultBranch(repo: GitRepository, remote: string): Promise<string | undefined> {
  const head = `refs/remotes/${remote}/HEAD`
  const { stdout, exitCode } = await repo.run(['symbolic-ref', '--quiet', head], { reads: true })
  const prefix = `refs/remotes/${remote}/`
  if (exitCode === 0 && stdout.startsWith(prefix)) return stdout.trim().slice(prefix.length)
  return headOf(repo.gitDir).branch ?? undefined
}
