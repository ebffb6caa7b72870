/** A cell of a row, with its place in the line: quotes and the blanks around it are no part of its text. */
export interface Cell {
  readonly text: string
  readonly start: number
  readonly end: number
}

export const delimiters = [',', '\t', ';', '|'] as const

/** What stands between the names of a row of headings; undefined for a line that is none. */
export const delimiterOf = (line: string): string | undefined =>
  delimiters.find((delimiter) => {
    const names = cellSpans(line, delimiter).map(({ text }) => text)
    // Prose has commas, too, and two words on both sides of one are no row.
    return names.length >= leastCells(delimiter) && isHeader(names)
  })

export const leastCells = (delimiter: string): number => (delimiter === ',' || delimiter === '|' ? 3 : 2)

export const isHeader = (names: readonly string[]): boolean => names.every((name) => headerName.test(name)) && new Set(names).size === names.length
/** A few words without the punctuation of a sentence or of code. */
const headerName = /^(?=.{1,60}$)(?=.*\p{L})[\p{L}\p{N}_.#%/$@()-]{1,60}(?: [\p{L}\p{N}_.#%/$@()-]{1,60}){0,3}$/u

/** The cells of a row; quotes hold delimiters and doubled quotes. A quote that is not closed in its line ends with it. */
export function cellSpans(line: string, delimiter: string): Cell[] {
  const cells: Cell[] = []
  let start = 0
  let quoted = false
  const close = (end: number): void => {
    const raw = line.slice(start, end)
    const text = (raw.includes('"') ? raw.replace(/""|"/g, (mark) => (mark === '""' ? '"' : '')) : raw).trim()
    cells.push({ text, start, end })
    start = end + 1
  }
  for (let i = 0; i < line.length; i += 1) {
    const char = line.charAt(i)
    if (char === '"') quoted = !quoted
    else if (char === delimiter && !quoted) close(i)
  }
  close(line.length)
  return cells
}

/** The texts of the cells of a row. */
export const splitRow = (line: string, delimiter: string): string[] =>
  line.includes('"') ? cellSpans(line, delimiter).map(({ text }) => text) : line.split(delimiter).map((cell) => cell.trim())
