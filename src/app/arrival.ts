import type { StreamName } from '../core/command.ts'
import { arrivalOf } from '../engine/order.ts'
import type { OutputLine } from './api.ts'

/** A line, and the offset in its stream of its last byte. */
export interface PlacedLine {
  readonly line: OutputLine
  readonly last: number
}

/**
 * The lines of both streams in the order in which they came, each where its last byte did; its last bytes must not go back
 * within a stream. What the file does not say comes at the end, stdout before stderr. Nothing is read before it is wanted.
 */
export function* mergeByArrival(order: string, stdout: Iterable<PlacedLine>, stderr: Iterable<PlacedLine>): Generator<OutputLine> {
  const out = placed(order, 'stdout', stdout)
  const err = placed(order, 'stderr', stderr)
  try {
    while (out.next || err.next) {
      const first = !err.next || (out.next && out.next.place <= err.next.place) ? out : err
      yield (first.next as Placed).line
      first.advance()
    }
  } finally {
    out.close()
    err.close()
  }
}

interface Placed {
  readonly line: OutputLine
  /** Bytes of both streams before its last one. */
  readonly place: number
}

function placed(order: string, stream: StreamName, lines: Iterable<PlacedLine>): { readonly next: Placed | undefined; advance(): void; close(): void } {
  const arrival = arrivalOf(order, stream)
  const iterator = lines[Symbol.iterator]()
  let next: Placed | undefined
  const advance = (): void => {
    const { done, value } = iterator.next()
    next = done ? undefined : { line: value.line, place: arrival.before(value.last) }
  }
  advance()
  return {
    get next() {
      return next
    },
    advance,
    close() {
      arrival.close()
      iterator.return?.()
    },
  }
}
