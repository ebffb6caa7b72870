import { ownFrame } from './js-details.ts'
import type { OpenFailure, Rank } from './parts.ts'
import { placeIn, ranks } from './parts.ts'
import type { LogLine } from './recogniser.ts'

const keyLine = /^(\s*)([a-z]\w{0,40})\s*:(?: (.*))?$/i
const rankOfKey: ReadonlyMap<string, Rank> = new Map([
  ['error', ranks.message],
  ['message', ranks.message],
  ['expected', ranks.comparison],
  ['actual', ranks.comparison],
  ['found', ranks.comparison],
  ['wanted', ranks.comparison],
  ['got', ranks.comparison],
  ['at', ranks.place],
  ['location', ranks.place],
  ['stack', ranks.place],
])

/** Reads the block of YAML below a failed test of TAP: keys at the margin of the first one, each with its value on the same line or below. */
export function yamlExplanation(open: OpenFailure): (line: LogLine) => void {
  let margin: number | undefined
  let key = ''
  let start: string | undefined
  return (line) => {
    const { text } = line
    const found = keyLine.exec(text)
    if (found) margin ??= (found[1] as string).length
    const opens = found !== null && (found[1] as string).length <= (margin ?? 0)
    if (opens) key = found[2] as string
    const rank = rankOfKey.get(key)
    // The value of such a key stands below it.
    if (rank === undefined || text === '' || (opens && /^(?:|[|>][-+]?)$/.test(found[3] ?? ''))) return
    if (rank !== ranks.place) {
      open.detail(line, rank)
      return
    }
    const place = key === 'stack' ? ownFrame(text) : placeIn(text)
    if (place === undefined) return
    open.detail(line, rank)
    // A frame that failed says more than where the test begins.
    if (open.place === undefined || open.place === start) open.place = place
    if (key === 'location') start = place
  }
}
