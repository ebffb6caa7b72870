import { streamNames } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { toOutcome } from '../core/outcome.ts'
import type { RunRecord, StreamTotals } from '../core/run.ts'
import type { RunStatus, SupervisedRun } from '../core/supervised.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { bounded, totalsNow } from '../engine/contact.ts'
import { measureLog } from '../engine/log-reader.ts'
import type { AppContext } from './context.ts'
import { holderLives, isFar, placeOfRun } from './far.ts'
import { orphanGraceMs } from './hold-supervised.ts'
import { withProgress } from './holding.ts'
import type { Places } from './places.ts'
import { readRecord, withEnd } from './run-folder.ts'

/**
 * Runs that this process did not begin, or let go of. One that a supervisor holds is asked about there; of the others their end is
 * seen in their record, and their death in the process table.
 */
export interface HeldRuns {
  readonly context: AppContext
  readonly places: Places
}

export const pollMs = 100
/** How often a held run is checked for a holder that died. */
export const aliveCheckMs = 1_000
/** A supervisor that lives and does not know a run writes its end record within this time, or never. */
export const recordMs = 3_000
/** How long a site may take to be reached for somebody who waits for less, or more. */
const leastMs = 3_000
const mostMs = 45_000

/** Waits until the run is over, at most `waitMs`. Resolves to the record as it is then. */
export async function awaitEnd(held: HeldRuns, record: RunRecord, waitMs: number | undefined, signal: AbortSignal | undefined): Promise<RunRecord> {
  const clock = systemClock
  const deadline = clock.now() + (waitMs ?? Number.POSITIVE_INFINITY)
  let current = record
  let checkAt = 0
  for (let wait = 20; current.state === 'running'; wait = Math.min(wait * 1.5, pollMs)) {
    if (clock.now() >= checkAt) {
      checkAt = clock.now() + aliveCheckMs
      current = await settleAbandoned(held, current, boundOf(deadline - clock.now()))
      if (current.state !== 'running') break
    }
    const left = deadline - clock.now()
    if (left <= 0 || signal?.aborted) break
    if (current.holder.socket !== undefined) {
      const seen = await awaitSupervised(held, current, left, signal)
      if (seen) {
        current = seen
        continue
      }
    }
    await pause(clock, Math.min(wait, left), signal)
    current = readRecord(held.context.records.folder(record.id), record.id) ?? current
  }
  return current
}

/** Whoever waits for a time gets a site that long to answer, and a moment; undefined: the usual time. */
const boundOf = (ms: number): number | undefined => (Number.isFinite(ms) ? Math.min(Math.max(ms, leastMs), mostMs) : undefined)

/** Waits by its supervisor's word. Undefined where that cannot be had: then there is no knowing but to look again. */
async function awaitSupervised(held: HeldRuns, record: RunRecord, ms: number, signal: AbortSignal | undefined): Promise<RunRecord | undefined> {
  const run = await held.places.attach(record, { kind: 'nothing' }, boundOf(ms))
  if (run === 'unreachable') return undefined
  if (!run) return lookLong(held, record, ms, signal)
  try {
    const end = await endWithin(run, ms, signal)
    return end ? told(held, record, end) : record
  } catch {
    return undefined
  } finally {
    run.release()
  }
}

/** The supervisor does not hold it: its record comes within a moment, or it never began, or the supervisor died. */
async function lookLong(held: HeldRuns, record: RunRecord, ms: number, signal: AbortSignal | undefined): Promise<RunRecord> {
  const deadline = systemClock.now() + Math.min(ms, recordMs)
  let current = await settleAbandoned(held, record)
  while (current.state === 'running' && systemClock.now() < deadline && !signal?.aborted) {
    await pause(systemClock, 20, signal)
    current = await settleAbandoned(held, record)
  }
  return current.state === 'running' && ms > recordMs && !signal?.aborted ? interrupt(held, current) : current
}

/** The end record, or undefined after `ms` or when the signal aborts. Rejects where contact is lost. */
export async function endWithin(run: SupervisedRun, ms: number, signal: AbortSignal | undefined): Promise<EndRecord | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([run.ended, pause(systemClock, ms, signal, over.signal).then(() => undefined)])
  } finally {
    over.abort()
  }
}

/** The record of a run whose supervisor said that it is over. */
export async function told(held: HeldRuns, record: RunRecord, end: EndRecord): Promise<RunRecord> {
  const { records } = held.context
  const written = readRecord(records.folder(record.id), record.id) ?? record
  // The end could not be written into the folder, so that it stands in the record alone.
  if (written.state === 'running') await records.replace(withEnd(written, end))
  else await records.finish(written)
  return written.state === 'running' ? withEnd(written, end) : written
}

/**
 * A run whose end nobody of us saw gets it from its folder. One whose holder died is interrupted: what it printed so far is measured,
 * and what of it still lives is named; where that was a supervisor, it is ended first, since nobody reads its output any more. Other
 * records come back as they are.
 */
export async function settleAbandoned(held: HeldRuns, record: RunRecord, withinMs?: number): Promise<RunRecord> {
  const { machine, records } = held.context
  if (record.state !== 'running') return record
  if (record.holder.site !== undefined) return settleFar(held, record, withinMs)
  if (record.holder.socket === undefined && machine.isAlive(record.holder)) return record
  // The holder may have written the end just before it died.
  const latest = readRecord(records.folder(record.id), record.id) ?? record
  if (latest.state !== 'running') {
    await records.finish(latest)
    return latest
  }
  if (machine.isAlive(latest.holder) && !(await neverBegan(held, latest))) return latest
  return interrupt(held, latest)
}

/** A run that is somewhere else: its site alone knows, and what is gone there for good is interrupted. */
async function settleFar(held: HeldRuns, record: RunRecord, withinMs: number | undefined): Promise<RunRecord> {
  const { machine, records } = held.context
  const before = readRecord(records.folder(record.id), record.id) ?? record
  const run = before.state === 'running' ? await held.places.attach(before, { kind: 'nothing' }, withinMs) : undefined
  if (run === 'unreachable') return { ...before, warnings: [...before.warnings, unreachable(before)] }
  if (run) {
    run.release()
    return before
  }
  // The end was brought here meanwhile, if there is one.
  const latest = before.state === 'running' ? (readRecord(records.folder(record.id), record.id) ?? before) : before
  if (latest.state !== 'running') {
    await records.finish(latest)
    return latest
  }
  const { starter } = latest.holder
  const isStarting = !latest.process && starter !== undefined && machine.isAlive(starter)
  return isStarting ? latest : interrupt(held, latest)
}

export const unreachable = (record: RunRecord): string => `${placeOfRun(record)} cannot be reached now; the run may go on there`

/** Whoever wanted it died before the supervisor was asked. */
async function neverBegan({ context, places }: HeldRuns, record: RunRecord): Promise<boolean> {
  const { starter } = record.holder
  return !record.process && starter !== undefined && !context.machine.isAlive(starter) && !(await places.mayHold(record))
}

async function interrupt({ context, places }: HeldRuns, record: RunRecord): Promise<RunRecord> {
  const { machine, records } = context
  const folder = records.folder(record.id)
  const why =
    places.whyGone(record) ??
    (isFar(record) && record.holder.site === undefined ? `who held it died; what it started at ${placeOfRun(record)} may still run` : undefined)
  const isOrphaned = record.holder.socket !== undefined && !holderLives(machine, record.holder)
  const leftovers = isFar(record)
    ? []
    : await (isOrphaned ? machine.endTree(record.id, record.process, 'SIGTERM', orphanGraceMs) : machine.findTree(record.id, record.process))
  const interrupted: RunRecord = {
    ...record,
    state: 'interrupted',
    outcome: toOutcome(undefined, undefined),
    stdout: measureLog(folder.stdout),
    stderr: measureLog(folder.stderr),
    leftovers,
    warnings: why === undefined || record.warnings.includes(why) ? record.warnings : [...record.warnings, why],
  }
  await records.replace(interrupted)
  return interrupted
}

/** A run that goes on: its logs are ahead of its record. Other records come back as they are. */
export async function measured(held: HeldRuns, record: RunRecord): Promise<RunRecord> {
  if (record.state !== 'running') return record
  const folder = held.context.records.folder(record.id)
  const status = record.holder.site === undefined ? await statusOf(held, record) : await caughtUp(held, record)
  const silent = !status && record.holder.site !== undefined && !record.warnings.includes(unreachable(record))
  const warnings = silent ? [...record.warnings, unreachable(record)] : record.warnings
  if (!status) return { ...record, warnings, stdout: measureLog(folder.stdout), stderr: measureLog(folder.stderr) }
  const [stdout, stderr] = streamNames.map((stream) => totalsNow(folder[stream], status[stream])) as [StreamTotals, StreamTotals]
  return withProgress(record, { elapsedMs: status.elapsedMs, stdout, stderr })
}

async function statusOf(held: HeldRuns, record: RunRecord): Promise<RunStatus | undefined> {
  const run = await held.places.attach(record, { kind: 'nothing' })
  if (run === undefined || run === 'unreachable') return undefined
  const status = await bounded(run.status(), systemClock)
  run.release()
  return status
}

/** How long a log that is somewhere else may stand still before what is here counts as all that can be had now. */
const stillMs = 1_000
const catchUpMs = 20_000

/** Brings what a run somewhere else has printed by now into its logs here; undefined where that cannot be had. */
export async function caughtUp(held: HeldRuns, record: RunRecord, withinMs?: number): Promise<RunStatus | undefined> {
  const run = await held.places.attach(record, { kind: 'nothing' }, withinMs)
  if (run === undefined || run === 'unreachable') return undefined
  try {
    const status = await bounded(run.status(), systemClock)
    if (!status) return undefined
    const folder = held.context.records.folder(record.id)
    const deadline = systemClock.now() + (withinMs ?? catchUpMs)
    let before = -1
    let movedAt = systemClock.now()
    for (;;) {
      const here = streamNames.map((stream) => measureLog(folder[stream]).bytes)
      if (streamNames.every((stream, i) => (here[i] ?? 0) >= status[stream].bytes)) return status
      const now = systemClock.now()
      const sum = here.reduce((all, bytes) => all + bytes, 0)
      if (sum !== before) movedAt = now
      before = sum
      if (now > deadline || now - movedAt > stillMs) return status
      await pause(systemClock, 10)
    }
  } finally {
    run.release()
  }
}
