import { byteLength, headBytes } from '../core/text.ts'

// What may be left out behind the first thing that is said: what a code or a signal amounts to, for how long, and why.
const ends = [/ \(failed\)$/, /(?:, ended by | \(no output ).*$/, /(?:, | \(|: |; | after ).*$/, / with .*$/]
const before = /^(?:exit|ended by|still) /

/**
 * How a run ended, in at most `maxBytes` bytes: the code or the signal is what stays longest. A number is whole or not there, since half
 * of one is another code.
 */
export function briefOutcome(words: string, maxBytes: number): string {
  const shorter = ends.map((end) => words.replace(end, ''))
  const bare = (shorter[2] ?? '').replace(before, '')
  const found = [words, ...shorter, bare].find((text) => byteLength(text) <= maxBytes)
  return found ?? (/^\d/.test(bare) ? '' : headBytes(bare, maxBytes))
}

/** The beginning of what a digest says, in at most `maxBytes` bytes: a total that is cut within would be another number. */
export function atMark(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text.trimEnd()
  const most = headBytes(text, maxBytes).length
  const end = Math.max(...['\n', ', ', ':', ' ('].map((mark) => text.lastIndexOf(mark, most)))
  return text.slice(0, Math.max(0, end)).trimEnd()
}
