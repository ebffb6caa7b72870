import { oneLine } from '../../core/text.ts'

// Blocks whose characters take two columns in a terminal (Unicode East Asian Width W and F, and emoji).
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u
const none = /[\p{M}\p{Cf}]/u

function columnsOf(character: string): number {
  if (character.length === 1 && character <= '~') return 1
  if (none.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

/** Columns that a line takes in a terminal. */
export function widthOf(text: string): number {
  let columns = 0
  for (const character of text) columns += columnsOf(character)
  return columns
}

/** The beginning of a line that fits; a cut is marked. Text of others comes out as one line without control characters. */
export function clip(text: string, columns: number): string {
  const line = oneLine(text.length > columns * 8 + 4096 ? text.slice(0, columns * 8 + 4096) : text).replace(/\p{Cf}/gu, '')
  if (widthOf(line) <= columns) return line
  let used = 1
  let kept = ''
  for (const character of line) {
    used += columnsOf(character)
    if (used > columns) break
    kept += character
  }
  return columns < 1 ? '' : `${kept}…`
}

/** Text as wide as asked, filled with spaces. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

/** Text as lines that fit, broken at spaces alone: a path or a name that is longer stays whole. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line: string | undefined
  for (const word of text.split(' ')) {
    const longer: string = line === undefined ? word : `${line} ${word}`
    if (line !== undefined && widthOf(longer) > columns) {
      lines.push(line.trimEnd())
      line = word
    } else line = longer
  }
  return [...lines, (line ?? '').trimEnd()]
}

/** Text behind a head; what does not fit goes on under its beginning. */
export function hanging(head: string, text: string, columns: number): string {
  const indent = widthOf(head)
  return (head + wrap(text, Math.max(20, columns - indent)).join(`\n${' '.repeat(indent)}`)).trimEnd()
}

/** Rows as columns two spaces apart; the last column gets what is left and is clipped. */
export function table(rows: readonly (readonly string[])[], columns: number): string {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: Math.max(0, count - 1) }, (_, i) => Math.max(...rows.map((row) => widthOf(row[i] ?? ''))))
  const used = widths.reduce((sum, width) => sum + width + 2, 0)
  return rows
    .map((row) => [...widths.map((width, i) => padded(row[i] ?? '', width)), clip(row[count - 1] ?? '', Math.max(10, columns - used))].join('  ').trimEnd())
    .join('\n')
}
