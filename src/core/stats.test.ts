import { describe, expect, it } from 'vitest'
import { type Printed, type Shown, statsOf } from './stats.ts'

const printed = (id: string, bytes: number, commandKey: string | null = 'k', command = 'npm test'): Printed => ({ id, commandKey, command, bytes })
const shown = (run: string | null, bytes: number, more: Partial<Shown> = {}): Shown => ({
  surface: 'mcp',
  operation: 'exec',
  run,
  day: 1,
  calls: 1,
  bytes,
  ...more,
})

describe('what is shown of what was printed', () => {
  it('adds up runs of one command, with what two kinds of hosts would have kept', () => {
    const stats = statsOf(
      [printed('b', 100_000, 'k', 'npm  test'), printed('a', 40_000)],
      [shown('a', 300), shown('b', 500), shown('b', 200, { calls: 2, surface: 'cli' })],
    )
    const sums = { runs: 2, countedRuns: 2, printedBytes: 140_000, first30000Bytes: 60_000, first50KBytes: 91_200 }
    const by = { mcp: { calls: 2, bytes: 800 }, cli: { calls: 2, bytes: 200 }, library: null }
    expect(stats.commands).toEqual([{ command: 'npm  test', ...sums, shown: by }])
    expect(stats.all).toEqual({ ...sums, shown: by })
  })

  it('leaves runs of which no answer was counted out of all figures, and says how many they are', () => {
    const { all, commands } = statsOf([printed('a', 9_000), printed('b', 1_000)], [shown('b', 100)])
    expect(all).toMatchObject({ runs: 2, countedRuns: 1, printedBytes: 1_000 })
    expect(commands[0]?.shown.mcp).toEqual({ calls: 1, bytes: 100 })
    expect(statsOf([printed('a', 9_000)], []).all).toMatchObject({ countedRuns: 0, printedBytes: 0, shown: { mcp: null, cli: null, library: null } })
  })

  it('keeps commands apart, those that printed most first, and takes a run without a key for a command of its own', () => {
    const runs = [printed('a', 10, null, 'x'), printed('b', 30, null, 'x'), printed('c', 20, 'other', 'y')]
    const { commands } = statsOf(runs, [shown('a', 1), shown('b', 1), shown('c', 1)])
    expect(commands.map(({ command, printedBytes }) => [command, printedBytes])).toEqual([
      ['x', 30],
      ['y', 20],
      ['x', 10],
    ])
  })

  it('tells what belongs to no run apart, and the descriptions of tools from that', () => {
    const stats = statsOf(
      [],
      [shown(null, 50, { operation: 'runs' }), shown(null, 5_900, { operation: 'tools' }), shown(null, 5_900, { operation: 'tools', day: 2 })],
    )
    expect(stats.elsewhere).toEqual({ mcp: { calls: 1, bytes: 50 }, cli: null, library: null })
    expect(stats.tools).toEqual({ calls: 2, bytes: 11_800 })
    expect(statsOf([], []).tools).toBeNull()
  })
})
