/** The coding agents that Holdfast is installed in. Pure: their files are read and written by the app. */

export const hostNames = ['claude-code', 'codex', 'gemini-cli', 'opencode', 'cursor', 'vscode', 'pi'] as const
export type HostName = (typeof hostNames)[number]

/** What people also call them. */
const aliases: Readonly<Record<string, HostName>> = {
  claude: 'claude-code',
  'codex-cli': 'codex',
  gemini: 'gemini-cli',
  copilot: 'vscode',
  'vscode-copilot': 'vscode',
  'vs-code': 'vscode',
  'pi-coding-agent': 'pi',
}

export const hostTitles: Readonly<Record<HostName, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex CLI',
  'gemini-cli': 'Gemini CLI',
  opencode: 'OpenCode',
  cursor: 'Cursor',
  vscode: 'VS Code Copilot',
  pi: 'pi',
}

/** The host that is meant; undefined where there is none of that name. */
export function hostOf(text: string): HostName | undefined {
  const name = text.trim().toLowerCase()
  return hostNames.find((host) => host === name) ?? (Object.hasOwn(aliases, name) ? aliases[name] : undefined)
}
