import { failure, hasReason } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { InputRequest, InputResult } from './api.ts'
import type { OpenInlet } from './context.ts'
import type { Executions } from './execution.ts'
import { placeOfRun } from './far.ts'
import { type HeldRuns, settleAbandoned } from './following.ts'

/** Writes to a run that goes on, an empty text only to see whether that may be done: over its supervisor, or directly where this process holds it. */
export async function writeInput(held: HeldRuns, executions: Executions, input: InputRequest): Promise<InputResult> {
  const { context } = held
  const bytes = bytesOf(input)
  const record = await settleAbandoned(held, await context.records.require(input.run))
  const run = record.id
  if (record.state !== 'running') throw failure('input_over', { run })
  if (input.size) return resize(held, record, input.size)
  const own = executions.find(run)
  const { inlet, letGo } = own ? { inlet: own.inlet, letGo: () => {} } : await reach(held, record)
  try {
    if (!inlet || !(await inlet.isOpen())) throw failure('input_closed', { run })
    if (bytes.length > 0) await inlet.write(bytes)
    if (input.end) await inlet.endInput()
    const isOpen = !input.end && (await inlet.isOpen())
    const state = isOpen ? 'running' : (await context.records.require(run)).state
    return { id: run, state, bytes: bytes.length, open: isOpen }
  } finally {
    letGo()
  }
}

/** What is typed has nothing to do with it: a run that takes no input may have a terminal. */
async function resize({ places }: HeldRuns, record: RunRecord, { rows, columns }: NonNullable<InputRequest['size']>): Promise<InputResult> {
  const run = record.pty ? await places.attach(record, { kind: 'nothing' }) : undefined
  if (run === undefined || run === 'unreachable') return { id: record.id, state: record.state, bytes: 0, open: false }
  try {
    await run.resize(rows, columns)
    return { id: record.id, state: record.state, bytes: 0, open: (await run.status()).takesInput }
  } finally {
    run.release()
  }
}

function bytesOf({ text = '', enter }: InputRequest): Uint8Array {
  if (typeof text !== 'string' && !(text instanceof Uint8Array)) throw failure('invalid', { field: 'text', value: text, accepted: 'text or bytes' })
  return Buffer.concat([Buffer.from(text as string), Buffer.from(enter ? '\n' : '')])
}

async function reach({ places }: HeldRuns, record: RunRecord): Promise<{ inlet: OpenInlet; letGo: () => void }> {
  const { id, holder } = record
  if (holder.socket === undefined) throw failure('input_elsewhere', { run: id, pid: holder.pid })
  const run = await places.attach(record, { kind: 'nothing' })
  if (run === 'unreachable' && record.holder.site) throw failure('backend_unavailable', { target: placeOfRun(record), why: 'it does not answer' })
  if (run === 'unreachable') throw failure('supervisor_unavailable', { why: `nobody answers at ${holder.socket}` })
  if (!run) throw failure('input_over', { run: id })
  return {
    inlet: {
      write: (bytes) => run.write(bytes),
      endInput: () => run.endInput(),
      isOpen: () =>
        run.status().then(
          ({ takesInput }) => takesInput,
          (error: unknown) => {
            // What was written may have been the last that it waited for.
            if (hasReason(error, 'run_ended')) return false
            throw error
          },
        ),
    },
    letGo: () => run.release(),
  }
}
