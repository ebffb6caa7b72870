import type { App, Call, ExecCall } from '../../app/api.ts'
import type { StreamName } from '../../core/command.ts'
import { toHoldfastError } from '../../core/errors.ts'
import { byteLength, tailBytes } from '../../core/text.ts'
import { wireNameOf } from '../../operations/names.ts'
import { invoke, parseInput } from '../../operations/operation.ts'
import { type Answer, toAnswer, toErrorAnswer } from './answer.ts'
import { reportProgress } from './progress.ts'
import { readCall } from './tools.ts'

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
export async function callTool(request: ToolCall, openApp: () => Promise<App>): Promise<Answer> {
  try {
    const { operation, input } = readCall(request.name, request.args)
    // Before the store is opened, so that a bad request is refused without it.
    parseInput(operation, input, wireNameOf)
    const app = await openApp()
    const wanted = linked(request.signal)
    const { call, end } = watch(request, app, input, wanted.signal)
    try {
      return toAnswer(operation.name, await invoke(operation, app, input, call, wireNameOf))
    } finally {
      end()
      // A run that was answered as running goes on, also when the answer is still on its way to a client that leaves.
      wanted.release()
    }
  } catch (error) {
    return toErrorAnswer(toHoldfastError(error))
  }
}

/** A signal that follows another until it is released. */
function linked(source: AbortSignal): { signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const abort = (): void => controller.abort(source.reason)
  if (source.aborted) abort()
  else source.addEventListener('abort', abort, { once: true })
  return { signal: controller.signal, release: () => source.removeEventListener('abort', abort) }
}

/** What a call needs to be told about, and the end of the telling. */
function watch(request: ToolCall, app: App, input: Record<string, unknown>, signal: AbortSignal): { call: ExecCall; end(): void } {
  const { name, onProgress } = request
  if (!onProgress || (name !== 'exec' && name !== 'wait')) return { call: { signal } satisfies Call, end: () => {} }
  let run = name === 'wait' ? String(input.run) : undefined
  let bytes = 0
  let stream: StreamName | 'all' = 'all'
  const end = reportProgress({
    bytes: () => (name === 'exec' ? bytes : undefined),
    lastLine: async () => (run === undefined ? undefined : lastLineOf(app, run, stream)),
    send: onProgress,
  })
  if (name === 'wait') return { call: { signal }, end }
  const call: ExecCall = {
    signal,
    onBegin: (begun) => {
      run = begun.id
    },
    onProgress: (progress) => {
      bytes = progress.bytes
      stream = progress.stream
    },
  }
  return { call, end }
}

/** Through the app, which masks what it shows; live output is raw. By bytes, since these are found without reading the log. */
async function lastLineOf(app: App, run: string, stream: StreamName | 'all'): Promise<string | undefined> {
  const { lines } = await app.output({ run, stream, bytes: `-${lookBackBytes}`, maxBytes: 4 * lookBackBytes })
  const line = lines.findLast(({ text }) => text.trim() !== '')?.text
  // A line that fills the range may begin in the middle of a secret, which is then not recognized: only its end is shown.
  return line !== undefined && byteLength(line) > lookBackBytes / 2 ? tailBytes(line, shownEndBytes) : line
}
