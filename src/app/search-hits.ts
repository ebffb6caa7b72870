import { isFailing, type RunRecord } from '../core/run.ts'
import { judge } from '../digest/severity.ts'
import type { SearchGroup, SearchHit } from './api.ts'
import { fullScore } from './search-matcher.ts'
import { toSummary } from './summary.ts'

/** A line, or a command or purpose, that answers. */
export interface Found extends Pick<SearchHit, 'ref' | 'stream' | 'line' | 'text'> {
  readonly record: RunRecord
  readonly score: number
  /** Of its run among those that were looked at: of runs of one moment the newest is looked at first. */
  readonly order: number
  /** Where a line before it, or it itself, begins in the stream, and its number: from there on what is around it is read. */
  readonly from: { readonly offset: number; readonly line: number } | undefined
}

/** All that answers in a run. */
export interface RunHits {
  readonly record: RunRecord
  readonly hits: Found[]
  /** Which of the terms are anywhere in it. */
  readonly terms: Set<number>
}

/** How many hits of one run are kept while others are still to come. */
export const hitsPerRun = 40

/** The hits of a run that are worth showing, at their final scores: those of failed runs and the lines that matter come first among equals. */
export function choose({ record, hits, terms }: RunHits, asked: number): Found[] {
  keepBest(hits)
  // Lines with a part of the query are worth showing only of a run that has all of it, and where no line has. A command or a
  // purpose that has all of it says nothing about the lines.
  const best = Math.max(0, ...hits.filter(({ line }) => line !== null).map(({ score }) => score))
  const kept = hits.filter(({ score, line }) => score >= fullScore || (terms.size === asked && line !== null && best < fullScore))
  const failing = isFailing(record) ? 20 : 0
  return kept.map((hit) => ({ ...hit, score: hit.score + failing + (hit.line === null ? 0 : 5 * judge(hit.text).severity) }))
}

/** Leaves the best of the hits of one run. */
export function keepBest(hits: Found[]): void {
  if (hits.length <= hitsPerRun) return
  hits.sort((a, b) => b.score - a.score || lineOf(a) - lineOf(b))
  hits.length = hitsPerRun
}

export const bestFirst = (a: Found, b: Found): number => b.score - a.score || byAge(a, b) || lineOf(a) - lineOf(b)

const byAge = (a: Found, b: Found): number => (a.record.startedAt === b.record.startedAt ? a.order - b.order : a.record.startedAt < b.record.startedAt ? 1 : -1)

/** What a run printed says more than the command that printed it. */
const lineOf = ({ line }: Found): number => line ?? Number.POSITIVE_INFINITY

export function toHit({ ref, stream, line, text, record }: Found): SearchHit {
  return { ref, run: record.id, stream, line, text, command: record.command, failing: isFailing(record) }
}

/** Their runs, in the order of the hits. */
export function groupsOf(hits: readonly Found[]): SearchGroup[] {
  const groups = new Map<string, Found[]>()
  for (const hit of hits) {
    const group = groups.get(hit.record.id)
    if (group) group.push(hit)
    else groups.set(hit.record.id, [hit])
  }
  return [...groups.values()].map((own) => ({ ...toSummary((own[0] as Found).record), refs: own.map(({ ref }) => ref) }))
}
