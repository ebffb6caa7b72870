import { hasReason } from '../../core/errors.ts'
import { input } from '../../operations/input.ts'
import { type Invocation, perform } from './command.ts'
import { untilAborted } from './read-input.ts'

/** The person at our terminal, as the run knows them: what they type, and the size of their window. */
export interface TerminalInput {
  /** Begins; `run` is the id of the run. */
  connect(run: string): void
  /** Gives the terminal back as it was. Harmless when called twice. */
  close(): void
}

/**
 * Passes on the size of our terminal as it changes, where the command has one too, and with `isTyped` what is typed. To a
 * terminal each key goes as it is typed: Ctrl-C is a character for the command then, and its terminal echoes.
 */
export function terminalInput(invocation: Invocation, { hasPty, isTyped }: { readonly hasPty: boolean; readonly isTyped: boolean }): TerminalInput {
  const { io, stdout, signal, onLeave } = invocation
  const closer = new AbortController()
  let unwatch = (): void => {}

  function write(run: string, what: Readonly<Record<string, unknown>>): Promise<boolean> {
    return perform(input, invocation, { run, ...what }).then(
      (result) => result.open,
      // A command that has ended, or reads no more, shows that by itself. One that is slow to read loses what is typed meanwhile.
      (error: unknown) => hasReason(error, 'input_full'),
    )
  }

  async function passKeys(run: string): Promise<void> {
    for await (const text of untilAborted(io.stdin, closer.signal)) if (!(await write(run, { text }))) return
    if (!closer.signal.aborted) await write(run, { end: true })
  }

  function close(): void {
    closer.abort()
    unwatch()
    forget()
    signal.removeEventListener('abort', close)
    if (isTyped && hasPty) io.stdin.setRawMode?.(false)
  }
  const forget = onLeave(close)
  signal.addEventListener('abort', close, { once: true })

  return {
    connect(run) {
      if (signal.aborted) return
      if (hasPty) {
        unwatch = stdout.onResize(() => {
          const { size } = stdout
          if (size) void write(run, { size })
        })
      }
      if (!isTyped) return
      if (hasPty) io.stdin.setRawMode?.(true)
      void passKeys(run)
    },
    close,
  }
}
