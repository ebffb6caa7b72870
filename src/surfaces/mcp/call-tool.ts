import type { App, Call, ExecCall } from '../../app/api.ts'
import type { StreamName } from '../../core/command.ts'
import { hasReason, toHoldfastError } from '../../core/errors.ts'
import { byteLength, tailBytes } from '../../core/text.ts'
import { wireNameOf } from '../../operations/names.ts'
import { invoke, type OperationCall, parseInput } from '../../operations/operation.ts'
import { runOf } from '../../operations/run-of.ts'
import { type Answer, toAnswer, toErrorAnswer, toUnfinishedAnswer, toUnstartedAnswer } from './answer.ts'
import { reportProgress } from './progress.ts'
import { answerWithinMs, readCall } from './tools.ts'

const lookBackBytes = 4_096
const shownEndBytes = 150

export interface ToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  /** Aborted when the client no longer wants the answer. */
  readonly signal: AbortSignal
  /** Present where the client asked to be told how the call goes on. */
  readonly onProgress: ((update: { progress: number; message: string }) => void) | undefined
}

/** Runs one call. Never rejects: what goes wrong is an answer too. */
export async function callTool(request: ToolCall, openApp: () => Promise<App>, withinMs = answerWithinMs): Promise<Answer> {
  try {
    const { operation, input } = readCall(request.name, request.args)
    // Before the store is opened, so that a bad request is refused without it.
    parseInput(operation, input, wireNameOf)
    const app = await openApp()
    const wanted = linked(request.signal)
    const { call, end, step, begun } = watch(request, app, input, wanted.signal)
    try {
      const result = invoke(operation, app, input, call, wireNameOf)
      // A run answers in time by itself, once it has begun.
      const done = !step ? { value: await result } : begun ? await beginsWithin(result, withinMs, begun, wanted.abort) : await within(result, withinMs)
      const answer = done ? toAnswer(operation.name, done.value) : (begun ? toUnstartedAnswer : unfinished(operation.name))(step?.())
      const bytes = answer.content.reduce((sum, { text }) => sum + byteLength(text), 0)
      app.countShown({ surface: 'mcp', operation: operation.name, run: runOf(operation.name, done?.value), bytes }).catch(() => {})
      return answer
    } finally {
      end()
      // A run that was answered as running goes on, also when the answer is still on its way to a client that leaves.
      wanted.release()
    }
  } catch (error) {
    return toErrorAnswer(toHoldfastError(error))
  }
}

/** What it resolves to, or undefined where that takes longer; then it goes on by itself. */
async function within<T>(result: Promise<T>, ms: number): Promise<{ readonly value: T } | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([result.then((value) => ({ value })), late])
  } finally {
    clearTimeout(timer)
    result.catch(() => {})
  }
}

/** The same of a run, which is waited for once it has begun, however long that takes; undefined where it was not started. */
async function beginsWithin<T>(result: Promise<T>, ms: number, begun: () => boolean, abort: () => void): Promise<{ readonly value: T } | undefined> {
  const done = await within(result, ms)
  if (done || begun()) return done ?? { value: await result }
  abort()
  try {
    return { value: await result }
  } catch (error) {
    if (hasReason(error, 'canceled_before_start')) return undefined
    throw error
  }
}

const unfinished = (name: string) => (step: string | undefined) => toUnfinishedAnswer(name, step)

/** A signal that follows another until it is released. */
function linked(source: AbortSignal): { signal: AbortSignal; abort(): void; release(): void } {
  const controller = new AbortController()
  const abort = (): void => controller.abort(source.reason)
  if (source.aborted) abort()
  else source.addEventListener('abort', abort, { once: true })
  return { signal: controller.signal, abort: () => controller.abort(), release: () => source.removeEventListener('abort', abort) }
}

interface Watched {
  readonly call: OperationCall
  end(): void
  /** What is being done, of what is done in steps. */
  step?(): string | undefined
  /** Whether the run has begun, of what runs a command. */
  begun?(): boolean
}

/** What a call needs to be told about, and the end of the telling. */
function watch(request: ToolCall, app: App, input: Record<string, unknown>, signal: AbortSignal): Watched {
  const { name, onProgress } = request
  if (name === 'workspace') return watchSteps(onProgress, signal)
  if (name === 'exec') return watchRun(onProgress, app, signal)
  if (!onProgress || name !== 'wait') return { call: { signal } satisfies Call, end: () => {} }
  const run = String(input.run)
  const end = reportProgress({ bytes: () => undefined, lastLine: () => lastLineOf(app, run, 'all'), send: onProgress })
  return { call: { signal }, end }
}

function watchRun(onProgress: ToolCall['onProgress'], app: App, signal: AbortSignal): Watched {
  let run: string | undefined
  let step: string | undefined
  let bytes = 0
  let stream: StreamName | 'all' = 'all'
  const lastLine = async (): Promise<string | undefined> => (run === undefined ? step : lastLineOf(app, run, stream))
  const end = onProgress ? reportProgress({ bytes: () => (run === undefined && step ? undefined : bytes), lastLine, send: onProgress }) : () => {}
  const call: ExecCall = {
    signal,
    onStep: (what) => {
      step = what
    },
    onBegin: (begun) => {
      run = begun.id
    },
    ...(onProgress
      ? {
          onProgress: (progress) => {
            bytes = progress.bytes
            stream = progress.stream
          },
        }
      : {}),
  }
  return { call, end, step: () => step, begun: () => run !== undefined }
}

function watchSteps(onProgress: ToolCall['onProgress'], signal: AbortSignal): Watched {
  let step: string | undefined
  const onStep = (what: string): void => {
    step = what
  }
  const end = onProgress ? reportProgress({ bytes: () => undefined, lastLine: async () => step, send: onProgress }) : () => {}
  return { call: { signal, onStep }, end, step: () => step }
}

/** Through the app, which masks what it shows; live output is raw. By bytes, since these are found without reading the log. */
async function lastLineOf(app: App, run: string, stream: StreamName | 'all'): Promise<string | undefined> {
  const { lines } = await app.output({ run, stream, bytes: `-${lookBackBytes}`, maxBytes: 4 * lookBackBytes })
  const line = lines.findLast(({ text }) => text.trim() !== '')?.text
  // A line that fills the range may begin in the middle of a secret, which is then not recognized: only its end is shown.
  return line !== undefined && byteLength(line) > lookBackBytes / 2 ? tailBytes(line, shownEndBytes) : line
}
