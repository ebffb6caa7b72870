import { join } from 'node:path'
import type { HooksShape } from './hook-entries.ts'
import type { HostConfig, HostPlaces } from './host-config.ts'
import { commandAndArgs } from './server-entry.ts'

const server = commandAndArgs(['mcpServers', 'holdfast'], { type: 'stdio' })

// Seconds. The default is minutes, which is long for a session that waits for what only helps.
const hooks: HooksShape = {
  host: 'claude-code',
  path: ['hooks'],
  isGrouped: true,
  handler: { type: 'command', timeout: 10 },
}

const folderOf = ({ env, home }: HostPlaces): string => env.CLAUDE_CONFIG_DIR || join(home, '.claude')

function stateFile(places: HostPlaces): string {
  const former = join(folderOf(places), '.config.json')
  return places.exists(former) ? former : join(places.env.CLAUDE_CONFIG_DIR || places.home, '.claude.json')
}

/** Servers of a person stand in the file in which Claude Code keeps its state, not in the settings, where they are passed over. */
export const claudeCode: HostConfig = {
  files: (places, scope) =>
    scope === 'user'
      ? [
          { path: stateFile(places), format: 'jsonc', server },
          { path: join(folderOf(places), 'settings.json'), format: 'jsonc', hooks },
        ]
      : [
          { path: join(places.project, '.mcp.json'), format: 'jsonc', server },
          { path: join(places.project, '.claude', 'settings.json'), format: 'jsonc', hooks },
        ],
  signs: (places) => [folderOf(places), stateFile(places)],
  programs: ['claude'],
  next: (scope) =>
    scope === 'user'
      ? [
          'Start Claude Code anew; /mcp lists the server. Sessions that run now write their state file as they know it: close them first, or look with holdfast doctor claude-code.',
        ]
      : ['Start Claude Code in the project and approve the server there; /mcp lists it.'],
}
