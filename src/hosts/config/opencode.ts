import { join } from 'node:path'
import { openCodePlugin } from '../opencode-plugin.ts'
import type { HostConfig, HostPlaces, Scope } from './host-config.ts'
import { isWords, type ServerShape } from './server-entry.ts'

// Milliseconds for a request. The default is 5 seconds, and our answers take up to 45.
const requestMs = 60_000

const server: ServerShape = {
  path: ['mcp', 'holdfast'],
  toFields: (words) => ({ type: 'local', command: words }),
  toWords: ({ command }) => (isWords(command) ? command : undefined),
  defaults: { enabled: true, timeout: requestMs },
}

const folderOf = ({ settings, project }: HostPlaces, scope: Scope): string => (scope === 'user' ? join(settings, 'opencode') : project)

/** OpenCode merges two files; the entry goes into the one that is there. Hooks are functions of a plugin. */
export const opencode: HostConfig = {
  files(places, scope) {
    const folder = folderOf(places, scope)
    const [usual, other] = ['opencode.json', 'opencode.jsonc'].map((name) => join(folder, name)) as [string, string]
    const isOther = places.exists(other) && !places.exists(usual)
    const initial = { $schema: 'https://opencode.ai/config.json' }
    return [
      { path: usual, format: 'jsonc', server: { ...server, elsewhere: isOther }, initial },
      { path: other, format: 'jsonc', server: { ...server, elsewhere: !isOther }, initial },
      { path: join(scope === 'user' ? folder : join(folder, '.opencode'), 'plugins', 'holdfast.js'), format: 'source', toSource: openCodePlugin },
    ]
  },
  signs: (places) => [folderOf(places, 'user')],
  programs: ['opencode'],
  next: () => ['Start OpenCode anew; opencode mcp list shows the server.'],
}
