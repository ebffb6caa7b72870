import { Readable } from 'node:stream'
import { parseDuration } from '../../core/limits.ts'
import type { Command } from './command.ts'
import { ownOption } from './option.ts'

export const acpCommand: Command = {
  words: 'acp',
  group: 'Run commands',
  usage: ['acp [options]'],
  summary: 'Answer the terminal and file requests of the Agent Client Protocol over stdio.',
  details: [
    'For editors and other hosts of agents: what an agent asks for with terminal/* and fs/* (version 1) is handed to this program, one JSON-RPC message a line, and answered with runs whose output is kept. Files are those of this folder. What still runs ends with the connection.',
  ],
  options: [ownOption('--timeout', 'When a command ends that nobody kills or releases.', { value: 'TIME', default: '24h' })],
  examples: ['holdfast acp'],
  withoutJson: true,
  async run({ io, parsed, app, stderr, signal }) {
    const { timeout } = parsed.own
    const timeoutMs = typeof timeout === 'string' ? parseDuration('--timeout', timeout) : undefined
    const { serveAcp } = await import('../acp/serve.ts')
    await serveAcp({
      app: await app(),
      root: io.cwd,
      timeoutMs,
      stdin: Readable.from(io.stdin, { objectMode: false }),
      stdout: io.stdout,
      signal,
      onNote: (line) => stderr.write(`holdfast: ${line}\n`),
    })
    return 0
  },
}
