import { optional, strictObject } from 'valibot'
import { flag, text } from './fields.ts'
import { operation } from './operation.ts'

export const doctor = operation({
  name: 'doctor',
  summary: 'Check whether Holdfast can do its work here.',
  description:
    'Ends with exit code 1 when a check failed. With the name of a coding agent: whether it works there; the installed server and hook are started as the agent would, and used.',
  input: strictObject({
    host: optional(text('The coding agent: claude-code, codex, gemini-cli, opencode, cursor, vscode, pi.')),
    targets: optional(flag('Also open each target of the configuration.')),
    fix: optional(text('Mend this one thing first, by its name.')),
  }),
  cli: { positionals: ['host'], values: { fix: 'ITEM' }, examples: ['holdfast doctor', 'holdfast doctor --json', 'holdfast doctor claude-code'] },
  check: ({ host, fix }) =>
    host !== undefined && fix !== undefined ? { field: 'fix', value: fix, accepted: 'a mend of Holdfast itself, without a coding agent' } : undefined,
  run: (app, input) => app.doctor(input),
})
