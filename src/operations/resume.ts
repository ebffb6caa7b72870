import { strictObject } from 'valibot'
import { operation } from './operation.ts'

export const resume = operation({
  name: 'resume',
  summary: 'Print the stored context snapshot, or one made now where none was stored.',
  description: 'Read it first when work goes on in a fresh context.',
  input: strictObject({}),
  cli: { examples: ['holdfast resume'] },
  run: (app) => app.resume(),
})
