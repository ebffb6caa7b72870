import { optional, strictObject } from 'valibot'
import { anyText, flag, text, whole } from './fields.ts'
import { operation } from './operation.ts'

export const runs = operation({
  name: 'runs',
  summary: 'List the runs of this project, newest first.',
  description: 'A failing run is one that did not end by itself with exit code 0.',
  input: strictObject({
    query: optional(anyText('Only runs with this text in their id, purpose or command.')),
    failing: optional(flag('Only runs that failed.')),
    runtime: optional(text('Only scripts of this runtime.')),
    limit: optional(whole('Most runs to list.', 1, 'runs', { default: '20' })),
  }),
  cli: { values: { query: 'TEXT', runtime: 'NAME', limit: 'N' }, examples: ['holdfast runs --failing', 'holdfast runs --query build --limit 5'] },
  run: (app, input) => app.runs(input),
})
