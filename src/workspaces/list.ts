import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import type { ListWorkspacesRequest, WorkspaceSummary } from '../core/workspace-provider.ts'
import { commitFinder, type FindCommit, listTrees, type Tree } from '../git/admin.ts'
import type { Git } from '../git/git.ts'
import { findRepository } from '../git/repository.ts'
import { readStatus } from '../git/status.ts'
import { atOnce, within } from './at-once.ts'
import type { WorkspaceContext } from './context.ts'
import { measureUsage } from './disk-usage.ts'
import { findKnownBase, tipsOf } from './known-base.ts'
import { listRecords } from './records.ts'
import { repositoriesBelow, requireCommonDir } from './repositories.ts'
import { isUnmounted, summarize } from './summary.ts'

/** So many trees are looked at a time: each look is a process that reads a whole tree. */
const looksAtOnce = 4
const statusMs = 20_000
const usageMs = 10_000
const runningMs = 2_000

/**
 * The workspaces of a repository, or with `all` of every repository that has a tree below the root and of the one where Holdfast works;
 * oldest first. Without `status` no process is started. What cannot be found out of a workspace is a warning of its row; what belongs to no
 * row is told to `onWarning`. Changes nothing, takes no lock.
 */
export async function listWorkspaces(
  context: WorkspaceContext,
  request: ListWorkspacesRequest,
  onWarning: (warning: string) => void = () => {},
): Promise<readonly WorkspaceSummary[]> {
  const rows = commonDirsOf(context, request, onWarning).flatMap((commonDir) => rowsOf(context, commonDir, listRecords(commonDir)))
  rows.sort((a, b) => compare(a.record.createdAt, b.record.createdAt) || compare(a.record.id, b.record.id))
  return atOnce(looksAtOnce, rows, (row) => complete(context, row, request))
}

/** The same for one workspace. */
export async function summaryOf(
  context: WorkspaceContext,
  { commonDir, key, record }: { readonly commonDir: string; readonly key: string; readonly record: WorkspaceRecord },
  request: Pick<ListWorkspacesRequest, 'status' | 'bytes'>,
): Promise<WorkspaceSummary> {
  const [row] = rowsOf(context, commonDir, [{ key, record }])
  return complete(context, row as Row, request)
}

interface Row {
  readonly commonDir: string
  readonly record: WorkspaceRecord
  readonly tree: Tree | undefined
  readonly plain: ReturnType<typeof summarize>
  readonly findCommit: FindCommit
}

function rowsOf(context: WorkspaceContext, commonDir: string, records: readonly { readonly key: string; readonly record: WorkspaceRecord }[]): Row[] {
  if (records.length === 0) return []
  const trees = new Map(listTrees(commonDir).map((tree) => [tree.path, tree]))
  const findCommit = commitFinder(commonDir)
  return records.map(({ record }) => {
    const tree = trees.get(record.path)
    return { commonDir, record, tree, plain: summarize(context, commonDir, record, tree), findCommit }
  })
}

function commonDirsOf(context: WorkspaceContext, { repo, all }: ListWorkspacesRequest, onWarning: (warning: string) => void): readonly string[] {
  if (!all) return [requireCommonDir(context, repo)]
  const { commonDirs, lost } = repositoriesBelow(context.root)
  const here = repo === undefined ? findRepository(context.base)?.commonDir : requireCommonDir(context, repo)
  const found = [...new Set([...(here ? [here] : []), ...commonDirs])]
  const listed = new Set(lost.length === 0 ? [] : found.flatMap((commonDir) => listRecords(commonDir).map(({ record }) => record.path)))
  for (const { path, commonDir } of lost) {
    // The row of a workspace says by itself that its repository moved.
    if (listed.has(path)) continue
    onWarning(
      commonDir === null
        ? `${path} belongs to no repository: it has no .git file of a worktree`
        : `${path} belongs to a repository that is not at ${commonDir} any more; where it moved, list the workspaces from inside of it`,
    )
  }
  return found
}

async function complete(context: WorkspaceContext, row: Row, { status, bytes }: Pick<ListWorkspacesRequest, 'status' | 'bytes'>): Promise<WorkspaceSummary> {
  const warnings = [...row.plain.warnings]
  const isThere = row.plain.state !== 'missing'
  const running = await runningIn(context, row.record, warnings)
  const canLook = isThere && row.plain.state !== 'unregistered' && !isUnmounted(context, row.record)
  const looked = status && canLook ? await look(context, row, warnings) : {}
  const usage = bytes && isThere ? await measureUsage(row.record.overlay?.upper ?? row.record.path, { timeoutMs: usageMs }) : undefined
  if (usage?.isWhole === false) warnings.push(`it takes more bytes than are said: they were counted for ${usageMs} ms`)
  return { ...row.plain, ...looked, running, bytes: usage?.bytes ?? null, warnings }
}

async function runningIn({ commands }: WorkspaceContext, record: WorkspaceRecord, warnings: string[]): Promise<WorkspaceSummary['running']> {
  try {
    const running = await within(runningMs, commands.running(record))
    if (running === undefined) warnings.push(`which commands run in it could not be found out in ${runningMs} ms`)
    return running ?? []
  } catch (error) {
    warnings.push(`which commands run in it could not be found out: ${messageOf(error)}`)
    return []
  }
}

type Looked = Pick<WorkspaceSummary, 'head' | 'headBranch' | 'ahead' | 'behind' | 'dirty'>

async function look(context: WorkspaceContext, row: Row, warnings: string[]): Promise<Partial<Looked>> {
  const { record, commonDir } = row
  try {
    const { head, branch, counts } = await readStatus(context.git, record.path, { adminDir: row.tree?.adminDir, timeoutMs: statusMs })
    const distance = head === null ? undefined : await distanceOf(context, row, head)
    const headBranch = branch === record.branch ? null : branch
    return { head, headBranch, dirty: counts, ahead: distance?.ahead ?? null, behind: distance?.behind ?? null }
  } catch (error) {
    warnings.push(`its state could not be read (repository ${commonDir}): ${messageOf(error)}`)
    return {}
  }
}

async function distanceOf(
  context: WorkspaceContext,
  { commonDir, record, findCommit }: Row,
  head: string,
): Promise<Pick<Looked, 'ahead' | 'behind'> | undefined> {
  const find = existsSync(join(commonDir, 'reftable')) ? await askForRefs(context.git, commonDir) : findCommit
  const base = findKnownBase(record, context.settings.remote, find)
  if (base === undefined) return undefined
  const tips = tipsOf(base, record)
  if (tips.every((tip) => tip === head)) return { ahead: 0, behind: 0 }
  const count = async (revisions: readonly string[]): Promise<number | null> => {
    const { exitCode, stdout } = await context.git.run({
      args: ['rev-list', '--count', '--end-of-options', ...revisions],
      cwd: commonDir,
      gitDir: commonDir,
      reads: true,
      timeoutMs: statusMs,
    })
    return exitCode === 0 ? Number(stdout) : null
  }
  return { ahead: await count([head, ...tips.map((tip) => `^${tip}`)]), behind: await count([...tips, `^${head}`]) }
}

/** With reftables only git knows where refs are. */
async function askForRefs(git: Git, commonDir: string): Promise<FindCommit> {
  const args = ['for-each-ref', '--format=%(refname)%00%(objectname)', 'refs/heads', 'refs/remotes', 'refs/tags']
  const { stdout } = await git.require(`listing the refs of ${commonDir}`, { args, cwd: commonDir, gitDir: commonDir, reads: true })
  const refs = new Map(stdout.split('\n').map((line) => line.split('\0') as [string, string]))
  return (ref) => refs.get(ref) ?? null
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
