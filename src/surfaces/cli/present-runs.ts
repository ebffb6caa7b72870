import type { RunSummary, RunsResult, SearchInput, SearchResult } from '../../app/api.ts'
import { formatDuration } from '../../core/limits.ts'
import type { Outcome, OutcomeKind } from '../../core/outcome.ts'
import { excerpt, parseQuery } from '../../core/query.ts'
import { formatCount } from '../../core/text.ts'
import { clip, table, widthOf } from './width.ts'

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
    `${run.pinned ? '(pinned) ' : ''}${run.command}${run.purpose === null ? '' : `  # ${run.purpose}`}`,
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

type Asked = Pick<SearchInput, 'query' | 'regex'>

/** The hits, grouped by run. */
export function presentSearch(result: SearchResult, at: At, asked: Asked): string {
  if (result.hits.length === 0) return 'Nothing found.'
  const groups = new Map<string, SearchResult['hits'][number][]>()
  for (const hit of result.hits) {
    const group = groups.get(hit.run)
    if (group) group.push(hit)
    else groups.set(hit.run, [hit])
  }
  const shorten = shortenerFor(asked)
  const roomBeside = (head: string): number => Math.max(10, at.columns - widthOf(head))
  const hitLine = (hit: SearchResult['hits'][number]): string => {
    const head = `  ${hit.ref}  ${hit.line === null ? `${hit.stream}: ` : ''}`
    const whole = clip(hit.text, Number.POSITIVE_INFINITY)
    const room = roomBeside(head)
    return `${head}${shorten && widthOf(whole) > room ? clip(shorten(whole, room), room) : whole}`
  }
  const blocks = [...groups].map(([run, hits]) => {
    const head = `${run}  ${hits[0]?.failing ? '(failing) ' : ''}`
    return [`${head}${clip(hits[0]?.command ?? '', roomBeside(head))}`, ...hits.map(hitLine)].join('\n')
  })
  return blocks.join('\n\n') + (result.more ? '\n\n(there may be more; --limit N shows them)' : '')
}

/**
 * Shortens a line to what was found in it, so that it is seen also where the line is longer than the terminal is wide.
 * Undefined for a regular expression: to try it once more, on a part of the line, could take forever.
 */
function shortenerFor({ query, regex }: Asked): ((text: string, columns: number) => string) | undefined {
  if (regex) return undefined
  const parsed = parseQuery(query)
  return (text, columns) => excerpt(parsed, text, columns)
}
