import { writeFileSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import type { StreamName } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { Listening, SupervisedRun } from '../core/supervised.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { measureLog, readChunks } from '../engine/log-reader.ts'
import type { Call, LiveOutput, StopSignal } from './api.ts'
import type { AppContext } from './context.ts'
import { orphanGraceMs } from './hold-supervised.ts'
import { attachTo, type Places } from './places.ts'
import { piecesOf } from './reading.ts'
import { readRecord, withEnd } from './run-folder.ts'

/**
 * Runs that this process did not begin, or let go of. One that a supervisor holds is asked about there; of the others their end is
 * seen in their record, and their death in the process table.
 */
export interface HeldRuns {
  readonly context: AppContext
  readonly places: Places
}

const pollMs = 100
/** How often a held run is checked for a holder that died. */
const aliveCheckMs = 1_000
/** A supervisor that lives and does not know a run writes its end record within this time, or never. */
const recordMs = 3_000
/** How often somebody who follows output hears that there is more. */
const followEveryMs = 50

/** Waits until the run is over, at most `waitMs`. Resolves to the record as it is then. */
export async function awaitEnd(held: HeldRuns, record: RunRecord, waitMs: number | undefined, signal: AbortSignal | undefined): Promise<RunRecord> {
  const clock = systemClock
  const deadline = clock.now() + (waitMs ?? Number.POSITIVE_INFINITY)
  let current = record
  let checkAt = 0
  for (let wait = 20; current.state === 'running'; wait = Math.min(wait * 1.5, pollMs)) {
    if (clock.now() >= checkAt) {
      checkAt = clock.now() + aliveCheckMs
      current = await settleAbandoned(held, current)
      if (current.state !== 'running') break
    }
    const left = deadline - clock.now()
    if (left <= 0 || signal?.aborted) break
    if (current.holder.socket !== undefined) {
      const seen = await awaitSupervised(held, current, left, signal)
      if (seen) current = seen
      if (seen) continue
    }
    await pause(clock, Math.min(wait, left), signal)
    current = readRecord(held.context.records.folder(record.id), record.id) ?? current
  }
  return current
}

/** Waits by its supervisor's word. Undefined where that cannot be had: then there is no knowing but to look again. */
async function awaitSupervised(held: HeldRuns, record: RunRecord, ms: number, signal: AbortSignal | undefined): Promise<RunRecord | undefined> {
  const run = await attachTo(held.places, record, { kind: 'nothing' })
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
async function endWithin(run: SupervisedRun, ms: number, signal: AbortSignal | undefined): Promise<EndRecord | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([run.ended, pause(systemClock, ms, signal, over.signal).then(() => undefined)])
  } finally {
    over.abort()
  }
}

/** The record of a run whose supervisor said that it is over. */
async function told(held: HeldRuns, record: RunRecord, end: EndRecord): Promise<RunRecord> {
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
export async function settleAbandoned(held: HeldRuns, record: RunRecord): Promise<RunRecord> {
  const { machine, records } = held.context
  if (record.state !== 'running') return record
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

/** Whoever wanted it died before the supervisor was asked. */
async function neverBegan({ context, places }: HeldRuns, record: RunRecord): Promise<boolean> {
  const { starter } = record.holder
  if (record.process || !starter || context.machine.isAlive(starter)) return false
  const run = await attachTo(places, record, { kind: 'nothing' })
  if (run === 'unreachable') return false
  run?.release()
  return run === undefined
}

async function interrupt({ context }: HeldRuns, record: RunRecord): Promise<RunRecord> {
  const { machine, records } = context
  const folder = records.folder(record.id)
  const isOrphaned = record.holder.socket !== undefined && !machine.isAlive(record.holder)
  const leftovers = await (isOrphaned ? machine.endTree(record.id, record.process, 'SIGTERM', orphanGraceMs) : machine.findTree(record.id, record.process))
  const interrupted: RunRecord = {
    ...record,
    state: 'interrupted',
    outcome: { kind: 'lost', exitCode: null, signal: null, limit: null },
    stdout: measureLog(folder.stdout),
    stderr: measureLog(folder.stderr),
    leftovers,
  }
  await records.replace(interrupted)
  return interrupted
}

/** Asks the holder of a run to end it; where that holder is dead or deaf, ends the processes of the run directly. */
export async function stopForeign(held: HeldRuns, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  const { context } = held
  const { graceMs } = context.settings.limits
  const first = await settleAbandoned(held, record)
  if (first.state === 'running') {
    const ended = await (first.holder.socket === undefined ? stopPlain(held, first, signal, call) : stopSupervised(held, first, signal, call))
    if (ended.state !== 'running') return endLeftovers(held, ended, signal)
  }
  const left = await context.machine.endTree(record.id, first.process, signal, graceMs)
  const after = await awaitEnd(held, first, 2_000, call.signal)
  const settled = { ...after, leftovers: left }
  if (after.state !== 'running') await context.records.replace(settled)
  return settled
}

function stopPlain(held: HeldRuns, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  writeFileSync(held.context.records.folder(record.id).stop, `${signal}\n`, { mode: 0o600 })
  return awaitEnd(held, record, held.context.settings.limits.graceMs + 6_000, call.signal)
}

/** The supervisor goes by the grace of the run, which nobody else knows, and ends it for certain. */
async function stopSupervised(held: HeldRuns, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  const run = await attachTo(held.places, record, { kind: 'nothing' })
  if (run === undefined || run === 'unreachable') return awaitEnd(held, record, recordMs, call.signal)
  try {
    run.stop({ signal }).catch(() => {})
    for (;;) {
      const end = await endWithin(run, 5_000, call.signal)
      if (end) return await told(held, record, end)
      if (call.signal?.aborted || !(await answers(run))) return record
    }
  } catch {
    return awaitEnd(held, record, recordMs, call.signal)
  } finally {
    run.release()
  }
}

async function answers(run: SupervisedRun): Promise<boolean> {
  const over = new AbortController()
  try {
    return await Promise.race([run.status().then(() => true), pause(systemClock, 5_000, over.signal).then(() => false)])
  } finally {
    over.abort()
  }
}

async function endLeftovers({ context }: HeldRuns, record: RunRecord, signal: StopSignal): Promise<RunRecord> {
  if (record.leftovers.length === 0) return record
  const left = await context.machine.endTree(record.id, record.process, signal, context.settings.limits.graceMs)
  const settled = { ...record, leftovers: left }
  await context.records.replace(settled)
  return settled
}

/** `stop` of a run that is over: ends what it left behind, and refuses where nothing is left. */
export async function stopEnded(held: HeldRuns, record: RunRecord, signal: StopSignal): Promise<RunRecord> {
  const alive = await held.context.machine.findTree(record.id, record.process)
  if (alive.length === 0) throw failure('run_ended', { run: record.id })
  return endLeftovers(held, { ...record, leftovers: alive }, signal)
}

/** Hands over what the logs of a run hold, and what comes, until the run is over. */
export async function followLogs(
  held: HeldRuns,
  record: RunRecord,
  streams: readonly StreamName[],
  call: Call & { onOutput(chunk: LiveOutput): void },
): Promise<void> {
  const readers = streams.map((stream) => ({ stream, offset: 0, decoder: new StringDecoder('utf8') }))
  const news = await listenForNews(held, record)
  let current = record
  try {
    for (;;) {
      const heard = news?.next()
      // The record is read first: what the logs hold after an end is all there will be.
      current = await awaitEnd(held, current, 0, call.signal)
      for (const reader of readers) {
        for (const piece of piecesOf(held.context, current, reader.stream)) {
          const from = Math.max(0, reader.offset - piece.offset)
          for (const chunk of readChunks(piece, from)) {
            const bytes = Uint8Array.from(chunk)
            call.onOutput({ stream: reader.stream, bytes, text: reader.decoder.write(chunk) })
          }
          reader.offset = Math.max(reader.offset, piece.offset + piece.length)
        }
      }
      if (current.state !== 'running' || call.signal?.aborted) return
      if (heard) await Promise.race([heard, pause(systemClock, aliveCheckMs, call.signal)])
      else await awaitEnd(held, current, pollMs, call.signal)
    }
  } finally {
    news?.stop()
  }
}

/** Says when there is something new to read; undefined where nobody tells. The logs are what is read. */
async function listenForNews(held: HeldRuns, record: RunRecord): Promise<{ next(): Promise<void>; stop(): void } | undefined> {
  if (record.state !== 'running' || record.holder.socket === undefined) return undefined
  const listen: Listening = { kind: 'tail', everyMs: followEveryMs }
  const run = await attachTo(held.places, record, listen)
  if (run === undefined || run === 'unreachable') return undefined
  let isOver = false
  let wake = (): void => {}
  let next = new Promise<void>((resolve) => {
    wake = resolve
  })
  const ring = (): void => {
    wake()
    if (isOver) return
    next = new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  void (async () => {
    for await (const _ of run.output) ring()
    await run.ended.catch(() => {})
    isOver = true
    ring()
  })()
  return { next: () => (isOver ? pause(systemClock, pollMs) : next), stop: () => run.release() }
}
