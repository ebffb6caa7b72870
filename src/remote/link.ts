import { type ErrorCode, failure, type HoldfastError, messageOf, toHoldfastError } from '../core/errors.ts'
import type { Connection } from '../supervisor/connection.ts'
import type { ConnectedSession } from '../supervisor/session.ts'

/** The way to the supervisor of a site, which is found again when contact is lost. */
export interface Link {
  /** What serves now; waits while contact is being found again. Rejects once that was given up, and after `close`. */
  current(): Promise<Linked>
  /** The last one that served. */
  readonly last: Linked
  /** False once contact was given up. */
  readonly open: boolean
  close(): Promise<void>
}

export interface Linked {
  readonly connection: Connection
  readonly session: ConnectedSession
}

/** How long contact is looked for before it is given up, and how long at most between two tries. */
const patienceMs = 60_000
const longestPauseMs = 5_000
const firstPauseMs = 50
/** What another try does not change. */
const lasting: readonly ErrorCode[] = ['not_found', 'permission_denied', 'unauthenticated', 'failed_precondition', 'invalid_argument', 'unsupported']

export function openLink(first: Linked, dial: (signal: AbortSignal) => Promise<Linked>): Link {
  let last = first
  let finding: Promise<Linked> | undefined
  let over: HoldfastError | undefined
  const stopped = new AbortController()

  async function find(): Promise<Linked> {
    const until = performance.now() + patienceMs
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        const found = await dial(stopped.signal)
        if (!over) {
          last = found
          return found
        }
        await found.session.close()
      } catch (error) {
        const known = toHoldfastError(error)
        if (lasting.includes(known.code) || performance.now() + pause > until) over ??= failure('supervisor_lost', { why: messageOf(error) }, error)
      }
      if (over) throw over
      await sleep(pause, stopped.signal)
    }
  }

  return {
    get last() {
      return last
    },
    get open() {
      return over === undefined
    },
    async current() {
      if (over) throw over
      if (last.connection.open) return last
      finding ??= find().finally(() => {
        finding = undefined
      })
      return finding
    },
    async close() {
      over ??= failure('closed', {})
      stopped.abort()
      await last.session.close()
    },
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
