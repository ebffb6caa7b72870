import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isInside } from '../core/paths.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { listHalfMadeTrees, listTrees, type Tree, usesBranch } from '../git/admin.ts'
import { checkIndex, findIndexLock } from '../git/index-file.ts'
import type { GitRepository } from '../git/open.ts'
import { findLeakedFetchRefs, sweepFetchRefs } from '../git/resolve-base.ts'
import type { WorkspaceContext } from './context.ts'
import { fine, problem, type Repairable } from './finding.ts'
import { ownerOf } from './identity.ts'
import { privateRefs, repositoryFiles } from './layout.ts'
import { openWorkspace } from './open.ts'
import { canonical } from './placement.ts'
import { listRecords } from './records.ts'
import { releaseWorkspace } from './release.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { summarize } from './summary.ts'

/** A git that is alive holds the lock of an index for a moment; only a hook or an editor makes it longer, and those are seen. */
const staleLockMs = 60_000

interface Workspace {
  readonly key: string
  readonly record: WorkspaceRecord
}

/** The trees of a repository, the records of its workspaces and our own refs. */
export async function examineTrees(context: WorkspaceContext, repository: GitRepository): Promise<readonly Repairable[]> {
  const { commonDir, mainRoot } = repository
  const trees = listTrees(commonDir)
  const workspaces = listRecords(commonDir)
  const owners = new Map(workspaces.map((workspace) => [workspace.record.path, workspace]))
  return [
    fine('workspaces', `${count(workspaces.length, 'workspace')} and ${count(trees.length, 'tree')} of ${mainRoot}`),
    ...workspaces.flatMap((workspace) => examineWorkspace(context, repository, workspace, trees)),
    ...trees.filter(({ path }) => !owners.has(path)).flatMap((tree) => examineForeign(context, tree)),
    ...duplicates(trees),
    ...trees.flatMap((tree) => examineIndex(context, repository, tree, owners.get(tree.path))),
    ...listHalfMadeTrees(commonDir).map(({ adminDir, lockReason }) => {
      const owner = ownerOf(lockReason)
      const advice = owner ? `open the workspace ${owner.id} again, or release it` : 'git forgets it in a while'
      return problem(`half-made:${adminDir}`, `${adminDir} says of no tree where it is: it was being made when that was cut short; ${advice}`)
    }),
    ...unreadableRecords(commonDir, workspaces),
    ...staleLocks(context, commonDir),
    ...(await examineRefs(context, repository)),
  ]
}

/** One whose tree is not what its record says. Opening it again mends all of that, and touches no file that was handed out. */
function examineWorkspace(context: WorkspaceContext, { commonDir }: GitRepository, { key, record }: Workspace, trees: readonly Tree[]): Repairable[] {
  const { id, branch, operator, state, holder } = record
  const name = `workspace:${id}`
  const workspace = { id, key }
  const tree = trees.find(({ path }) => path === record.path)
  if (holder !== null && context.machine.isAlive(holder)) return []
  if (state !== 'ready') {
    const release = async (): Promise<string> => {
      const { rescue } = await releaseWorkspace(context, { workspace: id, repo: commonDir })
      return `the workspace ${id} was released${rescue === null ? '' : `; its work is kept as ${rescue}`}`
    }
    const what = state === 'creating' ? 'its making was cut short, and it was never handed out' : 'its release was cut short'
    return [
      problem(name, `the workspace of ${branch ?? operator}: ${what}`, { fix: 'release it, after saving what is nowhere else', repair: release, workspace }),
    ]
  }
  const { warnings, state: shown, locked } = summarize(context, commonDir, record, tree)
  const isBroken = shown !== 'ready' || (tree !== undefined && warnings.some((warning) => warning.includes('open the workspace again')))
  const found: Repairable[] = []
  if (isBroken) {
    const open = async (): Promise<string> => {
      const who = branch === null ? { operator: operator ?? '' } : { branch }
      const { actions } = await openWorkspace(context, { repo: commonDir, ...who, remotePolicy: 'local', setup: null })
      return actions.map(({ detail }) => detail).join('; ') || `the workspace ${id} was whole when it was opened again`
    }
    found.push(problem(name, `the workspace of ${branch ?? operator}: ${warnings.join('; ')}`, { fix: 'open it again', repair: open, workspace }))
  }
  if (locked !== null) found.push(problem(`lock:${id}`, `the workspace of ${branch ?? operator} is locked by somebody else: ${locked || 'without a reason'}`))
  return found
}

/** Trees that are not ours are never changed; what can be done about them is said. */
function examineForeign({ root }: WorkspaceContext, { path, name, lockReason, isMain }: Tree): Repairable[] {
  if (isMain) return []
  const locked = lockReason === null ? '' : `, and locked: ${lockReason || 'without a reason'}`
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) {
    // What lies below the root is told by its folder.
    if (isInside(canonical(root), path)) return []
    return lockReason === null ? [] : [fine(`worktree:${name}`, `the worktree ${path} is not a workspace${locked}; it is left alone`)]
  }
  const advice = `where it was moved: git worktree repair NEW-PATH; where it is gone for good: git worktree remove ${lockReason === null ? '' : '--force --force '}${path}`
  return [problem(`worktree:${name}`, `the folder of the worktree ${path} is gone${locked}; ${advice}`)]
}

function duplicates(trees: readonly Tree[]): Repairable[] {
  const branches = new Set(trees.flatMap(({ branch }) => branch ?? []))
  return [...branches].flatMap((branch) => {
    const users = trees.filter((tree) => usesBranch(tree, branch))
    if (users.length < 2) return []
    const detail = `the branch ${branch} is checked out in ${users.map(({ path }) => path).join(' and ')}: a commit in one makes the others look changed`
    return [problem(`duplicate:${branch}`, detail, { status: 'failed' })]
  })
}

function examineIndex(context: WorkspaceContext, repository: GitRepository, tree: Tree, owner: Workspace | undefined): Repairable[] {
  const found: Repairable[] = []
  const where = tree.isMain ? 'main' : tree.name
  const workspace = owner && { id: owner.record.id, key: owner.key }
  if (checkIndex(tree.adminDir) === 'damaged') {
    found.push(
      problem(`index:${where}`, `the index of ${tree.path} is damaged${owner ? '; open the workspace again, which makes it anew' : ''}`, { status: 'failed' }),
    )
  }
  const lock = findIndexLock(tree.adminDir, tree.path, context.now())
  if (lock === undefined) return found
  const age = `${lock.path} is ${Math.round(lock.ageMs / 1000)} s old`
  const isStale = lock.holder === null && lock.ageMs >= staleLockMs
  if (!isStale)
    return [...found, problem(`index-lock:${where}`, `${age} and ${lock.holder ? `held by ${lock.holder}` : 'may still be needed'}; it is left as it is`)]
  const remove = (): Promise<string> =>
    withRepositoryLock(context, repository, undefined, async () => {
      const now = findIndexLock(tree.adminDir, tree.path, context.now())
      if (now === undefined) return `${lock.path} was gone already`
      if (now.holder !== null || now.ageMs < staleLockMs) return `${lock.path} is held by ${now.holder ?? 'somebody who made it just now'} and was left`
      rmSync(now.path)
      return `${lock.path} was removed: it was ${Math.round(now.ageMs / 1000)} s old and held by nobody`
    })
  return [...found, problem(`index-lock:${where}`, `${age} and held by nobody that can be found`, { fix: 'remove the lock file', repair: remove, workspace })]
}

/** A record that cannot be understood is nowhere listed, and its tree is left alone. */
function unreadableRecords(commonDir: string, workspaces: readonly Workspace[]): Repairable[] {
  const { records } = repositoryFiles(commonDir)
  const understood = new Set(workspaces.map(({ key }) => `${key}.json`))
  const names = existsSync(records) ? readdirSync(records).filter((name) => name.endsWith('.json') && !understood.has(name)) : []
  return names.map((name) =>
    problem(`record:${name}`, `${join(records, name)} cannot be understood; opening its workspace again writes it anew`, { status: 'failed' }),
  )
}

/** Locks of what all trees share. Who holds one cannot be told: git keeps none of them open. */
function staleLocks(context: WorkspaceContext, commonDir: string): Repairable[] {
  return ['packed-refs.lock', 'config.lock', 'HEAD.lock'].flatMap((name) => {
    const path = join(commonDir, name)
    const found = statSync(path, { throwIfNoEntry: false })
    const ageMs = found === undefined ? 0 : context.now().getTime() - found.mtimeMs
    if (ageMs < staleLockMs) return []
    return [
      problem(`lock-file:${name}`, `${path} is ${Math.round(ageMs / 1000)} s old, and git waits for it; remove it when no git is at work in the repository`),
    ]
  })
}

/** Everything of ours below `refs/holdfast/` is of one of these kinds. */
const refKinds = ['fetch', 'rescue', 'deleted']

async function examineRefs(context: WorkspaceContext, repository: GitRepository): Promise<Repairable[]> {
  const { stdout } = await repository.require('listing our own refs', ['for-each-ref', '--format=%(refname)', privateRefs], { reads: true })
  const unknown = stdout.split('\n').filter((ref) => ref !== '' && !refKinds.includes(ref.split('/')[2] ?? ''))
  const found = unknown.map((ref) =>
    problem(`ref:${ref}`, `nothing of Holdfast knows the ref ${ref}; git update-ref -d ${ref} removes it when it is not needed`),
  )
  const leaked = await findLeakedFetchRefs(repository, context.now())
  if (leaked.length === 0) return found
  const sweep = async (): Promise<string> => `refs that were deleted: ${await sweepFetchRefs(repository, context.now())}`
  return [
    ...found,
    problem('fetch-refs', `${count(leaked.length, 'ref')} of fetches that died ${leaked.length === 1 ? 'is' : 'are'} left`, {
      fix: 'delete them',
      repair: sweep,
    }),
  ]
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`
