import { optional, strictObject } from 'valibot'
import { noteCategories, noteScopes } from '../core/note.ts'
import { anyText, choice, flag, fraction, list, text, whole } from './fields.ts'
import { operation } from './operation.ts'

const scope = (about: string) => optional(choice(about, noteScopes))
const workspaceOf = (about: string) => optional(text(about))
const category = (about: string) => optional(choice(about, noteCategories))
const tags = optional(list('A word to find it by; may be repeated.', 'a list of tags'))
const confidence = optional(fraction('How sure it is, from 0 to 1.'))
const supersedes = optional(list('The id of a note whose place it takes; that one is retired. May be repeated.', 'a list of ids of notes'))

const selection = {
  scope: scope('Only notes of this scope.'),
  workspace: workspaceOf('Only notes of this workspace: its id, branch or folder, or operator:NAME.'),
  category: category('Only notes of this category.'),
  tag: optional(text('Only notes with this tag.')),
  retired: optional(flag('Only retired notes.')),
}

const values = { category: 'NAME', confidence: 'N', workspace: 'REF', tag: 'NAME', limit: 'N' }
/** Lists have options of their own, which may be repeated. */
const hidden = ['tags', 'supersedes']

export const noteAdd = operation({
  name: 'note-add',
  summary: 'Save a durable fact about this project.',
  description:
    'The best notes stand in every context snapshot. A note that says the same as another confirms that one. Past the cap of a scope, the ' +
    'least useful note is retired, which the answer says.',
  input: strictObject({
    text: text('The fact, in one line.'),
    category: category('What kind of fact it is.'),
    confidence,
    tags,
    scope: scope('Who it is for: all who work on the project (default), those in one workspace, or you in every project.'),
    workspace: workspaceOf('The workspace that it is about: its id, branch or folder, or operator:NAME.'),
    supersedes,
  }),
  cli: {
    positionals: ['text'],
    joined: true,
    flags: { tags: 'tag' },
    values,
    hidden,
    examples: [
      "holdfast note add 'tests need a running Redis' --category environment",
      "holdfast note add 'tests start Redis themselves' --supersedes h8v5mbj29z3x",
      "holdfast note add 'answer in British English' --scope user",
    ],
  },
  run: (app, input) => app.addNote(input),
})

export const noteList = operation({
  name: 'note-list',
  summary: 'List notes, the most useful first.',
  description: 'Of the project, of the workspace that you are in, and your own.',
  input: strictObject(selection),
  cli: { values, examples: ['holdfast note list', 'holdfast note list --category gotcha', 'holdfast note list --retired'] },
  run: (app, input) => app.listNotes(input),
})

export const noteSearch = operation({
  name: 'note-search',
  summary: 'Find notes by words of their text, tags and category.',
  description: 'Beginnings of words and parts of names count; "quoted words" stand together. Notes with all words come, or else those with some.',
  input: strictObject({ query: text('What to look for.'), ...selection, limit: optional(whole('Most notes.', 1, '', { default: '20' })) }),
  cli: { positionals: ['query'], joined: true, values, examples: ['holdfast note search redis', "holdfast note search 'port 5432' --retired"] },
  run: (app, input) => app.searchNotes(input),
})

export const noteUpdate = operation({
  name: 'note-update',
  summary: 'Change a note, or bring a retired one back.',
  description: 'What is not given stays as it is.',
  input: strictObject({
    note: text('The id of the note.'),
    text: optional(text('The new text, in one line.')),
    category: category('What kind of fact it is.'),
    confidence,
    tags,
    supersedes,
    restore: optional(flag('Bring a retired note back.')),
  }),
  cli: {
    positionals: ['note'],
    flags: { tags: 'tag' },
    values,
    hidden,
    examples: ["holdfast note update h8v5mbj29z3x --text 'tests need Redis 7' --tag ci", 'holdfast note update h8v5mbj29z3x --restore'],
  },
  run: (app, input) => app.updateNote(input),
})

export const noteRemove = operation({
  name: 'note-remove',
  summary: 'Remove a note for good.',
  description: '',
  input: strictObject({ note: text('The id of the note.') }),
  cli: { positionals: ['note'], examples: ['holdfast note remove h8v5mbj29z3x'] },
  run: (app, input) => app.removeNote(input),
})

export const noteExport = operation({
  name: 'note-export',
  summary: 'Write the notes of a scope as Markdown.',
  description: 'By category, with the data of each note in a comment below it; note import reads it back as it was.',
  input: strictObject({
    scope: scope('Whose notes. Default: those of the project.'),
    workspace: workspaceOf('Those of this workspace: its id, branch or folder, or operator:NAME.'),
    retired: optional(flag('Retired notes also.')),
  }),
  cli: { values, examples: ['holdfast note export', 'holdfast note export NOTES.md --retired'] },
  run: (app, input) => app.exportNotes(input),
})

export const noteImport = operation({
  name: 'note-import',
  summary: 'Read notes from Markdown: of note export, or lists that a person wrote.',
  description:
    'Each item of a list becomes a note, under the category that its heading names. What is there already stays as it is, so that reading ' +
    'a file twice changes nothing. The answer says what was taken and what was not.',
  input: strictObject({
    text: anyText('The Markdown.'),
    scope: scope('Whom the notes are for. Default: the project.'),
    workspace: workspaceOf('The workspace that they are about: its id, branch or folder, or operator:NAME.'),
    category: category('Of items under a heading that names none.'),
  }),
  cli: { hidden: ['text'], values, examples: ['holdfast note import NOTES.md', 'holdfast note import AGENTS.md --category convention'] },
  run: (app, input) => app.importNotes(input),
})
