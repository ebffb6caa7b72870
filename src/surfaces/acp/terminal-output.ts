import type { App, OutputLine } from '../../app/api.ts'
import { type StreamName, streamNames } from '../../core/command.ts'
import { byteLength, tailBytes } from '../../core/text.ts'

const firstLines = 256
const growth = 8

/**
 * The end of what a run printed, both streams in their order of arrival, masked, at most `limit` bytes and cut between characters. Reads from
 * the end in growing steps, so that what it costs follows the limit and not the length of the log.
 */
export async function terminalOutput(app: Pick<App, 'output'>, run: string, limit: number): Promise<{ output: string; truncated: boolean }> {
  for (let count = firstLines; ; count *= growth) {
    const { lines } = await app.output({ run, lines: `-${count}`, maxBytes: Number.MAX_SAFE_INTEGER })
    const isWhole = streamNames.every((stream) => isFromFirst(lines, stream))
    const text = lines.slice(isWhole ? 0 : beginOf(lines, count)).reduce((all, line) => `${all}${line.text}\n`, '')
    if (isWhole && byteLength(text) <= limit) return { output: text, truncated: lines.some(isShortened) }
    if (isWhole || byteLength(text) >= limit) return { output: tailBytes(text, Math.max(0, limit)), truncated: true }
  }
}

/** A very long line comes with its middle left out. */
const isShortened = ({ text }: OutputLine): boolean => / \[\d{1,15} bytes left out\] /.test(text)

/** Whether nothing of a stream stands before these lines. */
function isFromFirst(lines: readonly OutputLine[], stream: StreamName): boolean {
  const first = lines.find((line) => line.stream === stream && line.line > 0)
  return first === undefined || first.line === 1
}

/** From where on nothing is missing between the lines, of each stream the last `count`: from the first line of a stream that has more. */
function beginOf(lines: readonly OutputLine[], count: number): number {
  const firsts = streamNames.map((stream) => {
    const own = lines.flatMap((line, at) => (line.stream === stream && line.line > 0 ? [at] : []))
    return own.length < count ? 0 : (own[0] as number)
  })
  return Math.max(...firsts)
}
