import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure, type HoldfastError } from '../core/errors.ts'
import { type GitResult, gitFailure } from './git.ts'
import type { GitRepository } from './open.ts'
import { readPlainText } from './plain-file.ts'
import { namesBelow, possibleRefs } from './ref-files.ts'

/**
 * Refs by their full names. Each change names the value that it expects, so that of several processes one wins and nobody's
 * commit is lost. The caller sees to it that a branch it moves or deletes is checked out nowhere: git does not.
 */

/** The commit (or tag) that a ref names; undefined where there is none. Rejects with `branch_broken` where it is there and cannot be read. */
export async function findRef(repo: GitRepository, ref: string): Promise<string | undefined> {
  return (await findRefs(repo, [ref])).get(ref)?.sha
}

export interface FoundRef {
  readonly sha: string
  /** The ref that it stands for, where it is a symbolic one. */
  readonly symref: string | null
  /** Else it is a tag, or something that no branch can be at. */
  readonly isCommit: boolean
}

/** Of several refs those that are there, in one look where all of them are sound. Rejects as `findRef` does, for a branch alone. */
export async function findRefs(repo: GitRepository, named: readonly string[]): Promise<ReadonlyMap<string, FoundRef>> {
  const refs = possibleRefs(repo.commonDir, named)
  if (refs.length === 0) return new Map()
  const asked = await ask(repo, refs)
  const found = asked ?? new Map<string, FoundRef>()
  // One of them names what is not there, and git then says nothing about the others.
  if (asked === undefined) for (const ref of refs) for (const [name, one] of (await ask(repo, [ref])) ?? []) found.set(name, one)
  for (const ref of refs) {
    if (found.has(ref) || !ref.startsWith('refs/heads/') || !(asked === undefined || isFile(join(repo.commonDir, ref)))) continue
    // It may have been made after it was looked for.
    const again = await ask(repo, [ref])
    const one = again?.get(ref)
    if (one !== undefined) found.set(ref, one)
    else if (again === undefined || isFile(join(repo.commonDir, ref))) throw broken(repo, ref)
  }
  return found
}

/** Undefined where one of them names an object that is not there. */
async function ask(repo: GitRepository, refs: readonly string[]): Promise<Map<string, FoundRef> | undefined> {
  const format = '%(refname)%00%(objectname)%00%(symref)%00%(objecttype)'
  const result = await repo.run(['for-each-ref', `--format=${format}`, '--', ...refs], { reads: true })
  if (result.exitCode !== 0 && !/missing object|bad object/.test(result.stderr)) throw gitFailure('reading refs', result)
  if (result.exitCode !== 0) return undefined
  const found = new Map<string, FoundRef>()
  for (const line of result.stdout.split('\n')) {
    // A pattern matches what is below it, too.
    const [name, sha, symref, type] = line.split('\0')
    if (name && sha && refs.includes(name)) found.set(name, { sha, symref: symref || null, isCommit: type === 'commit' })
  }
  return found
}

/** Makes a ref that is not there yet. Rejects with `branch_moved` where it is; of many at once exactly one succeeds. */
export async function createRef(repo: GitRepository, ref: string, sha: string): Promise<void> {
  const result = await updateRef(repo, [ref, sha, zero(sha)])
  if (result.exitCode !== 0) throw await refused(repo, ref, null, result)
}

/** Moves a ref. Rejects with `branch_moved` where it is not at `from`. */
export async function moveRef(repo: GitRepository, ref: string, to: string, from: string): Promise<void> {
  const result = await updateRef(repo, [ref, to, from])
  if (result.exitCode !== 0) throw await refused(repo, ref, from, result)
}

/** Deletes a ref that is at `from`. Rejects with `branch_moved` where it is somewhere else. One that is gone is no failure. */
export async function deleteRef(repo: GitRepository, ref: string, from: string): Promise<void> {
  const result = await updateRef(repo, ['-d', ref, from])
  if (result.exitCode === 0) return
  if ((await findRef(repo, ref)) !== undefined) throw await refused(repo, ref, from, result)
}

const updateRef = (repo: GitRepository, args: readonly string[]): Promise<GitResult> => repo.run(['update-ref', '--no-deref', '-m', 'holdfast', ...args])

/** Whoever can write refs could have one commit taken for another. */
const asItIs = { reads: true, config: ['core.useReplaceRefs=false'] }

/** Whether `b` holds `a`. `unknown` where history is missing here, so that a no proves nothing. */
export async function isAncestor(repo: GitRepository, a: string, b: string): Promise<boolean | 'unknown'> {
  const result = await repo.run(['merge-base', '--is-ancestor', a, b], asItIs)
  if (result.exitCode === 0) return true
  if (await lacksHistory(repo)) return 'unknown'
  if (result.exitCode === 1) return false
  throw gitFailure('comparing two commits', result)
}

/** How many commits of `base` are not in `from`; null where that cannot be told. */
export async function countMissing(repo: GitRepository, from: string, base: string): Promise<number | null> {
  if (from === base) return 0
  if (isShallow(repo)) return null
  const result = await repo.run(['rev-list', '--count', '--end-of-options', base, `^${from}`], asItIs)
  const count = /^(\d+)\s*$/.exec(result.stdout)?.[1]
  return result.exitCode === 0 && count !== undefined ? Number(count) : null
}

/** Refuses (`branch_name_conflict`) a new branch where another's name is a folder of it, or differs from it in case only. */
export async function checkBranchFits(repo: GitRepository, branch: string): Promise<void> {
  const folded = fold(branch)
  for (const ref of await listRefs(repo, 'refs/heads/')) {
    const other = ref.slice('refs/heads/'.length)
    if (other === branch) continue
    const its = fold(other)
    if (its === folded || its.startsWith(`${folded}/`) || folded.startsWith(`${its}/`)) throw failure('branch_name_conflict', { branch, with: other })
  }
}

/** The full names of the refs below a folder of refs, which ends in `/`. */
export async function listRefs(repo: GitRepository, folder: string): Promise<readonly string[]> {
  const known = namesBelow(repo.commonDir, folder)
  if (known !== undefined) return known
  const { stdout } = await repo.require('reading refs', ['for-each-ref', '--format=%(refname)', folder], { reads: true })
  return stdout.split('\n').filter(Boolean)
}

/** As file systems that know no case and compose letters see it. */
const fold = (name: string): string => name.normalize('NFC').toLowerCase()

const isShallow = ({ commonDir }: GitRepository): boolean => existsSync(join(commonDir, 'shallow'))

/** Whether commits may be missing here that are somewhere else. */
async function lacksHistory(repo: GitRepository): Promise<boolean> {
  if (isShallow(repo)) return true
  const { exitCode } = await repo.run(['config', '--get-regexp', '^(extensions\\.partialclone|remote\\..*\\.promisor)$'], { reads: true })
  return exitCode === 0
}

const zero = (sha: string): string => '0'.repeat(sha.length)

async function refused(repo: GitRepository, ref: string, expected: string | null, result: GitResult): Promise<HoldfastError> {
  const found = await findRef(repo, ref)
  const branch = ref.replace(/^refs\/heads\//, '')
  if (found !== undefined && found !== expected) return failure('branch_moved', { branch, expected: expected ?? 'nothing', found })
  if (found === undefined && expected !== null) return failure('branch_moved', { branch, expected, found: 'nothing' })
  const other = /'(?:refs\/heads\/)?([^']+)' exists; cannot create/.exec(result.stderr)?.[1]
  if (other !== undefined) return failure('branch_name_conflict', { branch, with: other, git: result.answer })
  return gitFailure(`writing the ref ${ref}`, result)
}

function broken(repo: GitRepository, ref: string): HoldfastError {
  return failure('branch_broken', { branch: ref.replace(/^refs\/heads\//, ''), proposed: lastOfReflog(join(repo.commonDir, 'logs', ref)) })
}

const maxReflogBytes = 64 * 1024 ** 2

/** The newest commit that a reflog names. */
function lastOfReflog(path: string): string | null {
  try {
    const entries = readPlainText(path, maxReflogBytes).trimEnd().split('\n').reverse()
    for (const entry of entries) {
      const sha = /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) /.exec(entry)?.[1]
      if (sha && !/^0+$/.test(sha)) return sha
    }
    return null
  } catch {
    return null
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
