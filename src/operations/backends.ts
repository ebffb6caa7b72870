import { strictObject } from 'valibot'
import { operation } from './operation.ts'

export const backends = operation({
  name: 'backends',
  summary: 'List the backends, what each can do, and what is missing for it here.',
  description: 'supervised: where a supervisor starts the commands; plain: where none does.',
  input: strictObject({}),
  cli: { examples: ['holdfast backends', 'holdfast backends --json'] },
  run: (app) => app.backends(),
})
