import { strictObject } from 'valibot'
import { operation } from './operation.ts'
import { runField } from './run-field.ts'

export const pin = operation({
  name: 'pin',
  summary: 'Keep a run for good: gc never removes it.',
  description: '',
  input: strictObject({ run: runField() }),
  cli: { positionals: ['run'], examples: ['holdfast pin last'] },
  run: (app, input) => app.pin({ run: input.run, pinned: true }),
})

export const unpin = operation({
  name: 'unpin',
  summary: 'Let gc remove a run again when it is old.',
  description: '',
  input: strictObject({ run: runField() }),
  cli: { positionals: ['run'], examples: ['holdfast unpin k7m2qx9d4tra'] },
  run: (app, input) => app.pin({ run: input.run, pinned: false }),
})
