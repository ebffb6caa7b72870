import { optional, strictObject } from 'valibot'
import { digestSize, digestSizeValues } from './digest-size.ts'
import { log } from './fields.ts'
import { operation } from './operation.ts'

export const digest = operation({
  name: 'digest',
  summary: 'Make a digest of any log: its size, the lines that matter with their numbers, and its end.',
  description: 'Reads FILE, or standard input without one. Nothing is stored. "N | text" is line N of the log.',
  input: strictObject({
    text: log('The log.'),
    previous: optional(log('The log of an earlier run of the same that passed: what is new against it counts more.')),
    ...digestSize,
  }),
  cli: {
    hidden: ['text', 'previous'],
    values: { ...digestSizeValues },
    examples: ['holdfast digest build.log', 'npm test 2>&1 | holdfast digest --budget 1000', 'holdfast digest build.log --previous build-that-passed.log'],
  },
  run: (app, input) => app.digest(input),
})
