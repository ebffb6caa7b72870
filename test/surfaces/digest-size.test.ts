import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect } from 'vitest'
import { estimateTokens } from '../../src/core/tokens.ts'
import { program, testsInPlace } from '../cases/place.ts'

const inPlace = testsInPlace(120_000)

const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta']
/** Each line has a shape of its own, so that a digest has enough to fill any room with. */
const log = Array.from({ length: 512 }, (_, i) => `error: ${[i & 7, (i >> 3) & 7, (i >> 6) & 7, i >> 7].map((at) => words[at]).join(' ')} is missing\n`).join(
  '',
)
const script = 'cat log; exit 3'

describe('the size of a digest', () => {
  inPlace('is kept in bytes and in tokens by library, command line and MCP alike', async ({ world, holdfast, cli }) => {
    writeFileSync(join(world.root, 'log'), log)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd: world.root, env: { ...world.env } }))
    const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
      const { content } = await client.callTool({ name, arguments: args })
      return (content as { text: string }[]).map(({ text }) => text).join('\n')
    }
    const { id } = await holdfast.exec({ script })
    for (const [size, measure] of [
      [{ tokens: 300 }, estimateTokens],
      [{ budget: 3_000 }, Buffer.byteLength],
    ] as const) {
      const [[name, most]] = Object.entries(size) as [[string, number]]
      const texts = {
        'library exec': `${(await holdfast.exec({ script, ...size })).digest}\n`,
        'library digest': `${(await holdfast.digest({ text: log, ...size })).digest}\n`,
        'cli exec': (await cli(['exec', `--${name}`, String(most), '-c', script])).stdout,
        'cli show': (await cli(['show', `--${name}`, String(most), id])).stdout,
        'cli digest': (await cli(['digest', `--${name}`, String(most), 'log'])).stdout,
        'mcp exec': await call('exec', { script, ...size }),
        'mcp wait': await call('wait', { run: id, ...size }),
      }
      for (const [where, text] of Object.entries(texts)) {
        const taken = measure(text)
        expect(taken, `${where} ${name} ${most}`).toBeLessThanOrEqual(most)
        expect(taken, `${where} ${name} ${most}`).toBeGreaterThan(most * 0.6)
      }
    }
    await client.close()
  })

  inPlace('does not change what a line of it is called: output gives each line under its number', async ({ cli, holdfast }) => {
    const { id, digest } = (
      await cli(['exec', '--json', '--tokens', '400', '-c', "seq 1 900; echo 'Error: no luck'; seq 1 900; echo 'fatal: gave up' >&2; exit 1"])
    ).json<{
      id: string
      digest: string
    }>()
    let stream = ''
    const shown: [stream: string, number: string, text: string][] = []
    for (const line of digest.split('\n')) {
      stream = /^(stdout|stderr) /.exec(line)?.[1] ?? stream
      const [, number, text] = /^(\d+) \| (.*)$/.exec(line) ?? []
      if (number !== undefined && text !== undefined) shown.push([stream, number, text])
    }
    expect(shown).toContainEqual(['stdout', '901', 'Error: no luck'])
    for (const [from, number, text] of shown) {
      expect((await holdfast.output({ run: id, stream: from as 'stdout', lines: `${number}-${number}` })).text).toBe(`${text}\n`)
    }
  })
})
