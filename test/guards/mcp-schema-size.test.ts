import { expect, it } from 'vitest'
import { listTools } from '../../src/surfaces/mcp/tools.ts'

const bytesOf = (tools: readonly object[]): number => Buffer.byteLength(JSON.stringify(tools))

it('the tools cost a model less than 6 KB, and less than 9 KB with workspaces', () => {
  const tools = listTools()
  expect(bytesOf(tools.filter(({ name }) => name !== 'workspace'))).toBeLessThan(6_000)
  expect(bytesOf(tools)).toBeLessThan(9_000)
})

it('every tool and every number says what it means', () => {
  for (const tool of listTools()) {
    expect(tool.description, tool.name).toMatch(/\.$/)
    for (const [name, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
      const { type, description = '' } = schema as { type: string; description?: string }
      if (type === 'number') expect(description, `${tool.name} ${name}`).toMatch(/Milliseconds|Bytes|Most|0 to 1/)
    }
  }
})
