import { optional, strictObject } from 'valibot'
import { anyText, whole } from './fields.ts'
import { operation } from './operation.ts'

export const snapshot = operation({
  name: 'snapshot',
  summary: 'Write the context snapshot: a page of at most 2,048 bytes to go on from.',
  description: 'It holds the active context that is given, notes, recent runs with failures first, and running commands.',
  input: strictObject({
    context: optional(anyText('What is being worked on now.')),
    limit: optional(whole('Most bytes, 2048 at the highest.', 0, 'bytes', { default: '2048' })),
  }),
  cli: { values: { context: 'TEXT|-', limit: 'BYTES' }, examples: ["holdfast snapshot --context 'fixing the flaky upload test'"] },
  run: (app, input) => app.snapshot(input),
})
