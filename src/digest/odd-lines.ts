import type { LineRef, LogStream } from './log.ts'
import { lineAfter, lineFrom, lineToJudge } from './log.ts'
import { wordsOf } from './ordinary.ts'

/** Longer logs have too many words for any to say much, and to read all of them takes too long. */
const maxLines = 10_000
/** Of a line so many words, and this share of them, stand in at most two lines of the log. */
const fewestOwn = 3
const ownShare = 0.5
const seldom = 2
/** Where so many of the lines around one are odd, oddness is what goes on there: the beginning of a job, a dump. */
const reach = 12
const mostAround = 5

interface Candidate {
  readonly line: LineRef
  readonly index: number
  readonly score: number
}

/** Lines that say with words of their own what nothing else in the log says, among lines that do not: the likeliest to matter first. */
export function oddLines(stream: LogStream): readonly LineRef[] {
  if (stream.lines > maxLines) return []
  const seen = new Map<string, number>()
  const lines: { readonly line: LineRef; readonly words: readonly string[] }[] = []
  for (const section of stream.sections) {
    for (let line = lineFrom(section, 0, section.firstLine); line && lines.length < maxLines; line = lineAfter(line)) {
      const words = wordsOf(lineToJudge(line))
      for (const word of words) seen.set(word, (seen.get(word) ?? 0) + 1)
      lines.push({ line, words })
    }
  }
  const odd = lines.flatMap(({ line, words }, index): Candidate[] => {
    const own = words.filter((word) => (seen.get(word) as number) <= seldom).length
    return own >= fewestOwn && own / words.length >= ownShare ? [{ line, index, score: own / words.length + Math.min(own, 8) / 16 }] : []
  })
  return lonely(odd)
    .sort((a, b) => b.score - a.score || b.index - a.index)
    .map(({ line }) => line)
}

/** Those with few others around them, of which each takes a little of the score. */
function lonely(odd: readonly Candidate[]): Candidate[] {
  let first = 0
  let behind = 0
  return odd.flatMap((each) => {
    while ((odd[first] as Candidate).index < each.index - reach) first += 1
    while (behind < odd.length && (odd[behind] as Candidate).index <= each.index + reach) behind += 1
    const around = behind - first - 1
    return around <= mostAround ? [{ ...each, score: each.score - around / 10 }] : []
  })
}
