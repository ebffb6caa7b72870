import type { App } from '../../app/api.ts'

/** The most that the protocol lets a server offer at once. */
const mostValues = 100
const lookedAtRuns = 200

/** Ids of runs, newest first, for every argument that is one. What a client asks of any other argument has no completion. */
export async function completeRun(app: App, { name, value }: { name: string; value: string }): Promise<{ values: string[]; total: number; hasMore: boolean }> {
  if (name !== 'run') return { values: [], total: 0, hasMore: false }
  const { runs } = await app.runs({ limit: lookedAtRuns })
  const ids = [...(runs.length > 0 ? ['last'] : []), ...runs.map(({ id }) => id)].filter((id) => id.startsWith(value))
  return { values: ids.slice(0, mostValues), total: ids.length, hasMore: ids.length > mostValues }
}
