import { optional, strictObject } from 'valibot'
import { digestSize, digestSizeValues } from './digest-size.ts'
import { waiting } from './fields.ts'
import { operation } from './operation.ts'
import { runField } from './run-field.ts'

export const wait = operation({
  name: 'wait',
  summary: 'Wait until a run ends and answer with how it ended.',
  description: 'If it still runs after the given time, the answer says so and holds the output so far; the run is not touched.',
  input: strictObject({
    run: runField(),
    waitMs: optional(waiting('Longest time to wait.', { default: 'until it ends' })),
    ...digestSize,
  }),
  cli: { positionals: ['run'], flags: { waitMs: 'timeout' }, values: { ...digestSizeValues }, examples: ['holdfast wait last --timeout 30s'] },
  run: (app, input, call) => app.wait(input, call),
})
