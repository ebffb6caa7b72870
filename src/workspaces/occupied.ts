import { failure } from '../core/errors.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { listOccupants } from './occupants.ts'
import type { Releasing } from './release.ts'
import type { OwnTree } from './release-owned.ts'

/**
 * Sees to it that nothing works in the tree: commands of Holdfast are stopped where that was asked for, and otherwise refused, as is any
 * other process. Gives the runs that were stopped.
 */
export async function clearOfCommands({ context, request, call, report }: Releasing, record: WorkspaceRecord, own: OwnTree): Promise<readonly string[]> {
  const { commands } = context
  const running = await commands.running(record)
  if (running.length > 0 && !request.stop) {
    throw failure('workspace_busy', { workspace: record.id, commands: running.map(({ run, command }) => `${command} (run ${run})`) })
  }
  let stopped: readonly string[] = []
  if (running.length > 0) {
    call.onProgress?.(`stopping ${running.length === 1 ? 'a command' : `${running.length} commands`}`)
    stopped = await commands.stop(record)
    report.did('stopped', `stopped ${stopped.join(', ')}`)
    const left = await commands.running(record)
    if (left.length > 0) throw failure('workspace_busy', { workspace: record.id, commands: left.map(({ run, command }) => `${command} (run ${run})`) })
  }
  if (own.path !== undefined) for (const warning of requireNobodyIn(record.id, own.path, request.stop === true)) report.warn(warning)
  return stopped
}

/** Refuses while other processes work in a folder, or, where they may stay, says which. Whoever asked for this may stand in it. */
export function requireNobodyIn(workspace: string, path: string, mayStay: boolean): string[] {
  const occupants = listOccupants(path)
  const others = occupants.filter(({ isOurs }) => !isOurs)
  const words = others.map(({ pid, name }) => `${name} (process ${pid})`)
  if (words.length > 0 && !mayStay) throw failure('workspace_busy', { workspace, commands: words })
  // This process has done with it.
  return occupants.filter(({ pid }) => pid !== process.pid).map(({ pid, name }) => `${name} (process ${pid}) works in ${path}, which is gone now`)
}
