import type { Gathering, OpenFailure } from './parts.ts'
import type { LogLine } from './recogniser.ts'
import { maxFailures } from './recogniser.ts'

/** Failures that a tool tells in several places: as they happen, in a section of their own, in a summary. */
export interface RetoldFailures {
  /**
   * The failure of this kind and name that this place has not told yet, or a new one. Several may have one name, or none
   * until a later place names them; they are told in the same order in each place.
   */
  meet(kind: string, name: string, stage: number, line: LogLine, title: string): OpenFailure
  /** How many there are of a kind: as many as the place that told most. */
  count(kind: string): number
}

export function retoldFailures(all: Gathering): RetoldFailures {
  const known = new Map<string, { readonly open: OpenFailure; stage: number }[]>()
  const counts = new Map<string, number[]>()
  return {
    meet(kind, name, stage, line, title) {
      const told = counts.get(kind) ?? []
      told[stage] = (told[stage] ?? 0) + 1
      counts.set(kind, told)
      const key = `${kind} ${name}`
      const entries = known.get(key) ?? []
      const isEarlier = (entry: { readonly stage: number }): boolean => entry.stage < stage
      const earlier = entries.find(isEarlier) ?? known.get(`${kind} `)?.find(isEarlier)
      if (earlier) {
        earlier.stage = stage
        return earlier.open
      }
      const open = all.failure(line, title)
      if (all.failures <= maxFailures) known.set(key, [...entries, { open, stage }])
      return open
    },
    count: (kind) => (counts.get(kind) ?? []).reduce((most, told) => Math.max(most, told), 0),
  }
}
