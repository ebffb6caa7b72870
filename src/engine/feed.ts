import type { Input } from '../core/command.ts'
import { messageOf } from '../core/errors.ts'

/** What takes the input of a command, with back-pressure. */
export interface Inlet {
  write(bytes: Uint8Array): Promise<void>
  endInput(): Promise<void>
}

/** How a note begins that says that a command did not get all of its input. */
export const inputCut = 'the standard input could not be written to its end'

/** A signal, or what is only looked at. */
type Over = Pick<AbortSignal, 'aborted'>

export interface FeedOptions {
  /** Whether the command is told that there is no more. Default: true. */
  readonly ends?: boolean | undefined
  /** Nothing is fed any more once that is so. */
  readonly over?: Over | undefined
  readonly notes: string[]
}

/** What one write hands over at most. */
export const inputChunkBytes = 64 * 1024

/** Writes what a command reads, as it comes. Never rejects; what goes wrong before `over` is noted. */
export async function feed(inlet: Inlet, input: Input, { ends = true, over, notes }: FeedOptions): Promise<void> {
  try {
    try {
      if (input instanceof Uint8Array) await writeAll(inlet, input, over)
      else for await (const chunk of input) if (!(await writeAll(inlet, chunk, over))) break
    } finally {
      // Also where the source fails: the command must not wait for more.
      if (ends && !over?.aborted) await inlet.endInput()
    }
  } catch (error) {
    if (!over?.aborted) notes.push(`${inputCut}: ${messageOf(error)}`)
  }
}

/** False once it is over. */
async function writeAll(inlet: Inlet, bytes: Uint8Array, over: Over | undefined): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += inputChunkBytes) {
    if (over?.aborted) return false
    await inlet.write(bytes.subarray(at, at + inputChunkBytes))
  }
  return !over?.aborted
}
