import type { Running, Session } from '../../src/core/backend.ts'
import type { StreamName } from '../../src/core/command.ts'
import type { ExitStatus } from '../../src/core/outcome.ts'
import type { Leftover } from '../../src/core/run.ts'
import { scriptedOutput } from './scripted-output.ts'

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
  const program = scriptedOutput<ExitStatus>()
  const offsets = { stdout: 0, stderr: 0 }
  const signals: NodeJS.Signals[] = []
  const input: Uint8Array[] = []
  let released = false

  const running: ScriptedRunning = {
    id: 'scripted',
    process: null,
    output: program.output,
    ended: program.ended,
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
      program.push({ stream, offset: offsets[stream], bytes })
      offsets[stream] += bytes.length
    },
    closeOutput: program.close,
    breakOutput: program.breakOff,
    exit: program.end,
    loseContact: () => program.lose(new Error('the connection broke')),
  }
  return running
}

export function sessionOf(running: Running): Session {
  return { logs: 'streamed', handle: 'scripted', start: async () => running, close: async () => {} }
}
