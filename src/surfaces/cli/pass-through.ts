import type { LiveOutput } from '../../app/api.ts'
import { plural } from '../../core/text.ts'
import type { Invocation } from './command.ts'
import type { Outlet } from './io.ts'
import { terminalFilter } from './terminal-filter.ts'

// A reader that is slower than the command must not make this process grow without bound. The log has everything anyway.
const maxQueuedBytes = 64 * 1024 * 1024

export interface PassThrough {
  onOutput(chunk: LiveOutput): void
  /** Aborts with ours, and when a reader leaves: then the run is canceled, as it is in a shell. */
  readonly signal: AbortSignal
  /** Leaves the terminal as it was. Harmless when called twice. */
  close(): void
}

export interface PassThroughOptions {
  /** What the terminal answers gets to the command. */
  readonly isAnswered?: boolean
  /** Something of ours follows, on a line of its own. */
  readonly isFollowed?: boolean
}

/** Passes what a command prints on to our own streams. */
export function passThrough({ stdout, stderr, signal, onLeave }: Invocation, { isAnswered = false, isFollowed = false }: PassThroughOptions): PassThrough {
  const canceler = new AbortController()
  const cancel = (): void => canceler.abort()
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  stdout.onGone(cancel)
  const ways = [stdout, stderr].map((outlet) => ({ outlet, filter: terminalFilter({ isAnswered }), last: '\n' }))
  let skippedBytes = 0

  function pass(way: { readonly outlet: Outlet; readonly filter: ReturnType<typeof terminalFilter>; last: string }, chunk: LiveOutput): void {
    const { outlet, filter } = way
    if (outlet.queuedBytes > maxQueuedBytes) {
      skippedBytes += chunk.bytes.length
      return
    }
    outlet.write(outlet.isTerminal ? filter.pass(chunk.text) : chunk.bytes)
    way.last = chunk.text.at(-1) ?? way.last
  }

  let isClosed = false
  function close(): void {
    if (isClosed) return
    isClosed = true
    forget()
    signal.removeEventListener('abort', cancel)
    for (const { outlet, filter, last } of ways) if (outlet.isTerminal) outlet.write(filter.restore() + (isFollowed && last !== '\n' ? '\r\n' : ''))
    if (skippedBytes > 0) stderr.write(`holdfast: ${plural(skippedBytes, 'byte')} did not pass through, because the reader was too slow; the log has them\n`)
  }
  const forget = onLeave(close)

  return {
    signal: canceler.signal,
    onOutput: (chunk) => pass(ways[chunk.stream === 'stdout' ? 0 : 1] as (typeof ways)[number], chunk),
    close,
  }
}
