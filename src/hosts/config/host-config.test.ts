import { expect, it } from 'vitest'
import { hostPlaces } from '../../../test/support/host-places.ts'
import type { HostName } from '../host.ts'
import { type HostPlaces, hostConfigs } from './host-config.ts'

const pathsOf = (host: HostName, places: HostPlaces): string[] => hostConfigs[host].files(places, 'user').map(({ path }) => path)

it.each<[HostName, Record<string, string>, readonly string[]]>([
  ['claude-code', { CLAUDE_CONFIG_DIR: '/x' }, ['/x/.claude.json', '/x/settings.json']],
  ['codex', { CODEX_HOME: '/x' }, ['/x/config.toml']],
  ['gemini-cli', { GEMINI_CLI_HOME: '/x' }, ['/x/.gemini/settings.json']],
  ['pi', { PI_CODING_AGENT_DIR: '/x' }, ['/x/mcp.json', '/x/extensions/holdfast.ts']],
  ['vscode', { VSCODE_PORTABLE: '/x' }, ['/x/user-data/User/mcp.json', '/home/ann/.copilot/hooks/holdfast.json']],
])('%s is found where %j says', (host, env, paths) => {
  expect(pathsOf(host, { ...hostPlaces(), env })).toEqual(paths)
})

it('OpenCode is found below the folder of the settings of a person', () => {
  expect(pathsOf('opencode', { ...hostPlaces(), settings: '/x' })).toEqual([
    '/x/opencode/opencode.json',
    '/x/opencode/opencode.jsonc',
    '/x/opencode/plugins/holdfast.js',
  ])
})

it('VS Code is found by the editor that is there, or by its server', () => {
  const server = '/home/ann/.vscode-server/data/User'
  expect(pathsOf('vscode', hostPlaces())[0]).toBe('/home/ann/.config/Code/User/mcp.json')
  expect(pathsOf('vscode', hostPlaces([server]))[0]).toBe(`${server}/mcp.json`)
  expect(pathsOf('vscode', { ...hostPlaces(), platform: 'darwin' })[0]).toBe('/home/ann/Library/Application Support/Code/User/mcp.json')
})

it('Claude Code has its former file where that is still there', () => {
  expect(pathsOf('claude-code', hostPlaces(['/home/ann/.claude/.config.json']))[0]).toBe('/home/ann/.claude/.config.json')
})

it.each<[HostName, string, boolean]>([
  ['codex', 'PATH', true],
  ['codex', 'XDG_STATE_HOME', false],
  ['gemini-cli', 'GITHUB_TOKEN', false],
  ['gemini-cli', 'XDG_STATE_HOME', true],
])('whether %s hands %s on to a server: %s', (host, name, passes) => {
  expect(hostConfigs[host].passes?.(name)).toBe(passes)
})
