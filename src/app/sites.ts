import { failure, HoldfastError, hasReason, toHoldfastError } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { Holder } from '../core/run.ts'
import { type Target, targetKey, targetTitle, thisMachine } from '../core/target.ts'
import { pause, systemClock } from '../engine/clock.ts'
import type { AppContext, Place } from './context.ts'
import type { FarPlace, FarRequest, NamedTarget, OpenTargetRequest } from './far.ts'
import { isKnownSite, rememberSite } from './known-sites.ts'

/** Sites of targets. Each is opened once for a tree and kept, and what refuses for good is asked once. */
export interface Sites {
  /** The target of this name, or that is told; undefined: this machine. Throws `target_unknown` or `target_invalid`. */
  find(target: string | Target | undefined): Promise<NamedTarget | undefined>
  open(request: FarRequest, call?: SiteCall): Promise<FarPlace>
  /** The site of a run that somebody began; `gone`: for good. Rejects where it cannot be reached. */
  reach(holder: Holder): Promise<FarPlace | { readonly gone: string; readonly outOfMemory: boolean }>
  /** Lets go of all of them; they live on. */
  close(): Promise<void>
}

export interface SiteCall {
  readonly signal?: AbortSignal | undefined
  readonly onStep?: ((what: string) => void) | undefined
}

/** What is being opened may take to notice that nobody wants it any more. */
const closeMs = 5_000
/** Until somebody has changed something there, the answer is the same. */
const rememberMs = 10 * 60_000

/** Refusals that asking again does not change, and how long they are remembered. */
const lasting: Readonly<Record<string, number>> = {
  target_mismatch: Number.POSITIVE_INFINITY,
  backend_refused: Number.POSITIVE_INFINITY,
  backend_denied: rememberMs,
  invalid: Number.POSITIVE_INFINITY,
  unsupported: Number.POSITIVE_INFINITY,
}

type Opening = FarRequest & Pick<OpenTargetRequest, 'isLook'>

interface Refused {
  readonly error: HoldfastError
  readonly until: number
}

type SitesContext = Pick<AppContext, 'openTarget' | 'settings' | 'root' | 'homePlace' | 'workspaces' | 'ownEnv' | 'repositoryOf'>

export function createSites(context: SitesContext): Sites {
  const opened = new Map<string, Promise<FarPlace>>()
  const refused = new Map<string, Refused>()
  /** Sites that are gone for good, by what opens them. */
  const gone = new Map<string, { readonly gone: string; readonly outOfMemory: boolean }>()
  const closing: Promise<void>[] = []
  const over = new AbortController()

  async function find(target: string | Target | undefined): Promise<NamedTarget | undefined> {
    const { targets, defaultTarget } = context.settings
    const wanted = target ?? defaultTarget ?? undefined
    if (wanted === undefined || wanted === thisMachine) return undefined
    if (typeof wanted !== 'string') {
      const { readTarget } = await import('../config/check.ts')
      const read = readTarget(wanted)
      return { name: targetTitle(read).slice(read.backend.length + 1), target: read }
    }
    const found = Object.hasOwn(targets, wanted) ? targets[wanted] : undefined
    if (!found) throw failure('target_unknown', { target: wanted, known: [thisMachine, ...Object.keys(targets)] })
    return { name: wanted, target: found }
  }

  /** Opens it, or gives what is open; only one of those who come at the same time opens it. */
  async function keep(key: string, request: Opening, { signal, onStep }: SiteCall): Promise<FarPlace> {
    const before = opened.get(key)
    const known = await before?.catch(() => undefined)
    if (known && isUsable(known.place)) return known
    const meanwhile = opened.get(key)
    if (meanwhile && meanwhile !== before) return untilAborted(meanwhile, signal)
    if (known) closing.push(known.close())
    const refusal = refused.get(key)
    if (refusal && refusal.until > monotonicMs()) throw refusal.error
    // The very site that was open, before another one takes its place.
    const again = known ? { ...request, target: known.site.handle } : request
    const opening = openOne(again, onStep).catch((error: unknown) => {
      if (known && isGone(error)) return openOne(request, onStep)
      throw error
    })
    opened.set(key, opening)
    opening.catch((error: unknown) => {
      if (opened.get(key) === opening) opened.delete(key)
      const reason = error instanceof HoldfastError ? error.details.reason : undefined
      const ms = reason === undefined ? undefined : lasting[reason]
      if (ms !== undefined && error instanceof HoldfastError) refused.set(key, { error, until: monotonicMs() + ms })
    })
    return untilAborted(opening, signal)
  }

  async function openOne({ target, tree, mounts, isLook }: Opening, onStep: SiteCall['onStep']): Promise<FarPlace> {
    const { signal } = over
    const place = await context.openTarget({ target, tree, mounts, isLook, onStep, signal })
    // A container that somebody else made may have been started again.
    gone.delete(targetKey(place.site.handle))
    if (isLook) return place
    try {
      let notes: readonly string[] = []
      if (place.site.workspace === 'copied') {
        const { sendTree } = await import('./send-tree.ts')
        notes = await sendTree(context, place, tree, { signal, onStep, title: targetTitle(target) })
      }
      rememberSite(context.homePlace.state, place.site.handle)
      return notes.length === 0 ? place : { ...place, notes }
    } catch (error) {
      await place.close()
      throw error
    }
  }

  async function reach({ site }: Holder): Promise<FarPlace | { readonly gone: string; readonly outOfMemory: boolean }> {
    if (!site) throw failure('internal', { what: 'a run of this machine has no site' })
    const key = targetKey(site)
    for (const place of opened.values()) {
      const open = await place.catch(() => undefined)
      if (open && targetKey(open.site.handle) === key && isUsable(open.place)) return open
    }
    const known = gone.get(key)
    if (known) return known
    const lost = await findOpen(key)
    const state = await lost?.site.examine().catch(() => undefined)
    if (state?.kind === 'gone') return remember(key, { gone: state.why, outOfMemory: state.outOfMemory === true })
    if (!isKnownSite(context.homePlace.state, site)) {
      throw failure('backend_denied', { target: targetTitle(site), why: 'the record of the run names a place that was never opened from here' })
    }
    try {
      // Its tree is the one that it was made for; whoever only looks brings none.
      return await keep(`reached ${key}`, { name: '', target: site, tree: context.root, mounts: [], isLook: true }, {})
    } catch (error) {
      if (isGone(error)) return remember(key, { gone: wordsOf(error), outOfMemory: false })
      throw error
    }
  }

  async function findOpen(key: string): Promise<FarPlace | undefined> {
    for (const place of opened.values()) {
      const open = await place.catch(() => undefined)
      if (open && targetKey(open.site.handle) === key) return open
    }
    return undefined
  }

  function remember(key: string, what: { gone: string; outOfMemory: boolean }) {
    gone.set(key, what)
    return what
  }

  return {
    find,
    open: (request, call = {}) => keep(JSON.stringify([targetKey(request.target), request.tree]), request, call),
    reach,
    async close() {
      over.abort()
      const places = await within(Promise.allSettled(opened.values()), closeMs)
      await Promise.allSettled([...closing, ...(places ?? []).map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined))])
    },
  }
}

/** Whoever does not wait any longer leaves it to others, and to whoever asks next. */
async function untilAborted<T>(opening: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return opening
  let leave = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(failure('canceled_before_start', {}))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([opening, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

const isUsable = (place: Place): boolean => place.kind === 'plain' || place.session.open
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([promise, pause(systemClock, ms, over.signal).then(() => undefined)])
  } finally {
    over.abort()
  }
}

/** Without the name of the place, which whoever tells it has said. */
function wordsOf(error: unknown): string {
  const { message, details } = toHoldfastError(error)
  return details.reason === 'site_gone' ? String(details.why) : message
}

const isGone = (error: unknown): boolean => hasReason(error, 'site_gone') || hasReason(error, 'backend_missing')
