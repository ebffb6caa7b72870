import { optional, strictObject } from 'valibot'
import { whole } from './fields.ts'
import { operation } from './operation.ts'
import { runField } from './run-field.ts'

export const show = operation({
  name: 'show',
  summary: 'Show how a run ended and the digest of its output.',
  description: 'Of a run that still goes on, the output so far.',
  input: strictObject({
    run: runField(),
    budget: optional(whole('Most bytes of the digest.', 1, 'bytes', { default: '2048' })),
  }),
  cli: { positionals: ['run'], values: { budget: 'BYTES' }, examples: ['holdfast show last', 'holdfast show last --json'] },
  run: (app, input) => app.show(input),
})
