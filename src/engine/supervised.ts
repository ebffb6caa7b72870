import type { ExecutionPlan, Input } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { failure, messageOf } from '../core/errors.ts'
import { toOutcome } from '../core/outcome.ts'
import type { ProcessIdentity } from '../core/run.ts'
import type { Listening, RunStatus, SupervisedRun } from '../core/supervised.ts'
import { pause, systemClock } from './clock.ts'
import { completeDelivery } from './complete-delivery.ts'
import { begin, bounded, killMs, overdueMs, regain, type SupervisedPaths, type SuperviseRequest, totalsNow, watchAnswers } from './contact.ts'
import { createDelivery } from './delivery.ts'
import { factsOf } from './end-facts.ts'
import { readEnd, readProcess } from './end-files.ts'
import { type Executed, letGoMs, type Progress } from './execute.ts'
import { feed, type Inlet, inputChunkBytes, inputCut } from './feed.ts'
import { measureLog } from './log-reader.ts'
import { createStops } from './stops.ts'

/** Runs of a supervisor: it writes the logs and judges the end; here is started, listened, fed and asked. */

export interface Supervised extends Executed {
  /** ISO 8601, by the clock of the supervisor; absent where it did not say. */
  readonly endedAt?: string | undefined
  /** Whether the end record says all of this. */
  readonly isRecorded: boolean
}

/** A run that a supervisor has started. */
export interface Supervision extends Inlet {
  readonly process: ProcessIdentity | null
  /** Never rejects; undefined where the run was let go of. */
  readonly finished: Promise<Supervised | undefined>
  progress(): Promise<Progress>
  /** Undefined where it is over, or contact is lost. */
  status(): Promise<RunStatus | undefined>
  /** Lets it run on without us. */
  release(): void
}

const tailEveryMs = 100
/** A run that is lost within this time after it was found is looked for behind a pause, and so often in a row. */
const lostAgainMs = 1_000
const mostLosses = 20
const firstPauseMs = 50
const longestPauseMs = 2_000
/** Without a reason an abort makes an error, with a stack, for nobody. */
const noReason = null

/**
 * Starts the command and follows it to its end. Rejects with a HoldfastError only where surely nothing was started;
 * `finished` never rejects.
 */
export async function supervise(request: SuperviseRequest): Promise<Supervision> {
  const { plan, signal, paths, clock = systemClock } = request
  if (signal?.aborted) throw failure('canceled_before_start', {})
  const startedAt = clock.now()
  const notes: string[] = []
  const over = { aborted: false }
  const line = createDelivery(request)
  const delivery = completeDelivery(line, paths)
  const given = splitInput(plan)
  const begun = await begin(request, listening(false), given.first, given.isAll)
  let run = begun.run
  let released = false
  let canceled = false

  /** What to listen to: from where the listener stands, after contact was lost. */
  function listening(again: boolean): Listening {
    if (line.wantsAll) return { kind: 'everything', from: again ? delivery.reached : undefined }
    return line.wanted ? { kind: 'tail', everyMs: tailEveryMs } : { kind: 'nothing' }
  }

  async function pump({ output }: SupervisedRun): Promise<void> {
    if (!line.wanted) return
    // What the command printed at once is here already; whoever asked for it is told of its beginning first.
    await new Promise((resolve) => setImmediate(resolve))
    for await (const chunk of output) {
      if (canceled || over.aborted) continue
      if (line.wantsAll) delivery.push(chunk)
      else line.glimpse(chunk.stream, chunk.bytes, chunk.offset)
    }
  }

  const stopping = createStops(request, () => run, notes)
  const inlet = inletOf(() => run)
  const fed = given.rest === undefined ? Promise.resolve() : feed(inlet, given.rest, { ends: plan.command.stdin === 'fed', over, notes })

  let isFed = false
  void fed.then(() => {
    isFed = true
  })

  /** The end record; undefined where contact is lost for good, or nobody waits for it any more. */
  async function follow(): Promise<EndRecord | undefined> {
    let foundAt = Number.NEGATIVE_INFINITY
    let losses = 0
    while (run && !released) {
      const current = run
      const pumped = pump(current).catch((error: unknown) => void notes.push(`the output could not be read to its end: ${messageOf(error)}`))
      const watching = watchAnswers(current, clock, () => dueAt())
      const end = await Promise.race([current.ended, watching.silent]).catch(() => undefined)
      watching.stop()
      if (released) return undefined
      // What was sent before the end is here already; whoever takes long with it reads the rest in the logs.
      if (line.wanted) {
        const late = new AbortController()
        await Promise.race([pumped, pause(clock, letGoMs, late.signal)])
        late.abort(noReason)
      }
      const known = end ?? readEnd(paths.end, request.id)
      if (known) return known
      losses = clock.now() - foundAt < lostAgainMs ? losses + 1 : 0
      if (losses > mostLosses) break
      if (losses > 0) await pause(clock, Math.min(longestPauseMs, firstPauseMs * 2 ** losses))
      run = await regain(request, listening(true), clock)
      foundAt = clock.now()
      if (released) run?.release()
      else if (canceled) stopping.again()
    }
    return released ? undefined : readEnd(paths.end, request.id)
  }

  /** When the run should be over, as far as it is known. */
  function dueAt(): number {
    const { timeoutMs, graceMs } = plan.limits
    const last = canceled ? stopping.since() : startedAt + timeoutMs
    return last + graceMs + killMs + overdueMs
  }

  const onAbort = (): void => {
    canceled = true
    stopping.begin()
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  request.hurry?.addEventListener('abort', stopping.hurry, { once: true })
  if (signal?.aborted) onAbort()

  const finished = (async (): Promise<Supervised | undefined> => {
    const end = begun.end ?? (await follow())
    signal?.removeEventListener('abort', onAbort)
    request.hurry?.removeEventListener('abort', stopping.hurry)
    over.aborted = true
    if (released) return undefined
    const isTold = isFed || notes.some((note) => note.startsWith(inputCut))
    if (run?.wasCut && !isTold) notes.push(`${inputCut}: contact was lost, and input that is fed ends then`)
    const facts = end ? factsOf(end) : lost(paths, clock.now() - startedAt)
    // A cancellation ends the delivery, unless the run was quicker.
    if (line.wantsAll && facts.outcome.kind !== 'canceled') {
      delivery.finish(facts)
      line.end()
    }
    const own = [...notes, ...delivery.notes(), ...line.notes()]
    return { ...facts, notes: [...facts.notes, ...own], isRecorded: end !== undefined && own.length === 0 }
  })()

  return {
    process: begun.run?.process ?? readProcess(paths.process),
    finished,
    async progress() {
      const status = await bounded(run?.status(), clock)
      const elapsedMs = status?.elapsedMs ?? clock.now() - startedAt
      return { elapsedMs, stdout: totalsNow(paths.stdout, status?.stdout), stderr: totalsNow(paths.stderr, status?.stderr) }
    },
    status: () => bounded(run?.status(), clock),
    // What was given at the start comes first.
    write: async (bytes) => {
      await fed
      await inlet.write(bytes)
    },
    endInput: async () => {
      await fed
      await inlet.endInput()
    },
    release() {
      released = true
      over.aborted = true
      run?.release()
    },
  }
}

/** What a supervisor gets with the start, and what is fed after it. */
function splitInput({ command, stdin }: ExecutionPlan): { first: Uint8Array | undefined; isAll: boolean; rest: Input | undefined } {
  if (command.stdin === 'none') return { first: undefined, isAll: true, rest: undefined }
  const isOpen = command.stdin === 'open'
  if (stdin === undefined) return { first: undefined, isAll: !isOpen, rest: undefined }
  if (!(stdin instanceof Uint8Array)) return { first: undefined, isAll: false, rest: stdin }
  if (stdin.length <= inputChunkBytes) return { first: stdin, isAll: !isOpen, rest: undefined }
  return { first: stdin.subarray(0, inputChunkBytes), isAll: false, rest: stdin.subarray(inputChunkBytes) }
}

function inletOf(current: () => SupervisedRun | undefined): Inlet {
  return {
    write: async (bytes) => current()?.write(bytes),
    endInput: async () => current()?.endInput(),
  }
}

function lost(paths: SupervisedPaths, durationMs: number): Executed {
  return {
    state: 'interrupted',
    outcome: toOutcome(undefined, undefined),
    durationMs,
    stdout: measureLog(paths.stdout),
    stderr: measureLog(paths.stderr),
    leftovers: [],
    notes: ['contact with the supervisor was lost'],
    unsaved: {},
  }
}
