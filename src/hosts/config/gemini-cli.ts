import { join } from 'node:path'
import { looksSecret } from '../../core/secret-names.ts'
import type { HooksShape } from './hook-entries.ts'
import type { HostConfig, HostPlaces } from './host-config.ts'
import { commandAndArgs } from './server-entry.ts'

const server = commandAndArgs(['mcpServers', 'holdfast'])

// Milliseconds. What is put back after a compaction comes with the next prompt.
const hooks: HooksShape = {
  host: 'gemini-cli',
  path: ['hooks'],
  isGrouped: true,
  also: ['prompt'],
  handler: { type: 'command', name: 'holdfast', timeout: 10_000 },
}

const folderOf = ({ env, home }: HostPlaces): string => join(env.GEMINI_CLI_HOME || home, '.gemini')

export const geminiCli: HostConfig = {
  files: (places, scope) => [
    { path: join(scope === 'user' ? folderOf(places) : join(places.project, '.gemini'), 'settings.json'), format: 'jsonc', server, hooks },
  ],
  signs: (places) => [folderOf(places)],
  programs: ['gemini'],
  next: () => ['Start Gemini CLI anew in a folder that you trust, since it starts no server elsewhere; /mcp lists the server, /hooks the hooks.'],
  // Gemini CLI keeps from servers what looks like a secret.
  passes: (name) => !looksSecret(name),
}
