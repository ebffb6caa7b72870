import { join } from 'node:path'
import type { HooksShape } from './hook-entries.ts'
import type { HostConfig, HostPlaces } from './host-config.ts'
import { commandAndArgs } from './server-entry.ts'

const server = commandAndArgs(['servers', 'holdfast'], { type: 'stdio' })

// Seconds. What is put back after a compaction comes with the next prompt.
const hooks: HooksShape = { host: 'vscode', path: ['hooks'], isGrouped: false, also: ['prompt'], handler: { type: 'command', timeout: 10 } }

/** The folder of the person's profile: of the editor that is there, or of the server that one on another machine uses. */
function profileFolder(places: HostPlaces): string {
  const found = profileFolders(places)
  return found.find((folder) => places.exists(folder)) ?? (found[0] as string)
}

function profileFolders({ env, home, settings, platform }: HostPlaces): readonly string[] {
  if (env.VSCODE_PORTABLE) return [join(env.VSCODE_PORTABLE, 'user-data', 'User')]
  const data = env.VSCODE_APPDATA || (platform === 'darwin' ? join(home, 'Library', 'Application Support') : settings)
  return [...['Code', 'Code - Insiders', 'VSCodium'].map((name) => join(data, name, 'User')), join(home, '.vscode-server', 'data', 'User')]
}

/** VS Code reads every file of a folder for hooks, so that ours have a file of their own. */
export const vscode: HostConfig = {
  files: (places, scope) => [
    { path: scope === 'user' ? join(profileFolder(places), 'mcp.json') : join(places.project, '.vscode', 'mcp.json'), format: 'jsonc', server },
    {
      path: scope === 'user' ? join(places.home, '.copilot', 'hooks', 'holdfast.json') : join(places.project, '.github', 'hooks', 'holdfast.json'),
      format: 'jsonc',
      hooks,
      isOwn: true,
    },
  ],
  signs: profileFolders,
  programs: ['code', 'code-insiders', 'codium'],
  next: () => ['In VS Code, run "MCP: List Servers", start holdfast, and confirm that you trust it.'],
}
