import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { Session } from '../core/backend.ts'
import type { ResolvedCommand } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import { systemClock } from '../engine/clock.ts'
import { type Execution, execute } from '../engine/execute.ts'
import { type StopSignal, stopSignals } from './api.ts'
import type { ActiveRun, AppContext, EndedRun, OpenInlet } from './context.ts'
import { type Beginning, createCancel, endedRecord, noteEnd, type Prepared, withProgress } from './holding.ts'
import { type RunFolder, readRecord } from './run-folder.ts'

/** A run in plain mode: this process writes its logs, judges its limits and records its end. */

/** How often a request of another process to stop a run is looked for. */
const stopPollMs = 150

export interface PlainRun extends ActiveRun {
  readonly finished: Promise<EndedRun & { readonly record: RunRecord }>
}

export async function holdPlain(context: AppContext, session: Session, beginning: Beginning): Promise<ActiveRun> {
  const { first, folder, prepared, call, warnings } = beginning
  const askedAt = systemClock.now()
  const canceling = createCancel(call.signal)
  const inlet = prepared.interactive ? openQueue(first.id, prepared.plan.stdin) : undefined
  const command: ResolvedCommand = { ...beginning.command, stdin: inlet || prepared.plan.stdin !== undefined ? 'fed' : 'none' }
  const execution = await execute({
    session,
    plan: { ...prepared.plan, stdin: inlet?.source ?? prepared.plan.stdin, command },
    logs: { stdout: folder.stdout, stderr: folder.stderr, order: folder.order, maxBytes: prepared.plan.limits.maxOutputBytes },
    signal: canceling.signal,
    hurry: canceling.hurry,
    onOutput: call.onOutput,
    onProgress: call.onProgress,
  }).catch((error: unknown) => {
    canceling.forget()
    throw error
  })
  const begun: RunRecord = { ...first, process: execution.process }
  if (begun.process) context.records.started(first.id, begun.process)
  const unwatch = watchStopRequest(folder, canceling.cancel)
  const finished = finish(context, execution, begun, prepared, folder, warnings).finally(() => {
    inlet?.close()
    unwatch()
    canceling.forget()
  })
  return {
    id: first.id,
    askedAt,
    begun,
    current: async () => withProgress(begun, execution.progress()),
    masker: prepared.masker,
    finished,
    cancel: canceling.cancel,
    inlet,
    release: undefined,
  }
}

async function finish(
  context: AppContext,
  execution: Execution,
  begun: RunRecord,
  prepared: Prepared,
  folder: RunFolder,
  before: readonly string[],
): Promise<EndedRun> {
  const end = await execution.finished
  const record: RunRecord = {
    ...endedRecord(begun, end, prepared.masker, noteEnd(context, folder, prepared, end)),
    endedAt: context.now().toISOString(),
    pinned: context.records.isPinned(begun),
  }
  const warnings = await context.records.replace(record)
  // As long as the record does not say what is missing in a log, the files do.
  if (readRecord(folder, record.id)?.state === 'ended') execution.recorded()
  return { record, warnings: [...new Set([...before, ...warnings])], unsaved: end.unsaved }
}

/** What is written to a run while it goes on, one piece after the other, behind what it was given at the start. */
function openQueue(run: string, first: Prepared['plan']['stdin']): OpenInlet & { readonly source: AsyncIterable<Uint8Array>; close(): void } {
  interface Piece {
    readonly bytes: Uint8Array
    readonly taken: () => void
  }
  const pieces: Piece[] = []
  let isOpen = true
  let isOver = false
  let wake = (): void => {}

  async function* source(): AsyncGenerator<Uint8Array> {
    if (first instanceof Uint8Array) yield first
    else if (first) yield* first
    for (;;) {
      const piece = pieces.shift()
      if (piece) {
        yield piece.bytes
        piece.taken()
      } else if (isOpen && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      } else return
    }
  }

  return {
    source: source(),
    async write(bytes) {
      if (!isOpen) throw failure('input_closed', { run })
      if (isOver) throw failure('input_over', { run })
      await new Promise<void>((resolve) => {
        pieces.push({ bytes, taken: resolve })
        wake()
      })
    },
    async endInput() {
      isOpen = false
      wake()
    },
    isOpen: async () => isOpen && !isOver,
    close() {
      isOver = true
      for (const { taken } of pieces.splice(0)) taken()
      wake()
    },
  }
}

function watchStopRequest(folder: RunFolder, stop: (signal: StopSignal) => void): () => void {
  const timer = setInterval(() => {
    if (!existsSync(folder.stop)) return
    stop(readStopRequest(folder))
    rmSync(folder.stop, { force: true })
  }, stopPollMs)
  return () => clearInterval(timer)
}

function readStopRequest(folder: RunFolder): StopSignal {
  try {
    const text = readFileSync(folder.stop, 'utf8').trim()
    return stopSignals.find((signal) => signal === text) ?? 'SIGTERM'
  } catch {
    return 'SIGTERM'
  }
}
