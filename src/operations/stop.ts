import { optional, strictObject } from 'valibot'
import { stopSignals } from '../app/api.ts'
import { spelledChoice } from './fields.ts'
import { operation } from './operation.ts'
import { runField } from './run-field.ts'

const withPrefix = (written: string): string => {
  const upper = written.trim().toUpperCase()
  return upper.startsWith('SIG') ? upper : `SIG${upper}`
}

export const stop = operation({
  name: 'stop',
  summary: 'End a run with all its processes and answer when it is over.',
  description: 'What does not end by the signal is killed after the grace time. The output is kept.',
  input: strictObject({
    run: runField(),
    signal: optional(
      spelledChoice('The first signal to send.', stopSignals, withPrefix, {
        accepted: `${stopSignals.join(', ')}, or without SIG, like INT`,
        default: 'SIGTERM',
      }),
    ),
  }),
  cli: { positionals: ['run'], examples: ['holdfast stop last', 'holdfast stop k7m2qx9d4tra --signal INT'] },
  run: (app, input, call) => app.stop(input, call),
})
