import { writeFileSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import type { StreamName } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { measureLog, readChunks } from '../engine/log-reader.ts'
import type { Call, LiveOutput, StopSignal } from './api.ts'
import type { AppContext } from './context.ts'
import { piecesOf } from './reading.ts'
import { readRecord } from './run-folder.ts'

/** Runs that another process holds, or held: their end is seen in their record, their death in the process table. */

const pollMs = 100
/** How often a held run is checked for a holder that died. */
const aliveCheckMs = 1_000

/** Waits until the run is over, at most `waitMs`. Resolves to the record as it is then. */
export async function awaitEnd(context: AppContext, record: RunRecord, waitMs: number | undefined, signal: AbortSignal | undefined): Promise<RunRecord> {
  const clock = systemClock
  const deadline = clock.now() + (waitMs ?? Number.POSITIVE_INFINITY)
  let current = record
  let checkAt = 0
  for (let wait = 20; current.state === 'running'; wait = Math.min(wait * 1.5, pollMs)) {
    if (clock.now() >= checkAt) {
      checkAt = clock.now() + aliveCheckMs
      current = await settleAbandoned(context, current)
      if (current.state !== 'running') break
    }
    const left = deadline - clock.now()
    if (left <= 0 || signal?.aborted) break
    await pause(clock, Math.min(wait, left), signal)
    current = readRecord(context.records.folder(record.id), record.id) ?? current
  }
  return current
}

/**
 * A run whose holder died is interrupted: what it printed so far is measured, and what of it still lives is named. Other
 * records come back as they are.
 */
export async function settleAbandoned(context: AppContext, record: RunRecord): Promise<RunRecord> {
  if (record.state !== 'running' || context.machine.isAlive(record.holder)) return record
  // The holder may have written the end just before it died.
  const latest = readRecord(context.records.folder(record.id), record.id) ?? record
  if (latest.state !== 'running') {
    await context.records.replace(latest)
    return latest
  }
  const folder = context.records.folder(record.id)
  const interrupted: RunRecord = {
    ...latest,
    state: 'interrupted',
    outcome: { kind: 'lost', exitCode: null, signal: null, limit: null },
    stdout: measureLog(folder.stdout),
    stderr: measureLog(folder.stderr),
    leftovers: await context.machine.findTree(record.id, latest.process),
  }
  await context.records.replace(interrupted)
  return interrupted
}

/** Asks the holder of a run to end it; where that holder is dead or deaf, ends the processes of the run directly. */
export async function stopForeign(context: AppContext, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  const folder = context.records.folder(record.id)
  const { graceMs } = context.settings.limits
  const first = await settleAbandoned(context, record)
  if (first.state === 'running') {
    writeFileSync(folder.stop, `${signal}\n`, { mode: 0o600 })
    const ended = await awaitEnd(context, first, graceMs + 6_000, call.signal)
    if (ended.state !== 'running') return endLeftovers(context, ended, signal)
  }
  const left = await context.machine.endTree(record.id, first.process, signal, graceMs)
  const after = await awaitEnd(context, first, 2_000, call.signal)
  const settled = { ...after, leftovers: left }
  if (after.state !== 'running') await context.records.replace(settled)
  return settled
}

async function endLeftovers(context: AppContext, record: RunRecord, signal: StopSignal): Promise<RunRecord> {
  if (record.leftovers.length === 0) return record
  const left = await context.machine.endTree(record.id, record.process, signal, context.settings.limits.graceMs)
  const settled = { ...record, leftovers: left }
  await context.records.replace(settled)
  return settled
}

/** `stop` of a run that is over: ends what it left behind, and refuses where nothing is left. */
export async function stopEnded(context: AppContext, record: RunRecord, signal: StopSignal): Promise<RunRecord> {
  const alive = await context.machine.findTree(record.id, record.process)
  if (alive.length === 0) throw failure('run_ended', { run: record.id })
  return endLeftovers(context, { ...record, leftovers: alive }, signal)
}

/** Hands over what the logs of a run hold, and what comes, until the run is over. */
export async function followLogs(
  context: AppContext,
  record: RunRecord,
  streams: readonly StreamName[],
  call: Call & { onOutput(chunk: LiveOutput): void },
): Promise<void> {
  const readers = streams.map((stream) => ({ stream, offset: 0, decoder: new StringDecoder('utf8') }))
  let current = record
  for (;;) {
    // The record is read first: what the logs hold after an end is all there will be.
    current = await awaitEnd(context, current, 0, call.signal)
    for (const reader of readers) {
      for (const piece of piecesOf(context, current, reader.stream)) {
        const from = Math.max(0, reader.offset - piece.offset)
        for (const chunk of readChunks(piece, from)) {
          const bytes = Uint8Array.from(chunk)
          call.onOutput({ stream: reader.stream, bytes, text: reader.decoder.write(chunk) })
        }
        reader.offset = Math.max(reader.offset, piece.offset + piece.length)
      }
    }
    if (current.state !== 'running' || call.signal?.aborted) return
    await awaitEnd(context, current, pollMs, call.signal)
  }
}
