import { failure } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { Holder, ProcessIdentity, RunRecord } from '../core/run.ts'
import type { Listening, SupervisedRun, SupervisedSession } from '../core/supervised.ts'
import { type Target, targetKey, targetTitle } from '../core/target.ts'
import { systemClock } from '../engine/clock.ts'
import { inTime } from '../engine/contact.ts'
import type { AppContext, Place } from './context.ts'
import { createSites, type Sites } from './sites.ts'

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
   * does not answer right now: its socket may have been removed, which it sees within two seconds. A site is reached within `withinMs`,
   * or goes on being reached for whoever asks next.
   */
  attach(record: RunRecord, listen: Listening, withinMs?: number): Promise<SupervisedRun | 'unreachable' | undefined>
  /** Why the place of a run is gone for good, in words, once `attach` found that out. */
  whyGone(record: RunRecord): string | undefined
  /** Sites of targets. */
  readonly sites: Sites
  /** False where the supervisor of the run is known not to hold it. */
  mayHold(record: RunRecord): Promise<boolean>
  /** Lets go of all connections; runs go on, except those that are bound to them. */
  close(): Promise<void>
}

/** Where a supervisor could not be used, it is tried again after this time. */
const retryAfterMs = 30_000
/** How long a site that is somewhere else may take to be reached: a connection is made, and the supervisor found. */
const farMs = 45_000
/** One that is there and did not answer is left alone for this time, so that not every question has to wait for it. */
const deafMs = 3_000
const farDeafMs = 10_000

export function createPlaces(
  context: Pick<
    AppContext,
    | 'openPlace'
    | 'openPlainSession'
    | 'reachSupervisor'
    | 'machine'
    | 'openTarget'
    | 'settings'
    | 'homePlace'
    | 'root'
    | 'workspaces'
    | 'ownEnv'
    | 'repositoryOf'
  >,
): Places {
  const sites = createSites(context)
  /** By run: its place is gone, and why. */
  const gone = new Map<string, string>()
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
    if (holder.site !== undefined) return (await reachFar(holder))?.session
    const session = await connect(holder.socket)
    return session && isSame(session.supervisor, holder) ? session : undefined
  }

  /**
   * Whoever serves at the site now: another supervisor than the one that held the run finds its end in the folder of the run there. Undefined
   * where the site is gone.
   */
  async function reachFar(holder: Holder): Promise<{ session: SupervisedSession } | undefined> {
    const found = await sites.reach(holder)
    if ('gone' in found) return undefined
    if (found.place.kind === 'plain') throw failure('supervisor_unavailable', { why: found.place.why })
    return { session: found.place.session }
  }

  async function attachAt(holder: Holder, run: string, listen: Listening): Promise<SupervisedRun | 'unreachable' | undefined> {
    if (holder.site !== undefined) return attachFar(holder, holder.site, run, listen)
    const session = await supervisorOf(holder)
    if (session) return session.attach(run, listen)
    return context.machine.isAlive(holder) ? 'unreachable' : undefined
  }

  async function attachFar(holder: Holder, site: Target, run: string, listen: Listening): Promise<SupervisedRun | undefined> {
    const reached = await reachFar(holder)
    const found = await reached?.session.attach(run, listen)
    if (found) return found
    const at = reached ? undefined : await sites.reach(holder)
    if (at && 'gone' in at) gone.set(run, `${targetTitle(site)} is gone: ${at.gone}${at.outOfMemory ? '; its memory ran out' : ''}`)
    else if (reached && !isSame(reached.session.supervisor, holder))
      gone.set(run, `what held it at ${targetTitle(site)} has ended: it was started anew, or killed`)
    return undefined
  }

  async function attach({ id, holder }: RunRecord, listen: Listening, withinMs = farMs): Promise<SupervisedRun | 'unreachable' | undefined> {
    if (holder.socket === undefined) return undefined
    const key = holder.site === undefined ? holder.socket : targetKey(holder.site)
    if ((deafUntil.get(key) ?? 0) > monotonicMs()) return 'unreachable'
    const attaching = attachAt(holder, id, listen)
    try {
      return await inTime(attaching, systemClock, holder.site === undefined ? undefined : withinMs)
    } catch {
      // Who comes too late with it holds nobody up.
      attaching.then(
        (run) => (run === 'unreachable' ? undefined : run?.release()),
        () => {},
      )
      deafUntil.set(key, monotonicMs() + (holder.site === undefined ? deafMs : farDeafMs))
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
    whyGone: ({ id }) => gone.get(id),
    sites,
    async mayHold(record) {
      const run = await attach(record, { kind: 'nothing' })
      if (run !== 'unreachable') run?.release()
      return run !== undefined
    },
    async close() {
      const places = [opened, plainSession?.then((session) => ({ session })), ...[...reached.values()].map(async (session) => ({ session: await session }))]
      const settled = await Promise.allSettled(places)
      closing.push(sites.close())
      await Promise.allSettled([...closing, ...settled.map((each) => (each.status === 'fulfilled' ? each.value?.session?.close() : undefined))])
    },
  }
}

const isSame = (a: ProcessIdentity, b: ProcessIdentity): boolean => a.pid === b.pid && a.startTime === b.startTime
