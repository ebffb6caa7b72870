import { strictObject } from 'valibot'
import { operation } from './operation.ts'

export const doctor = operation({
  name: 'doctor',
  summary: 'Check whether Holdfast can do its work here.',
  description: 'Ends with exit code 1 when a check failed.',
  input: strictObject({}),
  cli: { examples: ['holdfast doctor', 'holdfast doctor --json'] },
  run: (app) => app.doctor(),
})
