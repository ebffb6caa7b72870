import { optional, strictObject } from 'valibot'
import { anyText, whole } from './fields.ts'
import { operation } from './operation.ts'

export const digest = operation({
  name: 'digest',
  summary: 'Make a digest of any log: its size, the lines that matter with their numbers, and its end.',
  description: 'Reads FILE, or standard input without one. Nothing is stored.',
  input: strictObject({
    text: anyText('The log.'),
    budget: optional(whole('Most bytes of the digest.', 1, 'bytes', { default: '2048' })),
  }),
  cli: { hidden: ['text'], values: { budget: 'BYTES' }, examples: ['holdfast digest build.log', 'npm test 2>&1 | holdfast digest --budget 1000'] },
  run: (app, input) => app.digest(input),
})
