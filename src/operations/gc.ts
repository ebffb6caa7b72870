import { optional, strictObject } from 'valibot'
import { flag } from './fields.ts'
import { operation } from './operation.ts'

export const gc = operation({
  name: 'gc',
  summary: 'Remove runs that are older, more or larger than the configuration keeps, and containers and pods of ours that nobody uses.',
  description: 'A running or pinned run is never removed.',
  input: strictObject({ dryRun: optional(flag('Only say what would be removed.')) }),
  cli: { examples: ['holdfast gc --dry-run'] },
  run: (app, input) => app.gc(input),
})
