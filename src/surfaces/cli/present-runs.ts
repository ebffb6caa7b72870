import type { RunSummary, RunsResult } from '../../app/api.ts'
import { formatDuration } from '../../core/limits.ts'
import type { Outcome, OutcomeKind } from '../../core/outcome.ts'
import { formatCount } from '../../core/text.ts'
import { table } from './width.ts'

interface At {
  readonly columns: number
  readonly nowMs: number
}

/** The runs as a table that fits. */
export function presentRuns(result: RunsResult, at: At): string {
  if (result.runs.length === 0) return result.total === 0 ? 'No runs yet.' : `None of ${formatCount(result.total)} runs matches.`
  const rows = result.runs.map((run) => [
    run.id,
    endingOf(run),
    run.durationMs === null ? '-' : formatDuration(run.durationMs),
    agoOf(Date.parse(run.startedAt), at.nowMs),
    `${run.pinned ? '(pinned) ' : ''}${run.workspace === null ? '' : `(in ${run.branch ?? run.workspace}) `}${run.command}${run.purpose === null ? '' : `  # ${run.purpose}`}`,
  ])
  const shown = table([['RUN', 'ENDED', 'TOOK', 'STARTED', 'COMMAND'], ...rows], at.columns)
  return result.total > result.runs.length ? `${shown}\n(${formatCount(result.runs.length)} of ${formatCount(result.total)} runs)` : shown
}

const endings = {
  exited: (outcome) => (outcome.exitCode === 0 ? 'ok' : `exit ${outcome.exitCode ?? '?'}`),
  signaled: (outcome) => outcome.signal ?? 'signal',
  timed_out: (outcome) => (outcome.limit === 'idle' ? 'idle limit' : 'timed out'),
  canceled: () => 'canceled',
  lost: () => 'lost',
} satisfies Record<OutcomeKind, (outcome: Outcome) => string>

/** How a run ended, in a word or two. */
export function endingOf(run: Pick<RunSummary, 'state' | 'outcome'>): string {
  if (run.state !== 'ended' || !run.outcome) return run.state === 'failed' ? 'not started' : run.state
  return endings[run.outcome.kind](run.outcome)
}

/** How long ago, in one unit. A clock that was set back must not show a time to come. */
export function agoOf(thenMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - thenMs) / 1000))
  if (Number.isNaN(seconds)) return '-'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}
