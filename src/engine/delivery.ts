import { TextDecoder } from 'node:util'
import { type StreamName, streamNames } from '../core/command.ts'
import { messageOf } from '../core/errors.ts'

/** A chunk as it is handed to a listener: the bytes, and the same as text with no character cut. */
export interface Delivery {
  readonly stream: StreamName
  readonly bytes: Uint8Array
  readonly text: string
}

/** How it goes, for whoever does not want all of the output. */
export interface Glimpse {
  /** What both streams have had by now. */
  readonly bytes: number
  /** The stream that printed last. */
  readonly stream: StreamName
  /** The newest of it, raw; may begin inside a line or a character. */
  readonly text: string
}

export interface Listeners {
  /** Gets what is printed until the run is settled; may throw or be slow without harm. */
  readonly onOutput?: ((chunk: Delivery) => void) | undefined
  /** Called now and then; may throw without harm. */
  readonly onProgress?: ((glimpse: Glimpse) => void) | undefined
}

export interface DeliveryLine {
  /** Whether anybody gets every byte, or anything at all. */
  readonly wantsAll: boolean
  readonly wanted: boolean
  /** Hands over bytes that begin at `offset` of their stream. */
  push(stream: StreamName, bytes: Uint8Array, offset: number): void
  /** Only says how it goes. */
  glimpse(stream: StreamName, bytes: Uint8Array, offset: number): void
  /** Hands over what is left of a character that never became whole. */
  end(): void
  /** What listeners did wrong, in words for the caller. */
  notes(): string[]
}

// A byte order mark is output like any other.
const newDecoder = (): TextDecoder => new TextDecoder('utf-8', { ignoreBOM: true })

export function createDelivery({ onOutput, onProgress }: Listeners): DeliveryLine {
  // Most runs have no listener, and decoders cost something to make.
  const decoders: Record<StreamName, TextDecoder> | undefined = onOutput && { stdout: newDecoder(), stderr: newDecoder() }
  const reached: Record<StreamName, number> = { stdout: 0, stderr: 0 }
  let failures = 0
  let firstFailure = ''
  function note(error: unknown): void {
    if (failures === 0) firstFailure = messageOf(error)
    failures += 1
  }
  function call<T>(listener: ((value: T) => void) | undefined, value: T): void {
    try {
      // An async function is a listener too; a rejection that nobody takes would end the whole process.
      const result: unknown = listener?.(value)
      if (result instanceof Promise) result.catch(note)
    } catch (error) {
      note(error)
    }
  }
  function glimpse(stream: StreamName, bytes: Uint8Array, offset: number): void {
    reached[stream] = offset + bytes.length
    if (onProgress) call(onProgress, { bytes: reached.stdout + reached.stderr, stream, text: Buffer.from(bytes).toString('utf8') })
  }
  return {
    wantsAll: onOutput !== undefined,
    wanted: onOutput !== undefined || onProgress !== undefined,
    push(stream, bytes, offset) {
      if (decoders) call(onOutput, { stream, bytes, text: decoders[stream].decode(bytes, { stream: true }) })
      if (onProgress) glimpse(stream, bytes, offset)
    },
    glimpse,
    end() {
      if (!decoders) return
      for (const stream of streamNames) {
        const text = decoders[stream].decode()
        if (text) call(onOutput, { stream, bytes: new Uint8Array(), text })
      }
    },
    notes: () => (failures > 0 ? [`the output listener failed ${failures} times, first with: ${firstFailure}`] : []),
  }
}
