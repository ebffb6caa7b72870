import { optional, strictObject } from 'valibot'
import { noteCategories } from '../core/store.ts'
import { choice, fraction, text } from './fields.ts'
import { operation } from './operation.ts'

export const noteAdd = operation({
  name: 'note-add',
  summary: 'Save a durable fact about this project.',
  description: 'Notes stand in every context snapshot.',
  input: strictObject({
    text: text('The fact, in one line.'),
    category: optional(choice('What kind of fact it is.', noteCategories)),
    confidence: optional(fraction('How sure it is, from 0 to 1.')),
  }),
  cli: {
    positionals: ['text'],
    joined: true,
    values: { category: 'NAME', confidence: 'N' },
    examples: ["holdfast note add 'tests need a running Redis' --category environment"],
  },
  run: (app, input) => app.addNote(input),
})

export const noteList = operation({
  name: 'note-list',
  summary: 'List the notes of this project.',
  description: '',
  input: strictObject({}),
  cli: { examples: ['holdfast note list'] },
  run: (app) => app.listNotes(),
})

export const noteRemove = operation({
  name: 'note-remove',
  summary: 'Remove a note.',
  description: '',
  input: strictObject({ note: text('The id of the note.') }),
  cli: { positionals: ['note'], examples: ['holdfast note remove h8v5mbj29z3x'] },
  run: (app, input) => app.removeNote(input),
})
