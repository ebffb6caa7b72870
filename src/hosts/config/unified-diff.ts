import { looksSecret } from '../../core/secret-names.ts'
import { type Hunk, lineHunks, linesOf } from './line-diff.ts'

const contextLines = 3
// A file that is one long line would be shown twice, whole.
const maxShownLength = 400

/**
 * What changes in a file, in the form of `diff -u`, to be read: lines of other entries stand around it, so that what looks like a secret is
 * masked, and long lines are cut. Undefined stands for no file. Empty where nothing changes.
 */
export function unifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  if (before === after) return ''
  const [one, other] = [linesOf(before ?? ''), linesOf(after ?? '')]
  const blocks = blocksOf(lineHunks(one, other)).map((hunks) => block(hunks, one))
  return [`--- ${before === undefined ? '/dev/null' : path}`, `+++ ${after === undefined ? '/dev/null' : path}`, ...blocks.flat(), ''].join('\n')
}

/** Hunks whose context would overlap stand together. */
function blocksOf(hunks: readonly Hunk[]): Hunk[][] {
  const blocks: Hunk[][] = []
  for (const hunk of hunks) {
    const last = blocks.at(-1)?.at(-1)
    if (last && hunk.from - (last.from + last.removed.length) <= 2 * contextLines) blocks.at(-1)?.push(hunk)
    else blocks.push([hunk])
  }
  return blocks
}

function block(hunks: readonly Hunk[], before: readonly string[]): string[] {
  const [first, last] = [hunks[0] as Hunk, hunks.at(-1) as Hunk]
  const from = Math.max(0, first.from - contextLines)
  const to = Math.min(before.length, last.from + last.removed.length + contextLines)
  const lines: string[] = []
  let at = from
  for (const { from: start, removed, added } of hunks) {
    lines.push(...before.slice(at, start).flatMap((line) => shown(' ', line)))
    lines.push(...removed.flatMap((line) => shown('-', line)), ...added.flatMap((line) => shown('+', line)))
    at = start + removed.length
  }
  lines.push(...before.slice(at, to).flatMap((line) => shown(' ', line)))
  const removedCount = to - from
  const addedCount = removedCount + hunks.reduce((sum, { removed, added }) => sum + added.length - removed.length, 0)
  return [`@@ -${span(from, removedCount)} +${span(from + first.to - first.from, addedCount)} @@`, ...lines]
}

const span = (from: number, count: number): string => `${count === 0 ? from : from + 1}${count === 1 ? '' : `,${count}`}`

function shown(sign: string, line: string): string[] {
  const text = line.replace(/\r?\n$/, '')
  const masked = text.length > maxShownLength ? `${text.slice(0, maxShownLength)}... (${text.length - maxShownLength} more)` : text
  return [sign + withoutSecrets(masked), ...(line.endsWith('\n') ? [] : ['\\ No newline at end of file'])]
}

/** `"API_KEY": "..."` and `API_KEY = "..."` without the value, and what says to be a token of access. */
function withoutSecrets(line: string): string {
  return line
    .replace(
      /(["']?)([\w.-]{1,64})\1(\s{0,8}[:=]\s{0,8})"((?:[^"\\]|\\.){1,400})("?)/g,
      (whole, quote: string, name: string, between: string, _value, end: string) =>
        looksSecret(name) ? `${quote}${name}${quote}${between}"[masked]${end}` : whole,
    )
    .replace(/\b(Bearer|Basic|token)[ ]+[\w.~+/=-]{6,400}/gi, '$1 [masked]')
}
