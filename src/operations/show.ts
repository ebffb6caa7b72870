import { strictObject } from 'valibot'
import { digestSize, digestSizeValues } from './digest-size.ts'
import { operation } from './operation.ts'
import { runField } from './run-field.ts'

export const show = operation({
  name: 'show',
  summary: 'Show how a run ended and the digest of its output.',
  description: 'Of a run that still goes on, the output so far. "N | text" is line N; output RUN --lines N shows it.',
  input: strictObject({
    run: runField(),
    ...digestSize,
  }),
  cli: { positionals: ['run'], values: { ...digestSizeValues }, examples: ['holdfast show last', 'holdfast show last --json'] },
  run: (app, input) => app.show(input),
})
