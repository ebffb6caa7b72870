import { optional, strictObject } from 'valibot'
import { bytes, flag, terminalSize } from './fields.ts'
import { operation } from './operation.ts'
import { runField } from './run-field.ts'

export const input = operation({
  name: 'input',
  summary: 'Write to the standard input of a run that goes on.',
  description: 'A run takes input when it was started as interactive, until its input is ended. The answer comes when the command has taken what was written.',
  input: strictObject({
    run: runField(),
    text: optional(bytes('What to write.')),
    enter: optional(flag('Add a line feed, as the Enter key does.')),
    end: optional(flag('End the input: the command reads end-of-file then.')),
    size: optional(terminalSize('A new size of its pseudo-terminal, and nothing else.')),
  }),
  cli: {
    positionals: ['run', 'text'],
    hidden: ['size'],
    examples: ['holdfast input last --enter yes', 'holdfast input k7m2qx9d4tra - < answers.txt', 'holdfast input last --end'],
  },
  check(given) {
    if (given.text !== undefined || given.enter || given.end || given.size) return undefined
    return { field: 'text', value: undefined, accepted: 'a text, enter, or end' }
  },
  run: (app, given, call) => app.input(given, call),
})
