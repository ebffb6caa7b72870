import { failure } from '../../core/errors.ts'
import type { Command } from './command.ts'
import { ownOption } from './option.ts'

/** The server is started before commands are looked up; it stands here for its help. */
export const mcpCommand: Command = {
  words: 'mcp',
  group: 'Run commands',
  usage: ['mcp [options]'],
  summary: 'Serve a coding agent over stdio with the Model Context Protocol.',
  details: [
    'Commands that come this way end after 2m unless they say otherwise.',
    'Under the supervisor, a command that still runs when its call is answered goes on within its limits, also when the client is gone: a later one sees it with runs, wait and output. What a call still waits for is canceled when the client goes.',
  ],
  options: [ownOption('--ephemeral', 'End all that this client started when it goes, also in the background.')],
  examples: ['claude mcp add holdfast -- holdfast mcp', 'holdfast mcp --ephemeral'],
  withoutJson: true,
  run: () => Promise.reject(failure('invalid', { field: 'the argument', value: '--', accepted: 'holdfast mcp [--ephemeral]' })),
}
