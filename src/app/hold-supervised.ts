import { existsSync } from 'node:fs'
import type { ResolvedCommand } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import type { Holder, ProcessIdentity, RunRecord } from '../core/run.ts'
import type { SupervisedSession } from '../core/supervised.ts'
import type { Target } from '../core/target.ts'
import { systemClock } from '../engine/clock.ts'
import { measureLog } from '../engine/log-reader.ts'
import { type Supervised, type Supervision, supervise } from '../engine/supervised.ts'
import type { ActiveRun, AppContext, EndedRun, OpenInlet } from './context.ts'
import { holderLives, isFar, placeOfRun } from './far.ts'
import { type Beginning, createCancel, endedRecord, noteEnd, withProgress } from './holding.ts'
import type { Places } from './places.ts'
import { prepareText } from './screen-text.ts'

/** A run that the supervisor holds: it writes the logs and records the end; this process only follows. */

/** What is left of a run whose supervisor was killed gets so long to end. */
export const orphanGraceMs = 2_000
/** How long contact with a place that is somewhere else is tried to be taken up again, before the run is left to go on by itself. */
const regainFarMs = 90_000

export function holderOf({ supervisor, handle }: SupervisedSession, starter: ProcessIdentity, site?: Target): Holder {
  return { ...supervisor, socket: handle, ...(site ? { site } : {}), starter }
}

export async function holdSupervised(context: AppContext, places: Places, session: SupervisedSession, beginning: Beginning): Promise<ActiveRun> {
  const { first, folder, prepared, call } = beginning
  const { plan, pty, interactive, ephemeral } = prepared
  const askedAt = systemClock.now()
  const canceling = createCancel(call.signal)
  const command: ResolvedCommand = { ...beginning.command, stdin: interactive ? 'open' : plan.stdin === undefined ? 'none' : 'fed', pty }
  const supervision = await supervise({
    session,
    plan: { ...plan, command },
    id: first.id,
    paths: folder,
    bound: ephemeral,
    reconnect: () => reconnect(context, places, first.holder),
    regainMs: first.holder.site === undefined ? undefined : regainFarMs,
    signal: canceling.signal,
    hurry: canceling.hurry,
    onOutput: call.onOutput,
    onProgress: call.onProgress,
  }).catch((error: unknown) => {
    canceling.forget()
    throw error
  })
  const begun: RunRecord = { ...first, process: supervision.process }
  return {
    id: first.id,
    askedAt,
    begun,
    current: async () => withProgress(begun, await supervision.progress()),
    masker: prepared.masker,
    finished: finish(context, places, supervision, begun, beginning, canceling.signal).finally(canceling.forget),
    cancel: canceling.cancel,
    inlet: interactive ? inletOf(first.id, supervision) : undefined,
    release: ephemeral ? undefined : supervision.release,
  }
}

/** Undefined where the supervisor is gone; rejects where it lives and does not answer right now: its socket may have been removed. */
async function reconnect({ machine }: AppContext, places: Places, holder: Holder): Promise<SupervisedSession | undefined> {
  const session = await places.supervisorOf(holder)
  if (!session && holder.site === undefined && machine.isAlive(holder)) throw failure('supervisor_unavailable', { why: `nobody answers at ${holder.socket}` })
  return session
}

async function finish(
  context: AppContext,
  places: Places,
  supervision: Supervision,
  begun: RunRecord,
  { folder, prepared, warnings }: Beginning,
  canceled: AbortSignal,
): Promise<EndedRun> {
  const end = await supervision.finished
  if (!end) return { record: begun, warnings }
  // A supervisor that lives judges it still: whoever looks later finds its word.
  if (end.state === 'interrupted' && (await mayGoOn(context, places, begun))) {
    const record = withProgress(begun, { ...end, elapsedMs: end.durationMs })
    const silent = isFar(begun) ? `${placeOfRun(begun)} cannot be reached` : `process ${begun.holder.pid}, which holds this run, does not answer`
    return { record, warnings: [...warnings, ...end.notes, `${silent}; the run may go on`] }
  }
  await prepareText(folder, endedRecord(begun, end, prepared.masker, []))
  const isCut = prepared.ephemeral && isFar(begun) && end.outcome.kind === 'canceled' && !canceled.aborted
  const notes = [...noteEnd(context, folder, prepared, end), ...(isCut ? [`nobody here canceled it: an ephemeral run ends when contact is lost`] : [])]
  const settled = end.state === 'interrupted' ? await endOrphans(context, places, begun, end) : end
  const record: RunRecord = {
    ...endedRecord(begun, settled, prepared.masker, notes),
    endedAt: settled.endedAt ?? null,
    pinned: context.records.isPinned(begun),
  }
  // The end record says it all, as a rule; it may be missing where the disk is full.
  const isWritten = settled.isRecorded && notes.length === 0 && existsSync(folder.end)
  const more = await (isWritten ? context.records.finish(record) : context.records.replace(record))
  return { record, warnings: [...new Set([...warnings, ...more])], unsaved: settled.unsaved }
}

async function mayGoOn({ machine }: AppContext, places: Places, begun: RunRecord): Promise<boolean> {
  return holderLives(machine, begun.holder) && (await places.mayHold(begun))
}

/** The supervisor was killed: what it had started has lost its output, and is ended. */
async function endOrphans(context: AppContext, places: Places, begun: RunRecord, end: Supervised): Promise<Supervised> {
  if (isFar(begun)) return { ...end, notes: [...end.notes, ...[places.whyGone(begun) ?? []].flat()] }
  if (context.machine.isAlive(begun.holder)) return end
  const folder = context.records.folder(begun.id)
  const leftovers = await context.machine.endTree(begun.id, begun.process, 'SIGTERM', orphanGraceMs)
  return { ...end, leftovers, stdout: measureLog(folder.stdout), stderr: measureLog(folder.stderr) }
}

function inletOf(run: string, { write, endInput, status }: Supervision): OpenInlet {
  const isOpen = async (): Promise<boolean> => (await status())?.takesInput === true
  return {
    async write(bytes) {
      if (!(await isOpen())) throw failure('input_closed', { run })
      await write(bytes)
    },
    endInput,
    isOpen,
  }
}
