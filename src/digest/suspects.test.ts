import { describe, expect, it } from 'vitest'
import { textSection } from './log.ts'
import { suspectsIn } from './suspects.ts'

const suspectsOf = (lines: readonly string[]) => suspectsIn(textSection(`${lines.join('\n')}\n`))

describe('lines of trouble that are alike', () => {
  it('are counted, and those of the same text are one member', () => {
    const { suspects } = suspectsOf(['error: job 1 failed', 'error: job 1 failed', 'fine', 'error: job 2 failed', 'error: job 1 failed'])
    expect(suspects.map(({ count, lastNumber }) => [count, lastNumber])).toEqual([[4, 5]])
    expect(suspects[0]?.members.map(({ number }) => number)).toEqual([1, 4])
  })
})

describe('a flood of lines of trouble that differ', () => {
  it('keeps the first and the latest of them, and counts each once', () => {
    const word = (i: number): string => [...String(i)].map((digit) => 'qrstuvwxyz'[Number(digit)]).join('')
    const lines = Array.from({ length: 20_000 }, (_, i) => `error: cannot reach ${word(i)} now`)
    const { suspects, passedOver } = suspectsOf(lines)
    expect(suspects.reduce((sum, { count }) => sum + count, passedOver)).toBe(lines.length)
    expect(suspects[0]?.members[0]?.number).toBe(1)
    expect(suspects.slice(-1024).map(({ members }) => members[0]?.number)).toEqual(Array.from({ length: 1024 }, (_, i) => lines.length - 1023 + i))
  })
})
