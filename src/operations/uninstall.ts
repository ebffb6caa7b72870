import { strictObject } from 'valibot'
import { text } from './fields.ts'
import { scopeFields } from './install.ts'
import { operation } from './operation.ts'

export const uninstall = operation({
  name: 'uninstall',
  summary: 'Take Holdfast out of a coding agent.',
  description: 'Gives its files back as they were before, byte for byte where nobody else changed them since; removes only what is ours otherwise.',
  input: strictObject({ host: text('The coding agent.'), ...scopeFields }),
  cli: { positionals: ['host'], examples: ['holdfast uninstall claude-code', 'holdfast uninstall cursor --project --dry-run'] },
  check: ({ project, user }) => (project && user ? { field: 'user', value: true, accepted: 'one of --project and --user' } : undefined),
  run: (app, input) => app.uninstall(input),
})
