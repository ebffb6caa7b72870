import { lineHunks, linesOf } from './line-diff.ts'

/** A place in a text, and what stood there before. */
export interface Edit {
  readonly at: number
  readonly length: number
  readonly text: string
}

/** What leads from a text back to the one that it was made from: only what was put in and taken out, and nothing around it. */
export function reverseEdits(after: string, before: string): Edit[] {
  const lines = linesOf(after)
  const offsets = [0]
  for (const line of lines) offsets.push((offsets.at(-1) as number) + line.length)
  return lineHunks(lines, linesOf(before)).map(({ from, removed, added }) => {
    const [one, other] = [removed.join(''), added.join('')]
    let head = 0
    while (head < one.length && head < other.length && one[head] === other[head]) head += 1
    let tail = 0
    while (tail < one.length - head && tail < other.length - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1
    return { at: (offsets[from] as number) + head, length: one.length - head - tail, text: other.slice(head, other.length - tail) }
  })
}

/** The text with each edit made. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits.toReversed().reduce((rest, { at, length, text: by }) => rest.slice(0, at) + by + rest.slice(at + length), text)
}
