import type { Limits } from '../core/limits.ts'
import { formatDuration } from '../core/limits.ts'
import type { Outcome } from '../core/outcome.ts'
import type { RunRecord } from '../core/run.ts'
import { isFailing } from '../core/run.ts'
import { byteLength, oneLine, plural, tailBytes } from '../core/text.ts'
import { digestBody } from './body.ts'
import { atMark, briefOutcome } from './brief.ts'
import { comparisonLines } from './comparison-lines.ts'
import type { LogStream } from './log.ts'
import type { Comparison } from './past.ts'
import { shorten } from './shorten.ts'

export interface DigestOptions {
  /** Bytes of UTF-8, from 0. */
  readonly budget: number
  /** Whether the command failed; then the whole budget may go to the reasons. */
  readonly failed: boolean
  /** With earlier runs of the same command; what is new against the last one that passed is likelier to be the cause. */
  readonly comparison?: Comparison | undefined
}

/**
 * What a model needs of an output, in at most `budget` bytes: bytes and lines per stream, the lines that matter with
 * their numbers (`N | text`), and the last lines. An output that fits is shown whole. Plain text without control
 * characters besides line feed and tab, and without a line feed at its end.
 */
export function digestLog(streams: readonly LogStream[], options: DigestOptions): string {
  const lines = comparisonLines(options.comparison, { ...options, streams })
  const used = lines.reduce((sum, line) => sum + byteLength(line) + 1, 0)
  return [...lines, digestBody(streams, { ...options, budget: options.budget - used, spare: 0, brief: briefBytes }).text].join('\n')
}

/** What the head of a run's digest says. Its texts may come from anybody. */
export type RunFacts = Pick<
  RunRecord,
  'id' | 'state' | 'outcome' | 'durationMs' | 'cwd' | 'branch' | 'workspace' | 'command' | 'purpose' | 'leftovers' | 'error' | 'warnings'
> & {
  readonly limits: Pick<Limits, 'timeoutMs' | 'idleTimeoutMs'> | null
  /** Whether a place somewhere else holds it is all that matters of it. */
  readonly holder?: { readonly site?: unknown } | undefined
}

/**
 * One block about a run for a model, in at most `budget` bytes: outcome, duration, cwd with branch and workspace, run id; the command
 * and its purpose; what else to know; then the digest of its output. The outcome comes first and, with the run id, is
 * the last to be cut.
 */
export function digestRun(run: RunFacts, streams: readonly LogStream[], options: Omit<DigestOptions, 'failed'>): string {
  const { budget, comparison } = options
  const first = firstLine(run, budget)
  const failed = isFailing(run)
  const lines = [first, ...facts(run, budget, budget * 0.45 - byteLength(first))]
  lines.push(...comparisonLines(comparison, { budget, room: budget - byteLength(lines.join('\n')) - 1, failed, streams }))
  const used = byteLength(lines.join('\n'))
  // A command that never ran has printed nothing; the reason says so already.
  if (run.state === 'failed' && streams.every((stream) => stream.bytes === 0)) return atMark(lines.join('\n'), budget)
  const room = budget - used - 1
  if (room < minBodyBytes) return atMark(lines.join('\n'), budget)
  const brief = Math.max(leastBriefBytes, briefBytes - used - briefHintBytes)
  const body = digestBody(streams, { budget: room, failed, comparison, spare: room > 3 * maxHintBytes ? maxHintBytes : 0, brief })
  lines.push(body.text)
  if (body.more) {
    const { stream, from, to } = body.more
    const hint = `more: holdfast output ${oneLine(run.id)}${stream === 'stderr' ? ' --stream stderr' : ''} --lines ${from}-${to}`
    if (byteLength(lines.join('\n')) + byteLength(hint) + 1 <= budget) lines.push(hint)
  }
  return atMark(lines.join('\n'), budget)
}

/** What passed is told in so many bytes, head and all, whatever the budget is. */
const briefBytes = 400
/** Room for a total, a warning and a last line, however long the head is. */
const leastBriefBytes = 200
/** Room for "no output", or for one total. */
const minBodyBytes = 10
const maxHintBytes = 96
/** That of a short log. */
const briefHintBytes = 72

/** What says how a run ended. Only a clean end with exit code 0 reads like a success. */
export function outcomeWords(run: Pick<RunFacts, 'state' | 'outcome' | 'durationMs' | 'error' | 'limits' | 'holder'>): string {
  switch (run.state) {
    case 'running':
      return run.durationMs === null ? 'still running' : `still running after ${formatDuration(run.durationMs)}`
    case 'failed':
      return `failed to start: ${oneLine(run.error?.message ?? 'no reason is known')}`
    case 'interrupted':
      return `interrupted: ${run.holder?.site === undefined ? 'the process that held this run died' : 'the place that held this run is gone, or what held it there'}; the output so far is kept, and how the command ended is unknown`
    case 'ended':
      return run.outcome ? endWords(run.outcome, run) : 'ended, how is unknown (failed)'
  }
}

function endWords(outcome: Outcome, { limits, durationMs }: Pick<RunFacts, 'limits' | 'durationMs'>): string {
  const bySignal = outcome.signal === null ? '' : `, ended by ${oneLine(outcome.signal)}`
  switch (outcome.kind) {
    case 'exited':
      return outcome.exitCode === 0 ? 'exit 0' : outcome.exitCode === null ? 'exit code unknown (failed)' : `exit ${outcome.exitCode} (failed)`
    case 'signaled':
      return `ended by ${oneLine(outcome.signal ?? 'a signal')}${outcome.exitCode === null ? '' : ` (exit ${outcome.exitCode})`}`
    case 'timed_out': {
      const idle = outcome.limit === 'idle'
      const afterMs = idle ? durationMs : (limits?.timeoutMs ?? durationMs)
      const silence = limits?.idleTimeoutMs ? `no output for ${formatDuration(limits.idleTimeoutMs)}` : 'no output'
      return `timed out${afterMs === null ? '' : ` after ${formatDuration(afterMs)}`}${idle ? ` (${silence})` : ''}${bySignal}`
    }
    case 'canceled':
      return `canceled${bySignal}`
    case 'lost':
      return 'lost contact with the command; it may still run'
  }
}

const saysDuration = (run: RunFacts): boolean => run.state === 'running' || run.state === 'failed' || run.outcome?.kind === 'timed_out'

/** Outcome; duration; cwd (branch, workspace); run id. The place gives way first, from its beginning; then the words of the outcome, from their end. */
function firstLine(run: RunFacts, budget: number): string {
  const words = outcomeWords(run)
  const duration = run.durationMs === null || saysDuration(run) ? '' : `; ${formatDuration(run.durationMs)}`
  const id = `; run ${oneLine(run.id)}`
  const tree = [
    ...(run.branch === null ? [] : [`branch ${shorten(oneLine(run.branch), 80)}`]),
    ...(run.workspace ? [`workspace ${shorten(oneLine(run.workspace), 16)}`] : []),
  ]
  const branch = tree.length === 0 ? '' : ` (${tree.join(', ')})`
  const cwd = oneLine(run.cwd)
  const most = Math.max(Math.floor(budget * 0.6), budget - byteLength(id) - byteLength(duration) - 100)
  const outcome = run.state === 'failed' ? shorten(words, most) : briefOutcome(words, most)
  const room = Math.min(240, Math.max(32, Math.floor(budget / 5)), budget - byteLength(outcome + duration + branch + id) - 2)
  const place = byteLength(cwd) <= room ? cwd : room >= 16 ? `...${tailBytes(cwd, room - 3)}` : ''
  const full = `${outcome}${duration}${place === '' ? '' : `; ${place}${branch}`}${id}`
  if (byteLength(full) <= budget) return full
  const brief = `${briefOutcome(words, budget - byteLength(id))}${id}`
  return byteLength(brief) <= budget && budget > byteLength(id) + 16 ? brief : briefOutcome(words, budget)
}

/** What a run has to say besides, each on a line of its own, in at most `room` bytes. */
function facts(run: RunFacts, budget: number, room: number): string[] {
  const most = Math.max(48, Math.min(400, Math.floor(budget / 8)))
  const leftovers = run.leftovers.map(({ pid, name }) => `${pid} (${oneLine(name)})`).join(', ')
  const warnings = run.warnings.slice(0, maxWarnings).map((warning) => `warning: ${oneLine(warning)}`)
  if (run.warnings.length > maxWarnings) warnings.push(`${plural(run.warnings.length - maxWarnings, 'more warning')}`)
  const wanted = [
    `$ ${oneLine(run.command)}`,
    run.purpose === null || run.purpose.trim() === '' ? '' : `purpose: ${oneLine(run.purpose)}`,
    leftovers === '' ? '' : `still running, left behind by the command: ${leftovers}`,
    ...warnings,
  ]
  const lines: string[] = []
  let left = room
  for (const text of wanted) {
    const line = shorten(text, Math.min(most, Math.floor(left) - 1))
    if (line === '' || (line.length < text.length && byteLength(line) < 24)) continue
    lines.push(line)
    left -= byteLength(line) + 1
  }
  return lines
}

const maxWarnings = 3
