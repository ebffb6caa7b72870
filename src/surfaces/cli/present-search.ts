import type { SearchInput, SearchResult } from '../../app/api.ts'
import { excerpt, parseQuery } from '../../core/query.ts'
import type { At } from './print.ts'
import { clip, widthOf } from './width.ts'

type Asked = Pick<SearchInput, 'query' | 'regex'>

/** The hits, grouped by run. */
export function presentSearch(result: SearchResult, at: Pick<At, 'columns'>, asked: Asked): string {
  if (result.hits.length === 0) return 'Nothing found.'
  const groups = new Map<string, SearchResult['hits'][number][]>()
  for (const hit of result.hits) {
    const group = groups.get(hit.run)
    if (group) group.push(hit)
    else groups.set(hit.run, [hit])
  }
  const shorten = shortenerFor(asked)
  const roomBeside = (head: string): number => Math.max(10, at.columns - widthOf(head))
  const hitLine = (hit: SearchResult['hits'][number]): string => {
    const head = `  ${hit.ref}  ${hit.line === null ? `${hit.stream}: ` : ''}`
    const whole = clip(hit.text, Number.POSITIVE_INFINITY)
    const room = roomBeside(head)
    return `${head}${shorten && widthOf(whole) > room ? clip(shorten(whole, room), room) : whole}`
  }
  const blocks = [...groups].map(([run, hits]) => {
    const head = `${run}  ${hits[0]?.failing ? '(failing) ' : ''}`
    return [`${head}${clip(hits[0]?.command ?? '', roomBeside(head))}`, ...hits.map(hitLine)].join('\n')
  })
  return blocks.join('\n\n') + (result.more ? '\n\n(there may be more; --limit N shows them)' : '')
}

/**
 * Shortens a line to what was found in it, so that it is seen also where the line is longer than the terminal is wide.
 * Undefined for a regular expression: to try it once more, on a part of the line, could take forever.
 */
function shortenerFor({ query, regex }: Asked): ((text: string, columns: number) => string) | undefined {
  if (regex) return undefined
  const parsed = parseQuery(query)
  return (text, columns) => excerpt(parsed, text, columns)
}
