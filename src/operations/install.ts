import { optional, strictObject } from 'valibot'
import { flag, text } from './fields.ts'
import { operation } from './operation.ts'

/** Where something is installed. */
export const scopeFields = {
  project: optional(flag('In the files of this project, for everybody who has it.')),
  user: optional(flag('In your own files, for every project. This is the default.')),
  dryRun: optional(flag('Only show what would be written.')),
}

export const install = operation({
  name: 'install',
  summary: 'Put Holdfast into a coding agent: its MCP server and its hooks.',
  description:
    'Hosts: claude-code, codex, gemini-cli, opencode, cursor, vscode, pi; without one, those on this machine are listed. What the files have besides stays as it is, and holdfast uninstall gives them back.',
  input: strictObject({
    host: optional(text('The coding agent.')),
    leadToExec: optional(flag('Also set hooks.leadToExec in holdfast.json: the agent is told of exec where a shell of its own printed much.')),
    ...scopeFields,
  }),
  cli: {
    positionals: ['host'],
    examples: ['holdfast install', 'holdfast install claude-code --dry-run', 'holdfast install codex --project'],
  },
  check: ({ project, user }) => (project && user ? { field: 'user', value: true, accepted: 'one of --project and --user' } : undefined),
  run: (app, input) => app.install(input),
})
