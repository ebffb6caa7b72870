import { monotonicMs } from '../core/monotonic.ts'
import type { WorkspaceAction, WorkspaceEvent } from '../core/workspace.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'

/** What an open call has to tell: for its answer, and for the history of the workspace. */
export interface Report {
  readonly actions: readonly WorkspaceAction[]
  readonly warnings: readonly string[]
  /** Something was done: it is an action and an event. */
  did(name: string, detail: string, facts?: WorkspaceEvent['facts']): void
  /** Actions that somebody else words. */
  add(actions: readonly WorkspaceAction[]): void
  /** An event alone. */
  note(name: string, facts?: WorkspaceEvent['facts']): void
  warn(text: string): void
}

export function createReport(
  { now }: Pick<WorkspaceContext, 'now'>,
  { commonDir, key, id }: { readonly commonDir: string; readonly key: string; readonly id: string },
): Report {
  const actions: WorkspaceAction[] = []
  const warnings: string[] = []
  let since = monotonicMs()
  const note: Report['note'] = (name, facts = {}) => {
    const durationMs = Math.round(monotonicMs() - since)
    since = monotonicMs()
    tell(commonDir, key, { at: now().toISOString(), workspace: id, name, durationMs, facts })
  }
  return {
    actions,
    warnings,
    note,
    did(name, detail, facts) {
      actions.push({ name, status: 'done', detail })
      note(name, facts)
    },
    add(more) {
      actions.push(...more)
      for (const { name, status, detail } of more) note(name, { status, detail })
    },
    warn(text) {
      if (!warnings.includes(text)) warnings.push(text)
    },
  }
}
