import type { LogLine } from './recogniser.ts'

/** The last lines before the one at hand: what a step printed before its tool says that it failed. */
export interface RecentLines {
  add(line: LogLine): void
  clear(): void
  /** Those of the stream of `line` that hold a letter or a digit, the nearest first. */
  before(line: LogLine): LogLine[]
}

export function recentLines(count: number): RecentLines {
  const lines: LogLine[] = []
  return {
    add(line) {
      if (lines.length === count) lines.shift()
      lines.push(line)
    },
    clear() {
      lines.length = 0
    },
    before: ({ stream }) => lines.filter((line) => line.stream === stream && /[\p{L}\p{N}]/u.test(line.text)).reverse(),
  }
}

/** True for a line in whose words something went wrong. */
export const tellsTrouble = (text: string): boolean =>
  /\b(?:err(?:or)?|errors|fail(?:ed|ure|s)?|fatal|can(?:no|')t|could(?: not|n't)|no such|not found|denied|refused|exception|undefined|unable|invalid|missing|expected|unknown|abort(?:ed)?|segmentation)\b/i.test(
    text,
  )
