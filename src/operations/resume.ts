import { optional, strictObject } from 'valibot'
import { text } from './fields.ts'
import { operation } from './operation.ts'

export const resume = operation({
  name: 'resume',
  summary: 'Print where the last session of an agent stood, or the stored context snapshot.',
  description: 'Read it first when work goes on in a fresh context. It says of which session it is, and how old.',
  input: strictObject({ session: optional(text('The id of a session of an agent, or a beginning of it. Default: the latest.')) }),
  cli: { values: { session: 'ID' }, examples: ['holdfast resume', 'holdfast resume --session 5f0c'] },
  run: (app, input) => app.resume(input),
})
