import { lstatSync, renameSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ExportedNotes, FoundNotes } from '../../app/api.ts'
import { errnoOf, failure } from '../../core/errors.ts'
import type { ImportedNotes, Note, SavedNote } from '../../core/note.ts'
import { noteAdd, noteExport, noteImport, noteList, noteRemove, noteSearch, noteUpdate } from '../../operations/notes.ts'
import { type Command, commandFor, perform, shown } from './command.ts'
import { listed } from './option.ts'
import { presentExported, presentFoundNotes, presentImported, presentNotes, presentRemovedNote, presentSaved } from './present-notes.ts'
import { print } from './print.ts'
import { readInput } from './read-input.ts'

/** Facts that outlive a session. */

const group: Command['group'] = 'Carry on later'

const tagOption = listed('--tag', 'tags', 'NAME', 'A word to find it by. May be repeated.')
const supersedesOption = listed('--supersedes', 'supersedes', 'ID', 'A note whose place it takes, which is retired. May be repeated.')

export const noteAddCommand = commandFor(noteAdd, 'note add', group, { options: [tagOption, supersedesOption], present: shown<SavedNote>(presentSaved) })

export const noteListCommand = commandFor(noteList, 'note list', group, { present: shown<{ notes: readonly Note[] }>(presentNotes) })

export const noteSearchCommand = commandFor(noteSearch, 'note search', group, { present: shown<FoundNotes>(presentFoundNotes) })

export const noteUpdateCommand = commandFor(noteUpdate, 'note update', group, {
  options: [{ ...tagOption, about: 'A tag, in place of all that it has. May be repeated.' }, supersedesOption],
  present: shown<SavedNote>(presentSaved),
})

export const noteRemoveCommand = commandFor(noteRemove, 'note remove', group, { present: shown<{ removed: string; text: string }>(presentRemovedNote) })

export const noteExportCommand = commandFor(noteExport, 'note export', group, {
  usage: ['note export [options] [FILE]'],
  positionals: ['file'],
  positionalsAreOwn: true,
  async run(invocation) {
    const result = await perform(noteExport, invocation, invocation.parsed.input)
    const { file } = invocation.parsed.own
    const path = typeof file === 'string' && file !== '-' ? resolve(invocation.io.cwd, file) : undefined
    if (path !== undefined) replaceFile(path, result.text)
    print(
      invocation,
      result,
      shown<ExportedNotes>((made) => (path === undefined ? made.text : presentExported(made, String(file)))),
    )
    return 0
  },
})

/** In one step, where it is a file; what else stands there, a device or a link, is written to. */
function replaceFile(path: string, text: string): void {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found && !found.isFile()) {
      writeFileSync(path, text)
      return
    }
    const draft = `${path}.${process.pid}.new`
    writeFileSync(draft, text, { flag: 'wx', ...(found ? { mode: found.mode & 0o777 } : {}) })
    renameSync(draft, path)
  } catch (error) {
    throw failure('invalid', { field: 'FILE', value: path, accepted: `a file that can be written (${errnoOf(error) ?? String(error)})` }, error)
  }
}

export const noteImportCommand = commandFor(noteImport, 'note import', group, {
  usage: ['note import [options] FILE'],
  positionals: ['file'],
  positionalsAreOwn: true,
  async run(invocation) {
    const { file } = invocation.parsed.own
    if (typeof file !== 'string') throw failure('invalid', { field: 'FILE', value: undefined, accepted: 'a file of Markdown, or - for standard input' })
    const text = Buffer.from(await readInput(invocation.io, 'FILE', file)).toString('utf8')
    print(invocation, await perform(noteImport, invocation, { ...invocation.parsed.input, text }, {}, { text: 'FILE' }), shown<ImportedNotes>(presentImported))
    return 0
  },
})
