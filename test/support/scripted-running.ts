import type { OutputChunk, Running, Session } from '../../src/core/backend.ts'
import type { StreamName } from '../../src/core/command.ts'
import type { ExitStatus } from '../../src/core/outcome.ts'
import type { Leftover } from '../../src/core/run.ts'

/** A started program that does what a test says, when it says so. */
export interface ScriptedRunning extends Running {
  readonly signals: readonly NodeJS.Signals[]
  readonly released: () => boolean
  readonly input: () => Buffer
  print(text: string | Uint8Array, stream?: StreamName): void
  /** No process holds a stream any more. */
  closeOutput(): void
  /** The output cannot be read any further. */
  breakOutput(error: Error): void
  exit(status: ExitStatus): void
  loseContact(): void
}

export interface Script {
  readonly onSignal?: (name: NodeJS.Signals, running: ScriptedRunning) => void | Promise<void>
  readonly tree?: () => readonly Leftover[] | undefined
  readonly busy?: () => boolean
  /** Whether the iteration of the output ends when it is released; false breaks the contract of the port. */
  readonly letsGo?: boolean
  readonly write?: () => Promise<void>
}

export function scriptedRunning({ onSignal, tree = () => [], busy = () => false, letsGo = true, write }: Script = {}): ScriptedRunning {
  const waiting: OutputChunk[] = []
  const offsets = { stdout: 0, stderr: 0 }
  const signals: NodeJS.Signals[] = []
  const input: Uint8Array[] = []
  let over = false
  let broken: Error | undefined
  let released = false
  let wake = (): void => {}
  let settle: { resolve(status: ExitStatus): void; reject(error: Error): void } | undefined
  const ended = new Promise<ExitStatus>((resolve, reject) => {
    settle = { resolve, reject }
  })
  ended.catch(() => {})

  async function* iterate(): AsyncGenerator<OutputChunk> {
    for (;;) {
      yield* waiting.splice(0)
      if (waiting.length > 0) continue
      if (broken) throw broken
      if (over) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  const running: ScriptedRunning = {
    id: 'scripted',
    process: null,
    output: iterate(),
    ended,
    write: async (bytes) => {
      await write?.()
      input.push(bytes)
    },
    endInput: async () => {},
    async signal(name) {
      signals.push(name)
      await onSignal?.(name, running)
      return { delivered: true }
    },
    tree: async () => tree(),
    busy: async () => busy(),
    release() {
      released = true
      if (letsGo) running.closeOutput()
    },
    signals,
    released: () => released,
    input: () => Buffer.concat(input),
    print(text, stream = 'stdout') {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      waiting.push({ stream, offset: offsets[stream], bytes })
      offsets[stream] += bytes.length
      wake()
    },
    closeOutput() {
      over = true
      wake()
    },
    breakOutput(error) {
      broken = error
      wake()
    },
    exit: (status) => settle?.resolve(status),
    loseContact: () => settle?.reject(new Error('the connection broke')),
  }
  return running
}

export function sessionOf(running: Running): Session {
  return { logs: 'streamed', handle: 'scripted', start: async () => running, close: async () => {} }
}
