import { describe, expect, it } from 'vitest'
import type { StatsResult } from '../../app/api.ts'
import type { ShownOn } from '../../core/stats.ts'
import { presentStats } from './present-stats.ts'

const nowhere: ShownOn = { mcp: null, cli: null, library: null }
const build = { command: 'npm run build', runs: 3, countedRuns: 2, printedBytes: 90_000, first30000Bytes: 60_000, first50KBytes: 90_000, shown: nowhere }
const wide = { columns: 200, isTerminal: true, nowMs: 0 }

/** The table without the sentence above it. */
function tableOf(changes: Partial<StatsResult>): string[] {
  const { command: _, ...all } = build
  return presentStats({ commands: [build], all, elsewhere: nowhere, tools: null, more: 0, warnings: [], ...changes }, wide)
    .split('\n')
    .slice(1)
}

describe('the table of stats', () => {
  it('has a column for each surface that was used, and a dash for what was not counted of it', () => {
    const shown: ShownOn = { mcp: { calls: 2, bytes: 3_100 }, cli: null, library: null }
    const elsewhere: ShownOn = { ...nowhere, cli: { calls: 1, bytes: 480 } }
    const { command: _, ...all } = { ...build, shown }
    expect(tableOf({ commands: [{ ...build, shown }], all, elsewhere })).toEqual([
      'counted  printed  first 30,000  first 50 KB  MCP    command line',
      '2 of 3   90,000   60,000        90,000       3,100  -             npm run build',
      '2 of 3   90,000   60,000        90,000       3,100  -             all runs',
      '                                             -      480           lists and searches',
    ])
  })

  it('tells what the tools cost also where none of their answers was counted', () => {
    expect(tableOf({ tools: { calls: 1, bytes: 6_300 } }).at(-1)).toMatch(/^ +6,300 +descriptions of tools, 1 session$/)
  })

  it('has no figures of a command of which no answer was counted', () => {
    expect(tableOf({ commands: [{ ...build, countedRuns: 0 }] })[1]).toMatch(/^0 of 3 +- +- +- +npm run build$/)
  })
})
