import { readdirSync, rmSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { failure, messageOf } from '../core/errors.ts'
import type { Machine } from '../core/machine.ts'
import type { ProcessIdentity, RunRecord } from '../core/run.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { makePlainFolder, readPlainText, replacePlain } from '../git/plain-file.ts'
import { repositoryFiles } from '../workspaces/layout.ts'
import { readRecord as readWorkspace } from '../workspaces/records.ts'
import { holderLives, isFar } from './far.ts'
import { isRunId, leftBehind, type RunFolder, readRecord } from './run-folder.ts'
import { checkState, placeOf, type RunWorkspace } from './run-workspace.ts'

/**
 * Which runs go on in a workspace, whichever home keeps them: a file for each beside the repository, written before its command is
 * started. It says where the run is; whether that goes on is told by the record of the run alone.
 */
export interface Lease {
  readonly run: string
  /** The home that keeps the run. */
  readonly home: string
  /** Masked, on one line. */
  readonly command: string
  /** The process that asks for the run. */
  readonly holder: ProcessIdentity
}

/** A run that goes on in a workspace. */
export interface LeasedRun {
  readonly lease: Lease
  /** Absent while it is between being asked for and having a record. */
  readonly record: RunRecord | undefined
}

/**
 * Says that a run begins. The state of the workspace is looked at afterwards: a release that begins meanwhile sees the run, or the run
 * sees the release and throws `workspace_unusable`. Resolves to what went wrong, in words for the caller.
 */
export function takeLease(at: RunWorkspace, lease: Lease): string[] {
  const path = leasePath(at, lease.run)
  try {
    makePlainFolder(at.commonDir, dirname(path))
    // Whole or not at all: a part of it would count as none.
    replacePlain(path, JSON.stringify(lease), { temporary: join(dirname(path), `.${lease.run}`) })
  } catch (error) {
    return [`workspace ${at.record.id} could not be told of this run (${messageOf(error)}): it may be released while the command goes on`]
  }
  try {
    const now = readWorkspace(at.commonDir, at.key)
    if (!now || now.nonce !== at.record.nonce) throw failure('workspace_unusable', { workspace: at.record.id, why: 'it was released' })
    checkState(now)
    return []
  } catch (error) {
    dropLease(at, lease.run)
    throw error
  }
}

export function dropLease(at: Pick<RunWorkspace, 'commonDir' | 'key'>, run: string): void {
  try {
    rmSync(leasePath(at, run), { force: true })
  } catch {
    // The record of the run says that it is over.
  }
}

/** The runs that go on in a workspace. A lease of one that is over, or that never began, counts as none and is removed. */
export async function runningIn(
  record: WorkspaceRecord,
  machine: Pick<Machine, 'isAlive' | 'findTree'>,
  folderOf: (lease: Lease) => RunFolder,
): Promise<readonly LeasedRun[]> {
  const at = placeOf(record)
  const found: LeasedRun[] = []
  for (const lease of readLeases(at)) {
    const folder = folderOf(lease)
    const run = readRecord(folder, lease.run)
    // A run of something else is none of the workspace's to wait for, let alone to end: whoever works in a tree may have written the lease.
    if (run && run.workspace !== record.id) continue
    if (run ? await goesOn(run, folder, machine) : machine.isAlive(lease.holder)) found.push({ lease, record: run })
    else dropLease(at, lease.run)
  }
  return found
}

/** What a run left behind may still write into the tree, and so may the command of a run whose holder died. */
async function goesOn(run: RunRecord, folder: RunFolder, machine: Pick<Machine, 'isAlive' | 'findTree'>): Promise<boolean> {
  if (run.state === 'failed') return false
  if (run.state === 'running' && holderLives(machine, run.holder)) return true
  if (isFar(run)) return false
  if (run.state === 'ended' && run.leftovers.length === 0) return false
  return (await machine.findTree(run.id, run.process, leftBehind(folder, run.id))).length > 0
}

const maxLeaseBytes = 1024 ** 2

function readLeases(at: Pick<RunWorkspace, 'commonDir' | 'key'>): Lease[] {
  let names: string[]
  try {
    names = readdirSync(repositoryFiles(at.commonDir).leases(at.key))
  } catch {
    return []
  }
  return names.filter(isRunId).flatMap((name) => {
    try {
      const lease = JSON.parse(readPlainText(leasePath(at, name), maxLeaseBytes)) as Partial<Lease>
      const isWhole =
        lease.run === name &&
        isAbsolute(String(lease.home)) &&
        [lease.home, lease.command].every((text) => typeof text === 'string') &&
        typeof lease.holder?.pid === 'number'
      return isWhole ? [lease as Lease] : []
    } catch {
      // Removed meanwhile by whoever saw that its run is over, or no lease of ours.
      return []
    }
  })
}

const leasePath = (at: Pick<RunWorkspace, 'commonDir' | 'key'>, run: string): string => join(repositoryFiles(at.commonDir).leases(at.key), run)
