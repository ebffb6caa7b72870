import { join } from 'node:path'
import type { HooksShape } from './hook-entries.ts'
import type { HostConfig } from './host-config.ts'
import { commandAndArgs } from './server-entry.ts'

const server = commandAndArgs(['mcpServers', 'holdfast'], { type: 'stdio' })

// Seconds.
const hooks: HooksShape = { host: 'cursor', path: ['hooks'], isGrouped: false, handler: { timeout: 10 } }

export const cursor: HostConfig = {
  files(places, scope) {
    const folder = join(scope === 'user' ? places.home : places.project, '.cursor')
    return [
      { path: join(folder, 'mcp.json'), format: 'jsonc', server },
      { path: join(folder, 'hooks.json'), format: 'jsonc', hooks, initial: { version: 1 } },
    ]
  },
  signs: ({ home }) => [join(home, '.cursor')],
  programs: ['cursor', 'cursor-agent'],
  next: (scope) => [
    'Restart Cursor; Settings > Tools & MCP lists the server, Settings > Hooks the hooks.',
    ...(scope === 'project' ? ['Cursor asks before it starts a server of a project for the first time.'] : []),
  ],
}
