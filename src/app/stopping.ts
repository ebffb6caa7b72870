import { writeFileSync } from 'node:fs'
import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { SupervisedRun } from '../core/supervised.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { bounded } from '../engine/contact.ts'
import type { Call, StopSignal } from './api.ts'
import { isFar, placeOfRun } from './far.ts'
import { awaitEnd, endWithin, type HeldRuns, pollMs, recordMs, settleAbandoned, told } from './following.ts'
import { leftBehind } from './run-folder.ts'

/** Ending runs that this process did not begin, or let go of. */

/** Asks the holder of a run to end it; where that holder is dead or deaf, ends the processes of the run directly. */
export async function stopForeign(held: HeldRuns, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  const { context } = held
  const { graceMs } = context.settings.limits
  const first = await settleAbandoned(held, record)
  if (first.state === 'running') {
    const ended = await (first.holder.socket === undefined ? stopPlain(held, first, signal, call) : stopSupervised(held, first, signal, call))
    if (ended.state !== 'running') return endLeftovers(held, ended, signal)
    // Who leaves before that is over leaves it to the supervisor.
    if (call.signal?.aborted && first.holder.socket !== undefined) return ended
    if (isFar(first)) throw failure('backend_unavailable', { target: placeOfRun(first), why: 'it does not answer; the run may go on there' })
  }
  const left = await context.machine.endTree(record.id, first.process, signal, graceMs, leftBehind(context.records.folder(record.id), record.id))
  const after = await awaitEnd(held, first, 2_000, call.signal)
  const settled = { ...after, leftovers: left }
  if (after.state === 'running') return { ...settled, warnings: [...after.warnings, endedDirectly(after, left.length)] }
  await context.records.replace(settled)
  return settled
}

const endedDirectly = ({ holder }: RunRecord, left: number): string =>
  `process ${holder.pid}, which holds this run, does not answer: ${left === 0 ? 'all processes of the run were ended' : 'not all processes of the run could be ended'} without it, and how it ended is recorded once it answers`

function stopPlain(held: HeldRuns, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  writeFileSync(held.context.records.folder(record.id).stop, `${signal}\n`, { mode: 0o600 })
  return awaitEnd(held, record, held.context.settings.limits.graceMs + 6_000, call.signal)
}

/** The supervisor goes by the grace of the run, which nobody else knows, and ends it for certain. */
async function stopSupervised(held: HeldRuns, record: RunRecord, signal: StopSignal, call: Call): Promise<RunRecord> {
  const run = await reach(held, record, call)
  if (!run) return awaitEnd(held, record, recordMs, call.signal)
  try {
    run.stop({ signal }).catch(() => {})
    for (;;) {
      const end = await endWithin(run, 5_000, call.signal)
      if (end) return await told(held, record, end)
      if (call.signal?.aborted || !(await bounded(run.status(), systemClock))) return record
    }
  } catch {
    return awaitEnd(held, record, recordMs, call.signal)
  } finally {
    run.release()
  }
}

/** Waits a while for one that cannot be reached right now. */
async function reach({ places }: HeldRuns, record: RunRecord, call: Call): Promise<SupervisedRun | undefined> {
  const deadline = systemClock.now() + recordMs
  for (;;) {
    const run = await places.attach(record, { kind: 'nothing' })
    if (run !== 'unreachable') return run
    if (systemClock.now() >= deadline || call.signal?.aborted) return undefined
    await pause(systemClock, pollMs, call.signal)
  }
}

async function endLeftovers({ context }: HeldRuns, record: RunRecord, signal: StopSignal): Promise<RunRecord> {
  // Of what is somewhere else nothing is ended after its run is over.
  if (record.leftovers.length === 0 || isFar(record)) return record
  const known = leftBehind(context.records.folder(record.id), record.id)
  const left = await context.machine.endTree(record.id, record.process, signal, context.settings.limits.graceMs, known)
  const settled = { ...record, leftovers: left }
  await context.records.replace(settled)
  return settled
}

/** `stop` of a run that is over: ends what it left behind, and refuses where nothing is left. */
export async function stopEnded(held: HeldRuns, record: RunRecord, signal: StopSignal): Promise<RunRecord> {
  const { machine, records } = held.context
  if (isFar(record)) throw failure('run_ended', { run: record.id })
  const alive = await machine.findTree(record.id, record.process, leftBehind(records.folder(record.id), record.id))
  if (alive.length === 0) throw failure('run_ended', { run: record.id })
  return endLeftovers(held, { ...record, leftovers: alive }, signal)
}
