import { carriedText } from './carrier.ts'
import type { LineRef, LogStream } from './log.ts'
import { messageOf } from './severity.ts'
import type { Finding } from './survey.ts'

export interface Use {
  count: number
  first: number
  last: number
}

const firstOf = (finding: Finding): LineRef => finding.members[0] as LineRef

const usedChars = 240
const maxWords = 24
const wordsOf = (finding: Finding): string[] =>
  [
    ...new Set(
      messageOf(carriedText(firstOf(finding)))
        .slice(0, usedChars)
        .toLowerCase()
        .match(/\p{L}{3,}/gu) ?? [],
    ),
  ].slice(0, maxWords)

/** How often, and from where to where, each word stands in what was found. */
export function usesOf(findings: readonly Finding[]): Map<string, Use> {
  const uses = new Map<string, Use>()
  for (const finding of findings) {
    for (const word of wordsOf(finding)) {
      const use = uses.get(word) ?? { count: 0, first: firstOf(finding).number, last: 0 }
      use.count += finding.count
      use.first = Math.min(use.first, firstOf(finding).number)
      use.last = Math.max(use.last, finding.lastNumber)
      uses.set(word, use)
    }
  }
  return uses
}

/**
 * What is said again and again all over a log, be it with other names, is how things are there; what stands in one place may
 * well be repeated by a failure. A line is as common as the rarer half of its words allows.
 */
export function commonness(finding: Finding, uses: ReadonlyMap<string, Use>, stream: LogStream): number {
  const own = spread(finding.count, firstOf(finding).number, finding.lastNumber, stream)
  const words = wordsOf(finding)
    .map((word) => uses.get(word) as Use)
    .map(({ count, first, last }) => spread(count, first, last, stream))
    .sort((a, b) => a - b)
  return Math.min(maxCommonness, Math.max(own * 1.5, words[Math.floor(words.length * 0.4)] ?? 0))
}

/** The most that a line may weigh less for it. */
export const maxCommonness = 20

function spread(count: number, first: number, last: number, stream: LogStream): number {
  if (count < 4) return 0
  const share = (last - first) / Math.max(60, stream.lines)
  return 2 * Math.log2(count) * Math.min(1, share * 2)
}
