import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree, type Tree } from '../git/admin.ts'
import { inspectTree } from '../git/inspect.ts'
import { findRepository } from '../git/repository.ts'
import { clearArtifacts, findArtifacts } from './artifacts.ts'
import { atOnce, within } from './at-once.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'
import { repositoryFiles } from './layout.ts'
import { listRecords } from './records.ts'
import { releaseWorkspace } from './release.ts'
import { repositoriesBelow, requireCommonDir } from './repositories.ts'
import { isOurLock, isUnmounted } from './summary.ts'
import { type Tidied, tidy } from './tidy.ts'

export interface CollectRequest {
  readonly repo?: string | undefined
  /** Of every repository of this user. */
  readonly all?: boolean | undefined
  /** Only say what would be done. */
  readonly dryRun?: boolean | undefined
  /** Release none: only take away the folders in them that can be made again. */
  readonly artifacts?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface CollectedWorkspaces {
  readonly dryRun: boolean
  /** With why; of a dry run: those that would be. `rescue` is null: what would need one is kept. */
  readonly released: readonly { readonly id: string; readonly why: string; readonly rescue: string | null }[]
  readonly kept: readonly { readonly id: string; readonly why: string }[]
  /** With `artifacts`: those that stay, with the folders in them that were, or would be, taken away. Else null. */
  readonly cleared: readonly { readonly id: string; readonly folders: readonly string[] }[] | null
  /** What else was, or would be, taken away: things of ours that nobody needs. */
  readonly tidied: readonly Tidied[]
}

const dayMs = 86_400_000
const looksAtOnce = 4
const runningMs = 5_000

/**
 * Releases the workspaces that were not used for longer than `limits.idleMs`, where nothing would be lost and nobody would miss them; the others
 * are kept, each with why. Then it takes away what is left over: the trash, ports, fetched commits and rescues that nobody needs any more. A
 * dry run makes the same plan, and changes nothing.
 */
export async function collectWorkspaces(context: WorkspaceContext, request: CollectRequest): Promise<CollectedWorkspaces> {
  const dryRun = request.dryRun === true
  const commonDirs = everyCommonDir(context, request)
  const all = commonDirs.flatMap((commonDir) => listRecords(commonDir).map((found) => ({ commonDir, ...found })))
  if (request.artifacts === true) return collectArtifacts(context, all, dryRun)
  const plan = await atOnce(looksAtOnce, all, async (candidate) => ({ ...candidate, ...(await judge(context, candidate)) }))
  const released: CollectedWorkspaces['released'][number][] = []
  const kept: CollectedWorkspaces['kept'][number][] = []
  for (const { commonDir, key, record, idle, keep } of plan) {
    const { id } = record
    if (keep !== undefined) kept.push({ id, why: keep })
    else if (dryRun) released.push({ id, why: idle, rescue: null })
    else {
      try {
        // Whatever came into it since the look is refused, and not rescued: that takes somebody who asks for it.
        const { rescue } = await releaseWorkspace(context, { workspace: id, repo: commonDir, mode: 'refuse' }, { signal: request.signal })
        released.push({ id, why: idle, rescue })
        tell(commonDir, key, { at: context.now().toISOString(), workspace: id, name: 'gc', durationMs: null, facts: { why: idle } })
      } catch (error) {
        kept.push({ id, why: messageOf(error) })
      }
    }
  }
  return { dryRun, released, kept, cleared: null, tidied: await tidy(context, commonDirs, { dryRun }) }
}

async function collectArtifacts(context: WorkspaceContext, all: readonly Candidate[], dryRun: boolean): Promise<CollectedWorkspaces> {
  const cleared: NonNullable<CollectedWorkspaces['cleared']>[number][] = []
  const kept: CollectedWorkspaces['kept'][number][] = []
  for (const candidate of all) {
    const { id, path, overlay } = candidate.record
    try {
      const { keep } = await judge(context, candidate, 'artifacts')
      const why = keep ?? (overlay === null ? undefined : 'it is copy-on-write, and keeps only what is changed')
      const found = why === undefined ? await findArtifacts(context, { path }) : []
      const folders = dryRun || found.length === 0 ? found : await clearArtifacts(context, candidate, found)
      if (folders.length > 0) cleared.push({ id, folders })
      else kept.push({ id, why: why ?? (found.length > 0 ? 'something came to run in it' : 'nothing in it is ignored and can be made again') })
    } catch (error) {
      kept.push({ id, why: messageOf(error) })
    }
  }
  return { dryRun, released: [], kept, cleared, tidied: [] }
}

interface Candidate {
  readonly commonDir: string
  readonly key: string
  readonly record: WorkspaceRecord
}

/** `keep`: why it stays. Changes nothing. */
async function judge(
  context: WorkspaceContext,
  candidate: Candidate,
  what: 'tree' | 'artifacts' = 'tree',
): Promise<{ readonly idle: string; readonly keep?: string | undefined }> {
  const { record, commonDir } = candidate
  const { limits } = context.settings
  const tree = findTree(commonDir, record.path)
  const idleMs = context.now().getTime() - lastUseOf(candidate, tree)
  const idle = `not used for ${inDays(idleMs)}`
  const keep = (why: string): { idle: string; keep: string } => ({ idle, keep: why })
  if (record.holder !== null && context.machine.isAlive(record.holder)) return keep(`another process is at work on it (${record.state})`)
  if (record.state === 'creating') return keep('its making was cut short; open it again, or release it')
  if (context.now().getTime() - Date.parse(record.createdAt) < dayMs) return keep('it is younger than a day')
  // What was to be released already needs no other reason.
  if (record.state === 'ready' && idleMs < limits.idleMs) return keep(`used ${inDays(idleMs)} ago; it counts as idle after ${inDays(limits.idleMs)}`)
  if (tree !== undefined && tree.lockReason !== null && !isOurLock(tree.lockReason, record)) return keep(`locked: ${tree.lockReason || 'without a reason'}`)
  if (record.setup?.state === 'running' && record.setup.holder !== null && context.machine.isAlive(record.setup.holder)) return keep('its setup runs')
  try {
    const running = await within(runningMs, context.commands.running(record))
    if (running === undefined) return keep(`which commands run in it could not be found out in ${runningMs} ms`)
    if (running.length > 0) return keep(`commands run in it: ${running.map(({ command }) => command).join('; ')}`)
    if (isUnmounted(context, record)) return keep('its copy-on-write tree is not mounted; open it again, or release it')
    if (what === 'artifacts' && (tree === undefined || record.state !== 'ready')) return keep('its tree is not whole; open it again, or release it')
    if (what === 'artifacts') return { idle }
    if (tree === undefined) return keep('git does not know its tree any more; open it again, or release it')
    const { holds } = await inspectTree(context.git, { path: record.path, adminDir: tree.adminDir }, { known: [record.base.sha] })
    return holds.length > 0 ? keep(`it holds what is nowhere else: ${holds.join(', ')}`) : { idle }
  } catch (error) {
    // Not known is not clean.
    return keep(`what it holds could not be found out: ${messageOf(error)}`)
  }
}

/** By what is on record, and by what commands leave behind: commits, what is staged, what was told. */
function lastUseOf({ commonDir, key, record }: Candidate, tree: Tree | undefined): number {
  const files = tree === undefined ? [] : ['index', 'logs/HEAD', 'HEAD'].map((name) => join(tree.adminDir, name))
  const times = [Date.parse(record.usedAt), Date.parse(record.createdAt), ...[...files, ...leasesOf(commonDir, key)].map(changedAt)]
  return Math.max(...times.filter((time) => !Number.isNaN(time)))
}

function leasesOf(commonDir: string, key: string): string[] {
  const folder = repositoryFiles(commonDir).leases(key)
  try {
    return [folder, ...readdirSync(folder).map((name) => join(folder, name))]
  } catch {
    return []
  }
}

const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN

const inDays = (ms: number): string => {
  const days = Math.floor(ms / dayMs)
  return days >= 1 ? `${days} ${days === 1 ? 'day' : 'days'}` : `${Math.max(0, Math.floor(ms / 3_600_000))} h`
}

/** The repositories whose workspaces are looked at. */
export function everyCommonDir(context: WorkspaceContext, { repo, all }: Pick<CollectRequest, 'repo' | 'all'>): readonly string[] {
  if (!all) return [requireCommonDir(context, repo)]
  const here = repo === undefined ? findRepository(context.base)?.commonDir : requireCommonDir(context, repo)
  return [...new Set([...(here ? [here] : []), ...repositoriesBelow(context.root).commonDirs])]
}
