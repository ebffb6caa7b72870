import type { SearchGroup, SearchHit, SearchInput, SearchResult } from '../../app/api.ts'
import { excerpt, parseQuery } from '../../core/query.ts'
import { agoOf, endingOf } from './present-runs.ts'
import type { At } from './print.ts'
import { clip, widthOf } from './width.ts'

type Asked = Pick<SearchInput, 'query' | 'regex' | 'literal'>

/** The hits, grouped by run. */
export function presentSearch(result: SearchResult, at: Pick<At, 'columns' | 'nowMs'>, asked: Asked): string {
  const blocks = result.groups.map((group) => presentGroup(group, result, at, asked))
  const notes = [
    ...(result.hits.length === 0 ? ['Nothing found.'] : []),
    ...result.suggestions.map(({ word, instead }) => `Nothing for '${word}'; did you mean '${instead}'?`),
    ...(result.more ? ['(there may be more; --limit N shows them)'] : []),
  ]
  return [...blocks, notes.join('\n')].filter((block) => block !== '').join('\n\n')
}

function presentGroup(group: SearchGroup, { hits }: SearchResult, at: Pick<At, 'columns' | 'nowMs'>, asked: Asked): string {
  const shorten = shortenerFor(asked)
  const roomBeside = (head: string): number => Math.max(10, at.columns - widthOf(head))
  const line = (head: string, text: string, cut: (whole: string, room: number) => string): string => {
    const whole = clip(text, Number.POSITIVE_INFINITY)
    const room = roomBeside(head)
    return `${head}${widthOf(whole) > room ? cut(whole, room) : whole}`
  }
  const refs = new Set(group.refs)
  const own = hits.filter(({ ref, run }) => run === group.id && refs.has(ref))
  const shown = own.map((hit) => {
    const head = `  ${hit.ref}  ${hit.line === null ? `${hit.stream}: ` : ''}`
    // Lines around a hit have a sign where the others have a colon.
    const beside = (texts: readonly string[], first: number): string[] =>
      texts.map((text, i) => line(`  ${refOf(hit, first + i)}- `, text, (whole, room) => clip(whole, room)))
    const { before = [], after = [] } = hit
    return [
      ...beside(before, (hit.line ?? 0) - before.length),
      line(head, hit.text, (whole, room) => (shorten ? clip(shorten(whole, room), room) : whole)),
      ...beside(after, (hit.line ?? 0) + 1),
    ].join('\n')
  })
  const head = `${group.id}  ${endingOf(group)}  ${agoOf(Date.parse(group.startedAt), at.nowMs)}  `
  const apart = own.some(({ before }) => before !== undefined) ? '\n  --\n' : '\n'
  return `${head}${clip(group.command, roomBeside(head))}\n${shown.join(apart)}`
}

const refOf = ({ ref, line }: SearchHit, other: number): string => `${ref.slice(0, ref.length - String(line).length)}${other}`

/**
 * Shortens a line to what was found in it, so that it is seen also where the line is longer than the terminal is wide.
 * Undefined for a regular expression: to try it once more, on a part of the line, could take forever.
 */
function shortenerFor({ query, regex, literal }: Asked): ((text: string, columns: number) => string) | undefined {
  if (regex || literal) return undefined
  const parsed = parseQuery(query)
  return (text, columns) => excerpt(parsed, text, columns)
}
