import { join } from 'node:path'
import type { HooksShape } from './hook-entries.ts'
import type { HostConfig, HostPlaces, Scope } from './host-config.ts'
import { commandAndArgs } from './server-entry.ts'

const server = commandAndArgs(['mcp_servers', 'holdfast'])

// Seconds.
const hooks: HooksShape = {
  host: 'codex',
  path: ['hooks'],
  isGrouped: true,
  handler: { type: 'command', timeout: 10 },
}

const folderOf = ({ env, home, project }: HostPlaces, scope: Scope): string =>
  scope === 'user' ? env.CODEX_HOME || join(home, '.codex') : join(project, '.codex')

const passed = new Set(['HOME', 'LOGNAME', 'PATH', 'SHELL', 'USER', '__CF_USER_TEXT_ENCODING', 'LANG', 'LC_ALL', 'TERM', 'TMPDIR', 'TZ'])

/** Codex reads hooks from either of two files and warns where both have some, so ours go where those of the person are. */
export const codex: HostConfig = {
  files(places, scope) {
    const folder = folderOf(places, scope)
    const hooksFile = join(folder, 'hooks.json')
    const isApart = places.exists(hooksFile)
    return [
      { path: join(folder, 'config.toml'), format: 'toml', server, hooks: { ...hooks, elsewhere: isApart } },
      ...(isApart ? [{ path: hooksFile, format: 'jsonc', hooks } as const] : []),
    ]
  },
  signs: (places) => [folderOf(places, 'user')],
  programs: ['codex'],
  next: (scope) => [
    ...(scope === 'project' ? ['Codex reads .codex/ of projects that are trusted only.'] : []),
    'Codex runs a new hook once you have trusted it: start codex, open /hooks, and trust those of Holdfast.',
  ],
  passes: (name) => passed.has(name),
}
