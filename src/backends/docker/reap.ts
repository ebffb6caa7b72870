import { messageOf } from '../../core/errors.ts'
import { defaultIdleMs, privateFolder } from '../../core/first-process.ts'
import type { DockerTarget } from '../../core/target.ts'
import { labels } from './container.ts'
import { type Environment, findEndpoints } from './endpoint.ts'
import { type Engine, openEngine } from './engine.ts'
import { remove } from './site.ts'

export interface ReapTools {
  readonly env: Environment
  readonly uid: number
  /** Milliseconds since 1970; used where the engine tells no time. */
  readonly now: () => number
  /** Whether an owner (a label of a container) lives; undefined where that cannot be known from here. */
  readonly isAlive: (owner: string) => boolean | undefined
}

export interface ReapedContainer {
  readonly id: string
  readonly name: string
  readonly image: string
  readonly why: string
}

export interface Reaped {
  /** What is gone; with `dryRun`, what would be. */
  readonly removed: readonly ReapedContainer[]
  /** Containers of ours that are left as they are. */
  readonly kept: readonly ReapedContainer[]
  readonly problems: readonly string[]
}

interface ListedContainer {
  readonly Id: string
  readonly Names: readonly string[] | null
  readonly Image: string
  readonly State: string
  /** Seconds since 1970. */
  readonly Created: number
  readonly Labels: Readonly<Record<string, string>> | null
}

/** From create to start takes seconds; whoever needs so long is not coming back. */
const halfMadeMs = 15 * 60_000
/** A container ends by itself when its lease is over; what is there so long after that is stuck, or paused. */
const overdueMs = 5 * 60_000

/** Removes containers of ours that nobody uses and that do not end by themselves. */
export async function reapDocker(
  target: Pick<DockerTarget, 'socket' | 'context'>,
  tools: ReapTools,
  { dryRun }: { readonly dryRun: boolean },
  signal?: AbortSignal,
): Promise<Reaped> {
  const engine = await openEngine(findEndpoints(target, tools.env, tools.uid), signal)
  const filters = JSON.stringify({ label: [labels.key] })
  const answer = await engine.ask({ method: 'GET', path: '/containers/json', query: { all: '1', filters }, signal })
  const now = answer.date ?? tools.now()
  const removed: ReapedContainer[] = []
  const kept: ReapedContainer[] = []
  const problems: string[] = []
  for (const listed of JSON.parse(answer.text) as ListedContainer[]) {
    const { end, why } = await judge(engine, listed, now, tools)
    const container = { id: listed.Id, name: (listed.Names?.[0] ?? listed.Id.slice(0, 12)).replace(/^\//, ''), image: listed.Image, why }
    if (!end) kept.push(container)
    else if (dryRun) removed.push(container)
    else {
      try {
        await remove(engine, listed.Id)
        removed.push(container)
      } catch (error) {
        problems.push(`container ${container.name}: ${messageOf(error)}`)
      }
    }
  }
  return { removed, kept, problems }
}

async function judge(engine: Engine, listed: ListedContainer, now: number, { isAlive }: ReapTools): Promise<{ readonly end: boolean; readonly why: string }> {
  const leaseMs = Number(listed.Labels?.[labels.lease] ?? defaultIdleMs)
  const ageMs = now - listed.Created * 1000
  if (listed.State === 'created' || listed.State === 'configured' || listed.State === 'initialized') {
    const alive = isAlive(listed.Labels?.[labels.owner] ?? '')
    if (alive === false) return { end: true, why: 'was never started, and who created it is dead' }
    if (ageMs > halfMadeMs) return { end: true, why: 'was never started' }
    return { end: false, why: 'is just being made' }
  }
  if (listed.State !== 'running' && listed.State !== 'paused') return { end: true, why: `is ${listed.State}` }
  const last = await lastKept(engine, listed.Id)
  const silentMs = now - (last ?? now)
  const words = `${listed.State === 'paused' ? 'is paused; ' : ''}was last used ${Math.max(0, Math.round(silentMs / 1000))} s ago, and ends after ${Math.round(leaseMs / 1000)} s`
  return { end: silentMs > leaseMs + overdueMs, why: words }
}

/** When the first process last saw that somebody came, or that a run goes on; undefined where the folder is in memory, out of reach from outside. */
async function lastKept(engine: Engine, id: string): Promise<number | undefined> {
  const times = await Promise.all(
    ['last', 'kept'].map(async (name) => {
      try {
        const { headers } = await engine.ask({
          method: 'HEAD',
          path: `/containers/${id}/archive`,
          query: { path: `${privateFolder}/${name}` },
          timeoutMs: 20_000,
        })
        const stat = JSON.parse(Buffer.from(String(headers['x-docker-container-path-stat'] ?? ''), 'base64').toString('utf8')) as { mtime?: string }
        return Date.parse(stat.mtime ?? '')
      } catch {
        return Number.NaN
      }
    }),
  )
  const known = times.filter((time) => !Number.isNaN(time))
  return known.length > 0 ? Math.max(...known) : undefined
}
