/** A run of lines that differ: so many of the one text stand in the place of so many of the other. Places count from 0. */
export interface Hunk {
  readonly from: number
  readonly removed: readonly string[]
  readonly to: number
  readonly added: readonly string[]
}

/** Lines with their ends, so that they add up to the text. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

// Configuration files are short; of what is longer than this, and different throughout, one hunk is made.
const maxCells = 4_000_000

/** The fewest hunks of lines that lead from one text to the other. */
export function lineHunks(before: readonly string[], after: readonly string[]): Hunk[] {
  let head = 0
  while (head < before.length && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  const one = before.slice(head, before.length - tail)
  const other = after.slice(head, after.length - tail)
  if (one.length === 0 && other.length === 0) return []
  if (one.length * other.length > maxCells) return [{ from: head, removed: one, to: head, added: other }]
  return hunksOf(one, other).map(({ from, to, ...rest }) => ({ ...rest, from: from + head, to: to + head }))
}

function hunksOf(one: readonly string[], other: readonly string[]): Hunk[] {
  const common = commonLengths(one, other)
  const width = other.length + 1
  const hunks: Hunk[] = []
  let i = 0
  let j = 0
  while (i < one.length || j < other.length) {
    const [from, to] = [i, j]
    while ((i < one.length || j < other.length) && (i === one.length || j === other.length || one[i] !== other[j])) {
      const down = i < one.length ? (common[(i + 1) * width + j] as number) : -1
      const right = j < other.length ? (common[i * width + j + 1] as number) : -1
      if (down >= right) i += 1
      else j += 1
    }
    if (i > from || j > to) hunks.push({ from, removed: one.slice(from, i), to, added: other.slice(to, j) })
    while (i < one.length && j < other.length && one[i] === other[j]) {
      i += 1
      j += 1
    }
  }
  return hunks
}

/** How many lines the rests of both have in common, from each pair of places on. */
function commonLengths(one: readonly string[], other: readonly string[]): Uint32Array {
  const width = other.length + 1
  const common = new Uint32Array((one.length + 1) * width)
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const at = i * width + j
      common[at] = one[i] === other[j] ? (common[at + width + 1] as number) + 1 : Math.max(common[at + width] as number, common[at + 1] as number)
    }
  }
  return common
}
