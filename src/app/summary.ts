import { isFailing, type RunRecord } from '../core/run.ts'
import type { RunSummary } from './api.ts'

/** What a list says of a run. */
export function toSummary(record: RunRecord): RunSummary {
  const { id, state, outcome, durationMs, command, runtime, purpose, cwd, branch, target, workspace, startedAt, pinned } = record
  return {
    id,
    state,
    outcome,
    durationMs,
    command,
    runtime,
    purpose,
    cwd,
    branch,
    target: target ?? null,
    workspace: workspace ?? null,
    startedAt,
    pinned,
    failing: isFailing(record),
    outputBytes: record.stdout.bytes + record.stderr.bytes,
  }
}
