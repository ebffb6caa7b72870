import { type StreamName, streamNames } from '../core/command.ts'
import { logTotals, type RunRecord, type StreamTotals } from '../core/run.ts'
import { splitLines } from '../core/text.ts'
import { digestRun } from '../digest/digest.ts'
import type { LogStream } from '../digest/log.ts'
import { compare, type PastLog } from '../digest/past.ts'
import { readSections, sectionsOf, type TextSection } from '../engine/log-reader.ts'
import type { RunResult, StreamResult } from './api.ts'
import type { ActiveRun, AppContext, EndedRun } from './context.ts'
import { findPrevious, toComparison } from './previous.ts'
import type { RunFolder } from './run-folder.ts'
import { prepareText, textOf } from './screen-text.ts'

/** How much of each log a digest is made from. The middle of a long one is left out in any case, so little of it is read. */
const digestReadBytes = { whole: 8 * 1024 * 1024, ofLonger: 1024 * 1024 }

/** What the process that holds a run, or held it a moment ago, knows besides its record. */
type Held = Pick<ActiveRun, 'masker'> & Pick<EndedRun, 'unsaved'>

/** The bytes of a digest's text: whoever prints it ends it with a line feed, and that counts too. */
export function roomFor(context: AppContext, budget: number | undefined): number {
  return Math.max(0, (budget ?? context.settings.digestBudget) - 1)
}

export async function toResult(
  context: AppContext,
  record: RunRecord,
  budget: number | undefined,
  warnings: readonly string[] = [],
  held?: Held,
): Promise<RunResult> {
  await prepareText(context.records.folder(record.id), record)
  const past = await findPrevious(context, record, (folder, earlier) => digestStreams(folder, earlier, { masker: context.masking.forRun(folder) }))
  return toResultNow(context, record, budget, warnings, held, past)
}

/** The same at once: the text on a pseudo-terminal is as it was last asked for. */
export function toResultNow(
  context: AppContext,
  record: RunRecord,
  budget: number | undefined,
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
  const streams = digestStreams(folder, shown, known)
  const comparison = past.length === 0 ? undefined : compare(streams, past)
  return {
    id: record.id,
    state: record.state,
    outcome: record.outcome,
    durationMs: record.durationMs,
    stdout: toStream(folder, 'stdout', record.stdout),
    stderr: toStream(folder, 'stderr', record.stderr),
    digest: digestRun({ ...shown, limits: record.limits ?? null }, streams, { budget: roomFor(context, budget), comparison }),
    comparison: comparison ? toComparison(comparison) : null,
    leftovers,
    usage: record.usage ?? null,
    command: record.command,
    runtime: record.runtime,
    cwd: record.cwd,
    branch: record.branch,
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

function toStream(folder: RunFolder, stream: StreamName, totals: StreamTotals): StreamResult {
  return { ...totals, path: folder[stream] }
}

function digestStreams(folder: RunFolder, record: RunRecord, { masker, unsaved }: Held): LogStream[] {
  if (record.pty) return [terminalStream(folder, record, masker)]
  return streamNames.map((name) => {
    const totals = record[name]
    const known = logTotals(record, name)
    const sections = known?.bytes === 0 ? [] : [...readSections(folder[name], known, digestReadBytes), ...endOf(totals, unsaved?.[name])]
    return {
      name,
      sections: sections.map(({ firstLine, text }) => ({ firstLine, text: masker.mask(text) })),
      bytes: totals.bytes,
      lines: totals.lines,
      droppedBytes: totals.droppedBytes,
    }
  })
}

/** All that is printed on a pseudo-terminal is one stream. */
function terminalStream(folder: RunFolder, record: RunRecord, masker: Held['masker']): LogStream {
  const { bytes, droppedBytes } = record.stdout
  const { pieces, lines } = textOf(folder, record, 'stdout')
  const sections = sectionsOf(pieces, digestReadBytes).map(({ firstLine, text }) => ({ firstLine, text: masker.mask(text) }))
  return { name: 'stdout', onTerminal: true, sections, bytes, lines, droppedBytes }
}

/** The end of a stream that is not in its log, where what is missing reaches to that end. */
function endOf({ bytes, lines, gap }: StreamTotals, recent: Uint8Array | undefined): TextSection[] {
  if (!recent || !gap || gap.offset + gap.bytes < bytes) return []
  const text = Buffer.from(recent.subarray(Math.max(0, recent.length - gap.bytes))).toString('utf8')
  return [{ firstLine: lines - splitLines(text).length + 1, text }]
}
