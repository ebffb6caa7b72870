import { monotonicMs } from '../core/monotonic.ts'
import type { Holder, ProcessIdentity, RunRecord } from '../core/run.ts'
import type { Listening, SupervisedRun, SupervisedSession } from '../core/supervised.ts'
import { systemClock } from '../engine/clock.ts'
import { inTime } from '../engine/contact.ts'
import type { AppContext, Place } from './context.ts'

/** Where commands run, and the supervisors of runs that others began. Connections are opened once and kept. */
export interface Places {
  /** Where the next command runs. A supervisor whose contact was lost is looked for anew. */
  current(): Promise<Place>
  /** As children of this process, whatever else there is. */
  plain(why: string): Promise<Place>
  /** A connection to the very supervisor that holds a run; undefined where it does not answer any more, or there is none. */
  supervisorOf(holder: Holder): Promise<SupervisedSession | undefined>
  /**
   * A run as its supervisor tells of it; undefined where that does not hold it any more, or is gone. `unreachable` where it lives and
   * does not answer right now: its socket may have been removed, which it sees within two seconds.
   */
  attach(record: RunRecord, listen: Listening): Promise<SupervisedRun | 'unreachable' | undefined>
  /** False where the supervisor of the run is known not to hold it. */
  mayHold(record: RunRecord): Promise<boolean>
  /** Lets go of all connections; runs go on, except those that are bound to them. */
  close(): Promise<void>
}

/** Where a supervisor could not be used, it is tried again after this time. */
const retryAfterMs = 30_000
/** One that is there and did not answer is left alone for this time, so that not every question has to wait for it. */
const deafMs = 3_000

export function createPlaces(context: Pick<AppContext, 'openPlace' | 'openPlainSession' | 'reachSupervisor' | 'machine'>): Places {
  let opened: Promise<Place> | undefined
  let retryAt = Number.POSITIVE_INFINITY
  let plainSession: ReturnType<AppContext['openPlainSession']> | undefined
  const reached = new Map<string, Promise<SupervisedSession | undefined>>()
  const deafUntil = new Map<string, number>()
  const closing: Promise<void>[] = []

  async function open(): Promise<Place> {
    const place = await context.openPlace()
    retryAt = place.kind === 'plain' && place.warnings.length > 0 ? monotonicMs() + retryAfterMs : Number.POSITIVE_INFINITY
    return place
  }

  async function current(): Promise<Place> {
    const before = opened
    const known = await before?.catch(() => undefined)
    const isUsable = known && (known.kind === 'supervised' ? known.session.open : monotonicMs() < retryAt)
    // Only one of those who came at the same time opens it anew.
    if (known && !isUsable && opened === before) {
      closing.push(known.session.close())
      opened = undefined
    }
    opened ??= open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }

  async function connect(socket: string): Promise<SupervisedSession | undefined> {
    const own = await opened?.catch(() => undefined)
    if (own?.kind === 'supervised' && own.session.handle === socket && own.session.open) return own.session
    const before = reached.get(socket)
    const known = await before?.catch(() => undefined)
    if (known?.open) return known
    const meanwhile = reached.get(socket)
    if (meanwhile !== before) return meanwhile
    const connecting = context.reachSupervisor(socket)
    reached.set(socket, connecting)
    return connecting
  }

  async function supervisorOf(holder: Holder): Promise<SupervisedSession | undefined> {
    if (holder.socket === undefined) return undefined
    const session = await connect(holder.socket)
    return session && isSame(session.supervisor, holder) ? session : undefined
  }

  async function attachAt(holder: Holder, run: string, listen: Listening): Promise<SupervisedRun | 'unreachable' | undefined> {
    const session = await supervisorOf(holder)
    if (session) return session.attach(run, listen)
    return context.machine.isAlive(holder) ? 'unreachable' : undefined
  }

  async function attach({ id, holder }: RunRecord, listen: Listening): Promise<SupervisedRun | 'unreachable' | undefined> {
    if (holder.socket === undefined) return undefined
    if ((deafUntil.get(holder.socket) ?? 0) > monotonicMs()) return 'unreachable'
    try {
      return await inTime(attachAt(holder, id, listen), systemClock)
    } catch {
      deafUntil.set(holder.socket, monotonicMs() + deafMs)
      return 'unreachable'
    }
  }

  return {
    current,
    async plain(why) {
      plainSession ??= context.openPlainSession()
      return { kind: 'plain', session: await plainSession, why, warnings: [] }
    },
    supervisorOf,
    attach,
    async mayHold(record) {
      const run = await attach(record, { kind: 'nothing' })
      if (run !== 'unreachable') run?.release()
      return run !== undefined
    },
    async close() {
      const places = [opened, plainSession?.then((session) => ({ session })), ...[...reached.values()].map(async (session) => ({ session: await session }))]
      const settled = await Promise.allSettled(places)
      await Promise.allSettled([...closing, ...settled.map((each) => (each.status === 'fulfilled' ? each.value?.session?.close() : undefined))])
    },
  }
}

const isSame = (a: ProcessIdentity, b: ProcessIdentity): boolean => a.pid === b.pid && a.startTime === b.startTime
