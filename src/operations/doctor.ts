import { optional, strictObject } from 'valibot'
import { text } from './fields.ts'
import { operation } from './operation.ts'

export const doctor = operation({
  name: 'doctor',
  summary: 'Check whether Holdfast can do its work here.',
  description: 'Ends with exit code 1 when a check failed.',
  input: strictObject({ fix: optional(text('Mend this one thing first, by its name.')) }),
  cli: { values: { fix: 'ITEM' }, examples: ['holdfast doctor', 'holdfast doctor --json'] },
  run: (app, input) => app.doctor(input),
})
