import { join } from 'node:path'
import { piExtension } from '../pi-extension.ts'
import type { HostConfig, HostPlaces, Scope } from './host-config.ts'
import { commandAndArgs } from './server-entry.ts'

// Without it, the tools are found by search only, and no model looks for what runs a command.
const server = commandAndArgs(['mcpServers', 'holdfast'], {}, { exposure: 'direct' })

const folderOf = ({ env, home, project }: HostPlaces, scope: Scope): string =>
  scope === 'user' ? env.PI_CODING_AGENT_DIR || join(home, '.pi', 'agent') : join(project, '.pi')

/** Hooks are functions of an extension, which also brings the tools to a pi that knows no MCP. */
export const pi: HostConfig = {
  files: (places, scope) => [
    { path: join(folderOf(places, scope), 'mcp.json'), format: 'jsonc', server },
    { path: join(folderOf(places, scope), 'extensions', 'holdfast.ts'), format: 'source', toSource: piExtension },
  ],
  signs: (places) => [folderOf(places, 'user')],
  programs: ['pi'],
  next: (scope) => [
    'Start pi anew, or run /reload; where pi knows MCP, pi mcp list shows the server.',
    ...(scope === 'project' ? ['pi reads .pi/ of projects that are trusted only.'] : []),
  ],
}
