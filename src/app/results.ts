import type { StreamName } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import type { RunRecord, StreamTotals } from '../core/run.ts'
import { digestRun } from '../digest/digest.ts'
import { compare, type PastLog } from '../digest/past.ts'
import { fitInto, type Room } from '../digest/within.ts'
import type { DigestSize, RunResult, StreamResult } from './api.ts'
import type { AppContext } from './context.ts'
import { type Held, logStreams } from './log-streams.ts'
import { findPrevious, toComparison } from './previous.ts'
import type { RunFolder } from './run-folder.ts'
import { prepareText, textOf } from './screen-text.ts'

/** What a digest's text may take: whoever prints it ends it with a line feed, and that counts too. */
export function roomFor(context: AppContext, { budget, tokens }: DigestSize): Room {
  if (tokens !== undefined) return { tokens: Math.max(0, tokens - 1) }
  return { bytes: Math.max(0, (budget ?? context.settings.digestBudget) - 1) }
}

/** Throws `invalid` where what a digest may take is no number, or two. */
export function checkSize({ budget, tokens }: DigestSize): void {
  for (const [field, value] of Object.entries({ budget, tokens })) {
    if (value === undefined || (Number.isInteger(value) && value >= 0)) continue
    throw failure('invalid', { field, value, accepted: `a whole number of ${field === 'budget' ? 'bytes' : 'tokens'}` })
  }
  if (budget !== undefined && tokens !== undefined) {
    throw failure('invalid', { field: 'tokens', value: tokens, accepted: 'a number of tokens or a budget of bytes, not both' })
  }
}

export async function toResult(context: AppContext, record: RunRecord, size: DigestSize, warnings: readonly string[] = [], held?: Held): Promise<RunResult> {
  await prepareText(context.records.folder(record.id), record)
  const past = await findPrevious(context, record, (folder, earlier) => logStreams(folder, earlier, { masker: context.masking.forRun(folder) }))
  return toResultNow(context, record, size, warnings, held, past)
}

/** The same at once: the text on a pseudo-terminal is as it was last asked for. */
export function toResultNow(
  context: AppContext,
  record: RunRecord,
  size: DigestSize,
  warnings: readonly string[] = [],
  held?: Held,
  past: readonly PastLog[] = [],
): RunResult {
  const folder = context.records.folder(record.id)
  const note = record.pty ? textOf(folder, record, 'stdout').note : null
  const known = held ?? { masker: context.masking.forRun(folder) }
  // An end record of the supervisor names processes as they are.
  const leftovers = record.leftovers.map(({ pid, name }) => ({ pid, name: known.masker.mask(name) }))
  const shown = { ...record, leftovers, warnings: [...record.warnings, ...warnings, ...(note === null ? [] : [note])] }
  const streams = logStreams(folder, shown, known)
  const comparison = past.length === 0 ? undefined : compare(streams, past)
  return {
    id: record.id,
    state: record.state,
    outcome: record.outcome,
    durationMs: record.durationMs,
    stdout: toStream(folder, 'stdout', record.stdout),
    stderr: toStream(folder, 'stderr', record.stderr),
    digest: fitInto(roomFor(context, size), (budget) =>
      digestRun({ ...shown, cwd: whereOf(record), limits: record.limits ?? null }, streams, { budget, comparison }),
    ),
    comparison: comparison ? toComparison(comparison) : null,
    leftovers,
    usage: record.usage ?? null,
    command: record.command,
    runtime: record.runtime,
    cwd: record.cwd,
    branch: record.branch,
    target: record.target ?? null,
    workspace: record.workspace ?? null,
    purpose: record.purpose,
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    pinned: record.pinned,
    pty: record.pty ?? null,
    error: record.error,
    warnings: shown.warnings,
  }
}

/** At a target its name stands before the working directory, which is there. */
const whereOf = ({ target, cwd }: RunRecord): string => (target ? `${target.backend} ${target.name}: ${cwd}` : cwd)

function toStream(folder: RunFolder, stream: StreamName, totals: StreamTotals): StreamResult {
  return { ...totals, path: folder[stream] }
}
