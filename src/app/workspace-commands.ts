import { failure } from '../core/errors.ts'
import { outcomeWords } from '../digest/digest.ts'
import type { WorkspaceCommands } from '../workspaces/context.ts'
import type { ExecCall, ExecInput, RunResult } from './api.ts'
import type { AppContext } from './context.ts'
import type { Within } from './execution.ts'
import type { Home } from './home.ts'
import { type Lease, type LeasedRun, runningIn } from './leases.ts'
import type { Places } from './places.ts'
import type { Records } from './records.ts'
import { placeOf } from './run-workspace.ts'
import { stopEnded, stopForeign } from './stopping.ts'

/** What the app does with runs, for those who know workspaces. */
export interface RunUseCases {
  execWithin(input: ExecInput, call: ExecCall, within: Within | undefined): Promise<RunResult>
  stop(run: string): Promise<RunResult>
  readonly places: Places
}

/** A setup installs what a project needs, which takes longer than most commands; the ceiling of the configuration holds all the same. */
const setupTimeoutMs = 60 * 60_000

/** The commands that run in workspaces, whichever home keeps them. Close it when done. */
export function createWorkspaceCommands(context: AppContext, runs: RunUseCases): WorkspaceCommands & { close(): Promise<void> } {
  const others = new Map<string, { readonly home: Home; readonly records: Records }>()

  function keptIn(home: string): { readonly home: Home; readonly records: Records } {
    if (home === context.home.path) return context
    const known = others.get(home) ?? context.workspaces.openHome(home)
    others.set(home, known)
    return known
  }

  const folderOf = ({ home, run }: Lease) => keptIn(home).records.folder(run)

  /** Ends one, with what it left behind. */
  async function end({ lease, record }: LeasedRun): Promise<void> {
    const kept = keptIn(lease.home)
    if (kept === context) return void (await runs.stop(lease.run))
    if (!record) return
    const held = { context: { ...context, ...kept }, places: runs.places }
    if (record.state === 'running') await stopForeign(held, record, 'SIGTERM', {})
    else await stopEnded(held, record, 'SIGTERM')
  }

  return {
    async running(record) {
      const found = await runningIn(record, context.machine, folderOf)
      return found.map(({ lease }) => ({ run: lease.run, command: lease.command }))
    },
    async stop(record) {
      const found = await runningIn(record, context.machine, folderOf)
      // One that ends by itself meanwhile is what was wanted; one that goes on is seen below.
      const failed = (await Promise.allSettled(found.map(end))).flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
      const left = await runningIn(record, context.machine, folderOf)
      if (left.length > 0) {
        const commands = left.map(({ lease }) => `${lease.command} (run ${lease.run})`)
        throw failure('workspace_busy', { workspace: record.id, commands }, failed[0])
      }
      return found.map(({ lease }) => lease.run)
    },
    async setup(record, script, { onBegin, signal }) {
      const { maxTimeoutMs } = context.settings.limits
      const run = await runs.execWithin(
        { script, purpose: `setup of workspace ${record.id}`, timeoutMs: Math.min(setupTimeoutMs, maxTimeoutMs), leftovers: 'kill' },
        { onBegin: ({ id }) => onBegin(id), signal },
        { workspace: { ...placeOf(record), record } },
      )
      const isDone = run.state === 'ended' && run.outcome?.kind === 'exited' && run.outcome.exitCode === 0
      return { run: run.id, ok: isDone, ended: outcomeWords({ ...run, limits: null }).replace(' (failed)', '') }
    },
    async close() {
      await Promise.all([...others.values()].map(({ records }) => records.close()))
    },
  }
}
