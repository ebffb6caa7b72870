import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect } from 'vitest'
import type { StatsResult } from '../../src/app/api.ts'
import { type Place, program, testsInPlace } from '../cases/place.ts'

const inPlace = testsInPlace(60_000)

const script = 'for i in $(seq 1 10000); do echo "line $i of a log"; done'
const bytesOfScript = Array.from({ length: 10_000 }, (_, i) => `line ${i + 1} of a log\n`).join('').length
const statsOf = async ({ cli }: Place, ...args: string[]): Promise<StatsResult> => (await cli(['stats', '--json', ...args])).json<StatsResult>()

describe('stats', () => {
  inPlace('tell what runs printed and what each surface showed of them', async (place) => {
    const { world, cli } = place
    const holdfast = await place.again()
    const run = await holdfast.exec({ script })
    const page = await holdfast.output({ run: run.id, lines: '1-10' })
    await holdfast.close()
    const printed = await cli(['exec', '-c', script])
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd: world.root, env: { ...world.env } }))
    const { tools } = await client.listTools()
    const answers = [await client.callTool({ name: 'exec', arguments: { script } }), await client.callTool({ name: 'runs', arguments: {} })]
    const [execBytes, runsBytes] = answers.map(({ content }) => Buffer.byteLength((content as { text: string }[])[0]?.text ?? ''))
    await client.close()
    const stats = await statsOf(place)
    expect(stats.commands).toEqual([
      {
        command: script,
        runs: 3,
        countedRuns: 3,
        printedBytes: 3 * bytesOfScript,
        first30000Bytes: 90_000,
        first50KBytes: 3 * 51_200,
        shown: {
          mcp: { calls: 1, bytes: execBytes },
          cli: { calls: 1, bytes: Buffer.byteLength(printed.stdout) },
          library: { calls: 2, bytes: Buffer.byteLength(run.digest) + Buffer.byteLength(page.text) },
        },
      },
    ])
    expect(stats.elsewhere).toEqual({ mcp: { calls: 1, bytes: runsBytes }, cli: null, library: null })
    expect(stats.tools?.calls).toBe(1)
    expect(stats.tools?.bytes).toBeGreaterThanOrEqual(JSON.stringify(tools).length)
  })

  inPlace('read as a table, with a column for each surface that was used', async ({ cli }) => {
    expect((await cli(['stats'])).stdout).toBe('no runs\n')
    await cli(['exec', '--', 'echo', 'one'])
    await cli(['exec', '--', 'seq', '2000'])
    const { stdout, stderr, status } = await cli(['stats', '--limit', '1'])
    expect([status, stderr]).toEqual([0, ''])
    const lines = stdout.trimEnd().split('\n')
    expect(lines[1]).toMatch(/^counted +printed +first 30,000 +first 50 KB +command line$/)
    expect(lines[2]).toMatch(/^1 of 1 +8,893 +8,893 +8,893 +[\d,]+ +seq 2000$/)
    expect(lines[3]).toMatch(/^2 of 2 +8,897 +8,897 +8,897 +[\d,]+ +all runs$/)
    expect(lines.at(-1)).toBe('1 more command: --limit')
  })

  inPlace('leave out what began earlier than asked for, and refuse what is no time', async (place) => {
    await place.cli(['exec', '--', 'echo', 'one'])
    expect((await statsOf(place, '--since', '1h')).all.runs).toBe(1)
    expect((await statsOf(place, '--since', '2999-01-01')).all).toMatchObject({ runs: 0, countedRuns: 0, shown: { cli: null } })
    expect((await place.cli(['stats', '--since', 'lunch'])).stderr).toContain('a time back like 2h or 3d')
    await expect(place.holdfast.stats({ sinceMs: Number.NaN })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  inPlace('cost nobody an answer where nothing can be counted', async ({ cli, world }) => {
    await cli(['exec', '--', 'echo', 'one'])
    const run = await cli(['exec', '--', 'echo', 'two'], { env: { HOLDFAST_HOME: join(world.root, 'a file', 'x') } })
    expect(run.stdout).toContain('two')
  })
})
