import { failure } from '../../core/errors.ts'
import type { Command } from './command.ts'

/** The server is started before commands are looked up; it stands here for its help. */
export const mcpCommand: Command = {
  words: 'mcp',
  group: 'Run commands',
  usage: ['mcp'],
  summary: 'Serve a coding agent over stdio with the Model Context Protocol.',
  details: ['Commands that come this way end after 2m unless they say otherwise.'],
  options: [],
  examples: ['claude mcp add holdfast -- holdfast mcp'],
  withoutJson: true,
  run: () => Promise.reject(failure('invalid', { field: 'the argument', value: '--', accepted: 'holdfast mcp' })),
}
